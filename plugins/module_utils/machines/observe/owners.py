"""A look at the owners of machines at Cluster API: how many Machines may be away, and whether they roll out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...common.errors import Denied
from ...common.reading import Json, part, text, whole
from ...common.words import unique
from ...extra_machines.observe.look import ClusterApi
from ...extra_machines.observe.reading import is_paused
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
    keys = unique((each.namespace, each.deployment) for each in own if each.deployment)
    group, kind = OWNERS[CONTROL_PLANE]
    planes = unique((each.namespace, each.controller[1]) for each in own if each.controller[0] == kind)
    found = [_owner(api, owned, *key, names) for key in keys]
    found += [_control_plane(api, owned, ObjectReference(group, kind, *key), names) for key in planes]
    return tuple(each for each in found if each is not None)


def _control_plane(
    api: ClusterApi, owned: Mapping[str, OwnedMachine], named: ObjectReference, going: Collection[str]
) -> OwnedWorkers | None:
    """The machines of a KubeadmControlPlane. How many of them may be away is a matter of etcd alone."""
    try:
        there = object_of(api.client, named)
    except Denied:
        return None
    if there is None:
        return None
    controller = (named.namespace, named.kind, named.name)
    own = [each for each in owned.values() if (each.namespace, *each.controller) == controller]
    nodes = tuple(each.kubernetes_node for each in own if not each.going)
    with reading_object(named.kind, there.item):
        rolls_out = _rolls_out(there.item, own, going)
    return OwnedWorkers(named.called, len(nodes), nodes, most="100%", rolls_out=rolls_out)


def _owner(
    api: ClusterApi, owned: Mapping[str, OwnedMachine], namespace: str, name: str, going: Collection[str]
) -> OwnedWorkers | None:
    try:
        item = api.client.get(api.deployment_path(namespace, name))
    except Denied:
        return None
    if item is None:
        return None
    own = [each for each in owned.values() if (each.namespace, each.deployment) == (namespace, name)]
    nodes = tuple(each.kubernetes_node for each in own if not each.going)
    with reading_object(DEPLOYMENT, item):
        spec = part(item, "spec")
        return OwnedWorkers(
            called=f"{DEPLOYMENT} {namespace}/{name}",
            total=whole(spec, "replicas", len(nodes)),
            kubernetes_nodes=nodes,
            most=most_in(spec),
            rolls_out=_rolls_out(item, own, going),
        )


def _rolls_out(item: Json, own: Sequence[OwnedMachine], going: Collection[str]) -> bool:
    """Whether its controller replaces the Machines of an owner.

    It does not where a Machine that goes now is the one that it has updated in place.
    """
    status, spec = part(item, "status", {}), part(item, "spec")
    in_place = any(each.updated_in_place for each in own if each.kubernetes_node in going)
    if in_place or is_paused(item) or text(_strategy(spec), "type", "") == ON_DELETE:
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
