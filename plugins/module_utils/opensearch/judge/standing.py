"""The pod of each member, and its state before another member is taken down. Pure.

The cluster is the last to learn that a member goes: its pod is deleted, evicted or lost before it leaves. Until then
its copies count as started and its vote as there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ...kubernetes.state import Namespace, Pod, StatefulSet
from ..observe.state import ClusterMember, ClusterState

_OVER = frozenset({"Failed", "Succeeded"})
"""The phases of a pod whose containers have all ended, and whose address may be another pod's by now."""


class PodsOfMembers:
    """The pods of a namespace, matched with the members of the cluster.

    A pod stands for the member of its name, or, if its server has another name, for the one at its address. On the
    host's network several pods share an address; then a member belongs to the pod of its name there.
    """

    def __init__(self, state: ClusterState, pods: Iterable[Pod]) -> None:
        self._state = state
        self._pods = tuple(pods)
        named = {(pod.name, pod.address) for pod in self._pods}
        self._unnamed: dict[str, list[ClusterMember]] = defaultdict(list)
        for member in state.members.values():
            if member.address and (member.name, member.address) not in named:
                self._unnamed[member.address].append(member)

    def of(self, pod: Pod) -> ClusterMember | None:
        """The member that runs in a pod; None if none does, or if that is not known."""
        own = self._state.named(pod.name)
        others = self._unnamed.get(pod.address, ()) if pod.address and pod.phase not in _OVER else ()
        if own is not None and (own.address == pod.address or not others):
            return own
        return next(iter(others), own)

    def strangers(self) -> list[str]:
        """The names of the members that no pod stands for."""
        known = {member.id for pod in self._pods if (member := self.of(pod)) is not None}
        return sorted(member.name for member in self._state.members.values() if member.id not in known)


def need_pods(state: ClusterState, there: Namespace, meant: Collection[StatefulSet] = ()) -> None:
    """Check that all pods can be read in which a member may run, and those of its set and of the sets `meant`.

    Raises:
        NotUnderstood: one of them cannot be read.
    """
    names = {member.name for member in state.members.values()}
    for one in there.sets:
        own = one.member_names()
        if one in meant or not names.isdisjoint(own):
            names.update(own)
    there.need(names, {member.address for member in state.members.values()} - {""})


@as_verdict
def judge_unread(there: Namespace) -> Iterator[Reason]:
    """Remarks on the pods that cannot be read, once it is known that none of them matters."""
    for each in there.unread:
        why = each.error.verdict.reasons[0].message
        yield remark("pod_unread", f"Pod {each.name} cannot be read, and is not of this cluster: {why}")


@as_verdict
def judge_leaving(state: ClusterState, pods: Collection[Pod], batch: Collection[str]) -> Iterator[Reason]:
    """Whether no member outside the batch runs in a pod that goes or is gone, of whatever pool or owner."""
    standing = PodsOfMembers(state, pods)
    for pod in pods:
        what = becomes_of(pod)
        member = standing.of(pod) if what and pod.name not in batch else None
        if member is not None and member.name not in batch:
            called = "" if member.name == pod.name else f" with the member {member.name}"
            yield waiting(
                "member_leaving",
                f"Pod {pod.name}{called} {what}, so its copies and its vote do not count as staying.",
                "No other member is taken down until it is back. If this lasts, look at it and its Kubernetes node.",
            )


def becomes_of(pod: Pod) -> str:
    """Why a pod's member is down or soon will be, as the end of a sentence; empty if there is no cause."""
    if pod.terminating:
        return "is being deleted"
    if pod.phase in _OVER:
        said = ": ".join(each.rstrip(".") for each in (pod.reason, pod.message) if each)
        return f"has ended ({said or pod.phase})"
    running = any(each.state == "running" for each in pod.containers if not each.init)
    return "" if running or pod.ready else "has no running container"


def holding_unseen(state: ClusterState, pods: Collection[Pod]) -> list[str]:
    """The names of these pods that are no member now, and still have their data outside of volumes.

    A container that ends and starts again finds that data; it is lost only with the pod.
    """
    standing = PodsOfMembers(state, pods)
    return [p.name for p in pods if standing.of(p) is None and p.phase not in _OVER and not p.terminating]


@as_verdict
def judge_addresses(state: ClusterState, pods: Iterable[Pod], *, named: bool) -> Iterator[Reason]:
    """Whether a pod has the address of its member, so that the pods are those of this cluster.

    Charts give the same names in every namespace. So names alone may be those of another cluster, whose state would
    then be the proof for these pods. A member may publish another address than that of its pod (`network.publish_host`)
    or one of the other family, so pools that the user has `named` are believed.
    """
    found = [(pod, state.named(pod.name)) for pod in pods if pod.ready and pod.address]
    pairs = [(pod, member) for pod, member in found if member and member.address]
    pairs = [(pod, member) for pod, member in pairs if (":" in pod.address) == (":" in member.address)]
    if not pairs or any(pod.address == member.address for pod, member in pairs):
        return
    pod, member = pairs[0]
    yield (remark if named else refused)(
        "address_differs",
        f"No member of the cluster has the address of its pod: pod {pod.name} has {pod.address}, and the member of that"
        f" name {member.address}. It may be a member of another cluster, whose members have the same names.",
        "Check that namespace and opensearch.hosts are of the same cluster. If they are, name its pools"
        " (upgrade_pools).",
    )


@as_verdict
def judge_recognised(
    state: ClusterState, pods: Iterable[Pod], everyone: Collection[Pod], *, may_pass: bool = False
) -> Iterator[Reason]:
    """Whether every Ready pod among `pods` is a member of the cluster, by name or by address.

    Another pod may be a member under another name and at another address: it would count as away, and go down without
    any proof. If every member has a pod, it has just not joined. `may_pass` says that it is waited for, since it may be
    out of the cluster only for a short time.
    """
    standing = PodsOfMembers(state, everyone)
    unknown = [pod.name for pod in pods if pod.ready and not pod.terminating and standing.of(pod) is None]
    strangers = standing.strangers() if unknown else []
    if strangers:
        yield (waiting if may_pass else refused)(
            "member_unrecognised",
            "The cluster has no member with the name or the address of these pods, although they are Ready:"
            f" {enumerate_few(unknown)}; and it has members that no pod stands for: {enumerate_few(strangers)}."
            " They may be the same.",
            "Set node.name to the pod's name (for example from metadata.name). If a pod is none of these members, read"
            " in its log why it has not joined.",
        )
