"""Whether a MachineDeployment may get more machines, and whether it has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ..observe.state import MOST, Machine, MachineDeployment


def missing(namespace: str, name: str) -> Reason:
    """The reason that says that there is no such MachineDeployment."""
    return refused(
        "machine_deployment_missing",
        f"There is no MachineDeployment {name} in namespace {namespace} of the management cluster.",
        "Correct its name and namespace (machine_deployments), or the connection (management).",
    )


@as_verdict
def judge_at_work(seen: MachineDeployment) -> Iterator[Reason]:
    """Whether Cluster API makes machines for it."""
    if seen.going:
        yield refused(
            "machine_deployment_going",
            f"{seen.called} is being deleted.",
            "Take it out of machine_deployments.",
        )
    if seen.paused:
        yield refused(
            "machine_deployment_paused",
            f"{seen.called} is paused, so Cluster API makes no machines for it.",
            "Set spec.paused of it and of its Cluster to false, or remove the annotation cluster.x-k8s.io/paused.",
        )


@as_verdict
def judge_addable(seen: MachineDeployment, extra: int) -> Iterator[Reason]:
    """Whether nothing would take back `extra` more machines, or make still others."""
    wanted = seen.replicas + extra
    if extra < 1:
        yield refused(
            "extra_not_positive",
            f"{seen.called} is to get {extra} more machines.",
            "Set extra to 1 or more, or take it out of machine_deployments.",
        )
    if seen.most is not None and wanted > seen.most:
        yield refused(
            "machines_above_maximum",
            f"{seen.called} would get {wanted} machines, and the cluster autoscaler may give it {seen.most} at"
            " the most.",
            f"Raise its annotation {MOST} to {wanted} or more, or ask for fewer extra machines.",
        )
    if seen.by_topology:
        yield refused(
            "machines_set_by_topology",
            f"The topology of its Cluster sets the number of the machines of {seen.called}, and would put it back.",
            "Take replicas of this MachineDeployment out of the topology of the Cluster. Its machines then stay as they"
            " are.",
        )


@as_verdict
def judge_kept(seen: MachineDeployment) -> Iterator[Reason]:
    """Whether the extra machines that a run has asked for are still asked for."""
    change, undo = seen.change, seen.undo
    if change is None or undo is None or seen.replicas == change.set_to:
        return
    run = undo.writer.run or "without a name"
    said = f"Run {run} gave {seen.called} {change.set_to} machines, and something else has set {seen.replicas} since"
    if seen.replicas > change.set_to:
        yield remark("machines_changed_by_another", f"{said}; they are enough.")
    else:
        yield refused(
            "machines_changed_by_another",
            f"{said}.",
            "Have that leave spec.replicas alone, such as a tool that keeps it in Git. Remove the extra machines with"
            " state=absent, and run again.",
        )


@as_verdict
def judge_ready(seen: MachineDeployment, machines: Iterable[Machine]) -> Iterator[Reason]:
    """Whether all machines that it is to have are Ready."""
    if seen.observed and seen.ready >= seen.replicas:
        return
    unready = sorted((each for each in machines if not each.ready and not each.going), key=_age)
    # A status that is older than the spec may count machines that are gone.
    ready = min(seen.ready, seen.replicas) if seen.observed else None
    counted = f"has {ready} of" if ready is not None else "does not have all"
    yield waiting(
        "machines_not_ready",
        f"{seen.called} {counted} {seen.replicas} machines Ready{_last_word(unready)}.",
        "See why it does not become Ready: clusterctl describe cluster and the events of the machine show it.",
        about=seen.key,
    )


def _last_word(unready: list[Machine]) -> str:
    if not unready:
        return ""
    machine = unready[-1]
    said = f": {machine.message.strip().rstrip('.')}" if machine.message.strip() else ""
    return f"; machine {machine.name} is {machine.phase or 'new'}{said}"


def _age(machine: Machine) -> tuple[str, str]:
    return machine.created, machine.name
