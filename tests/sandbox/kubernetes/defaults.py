"""Fields that the API server fills in, for the kinds that are read by their fields."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from tests.sandbox.kubernetes.admission import limits, quotas
from tests.sandbox.kubernetes.objects import Json

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_PROBES = ("readinessProbe", "livenessProbe", "startupProbe")


def fill(item: Json) -> None:
    """Fill in what is left out."""
    filler = _FILLERS.get(item["kind"])
    if filler:
        filler(item)


def default_class(classes: list[Json]) -> str | None:
    """The name of the StorageClass that claims without one get."""
    chosen = [each for each in classes if each["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true"]
    return str(chosen[0]["metadata"]["name"]) if chosen else None


def _set(item: Json, **fields: Any) -> None:
    for key, value in fields.items():
        item.setdefault(key, value)


def _pod(item: Json) -> None:
    spec = item.setdefault("spec", {})
    pod_spec(spec)
    _set(spec, serviceAccountName="default", enableServiceLinks=True, priority=0)
    spec["serviceAccount"] = spec["serviceAccountName"]
    _set(spec, preemptionPolicy="PreemptLowerPriority")
    lost = [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    tolerations = spec.setdefault("tolerations", [])
    known = {each.get("key") for each in tolerations}
    tolerations += [each for each in lost if each["key"] not in known]
    item.setdefault("status", {"phase": "Pending", "qosClass": _quality(spec)})


def _quality(spec: Json) -> str:
    resources = [each.get("resources", {}) for each in spec.get("containers", [])]
    if not any(each.get("requests") or each.get("limits") for each in resources):
        return "BestEffort"
    whole = all(each.get("limits", {}).keys() >= {"cpu", "memory"} for each in resources)
    same = all(each.get("requests", each.get("limits")) == each.get("limits") for each in resources)
    return "Guaranteed" if whole and same else "Burstable"


def pod_spec(spec: Json) -> None:
    """Fill in the spec of a pod, or of a template of pods."""
    _set(spec, restartPolicy="Always", terminationGracePeriodSeconds=30, dnsPolicy="ClusterFirst")
    _set(spec, securityContext={}, schedulerName="default-scheduler")
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        _container(container)
    for volume in spec.get("volumes", []):
        for kind in ("secret", "configMap", "downwardAPI", "projected"):
            if kind in volume:
                _set(volume[kind], defaultMode=420)
        if volume.keys() == {"name"}:
            volume["emptyDir"] = {}


def _container(container: Json) -> None:
    name = str(container.get("image", "")).rpartition("/")[2]
    newest = "@" not in name and (":" not in name or name.endswith(":latest"))
    _set(container, resources={}, terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File")
    _set(container, imagePullPolicy="Always" if newest else "IfNotPresent")
    limits = container["resources"].get("limits")
    if limits:
        container["resources"]["requests"] = {**limits, **container["resources"].get("requests", {})}
    for port in container.get("ports", []):
        _set(port, protocol="TCP")
    for variable in container.get("env", []):
        if "fieldRef" in variable.get("valueFrom", {}):
            _set(variable["valueFrom"]["fieldRef"], apiVersion="v1")
    for probe in (container[each] for each in _PROBES if container.get(each)):
        _set(probe, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)
        if "httpGet" in probe:
            _set(probe["httpGet"], path="/", scheme="HTTP")


def _template(spec: Json) -> None:
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    pod_spec(template.setdefault("spec", {}))


def _stateful_set(item: Json) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, replicas=1, podManagementPolicy="OrderedReady", updateStrategy={}, revisionHistoryLimit=10)
    _set(spec, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"})
    _set(spec, serviceName="")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        _set(strategy, type="RollingUpdate", rollingUpdate={})
    # A type that was given stays without a partition (server source, SetDefaults_StatefulSet).
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        _set(strategy["rollingUpdate"], partition=0)
    _template(spec)
    for claim in spec.get("volumeClaimTemplates", []):
        _set(claim, apiVersion="v1", kind="PersistentVolumeClaim")
        _set(claim.setdefault("spec", {}), volumeMode="Filesystem")
        _set(claim, status={"phase": "Pending"})
    _set(item, status={"replicas": 0, "availableReplicas": 0})


def _deployment(item: Json) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, replicas=1)
    _template(spec)


def _service(item: Json) -> None:
    spec = item.setdefault("spec", {})
    _set(spec, type="ClusterIP", sessionAffinity="None", internalTrafficPolicy="Cluster")
    _set(spec, ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    if spec.get("clusterIP"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    for port in spec.get("ports", []):
        _set(port, protocol="TCP", targetPort=port["port"])
    _set(item, status={"loadBalancer": {}})


def _claim(item: Json) -> None:
    _set(item.setdefault("spec", {}), volumeMode="Filesystem")
    _set(item, status={"phase": "Pending"})


def _secret(item: Json) -> None:
    _set(item, type="Opaque")
    plain = item.pop("stringData", None) or {}
    if plain:
        written = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        item["data"] = {**item.get("data", {}), **written}


def _namespace(item: Json) -> None:
    labels = item["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = item["metadata"]["name"]
    _set(item.setdefault("spec", {}), finalizers=["kubernetes"])
    _set(item, status={"phase": "Active"})


def _storage_class(item: Json) -> None:
    _set(item, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def _role_reference(item: Json) -> None:
    group = "rbac.authorization.k8s.io"
    _set(item.get("roleRef", {}), apiGroup=group)
    for subject in item.get("subjects", []):
        if subject.get("kind") != "ServiceAccount":
            _set(subject, apiGroup=group)
        elif "namespace" in item["metadata"]:
            _set(subject, namespace=item["metadata"]["namespace"])


def _definition(item: Json) -> None:
    names = item["spec"]["names"]
    _set(names, singular=names["kind"].lower(), listKind=f"{names['kind']}List")
    _set(item["spec"], conversion={"strategy": "None"})


_FILLERS: dict[str, Callable[[Json], None]] = {
    "Pod": _pod,
    "StatefulSet": _stateful_set,
    "Deployment": _deployment,
    "ReplicaSet": _deployment,
    "DaemonSet": lambda item: _template(item.setdefault("spec", {})),
    "Service": _service,
    "LimitRange": limits.defaults,
    "ResourceQuota": quotas.defaults,
    "PersistentVolumeClaim": _claim,
    "Secret": _secret,
    "Namespace": _namespace,
    "StorageClass": _storage_class,
    "RoleBinding": _role_reference,
    "ClusterRoleBinding": _role_reference,
    "CustomResourceDefinition": _definition,
}
