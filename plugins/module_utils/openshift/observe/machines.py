"""Reading MachineSets and machines strictly, from JSON to observations."""

from __future__ import annotations

from typing import Any

from ...common.reading import Json, listed, part, text, text_map, whole, within
from ...kubernetes.answers import all_of
from ...kubernetes.client import KubernetesClient
from ...run.undo.undo import UNREADABLE, Undo, undo_in
from .kinds import (
    MACHINE_OF_WINDOWS,
    MACHINE_ROLE,
    MACHINE_SETS,
    MACHINE_SYSTEM,
    MACHINES,
    SPARE,
    SYSTEM,
    WINDOWS,
    WORKER_ROLE,
)
from .machine_state import MARK, Machines, MachineSet, SpareMachine


def look_at_machines(client: KubernetesClient) -> Machines:
    """The MachineSets, and the spare machines.

    Raises:
        Refusal: the answer cannot be had or understood.
    """
    sets = all_of("MachineSet", client.list(MACHINE_SETS), machine_set)
    return Machines(sets, all_of("Machine", client.list(MACHINES, SPARE), machine))


def machine_set(name: str, item: Json) -> MachineSet:
    """A MachineSet (`machine/v1beta1/types_machineset.go` of openshift/api)."""
    metadata, spec, status = part(item, "metadata"), part(item, "spec"), part(item, "status", {})
    template = part(spec, "template", {})
    of_nodes = within(template, "spec.metadata", lambda found: text_map(found, "labels"), {})
    of_machines = within(template, "metadata", lambda found: text_map(found, "labels"), {})
    system = {SYSTEM: WINDOWS} if of_machines.get(MACHINE_SYSTEM) == MACHINE_OF_WINDOWS else {}
    return MachineSet(
        name=name,
        uid=text(metadata, "uid"),
        labels=text_map(metadata, "labels"),
        role=of_machines.get(MACHINE_ROLE, ""),
        makes={WORKER_ROLE: "", **of_nodes, **system},
        # `minReadySeconds` and `replicas` have defaults of their own (the same file).
        replicas=whole(spec, "replicas", 1),
        ready=whole(status, "readyReplicas", 0),
        going=bool(text(metadata, "deletionTimestamp", "")),
        spec=spec,
        mark=_mark(text_map(metadata, "annotations").get(MARK)),
    )


def _mark(written: str | None) -> Undo | None:
    try:
        found = undo_in(written or "", lambda _change: False)
        return found if {"of", "template"} <= found.more.keys() else None
    except UNREADABLE:
        return None


def machine(name: str, item: Json) -> SpareMachine:
    """A machine (`machine/v1beta1/types_machine.go` of openshift/api)."""
    metadata, status = part(item, "metadata"), part(item, "status", {})
    owners = listed(metadata, "ownerReferences", lambda each: text(each, "uid", ""), ())
    return SpareMachine(
        name=name,
        machine_set=text_map(metadata, "labels").get(SPARE, ""),
        owner=next(iter(owners), ""),
        kubernetes_node=within(status, "nodeRef", lambda found: text(found, "name", ""), {}),
        phase=text(status, "phase", ""),
        message=text(status, "errorMessage", "") or _undrained(status),
    )


def _undrained(status: Json) -> str:
    conditions: tuple[dict[str, Any], ...] = listed(status, "conditions", dict, ())
    found = (each for each in conditions if each.get("type") == "Drained" and each.get("status") == "False")
    return next((str(each.get("message") or "") for each in found), "")
