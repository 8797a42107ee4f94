"""The members of a cluster for the inventory: each with its pool, its zone, its roles, its version and its shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..common.arguments import KUBERNETES, OPENSEARCH
from ..common.task import Contract
from ..kubernetes import client as kubernetes
from ..kubernetes.state import Pod
from ..kubernetes.stateful_sets import observe_namespace
from .judge.set_pools import belongs
from .judge.standing import PodsOfMembers
from .observe.client import connect
from .observe.cluster import observe
from .observe.state import ClusterMember, ClusterState

CONTRACT = Contract(
    argument_spec={
        **KUBERNETES,
        **OPENSEARCH,
        "namespace": {"type": "str"},
        "zone_attribute": {"type": "str", "default": "zone"},
    }
)


@dataclass(frozen=True)
class Listed:
    """One member. A pod of the cluster's pools that is not in the cluster has no version, no role and no shard."""

    name: str
    pool: str
    """The StatefulSet of its pod; empty if Kubernetes is not asked."""
    zone: str
    version: str
    roles: tuple[str, ...]
    shards: int
    elected: bool
    kubernetes_node: str

    def as_variables(self) -> dict[str, Any]:
        """The variables of its host."""
        return {f"member_{name}": value for name, value in asdict(self).items()}


def list_members(params: Mapping[str, Any]) -> list[Listed]:
    """All members of the cluster by name; with a namespace also those pods of its pools that are away.

    Raises:
        Refusal: OpenSearch or Kubernetes does not answer, or not as it should.
    """
    return members_in(observe(connect(params["opensearch"], params["kubernetes"])), params)


def members_in(state: ClusterState, params: Mapping[str, Any]) -> list[Listed]:
    """The same of a cluster that was looked at already.

    Raises:
        Refusal: Kubernetes does not answer, or not as it should.
    """
    pods = dict(_pods(params, state)) if params["namespace"] else {}
    standing = PodsOfMembers(state, [pod for _pool, pod in pods.values()])
    held = Counter(copy.member for copy in state.copies if copy.member is not None)
    found = {}
    for name, (pool, pod) in pods.items():
        member = standing.of(pod)
        found[member.name if member else name] = _listed(name, member, state, held, params["zone_attribute"], pool, pod)
    for member in state.members.values():
        found.setdefault(member.name, _listed(member.name, member, state, held, params["zone_attribute"]))
    return [found[name] for name in sorted(found)]


def _pods(params: Mapping[str, Any], state: ClusterState) -> Iterator[tuple[str, tuple[str, Pod]]]:
    there = observe_namespace(kubernetes.connect(params["kubernetes"]), params["namespace"])
    for pool in there.sets:
        pods = there.pods_of(pool)
        if belongs(pods.values(), state):
            yield from ((name, (pool.name, pod)) for name, pod in pods.items())


def _listed(
    name: str,
    member: ClusterMember | None,
    state: ClusterState,
    held: Mapping[str, int],
    zone_attribute: str,
    pool: str = "",
    pod: Pod | None = None,
) -> Listed:
    return Listed(
        name=member.name if member else name,
        pool=pool,
        zone=member.attributes.get(zone_attribute, "") if member else "",
        version=str(member.version) if member else "",
        roles=tuple(sorted(member.roles)) if member else (),
        shards=held.get(member.id, 0) if member else 0,
        elected=member is not None and member.id == state.elected,
        kubernetes_node=pod.kubernetes_node if pod else "",
    )
