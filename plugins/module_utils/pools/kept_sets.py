"""The manifest of a StatefulSet that is made again, kept in a ConfigMap for as long as the set may be missing.

An annotation on the set would be deleted with it. So whenever a run is killed, the namespace says which set is to be
made again. Like every undo, it is trusted only as far as a run could have written it: otherwise someone who may write
only ConfigMaps could have any pod made with the rights of the user who settles. So there have to be pods of the set
without a controller, with the containers and the ServiceAccount of the manifest. They may have further containers,
since webhooks add some to each pod.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..common.errors import Denied, Refusal, refusal
from ..common.reading import parsed, part, text, within
from ..kubernetes.answers import name_in, reading_object
from ..kubernetes.client import Json, KubernetesClient
from ..kubernetes.paths import CORE, in_namespace
from ..kubernetes.state import Namespace, Pod, StatefulSet
from ..kubernetes.stateful_sets import stateful_set
from ..run.lock.lease import MANAGED_BY
from ..run.undo.undo import UNREADABLE, Change, Undo, Writer, undo_in
from .volume_sizes import WantedSize, template_bytes, templates_of

KEEPS = {"upgrade.stateful/keeps": "statefulset"}
"""The label of the ConfigMaps."""
PREFIX = "stateful-upgrade-set-"
MISSING = "to be made again, "
"""The start of the UID that a missing set has in a plan."""
PATH = ("spec", "volumeClaimTemplates")
_UNDO, _SET, _MANIFEST = "undo.json", "set.json", "manifest.json"
_OF_SERVER = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
)


@dataclass(frozen=True)
class KeptSet:
    """A set that is made again."""

    name: str
    """The name of the set."""
    uid: str
    """The UID of the ConfigMap."""
    writer: Writer
    found: Mapping[str, Any]
    """The set as it was."""
    manifest: Mapping[str, Any]
    """The set as it is to be."""

    @property
    def revision(self) -> str:
        """The revision that its pods were to have."""
        return str((self.found.get("status") or {}).get("updateRevision") or "")


def kept_path(namespace: str, name: str = "") -> str:
    """The path of the ConfigMap of a set, or of all ConfigMaps."""
    return in_namespace(CORE, namespace, "configmaps", f"{PREFIX}{name}" if name else "")


def manifest_of(found: Mapping[str, Any], wanted: Iterable[WantedSize]) -> Json:
    """The manifest of a set with the wanted sizes, and all else as it is."""
    sizes = {each.claim: each for each in wanted}
    metadata = {key: value for key, value in found["metadata"].items() if key not in _OF_SERVER}
    templates = [_sized(each, sizes.get(each["metadata"]["name"])) for each in templates_of(found)]
    spec = {**found["spec"], "volumeClaimTemplates": templates}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}


def _sized(template: Mapping[str, Any], wanted: WantedSize | None) -> Json:
    """A claim template with the wanted size. Its status is the server's."""
    bare = {key: value for key, value in template.items() if key != "status"}
    if wanted is None or template_bytes(template) >= wanted.bytes:
        return bare
    resources = template["spec"].get("resources") or {}
    requests = {**(resources.get("requests") or {}), "storage": wanted.size}
    return {**bare, "spec": {**template["spec"], "resources": {**resources, "requests": requests}}}


def as_first_made(manifest: Mapping[str, Any]) -> Json:
    """The manifest with which the set is made: under OnDelete, so that no pod is replaced, whatever its revision."""
    return {**manifest, "spec": {**manifest["spec"], "updateStrategy": {"type": "OnDelete"}}}


def config_map(name: str, writer: Writer, found: Mapping[str, Any], manifest: Mapping[str, Any]) -> Json:
    """The ConfigMap with all that is needed to make the set again."""
    before, after = list(templates_of(found)), list(templates_of(manifest))
    undo = Undo(writer, (Change(PATH, before, after),))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{PREFIX}{name}", "labels": {**MANAGED_BY, **KEEPS}},
        "data": {_UNDO: undo.text(), _SET: json.dumps(found), _MANIFEST: json.dumps(manifest)},
    }


