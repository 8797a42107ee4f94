"""A look at the MachineDeployments of machines: how many of their Machines may be away."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...common.errors import Denied
from ...common.reading import Json, part, whole
from ...common.words import unique
from ...extra_machines.observe.look import ClusterApi
from ...kubernetes.answers import reading_object
from .owned_machines import OwnedMachine
from .state import OwnedWorkers

DEPLOYMENT = "MachineDeployment"


def owners_of(api: ClusterApi, owned: Mapping[str, OwnedMachine], names: Collection[str]) -> tuple[OwnedWorkers, ...]:
    """The MachineDeployments of the machines of these Kubernetes nodes, as far as this user may get them.

    Raises:
        Refusal: they cannot be had or understood.
    """
    keys = unique((owned[name].namespace, owned[name].deployment) for name in names if name in owned)
    found = (_owner(api, owned, *key) for key in keys if key[1])
    return tuple(each for each in found if each is not None)


def _owner(api: ClusterApi, owned: Mapping[str, OwnedMachine], namespace: str, name: str) -> OwnedWorkers | None:
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
            f"{DEPLOYMENT} {namespace}/{name}", whole(spec, "replicas", len(nodes)), nodes, most_in(spec)
        )


def most_in(spec: Json) -> str:
    """The `maxUnavailable` in the spec of a MachineDeployment; empty if it gives none.

    Since v1beta2 of the API its strategy is in `rollout` (cluster-api, `api/core/v1beta2/machinedeployment_types.go`).
    """
    strategy = part(part(spec, "rollout", {}), "strategy", {}) or part(spec, "strategy", {})
    found: Any = part(strategy, "rollingUpdate", {}).get("maxUnavailable")
    return "" if found is None else str(found)
