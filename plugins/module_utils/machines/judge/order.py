"""The order of the machines: the control plane one by one, then the workers of each group. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ...common.release import Release
from ...common.words import unique
from ...run.colouring import NamedUnit, Placement, Turn, disjoint, most_of
from ...run.start.approvals import digest_text
from ..observe.facts import MachineFacts, is_at_rest
from ..observe.state import API_SERVER, FOLLOWING, KubeadmCluster

APPLY, NODE = "apply", "node"
NOTHING_ON_THEM = Placement()
"""The placement where no database is on the machines, or each goes alone."""
Together = tuple[str, Placement]
"""The number or share of the workers of a group that go together, and the copies and votes on them."""
BEGUN = "first, since a run has begun to upgrade it"
CLUSTER_API = "KubeadmControlPlane"
"""The owner that writes the ClusterConfiguration itself, before it touches the first machine (cluster-api,
`controlplane/kubeadm/pkg/workload_cluster.go`)."""


def turns(
    seen: KubeadmCluster,
    groups: Mapping[str, Sequence[str]],
    hops: Sequence[Release],
    facts: Mapping[str, MachineFacts],
    most: str | None = None,
    placement: Placement = NOTHING_ON_THEM,
) -> list[Turn]:
    """The batches in their order, without the machines that are on the target, unless their agent may be at work.

    Each machine goes to each version on the way: `kubeadm upgrade` takes it one minor version at a time
    (kubernetes.io/docs/setup/production-environment/tools/kubeadm/create-cluster-kubeadm, "kubeadm's skew against
    kubeadm"). After the first version their order is that of the cluster as it will be then.

    Args:
        seen: The cluster.
        groups: The machines of each group by name.
        hops: The versions on the way, and the target, which is the last.
        facts: The machines as their roles have seen them.
        most: The number or share of the machines of a group of workers that go together; one if it is None.
        placement: The machines that hold the copies and votes of databases; workers go together only if each set of
            them keeps one.
    """
    names = [name for name in unique(each for group in groups.values() for each in group) if name in seen.machines]
    found, last, version = list[Turn](), hops[-1], str(hops[-1])
    # Only the role reads the end of an operation, and lets the machine take pods again.
    unread = {name for name in names if seen.is_done(name, version) and _is_unread(seen, name, facts)}
    for hop in hops:
        left = [name for name in names if not seen.is_past(name, hop) or (hop == last and name in unread)]
        version = str(hop)
        own = [
            *_of_control_plane(seen, [name for name in left if seen.machines[name].control_plane], version, facts),
            *_of_workers(seen, groups, left, version, (most or "1", placement)),
        ]
        found += own if len(hops) == 1 else [_of_hop(each, version, last=hop == last) for each in own]
        if left:
            seen, facts = foreseen(seen, left, version), {}
    return found


def _is_unread(seen: KubeadmCluster, name: str, facts: Mapping[str, MachineFacts]) -> bool:
    """Whether an operation of the agent is noted whose end neither a run has read, nor the look before the plan."""
    return bool(seen.machines[name].operation) and not is_at_rest(name, facts)


def _of_hop(turn: Turn, version: str, *, last: bool) -> Turn:
    return replace(turn, reason=f"{turn.reason}, to {version}", target="" if last else version)


def foreseen(seen: KubeadmCluster, names: Collection[str], version: str) -> KubeadmCluster:
    """The cluster as it will be once these machines are on a version, and well."""
    return replace(
        seen,
        configured=version,
        machines={
            name: replace(each, kubelet=version, ready=True, carries_undo=False, operation="")
            if name in names
            else each
            for name, each in seen.machines.items()
        },
        components=tuple(
            replace(each, version=version if each.name in (API_SERVER, *FOLLOWING) else each.version, ready=True)
            if each.machine in names
            else each
            for each in seen.components
        ),
        at_work=seen.at_work - {*names},
    )


def _of_control_plane(
    seen: KubeadmCluster, left: Sequence[str], target: str, facts: Mapping[str, MachineFacts]
) -> Iterator[Turn]:
    """One machine at a time: first one that is half upgraded, then those with unhealthy components on a Kubernetes node
    that is Ready, even the leader of etcd, then those that a person wants first, and else the leader last. Among equals
    the oldest goes first."""
    leaders = {name for name, each in facts.items() if each.etcd is not None and each.etcd.leads}
    unhealthy = {name for name in left if seen.machines[name].ready and not seen.is_well(name)}

    def place(name: str) -> tuple[bool, bool, bool, bool, str, str]:
        machine = seen.machines[name]
        begun = seen.is_begun(name, target)
        return not begun, name not in unhealthy, name in leaders, not machine.canary, machine.created, name

    voters = len(seen.voters)
    for name in sorted(left, key=place):
        reason = "next of the control plane"
        if seen.is_begun(name, target):
            reason = BEGUN
        elif name in unhealthy:
            reason = "first, since components on it are not Ready"
        elif name in leaders:
            reason = "the last of the control plane, since its member of etcd leads"
        elif seen.machines[name].canary:
            reason = "first, since it carries the annotation for it"
        holds = any(each.machine == name for each in seen.voters)
        proof = f"etcd keeps {voters - 1} of {voters} members" if holds and voters > 1 else "it goes alone"
        yield Turn([name], reason, proof)


def _of_workers(
    seen: KubeadmCluster, groups: Mapping[str, Sequence[str]], left: Collection[str], target: str, together: Together
) -> list[Turn]:
    """The workers of each group in turn; those that are half upgraded are finished before another is chosen."""
    found = [
        turn for group, members in groups.items() for turn in _of_group(seen, group, members, left, target, together)
    ]
    return sorted(found, key=lambda turn: turn.reason != BEGUN)


def _of_group(
    seen: KubeadmCluster, group: str, members: Sequence[str], left: Collection[str], target: str, together: Together
) -> Iterator[Turn]:
    """The workers of a group: those that are half upgraded, those that a person wants first, the others by zone."""
    workers = [name for name in members if name in seen.machines and not seen.machines[name].control_plane]
    most, placement = together
    at_once = most_of(most, len(workers)) or 1
    begun = [name for name in workers if name in left and seen.is_begun(name, target)]
    canaries = [name for name in workers if name in left and name not in begun and seen.machines[name].canary]
    for name in (*begun, *canaries):
        said = BEGUN if name in begun else f"first of {group}, since it carries the annotation for it"
        yield Turn([name], said, _proof(group, len(workers), 1))
    zones: dict[str, list[str]] = {}
    for name in sorted(workers, key=lambda each: (seen.machines[each].zone, seen.machines[each].created, each)):
        if name in left and name not in (*begun, *canaries):
            zones.setdefault(seen.machines[name].zone, []).append(name)
    for zone, there in zones.items():
        for batch in _together(there, at_once, placement):
            reason = f"next of {group}" + (f" in zone {zone}" if zone else "")
            yield Turn(batch, reason, _proof(group, len(workers), len(batch), placement))


def _together(names: Sequence[str], at_once: int, placement: Placement) -> list[list[str]]:
    if at_once == 1:
        return [[name] for name in names]
    batches = disjoint([NamedUnit(name) for name in names], {"": at_once}, placement)
    return [[each.name for each in batch] for batch in batches]


def _proof(group: str, count: int, going: int, placement: Placement = NOTHING_ON_THEM) -> str:
    kept = ", every copy and vote of the databases on them has another elsewhere" if placement.holders else ""
    also = kept if going > 1 else ""
    return f"{group} keeps {count - going} of its {count} workers{also}, and evictions respect every budget"


def courses(seen: KubeadmCluster, names: Sequence[str], target: str) -> dict[str, str]:
    """The subcommand of `kubeadm upgrade` for each of these machines.

    The first machine of the control plane gets `apply`, which writes the ClusterConfiguration, and all others `node`.
    A killed `apply` that has not written it yet is repeated, and one that has is continued by `node`. If Cluster API
    owns the control plane, it writes the ClusterConfiguration itself, so that all get `node`.
    """
    first = not _is_owned(seen) and seen.configured != target
    return {name: APPLY if first and seen.machines[name].control_plane else NODE for name in names}


def snapshots(seen: KubeadmCluster, names: Sequence[str], target: str) -> list[str]:
    """Those of these machines on which a snapshot of etcd is taken before they are upgraded: those with `apply`. Where
    Cluster API owns the control plane, those of it as long as none of it is on the target."""
    if not _is_owned(seen):
        return [name for name, course in courses(seen, names, target).items() if course == APPLY]
    control_plane = {name: each for name, each in seen.machines.items() if each.control_plane}
    begun = any(each.is_on(target) for each in control_plane.values())
    return [] if begun else [name for name in names if name in control_plane]


def _is_owned(seen: KubeadmCluster) -> bool:
    return any(each.owner == CLUSTER_API for each in seen.machines.values())


def narrowed(groups: Mapping[str, Sequence[str]], only: Collection[str]) -> dict[str, list[str]]:
    """The machines of each group that are to be upgraded: all, unless some are named."""
    kept = {group: [name for name in names if not only or name in only] for group, names in groups.items()}
    return {group: names for group, names in kept.items() if names}


def digest(
    hops: Sequence[Release],
    groups: Mapping[str, Sequence[str]],
    most: str | None,
    conditions: Collection[str] = (),
) -> str:
    """The digest of the result of the plan and its conditions, and not of how far it has come."""
    machines = {group: sorted(names) for group, names in sorted(groups.items())}
    own = [str(hops[-1]), machines, most or "1", sorted(conditions)]
    return digest_text([*own, [*map(str, hops)]] if len(hops) > 1 else own)


def versions(seen: KubeadmCluster, groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The version of the kubelet of each machine by name."""
    return {name: seen.machines[name].kubelet for names in groups.values() for name in names if name in seen.machines}
