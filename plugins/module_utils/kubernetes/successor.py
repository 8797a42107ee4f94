"""The pod that the StatefulSet controller makes in the place of one that was deleted. Pure.

The parts are those of newStatefulSetPod and what it calls (server source, pkg/controller/statefulset/
stateful_set_utils.go and pkg/controller/controller_utils.go, GetPodFromTemplate).
"""

from __future__ import annotations

from typing import Any

from .state import StatefulSet

_NAME = "statefulset.kubernetes.io/pod-name"
_INDEX = "apps.kubernetes.io/pod-index"
_REVISION = "controller-revision-hash"


def successor(pool: StatefulSet, name: str) -> dict[str, Any]:
    """The manifest of the pod `name` as the controller of this set makes it from its present template.

    One field is left out: `blockOwnerDeletion`. The admission plugin OwnerReferencesPermissionEnforcement (on in
    OpenShift) lets only those set it who may write the finalizers of the set, as the controller may.
    """
    marks = pool.template_marks
    labels = {
        **marks.get("labels", {}),
        _INDEX: name.rpartition("-")[2],
        _NAME: name,
        **({_REVISION: pool.update_revision} if pool.update_revision else {}),
    }
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": pool.name, "uid": pool.uid, "controller": True}
    metadata = {
        "name": name,
        "generateName": f"{pool.name}-",
        "namespace": pool.namespace,
        "labels": labels,
        "annotations": dict(marks.get("annotations", {})),
        "ownerReferences": [owner],
    }
    spec = {**pool.template, "hostname": name}
    if pool.service_name:
        spec["subdomain"] = pool.service_name
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in pool.claims]
    volumes += [each for each in spec.get("volumes") or () if each["name"] not in pool.claims]
    if volumes:
        spec["volumes"] = volumes
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
