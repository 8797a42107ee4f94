"""The members of a cluster for the inventory: each with its pool, its zone, its roles, its version and its shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..common.arguments import KUBERNETES, OPENSEARCH
from ..common.errors import Unreachable, refusal
from ..common.task import Contract
from ..common.words import enumerate_few
from ..kubernetes import client as kubernetes
from ..kubernetes.state import Namespace, Pod
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
    there = _namespace(params)
    pods = dict(_pods(there, state)) if there else {}
    standing = PodsOfMembers(state, there.pods if there else ())
    others = {member.id: pod for pod in there.pods if (member := standing.of(pod))} if there else {}
    held = Counter(copy.member for copy in state.copies if copy.member is not None)
    found = {}
    for name, (pool, pod) in pods.items():
        member = standing.of(pod)
        found[member.name if member else name] = _listed(name, member, state, held, params["zone_attribute"], pool, pod)
    for member in state.members.values():
        # Its pod may be of no StatefulSet.
        own = others.get(member.id)
        found.setdefault(member.name, _listed(member.name, member, state, held, params["zone_attribute"], pod=own))
    return [found[name] for name in sorted(found)]


def refuse_unplaced(listed: Sequence[Listed], namespace: str) -> None:
    """Check that the Kubernetes node of each member of the cluster is known, so that none goes without its proof.

    Raises:
        Refusal: no member has a pod in that namespace.
        Unreachable: some have none. The pod of a member that goes may be gone before the member is.
    """
    there = [each.name for each in listed if each.version]
    unplaced = [each.name for each in listed if each.version and not each.kubernetes_node]
    if unplaced and unplaced == there:
        raise refusal(
            "members_without_pods",
            f"No member of the cluster has a pod in namespace {namespace}, so it is not known which of them run on the"
            " Kubernetes nodes.",
            "Correct the namespace. If the members are no pods, name those that go (batch).",
        )
    if unplaced:
        raise Unreachable.because(
            "members_without_pods",
            f"It is not known on which Kubernetes nodes {enumerate_few(unplaced)} run: they have no pods in namespace"
            f" {namespace}.",
            "Have all members of a cluster in one namespace, or name those that go (batch).",
        )


def _namespace(params: Mapping[str, Any]) -> Namespace | None:
    if not params["namespace"]:
        return None
    return observe_namespace(kubernetes.connect(params["kubernetes"]), params["namespace"])


def _pods(there: Namespace, state: ClusterState) -> Iterator[tuple[str, tuple[str, Pod]]]:
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
