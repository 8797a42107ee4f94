"""Whether the next machines may go down: their Kubernetes nodes, and what is left of their group. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ...run.colouring import most_of
from ..observe.state import KubeadmCluster


def may_go(available: int, total: int, going: int, most: int) -> bool:
    """Whether a further `going` may be taken from those that are `available`, of `total` in all.

    For one machine it is `available > total - most`: the design of the in-place upgrade extension writes the inequality
    the other way round, with which work would start once too few are there.
    """
    return available - going >= total - most


@as_verdict
def judge_available(
    seen: KubeadmCluster, groups: Mapping[str, Sequence[str]], going: Collection[str], most: str | None
) -> Iterator[Reason]:
    """Whether each group of workers keeps enough available ones: Ready, and not being deleted.

    A machine that goes and is not available takes none away, so that one that is half upgraded can be finished.
    """
    for group, names in groups.items():
        workers = [name for name in names if name not in seen.machines or not seen.machines[name].control_plane]
        leave = [name for name in workers if name in going]
        there = [name for name in workers if _is_available(seen, name)]
        allowed = max(most_of(most or "1", len(workers)) or 1, 1)
        if leave and not may_go(len(there), len(workers), len(set(leave) & set(there)), allowed):
            missing = enumerate_few(name for name in workers if name not in there)
            yield waiting(
                "too_few_available",
                f"Group {group} has {len(there)} of {len(workers)} workers available, and at most {allowed} may be"
                f" away: {missing}.",
                "Bring them back, or raise upgrade_max_unavailable.",
                about=group,
            )


@as_verdict
def judge_owners(seen: KubeadmCluster, going: Collection[str], most: str | None) -> Iterator[Reason]:
    """Whether each MachineDeployment of these machines keeps enough available ones of those that it is to have, and
    Cluster API does not replace its machines at this time.

    A number that the user gives counts if it lets more of them go.
    """
    for owner in seen.owners:
        if owner.rolls_out and any(name in going for name in owner.kubernetes_nodes):
            yield waiting(
                "machines_roll_out",
                f"{owner.called} is being rolled out, so Cluster API may delete a machine of it during work on it.",
                "Wait until its rollout has ended, or pause it (annotation cluster.x-k8s.io/paused).",
                about=owner.called,
            )
        there = [name for name in owner.kubernetes_nodes if _is_available(seen, name)]
        leave = [name for name in owner.kubernetes_nodes if name in going]
        wanted = most_of(most, owner.total) or 1
        allowed = max(allowed_of(owner.most, owner.total), wanted)
        if leave and not may_go(len(there), owner.total, len({*leave} & {*there}), allowed):
            yield waiting(
                "too_few_available",
                f"{owner.called} has {len(there)} of {owner.total} machines available, and at most {allowed} may be"
                " away (maxUnavailable).",
                "Bring the others back, or wait until Cluster API has made them, or raise its maxUnavailable or"
                " upgrade_max_unavailable.",
                about=owner.called,
            )


def allowed_of(most: str, total: int) -> int:
    """The machines of a MachineDeployment that may be away, by its `maxUnavailable`; one that cannot be read is none.

    A percentage is rounded down (cluster-api, `mdutil.MaxUnavailable`). One may always go: by default a
    MachineDeployment allows none and makes a further machine first, which an upgrade in place does not.
    """
    digits = most.strip().removesuffix("%")
    if not (digits.isascii() and digits.isdigit()):
        return 1
    return max(1, int(digits) * total // 100 if most.strip().endswith("%") else int(digits))


def _is_available(seen: KubeadmCluster, name: str) -> bool:
    machine = seen.machines.get(name)
    return machine is not None and machine.ready and not machine.leaving


@as_verdict
def judge_only(seen: KubeadmCluster, given: Collection[str], only: Collection[str], target: str) -> Iterator[Reason]:
    """Whether the machines to which a run is narrowed are those of its groups, and may be upgraded now."""
    unknown = sorted(set(only) - set(given))
    if unknown:
        yield refused(
            "machine_unknown",
            f"No group of upgrade_groups has the machines of upgrade_only: {enumerate_few(unknown)}.",
            "Name machines by their Kubernetes nodes, or add their group to upgrade_groups.",
        )
    workers = [name for name in only if name in seen.machines and not seen.machines[name].control_plane]
    behind = [name for name in seen.control_plane if name not in only and not seen.is_done(name, target)]
    if only and workers and behind:
        yield refused(
            "control_plane_behind",
            f"The control plane goes first, and {enumerate_few(behind)} would stay behind {target}.",
            "Upgrade the control plane first, or name its machines too.",
        )
