"""The pods that an interrupted restart has left: which process may be stopped, and how it is started. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from .phases import TOGETHER, Marked, Process

GO_ON = "Run the playbook restart again with the same variables: it continues from there."


def of_other_clusters(marks: Iterable[Marked], cluster: str) -> tuple[Marked, ...]:
    """The pods that runs on other clusters have marked; none if the own cluster is not known. Empty stands for that."""
    return tuple(mark for mark in marks if cluster and mark.cluster not in {"", cluster})


@as_verdict
def judge_others(marks: Collection[Marked]) -> Iterator[Reason]:
    """A remark on pods that are left to the runs on their own cluster, which may be alive."""
    if marks:
        names = enumerate_few(mark.name for mark in marks)
        yield remark(
            "restart_of_another_cluster",
            f"The restart of {names} was begun by a run on another cluster, under the lock"
            f" {enumerate_few(sorted({mark.cluster for mark in marks}))}, and is left to that.",
            "If that run was killed, settle with the connection to its cluster.",
        )


@as_verdict
def judge_left(mark: Marked, *, ready: bool) -> Iterator[Reason]:
    """A pod whose process a restart has begun to stop, as far as its annotations and its readiness show.

    It is a remark if the pod is Ready. If it is not, nothing starts its process again by itself.
    """
    if mark.phase is None or mark.rests:
        return
    state = "The pod is Ready." if ready else "The pod is not Ready, so its process may be stopped."
    yield (remark if ready else refused)(
        "restart_interrupted",
        f"The restart of {mark.name} has started and is not complete (phase {mark.phase.value}). {state}",
        f"{GO_ON} The playbook settle starts its process without going on (upgrade_system=stateful.upgrade.restart).",
    )


@as_verdict
def judge_interrupted(mark: Marked, process: Process, way: str, *, ready: bool, started: bool) -> Iterator[Reason]:
    """Whether the process of a pod runs again whose restart was interrupted.

    Of a restart of all at once none is started alone: it might be on a configuration with which it cannot join those
    that are started later.
    """
    if mark.phase is None:
        return
    phase = mark.phase.value
    if mark.phase in TOGETHER and not process.running:
        yield refused(
            "restart_together_interrupted",
            f"The process of {mark.name} is stopped: a restart of all members at once was interrupted (phase {phase}).",
            GO_ON,
        )
    elif not process.running:
        why = " The file with its configuration is not mounted." if not process.checksum and way == "agent" else ""
        yield waiting(
            "process_starting",
            f"The process of {mark.name} was stopped by an interrupted restart (phase {phase}), and does not run"
            f" yet.{why}",
            "Look at the log of the pod, and at the events of the pod.",
            about=mark.name,
        )
    elif not ready:
        yield waiting(
            "pod_starting",
            f"A restart of {mark.name} was interrupted in phase {phase}, and the pod is not Ready: its process may be"
            " stopped.",
            "Read its log."
            if way == "agent"
            else "If an agent keeps it stopped, give upgrade_restart_way=agent and upgrade_agent to have it started.",
            about=mark.name,
        )
    else:
        deed = "was started" if started else "runs"
        yield remark(
            "restart_interrupted",
            f"The restart of {mark.name} was interrupted in phase {phase}. Its process {deed}, and the phase stays.",
            GO_ON,
        )
