"""The objects of Cluster API as observations, in its versions v1beta1 and v1beta2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...common.reading import Json, Unreadable, flag, listed, part, text, text_map, whole, within
from ...kubernetes.answers import reading_object
from ...kubernetes.conditions import UNKNOWN, StatusCondition, conditions
from ...kubernetes.state import Pod
from ...run.undo.undo_annotation import carried_undo
from .state import CLUSTER_LABEL, DELETE_FIRST, MOST, PAUSED, Machine, MachineDeployment, Members, is_known

_TOPOLOGY = "capi-topology"
"""The field manager of the controller that makes MachineDeployments of the topology of a Cluster."""
_POD_NAME = "statefulset.kubernetes.io/pod-name"
"""The label of every pod that a StatefulSet has made."""


def deployment(item: dict[str, Any], *, paused: bool) -> MachineDeployment:
    """One MachineDeployment; `paused` says whether Cluster API does nothing for it.

    Raises:
        Refusal: it, or the undo that it carries, cannot be read.
    """
    with reading_object("MachineDeployment", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
        annotations = text_map(metadata, "annotations")
        most = annotations.get(MOST, "")
        updated = whole(status, "updatedReplicas", 0)
        return MachineDeployment(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            replicas=whole(spec, "replicas"),
            ready=whole(status, "readyReplicas", 0),
            up_to_date=whole(status, "upToDateReplicas", updated),
            observed=whole(status, "observedGeneration", 0) >= whole(metadata, "generation", 0),
            paused=paused,
            going=bool(text(metadata, "deletionTimestamp", "")),
            most=int(most) if most.isascii() and most.isdecimal() and len(most) < 10 else None,
            by_topology=any(listed(metadata, "managedFields", _sets_replicas_by_topology, ())),
            undo=carried_undo(item, is_known),
            raw=item,
        )


def paused(item: Json) -> bool | None:
    """Whether an object is paused, or its controller says that it does nothing, also since its Cluster is paused
    (cluster-api, `util/paused/paused.go`). In v1beta1 of the API the condition is below `v1beta2`.

    None if only its Cluster can say so: before Cluster API 1.9 there is no condition. Since then it is there before the
    controller has observed the object.
    """
    with reading_object(text(item, "kind", "object of Cluster API"), item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
        said = [conditions(each).get("Paused") for each in (status, part(status, "v1beta2", {}))]
        if flag(spec, "paused", default=False) or PAUSED in text_map(metadata, "annotations"):
            return True
        of_old = not any(said) and whole(status, "observedGeneration", 0) > 0
        return None if of_old else any(each is not None and each.true for each in said)


def cluster_is_paused(item: Json) -> bool:
    """Whether a Cluster is paused, and with it everything of it. Its annotation pauses the Cluster alone."""
    with reading_object("Cluster", item):
        return flag(part(item, "spec"), "paused", default=False)


def cluster_of(item: Json) -> tuple[str, str]:
    """Namespace and name of the Cluster of an object; the name is empty if it gives none."""
    with reading_object(text(item, "kind", "object of Cluster API"), item):
        metadata = part(item, "metadata")
        named = text(part(item, "spec"), "clusterName", "") or text_map(metadata, "labels").get(CLUSTER_LABEL, "")
        return text(metadata, "namespace", ""), named


def _sets_replicas_by_topology(entry: Json) -> bool:
    owned = within(entry, "fieldsV1", lambda fields: part(fields, "f:spec", {}), {})
    return text(entry, "manager", "") == _TOPOLOGY and "f:replicas" in owned


def machine(item: Json) -> Machine:
    """One machine.

    Raises:
        NotUnderstood: it cannot be read.
    """
    with reading_object("Machine", item):
        metadata, status = part(item, "metadata"), part(item, "status", {})
        found = conditions(status)
        sets = [text(each, "uid") for each in listed(metadata, "ownerReferences", dict, ()) if _is_set(each)]
        return Machine(
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            machine_set=sets[0] if sets else "",
            kubernetes_node=within(status, "nodeRef", lambda node: text(node, "name", ""), {}),
            phase=text(status, "phase", ""),
            ready=found.get("Ready", UNKNOWN).true,
            message=text(status, "failureMessage", "") or _trouble(found),
            created=text(metadata, "creationTimestamp", ""),
            going=bool(text(metadata, "deletionTimestamp", "")),
            mark=text_map(metadata, "annotations").get(DELETE_FIRST),
        )


def _is_set(owner: Json) -> bool:
    return text(owner, "kind", "") == "MachineSet"


def _trouble(found: Mapping[str, StatusCondition]) -> str:
    """The message of the condition Ready, or else of the first one that is not True and has a message."""
    those = (found.get("Ready", UNKNOWN), *found.values())
    return next((each.message for each in those if each.message and not each.true), "")


def preferred_version(group: Json, known: Iterable[str]) -> str:
    """The version of an API group to ask for: the preferred one, or else the first served one that is known.

    Raises:
        Unreadable: none of the known ones is served.
    """
    preferred = within(group, "preferredVersion", lambda found: text(found, "version", ""), {})
    served = listed(group, "versions", lambda each: text(each, "version"))
    wanted = tuple(known)
    found = [each for each in (preferred, *served) if each in wanted]
    if not found:
        raise Unreadable(f"are {', '.join(served) or 'none'}, and have to be one of {', '.join(wanted)}", "versions")
    return found[0]


def members(pods: Iterable[Pod]) -> Members:
    """The members among pods: those of a StatefulSet, also if it was deleted without them."""
    on: dict[str, list[str]] = {}
    for each in pods:
        if each.owner.startswith("StatefulSet ") or _POD_NAME in each.labels:
            on.setdefault(each.kubernetes_node, []).append(each.name)
    nowhere = on.pop("", [])
    return Members({node: tuple(sorted(names)) for node, names in on.items()}, tuple(sorted(nowhere)))
