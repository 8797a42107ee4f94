"""A look at the owners of machines at Cluster API: how many Machines may be away, and whether they roll out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...common.errors import Denied
from ...common.reading import Json, part, text, whole
from ...common.words import unique
from ...extra_machines.observe.look import ClusterApi
from ...extra_machines.observe.state import GROUP
from ...kubernetes.answers import reading_object
from ...kubernetes.reference import ObjectReference
from ...kubernetes.references import object_of
from .owned_machines import OwnedMachine
from .requested import CONTROL_PLANE, OWNERS
from .state import OwnedWorkers

DEPLOYMENT, MACHINE_SET = "MachineDeployment", "MachineSet"
ON_DELETE = "OnDelete"
"""The strategy with which a MachineDeployment replaces only the Machines that a person deletes."""


def owners_of(api: ClusterApi, owned: Mapping[str, OwnedMachine], names: Collection[str]) -> tuple[OwnedWorkers, ...]:
    """The MachineDeployments and the KubeadmControlPlane of the machines of these Kubernetes nodes, as far as this user
    may get them.

    Raises:
        Refusal: they cannot be had or understood.
    """
    own = [owned[name] for name in names if name in owned]
    group, kind = OWNERS[CONTROL_PLANE]
    named = [ObjectReference(GROUP, DEPLOYMENT, each.namespace, each.deployment) for each in own if each.deployment]
    named += [
        ObjectReference(group, kind, each.namespace, each.controller[1]) for each in own if each.controller[0] == kind
    ]
    found = (_owner(api, each, [one for one in owned.values() if _is_of(one, each)], names) for each in unique(named))
    return tuple(each for each in found if each is not None)


def _is_of(machine: OwnedMachine, owner: ObjectReference) -> bool:
    named = (DEPLOYMENT, machine.deployment) if owner.kind == DEPLOYMENT else machine.controller
    return (machine.namespace, *named) == (owner.namespace, owner.kind, owner.name)


def _owner(
    api: ClusterApi, named: ObjectReference, own: Sequence[OwnedMachine], going: Collection[str]
) -> OwnedWorkers | None:
    """How many machines of a control plane may be away is a matter of etcd alone."""
    try:
        item = _item(api, named)
    except Denied:
        return None
    if item is None:
        return None
    nodes = tuple(each.kubernetes_node for each in own if not each.going)
    with reading_object(named.kind, item):
        spec, rolls_out = part(item, "spec"), _rolls_out(item, own, going) and not _is_paused(api, item)
        if named.kind != DEPLOYMENT:
            return OwnedWorkers(named.called, len(nodes), nodes, most="100%", rolls_out=rolls_out)
        return OwnedWorkers(named.called, whole(spec, "replicas", len(nodes)), nodes, most_in(spec), rolls_out)


def _is_paused(api: ClusterApi, item: Json) -> bool:
    """Whether Cluster API does nothing for an owner. A Cluster that this user may not get counts as one at work."""
    try:
        return api.is_paused(item)
    except Denied:
        return False


def _item(api: ClusterApi, named: ObjectReference) -> Json | None:
    if named.kind == DEPLOYMENT:
        return api.client.get(api.deployment_path(named.namespace, named.name))
    found = object_of(api.client, named)
    return found.item if found is not None else None


def _rolls_out(item: Json, own: Sequence[OwnedMachine], going: Collection[str]) -> bool:
    """Whether its controller replaces the Machines of an owner.

    It does not where a Machine that goes now is the one that it has updated in place.
    """
    status, spec = part(item, "status", {}), part(item, "spec")
    in_place = any(each.updated_in_place for each in own if each.kubernetes_node in going)
    if in_place or text(_strategy(spec), "type", "") == ON_DELETE:
        return False
    sets = {name for kind, name in (each.controller for each in own if not each.going) if kind == MACHINE_SET}
    there = whole(status, "replicas", 0)
    # Neither number is there before its controller has counted.
    return len(sets) > 1 or whole(status, "upToDateReplicas", whole(status, "updatedReplicas", there)) < there


def most_in(spec: Json) -> str:
    """The `maxUnavailable` in the spec of a MachineDeployment; empty if it gives none."""
    found: Any = part(_strategy(spec), "rollingUpdate", {}).get("maxUnavailable")
    return "" if found is None else str(found)


def _strategy(spec: Json) -> Json:
    """Since v1beta2 of the API it is in `rollout` (cluster-api, `api/core/v1beta2/machinedeployment_types.go`)."""
    return part(part(spec, "rollout", {}), "strategy", {}) or part(spec, "strategy", {})