def kept_sets(client: KubernetesClient, namespace: str) -> tuple[KeptSet, ...]:
    """The sets of a namespace that are being made again. A user who may not list ConfigMaps has kept none.

    Raises:
        Refusal: one of them is not what a run writes, or the API gives no usable answer.
    """
    label = ",".join(f"{name}={value}" for name, value in KEEPS.items())
    try:
        found = client.list(kept_path(namespace), label_selector=label)
    except Denied:
        return ()
    return tuple(_kept(item) for item in found)


def _kept(item: Json) -> KeptSet:
    with reading_object("ConfigMap", item):
        metadata, data = part(item, "metadata"), part(item, "data", {})
        called, uid = text(metadata, "name"), text(metadata, "uid")
        try:
            undo = undo_in(text(data, _UNDO), lambda change: change.path == PATH)
            found, manifest = parsed(text(data, _SET)), parsed(text(data, _MANIFEST))
            name = called.removeprefix(PREFIX)
            stateful_set({**found, "spec": manifest["spec"]})
            if undo.foreign or not {name_in(found), name_in(manifest)} == {name}:
                raise ValueError("no run writes this")
        except (*UNREADABLE, Refusal) as error:
            raise refusal(
                "undo_not_readable",
                f"ConfigMap {called} is not what this collection writes.",
                "If the StatefulSet that it names is missing, apply its manifest by hand; then delete the ConfigMap.",
            ) from error
        return KeptSet(name, uid, undo.writer, found, manifest)


def with_missing(client: KubernetesClient, there: Namespace) -> Namespace:
    """The namespace as it is once the sets are made again that a killed run has deleted.

    Nothing is asked for unless there are pods without a controller.
    """
    if all(pod.owner_uid for pod in there.pods):
        return there
    known = {each.name for each in there.sets}
    kept = [each for each in kept_sets(client, there.name) if each.name not in known and left_by(each, there.pods)]
    for each in kept:
        pool = as_if_made(each)
        names = {pod.name for pod in left_by(each, there.pods)}
        pods = tuple(replace(pod, owner_uid=pool.uid) if pod.name in names else pod for pod in there.pods)
        there = replace(there, sets=tuple(sorted((*there.sets, pool), key=lambda one: one.name)), pods=pods)
    return there


def as_if_made(kept: KeptSet) -> StatefulSet:
    """The set as it is once it is made again."""
    pool = stateful_set({**kept.found, "spec": kept.manifest["spec"]})
    return replace(pool, uid=f"{MISSING}{pool.uid}")


def left_by(kept: KeptSet, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of the set that have no controller, and could be of its manifest."""
    pool = stateful_set({**kept.found, "spec": kept.manifest["spec"]})
    return [pod for pod in made_by(pool, kept.manifest, pods) if not pod.owner_uid]


def made_by(pool: StatefulSet, manifest: Mapping[str, Any], pods: Iterable[Pod]) -> list[Pod]:
    """The pods that could be of a set with this manifest."""
    names = set(pool.member_names())
    labels = within(manifest, "spec.selector", lambda selector: part(selector, "matchLabels", {}))
    account, containers = _shape(pool.template)
    return [
        pod
        for pod in pods
        if pod.name in names
        and labels.items() <= dict(pod.labels).items()
        and _shape(pod.spec)[0] == account
        and containers <= _shape(pod.spec)[1]
    ]


def _shape(spec: Mapping[str, Any]) -> tuple[str, frozenset[str]]:
    """The ServiceAccount of a pod, and the names of its containers."""
    account = spec.get("serviceAccountName") or "default"
    return str(account), frozenset(str(each["name"]) for each in spec.get("containers") or [])
