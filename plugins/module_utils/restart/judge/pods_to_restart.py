"""The request of a restart: the pods that are due, from the marks of all pods. Pure.

Pods that are marked are the request: a person has scheduled them, or a run that was killed. Without any mark it is
every pod, and so it is if a run was killed while it marked them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from .phases import PHASE, SCHEDULED, STOPPED, TOGETHER, UNDER_WAY, Marked, RestartPhase


@dataclass(frozen=True)
class PodsToRestart:
    """The pods that are to be restarted."""

    names: frozenset[str]
    due: frozenset[str] | None = None
    """Those that are to get another configuration; None if the request is not for a configuration."""
    under_way: frozenset[str] = frozenset()
    """Those that an interrupted run has started to restart."""
    by_person: tuple[str, ...] = ()
    """Those that a person has scheduled."""
    stay_stopped: tuple[str, ...] = ()
    """The pods that a person wants stopped, and that are left as they are."""
    to_stop: frozenset[str] = frozenset()
    """The pods that a person wants stopped, and whose processes this run is to stop."""

    @property
    def condition(self) -> str:
        """The words for the request that consent covers. A run that goes on has the same as the one that was killed."""
        if self.by_person:
            return f"restart of {' '.join(self.by_person)}"
        return "restart of all" if self.due is None else "restart for a configuration"


def pods_to_restart(
    pods: Sequence[Marked], due: frozenset[str] | None = None, *, stops: bool = False, partly: bool = False
) -> PodsToRestart:
    """The request in the marks of all pods of the cluster, and in the configurations that are `due`.

    Without a mark and a configuration it is every pod. `stops` says whether the way of the run keeps a process stopped,
    and `partly` whether the marks are those of a run that was killed before it had marked all pods.
    """
    to_stop = frozenset(pod.name for pod in pods if stops and pod.stays_stopped and not pod.rests)
    stay = tuple(pod.name for pod in pods if pod.stays_stopped and pod.name not in to_stop)
    free = [pod for pod in pods if pod.name not in stay]
    marked = [pod for pod in free if pod.phase is not None or pod.name in to_stop]
    return PodsToRestart(
        names=frozenset(pod.name for pod in (marked if (marked and not partly) or due is not None else free))
        | (frozenset(pod.name for pod in free) & (due or frozenset())),
        due=due,
        under_way=frozenset(pod.name for pod in marked if pod.phase in UNDER_WAY),
        by_person=tuple(sorted(pod.name for pod in marked if not pod.run and pod.phase not in UNDER_WAY)),
        stay_stopped=stay,
        to_stop=to_stop,
    )


def as_agreed(request: PodsToRestart, pods: Iterable[Marked], scheduled: Collection[str]) -> PodsToRestart:
    """The request with the pods that people had `scheduled` when it was agreed to: some of them may be done by now."""
    left = [pod for pod in pods if pod.phase is not None or pod.name in request.to_stop]
    by_person = {pod.name for pod in left if not pod.run}
    return replace(request, by_person=tuple(scheduled)) if left and by_person <= {*scheduled} else request


def marked_in_part(pods: Sequence[Marked], left: Collection[str] = ()) -> bool:
    """Whether a run has marked some pods and not the others, and nothing else was done since.

    A run notes its request after the marks. So before that, one was killed while it made them. Pods that a person has
    scheduled name no run, and those that were `left` when the last request was completed are of the run before it.
    """
    marked = {pod.name for pod in pods if pod.phase is not None}
    if marked <= {*left} or marked != {pod.name for pod in pods if pod.run and pod.phase in SCHEDULED}:
        return False
    return bool(marked) and any(pod.name not in marked for pod in pods if not pod.stays_stopped)


@as_verdict
def judge_stops(pods: Iterable[Marked], way: str, *, keeps_stopped: bool) -> Iterator[Reason]:
    """Whether the process control of a run can keep processes stopped, if pods are annotated to want that."""
    names = [pod.name for pod in pods if pod.stays_stopped]
    if names and not keeps_stopped:
        yield refused(
            "stop_needs_agent",
            f"The annotation {STOPPED} asks to keep the processes of {enumerate_few(names)} stopped, and the way"
            f" {way} cannot do that: the process comes back by itself.",
            "Use the way agent (upgrade_restart_way), or remove the annotation.",
        )


@as_verdict
def judge_together(
    pods: Collection[Marked], expected: Collection[str], way: str, *, keeps_stopped: bool, allowed: bool
) -> Iterator[Reason]:
    """Whether the processes of these pods may all be stopped before the first one starts: those of all members."""
    names = [pod.name for pod in pods if pod.phase in TOGETHER]
    if not names:
        return
    if not keeps_stopped:
        yield refused(
            "together_needs_agent",
            f"The processes of {enumerate_few(names)} are to restart all at once, and the way {way} cannot keep a"
            " process stopped: it comes back by itself.",
            "Use the way agent (upgrade_restart_way), or set the phase schedule-rolling on them, so that they restart"
            " one after the other.",
        )
    if not any(pod.phase is RestartPhase.SCHEDULE_COORDINATED for pod in pods):
        return
    if others := sorted({*expected} - {*names}):
        yield refused(
            "together_without_all",
            f"The processes of {enumerate_few(names)} are to restart all at once, without {enumerate_few(others)}."
            " Only a restart of every member at once needs no proof that copies stay elsewhere.",
            "Set the phase schedule-coordinated on every member, or schedule-rolling on these.",
        )
    if not allowed:
        yield refused(
            "full_restart_not_allowed",
            f"All {len(names)} processes are to be stopped before the first one starts, so the whole cluster is away"
            " for that time.",
            "Allow it with allow_full_restart (upgrade_allow_full_restart), or set the phase schedule-rolling on the"
            " members.",
        )


@as_verdict
def judge_all_ready(missing: Collection[str], unready: Collection[str]) -> Iterator[Reason]:
    """Whether every member is up whose process is to be stopped together with all others.

    One that is down already has a fault of its own. Whether a restart of all fixes it would be known only once the
    whole cluster is away.
    """
    remedy = (
        "Bring them back first. A single pod restarts alone with the annotation"
        f" {PHASE}={RestartPhase.SCHEDULE.value}; one whose probe is wrong takes a new pod."
    )
    if missing:
        yield waiting(
            "together_not_ready",
            f"All processes are to stop at once, and {enumerate_few(sorted(missing))} has no pod.",
            remedy,
        )
    if unready:
        yield waiting(
            "together_not_ready",
            f"All processes are to stop at once, and {enumerate_few(sorted(unready))} is not Ready.",
            remedy,
        )


@as_verdict
def judge_resting(names: Collection[str]) -> Iterator[Reason]:
    """A remark on processes that were stopped, and stay so."""
    yield remark(
        "process_stays_stopped",
        f"The processes of {enumerate_few(names)} are stopped and stay so: their pods are annotated with {STOPPED}.",
        f"Remove the annotation {STOPPED}; the next run starts them.",
    )


@as_verdict
def judge_pods_to_restart(
    request: PodsToRestart, pods: Sequence[Marked], versions: Collection[str]
) -> Iterator[Reason]:
    """Whether the request can be carried out one batch after the other, and remarks on what it leaves out."""
    if len(versions) > 1:
        yield refused(
            "versions_mixed",
            f"The members run {' and '.join(sorted(versions))}: an upgrade is in progress.",
            "Finish the upgrade first. It restarts every member that it upgrades.",
        )
    if request.stay_stopped:
        yield remark(
            "process_stays_stopped",
            f"The processes of {enumerate_few(request.stay_stopped)} stay stopped: their pods are annotated with"
            f" {STOPPED}.",
            "Remove the annotation upgrade.stateful/stop to have them restarted, too.",
        )
