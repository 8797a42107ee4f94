"""The machines that go when a MachineDeployment loses its extra ones. No machine with a member of the cluster goes.

Of a MachineSet, Cluster API first deletes the machines that are being deleted already, then those with its annotation,
by name (`machineset_deletion_order.go`). So the annotation has to stand on as many machines as are to go, and on none
that has a member. It says nothing between several MachineSets, so a rollout has to end first.

A mark of another user or tool on a machine with a member stops everything, since that machine would go. Marks of a
run are known by their value, so that those of a killed run are counted, or taken back. A member without a Kubernetes
node is waited for: its volume may be on a machine that seems free. Seen in Cluster API v1.12.0, which chooses by
chance among equal machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...common.verdict import Reason, Verdict, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few, first_few
from ..observe.state import DELETE_FIRST, Machine, MachineDeployment, Members


class _Rank(NamedTuple):
    """The order in which machines are chosen: the highest rank first."""

    marked_by_another: bool
    ours: bool
    without_node: bool
    created: str
    name: str


@dataclass(frozen=True)
class LeavingMachines:
    """The machines that go, and those that Cluster API would take although they hold members."""

    chosen: tuple[Machine, ...] = ()
    to_mark: tuple[Machine, ...] = ()
    to_unmark: tuple[Machine, ...] = ()
    """The machines that a run has marked, and that are not to go."""
    verdict: Verdict = field(default_factory=Verdict)


@as_verdict
def judge_settled(seen: MachineDeployment, machines: Sequence[Machine], members: Members) -> Iterator[Reason]:
    """Whether it is known now which machines Cluster API would delete, and which of them have a member."""
    if seen.paused:
        yield waiting(
            "machine_deployment_paused",
            f"{seen.called} is paused, so Cluster API removes none of its machines.",
            "Set spec.paused of it and of its Cluster to false, or remove the annotation cluster.x-k8s.io/paused.",
            about=seen.key,
        )
    sets = {each.machine_set for each in machines}
    if len(sets) > 1 or (seen.observed and seen.up_to_date < seen.replicas):
        yield waiting(
            "machines_roll_out",
            f"{seen.called} is being rolled out, and until that ends it is not known which machines Cluster API"
            " would delete.",
            "If it does not end, see what holds the rollout up.",
            about=seen.key,
        )
    elif not seen.observed or len(machines) != seen.replicas:
        yield waiting(
            "machines_unsettled",
            f"{seen.called} has {len(machines)} machines and is to have {seen.replicas}, so Cluster API is at work.",
            "If this lasts, see whether the controllers of Cluster API run, and what the events of its MachineSet say.",
            about=seen.key,
        )
    if members.nowhere:
        yield waiting(
            "members_without_node",
            f"Pods of members are on no Kubernetes node yet ({enumerate_few(members.nowhere)}), and may come to one"
            f" of {seen.called}.",
            "If this lasts, see why they are not scheduled.",
            about=seen.key,
        )


def choose(seen: MachineDeployment, machines: Sequence[Machine], members: Members, count: int) -> LeavingMachines:
    """The `count` machines that go first, none of which has a member.

    Machines that are being deleted already go whatever is chosen, and count. Of the others, those that someone has
    marked come first, then those without a Kubernetes node, then the newest.
    """
    left = max(0, count - sum(each.going for each in machines))
    staying = [each for each in machines if not each.going]
    free = [each for each in staying if not _held(each, members)]
    chosen = tuple(sorted(free, key=_rank, reverse=True)[:left])
    marked_by_another = [each for each in staying if each.mark is not None and not each.ours]
    reasons = _refusals(seen, staying, members, left - len(chosen), [each for each in marked_by_another if left])
    return LeavingMachines(
        chosen,
        tuple(each for each in chosen if each.mark is None),
        tuple(each for each in staying if each.ours and each not in chosen),
        Verdict(tuple(reasons)),
    )


def _refusals(
    seen: MachineDeployment, machines: Sequence[Machine], members: Members, lacking: int, marked: Iterable[Machine]
) -> Iterator[Reason]:
    """The reasons for which none may go: Cluster API would take a machine that has a member."""
    for each in marked:
        if pods := _held(each, members):
            yield refused(
                "machines_hold_members",
                f"Machine {each.name} of {seen.called} carries the annotation {DELETE_FIRST}, which no run has written,"
                f" and its Kubernetes node {each.kubernetes_node} has the members {enumerate_few(pods)}.",
                "Remove that annotation to keep the machine, or move the members away. Then run settle.",
            )
    if lacking > 0:
        held = [f"{each.name} ({each.kubernetes_node}: {', '.join(_held(each, members))})" for each in machines]
        yield refused(
            "machines_hold_members",
            f"{seen.called} is to lose {lacking} more of its machines, and all others hold members: {first_few(held)}.",
            "Move these members to other Kubernetes nodes (cordon theirs, and have each gate passed before its pod is"
            " deleted), then run settle. To keep the machines instead, remove the annotation upgrade.stateful/undo of"
            " the MachineDeployment.",
        )


def changed_by_another(seen: MachineDeployment) -> Reason | None:
    """The remark on a number of machines that something else has changed since; None if it is as a run has set it."""
    if seen.change is None or seen.undo is None or seen.replicas == seen.change.set_to:
        return None
    return remark(
        "machines_changed_by_another",
        f"Run {seen.undo.writer.run or 'without a name'} gave {seen.called} {seen.change.set_to} machines, and"
        f" something else has set {seen.replicas} since; they are left as they are.",
    )


def leaving(seen: MachineDeployment, machines: Sequence[Machine]) -> Reason | None:
    """The reason to wait while it has more machines than it is to have."""
    if len(machines) <= seen.replicas:
        return None
    going = sorted(each.name for each in machines if each.going or each.ours)
    named = f" ({first_few(going)})" if going else ""
    return waiting(
        "machines_leaving",
        f"{seen.called} still has {len(machines)} machines and is to have {seen.replicas}{named}.",
        "If a machine does not go, see what keeps its Kubernetes node from being drained, or its machine from being"
        " deleted.",
        about=seen.key,
    )


def _held(machine: Machine, members: Members) -> tuple[str, ...]:
    return members.on.get(machine.kubernetes_node, ()) if machine.kubernetes_node else ()


def _rank(machine: Machine) -> _Rank:
    marked_by_another = machine.mark is not None and not machine.ours
    return _Rank(marked_by_another, machine.ours, not machine.kubernetes_node, machine.created, machine.name)
