"""The phases of a restart, as annotations of pods carry them, and the only steps between them.

They are those of the design "Reusing pods by restarting the ES process with a new configuration": first `schedule`,
`schedule-rolling` or `schedule-coordinated`, then `stop` or `stop-coordinated`, then `start` or `start-coordinated`,
and in the end none. A phase only ever goes forward, so each step may be made again after a kill or on a stale read.
Pure: no client, no clock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few

PHASE = "upgrade.stateful/restart-phase"
"""The annotation of a pod, or of a StatefulSet for all its pods, that holds the phase."""
PHASE_OF_OPERATOR = "elasticsearch.k8s.elastic.co/restart-phase"
"""The annotation of the source design, which is understood and never written."""
STOPPED = "upgrade.stateful/stop"
"""The annotation of a pod whose process a person wants stopped, until the annotation is removed."""
PROCESS = "upgrade.stateful/restart-process"
"""The annotation that names the process to end, so that a stale read never ends its successor."""
NO_PROCESS = "none"
"""The name of the process to end in a pod in which none ran. So the one that is started counts as its successor."""
RUN = "upgrade.stateful/restart-run"
"""The annotation with the run that has scheduled a pod. A pod that a person has scheduled has none."""
CLUSTER = "upgrade.stateful/restart-cluster"
"""The annotation with the name of the lock of that run, one for each cluster; none for a task outside a run."""
MEMBER = "upgrade.stateful/restart-member"
"""The annotation with the process to end as the cluster knows it (ephemeral id): its successor has another one."""
CHOSEN = "upgrade.stateful/restart-configuration"
"""The annotation with the checksum of the configuration that this restart brings. It is set before that is written."""
FOUND = "upgrade.stateful/restart-found"
"""The annotation with the checksum of the key that the run has found as it scheduled the pod. Another content that is
neither this one nor the wanted one was written by someone else."""
UNSURE = "unsure"
"""The note in place of that checksum if the process may have read one content or another."""
CONFIGURED = "upgrade.stateful/configuration"
"""The annotation that stays after a restart: the checksum of the configuration that it has brought."""


class RestartPhase(str, Enum):
    """A phase of the restart of one pod's process. The value is that of the annotation."""

    SCHEDULE = "schedule"
    SCHEDULE_ROLLING = "schedule-rolling"
    SCHEDULE_COORDINATED = "schedule-coordinated"
    STOP = "stop"
    STOP_COORDINATED = "stop-coordinated"
    START = "start"
    START_COORDINATED = "start-coordinated"


SCHEDULED = frozenset({RestartPhase.SCHEDULE, RestartPhase.SCHEDULE_ROLLING, RestartPhase.SCHEDULE_COORDINATED})
"""The phases in which nothing has been done to the process yet."""
STOPPING = frozenset({RestartPhase.STOP, RestartPhase.STOP_COORDINATED})
"""The phases in which the process is stopped."""
STARTING = frozenset({RestartPhase.START, RestartPhase.START_COORDINATED})
"""The phases in which the process is started on the wanted configuration."""
UNDER_WAY = STOPPING | STARTING
"""The phases of a member that is down, or about to be."""

_NEXT: Mapping[RestartPhase, RestartPhase | None] = {
    RestartPhase.SCHEDULE: RestartPhase.STOP,
    RestartPhase.SCHEDULE_ROLLING: RestartPhase.STOP,
    RestartPhase.SCHEDULE_COORDINATED: RestartPhase.STOP_COORDINATED,
    RestartPhase.STOP: RestartPhase.START,
    RestartPhase.STOP_COORDINATED: RestartPhase.START_COORDINATED,
    RestartPhase.START: None,
    RestartPhase.START_COORDINATED: None,
}


@dataclass(frozen=True)
class Marked:
    """One pod with the marks of a restart that it carries."""

    name: str
    uid: str
    phase: RestartPhase | None = None
    process: str = ""
    """The process to end, as the phase `stop` has noted it; empty before that."""
    member: str = ""
    """The same process as the cluster knows it."""
    stays_stopped: bool = False
    """Whether a person wants its process stopped."""
    run: str = ""
    """The run that has scheduled it; empty if a person has."""
    chosen: str = ""
    """The checksum of the configuration that this restart brings; empty before it is chosen."""
    configured: str = ""
    """The checksum of the configuration that the last restart has brought; empty if none has brought one."""
    found: str = ""
    """The checksum of the content that its run has found; empty if none was looked for."""
    cluster: str = ""
    """The name of the lock of the run that has marked it; empty if that is not known."""

    @property
    def rests(self) -> bool:
        """Whether its process was stopped, or is being stopped, and is not to be started."""
        return self.stays_stopped and self.phase in STOPPING

    @property
    def next_phase(self) -> RestartPhase | None:
        """The phase that follows its own; None if it has none, or its restart is over then."""
        return phase_after(self.phase) if self.phase else None


def phase_after(phase: RestartPhase) -> RestartPhase | None:
    """The phase that follows; None once the restart is over."""
    return _NEXT[phase]


def may_become(before: RestartPhase | None, after: RestartPhase | None) -> bool:
    """Whether a pod may go from one phase to another: to be scheduled, or one step forward, or to stay as it is."""
    if before is after:
        return True
    return after in SCHEDULED if before is None else after is _NEXT[before]


def word_of(annotations: Mapping[str, str], key: str = PHASE) -> str:
    """The word in the place of a phase, whether it is one or not; empty if there is none."""
    return annotations.get(key) or annotations.get(PHASE_OF_OPERATOR) or ""


def phase_of(annotations: Mapping[str, str], key: str = PHASE) -> RestartPhase | None:
    """The phase in the annotations of a pod or of a StatefulSet.

    Raises:
        ValueError: the annotation holds a word that is no phase; the message is that word.
    """
    said = word_of(annotations, key)
    if not said:
        return None
    try:
        return RestartPhase(said)
    except ValueError:
        raise ValueError(said) from None


def is_to_restart(annotations: Mapping[str, str], key: str = PHASE) -> bool:
    """Whether the restart of a pod is not complete, whatever word says so. One that a person wants stopped is done."""
    word = word_of(annotations, key)
    return bool(word) and not (_stays_stopped(annotations) and word in {each.value for each in STOPPING})


def _stays_stopped(annotations: Mapping[str, str]) -> bool:
    return annotations.get(STOPPED, "").strip().lower() == "true"


def marked(
    name: str, uid: str, annotations: Mapping[str, str], of_pool: RestartPhase | None = None, key: str = PHASE
) -> Marked:
    """A pod with its marks. A phase of its StatefulSet counts for a pod that has none of its own.

    Raises:
        ValueError: the annotation of the pod holds a word that is no phase; the message is that word.
    """
    stays_stopped = _stays_stopped(annotations)
    own = phase_of(annotations, key)
    found = (annotations.get(each, "") for each in (RUN, CHOSEN, CONFIGURED, FOUND, CLUSTER))
    process, member = annotations.get(PROCESS, ""), annotations.get(MEMBER, "")
    return Marked(name, uid, own or of_pool, process, member, stays_stopped, *found)


@dataclass(frozen=True)
class Process:
    """The process of one pod as one look found it."""

    running: bool
    identity: str
    """The name of the running process, which no other process has; empty if none runs."""
    checksum: str = ""
    """The checksum of the mounted configuration; by the agent, of a process that runs, that on which it started."""
    mounted: str = ""
    """The checksum of the configuration that is mounted now, if the process control reports both."""
    expected: str = ""
    """The checksum of the configuration with which it is to run; empty if any will do."""
    joined: bool = False
    """Whether the running process is a member of the cluster."""
    held: bool = True
    """Whether a process that does not run stays so until it is started. A container that starts again may start one."""
    ending: bool = False
    """Whether the running process was asked to end already, as far as the process control reports that."""

    @property
    def has_configuration(self) -> bool:
        """Whether the mounted configuration is the expected one."""
        return not self.expected or self.checksum == self.expected


def is_stopped(pod: Marked, process: Process) -> bool:
    """Whether the process that was to end has ended. A process that was started since then is another one.

    If all are to be stopped at the same time, or one is to stay stopped, it has to be held so. In a restart of all, a
    process that was started since then is no end of the first one.
    """
    if not process.running:
        return process.held or not (pod.stays_stopped or pod.phase is RestartPhase.STOP_COORDINATED)
    another = bool(pod.process) and process.identity != pod.process
    return another and pod.phase is not RestartPhase.STOP_COORDINATED


def to_prove_again(pods: Collection[tuple[Marked, Process]]) -> frozenset[str]:
    """The pods of a batch whose process was to end and was not asked to, since the run was killed after their marks.

    The proof of that run is old, so one of their own is needed. Of a restart of all members it is all or none: once one
    of them has ended, the cluster is not whole, and only the end of the restart makes it so again.
    """
    left = {pod.name for pod, process in pods if pod.phase in STOPPING and _is_left_running(pod, process)}
    together = {pod.name for pod, _process in pods if pod.phase in TOGETHER & UNDER_WAY}
    return frozenset(left if together <= left else left - together)


def _is_left_running(pod: Marked, process: Process) -> bool:
    # In a restart of all, a process that has started since then by itself is no end of the first one.
    same = pod.phase in TOGETHER or process.identity == (pod.process or process.identity)
    return process.running and not process.ending and same


def advanced(pod: Marked, process: Process, others: Collection[tuple[Marked, Process]] = ()) -> RestartPhase | None:
    """The phase of a pod that is under way after one look: the same one, the next one, or None once it is over.

    In a coordinated restart a pod leaves `stop-coordinated` once the processes of all have ended, and
    `start-coordinated` once all have joined; `others` are the pods that restart with it.
    """
    together = [(pod, process), *others] if pod.phase in _COORDINATED else [(pod, process)]
    if pod.phase in STOPPING:
        waits = [each for each in together if each[0].phase in STOPPING and not is_stopped(*each)]
    elif pod.phase in STARTING:
        waits = [each for each in together if not _is_back(*each)]
    else:
        return pod.phase
    return pod.phase if waits else phase_after(pod.phase)


def may_start(pod: Marked, others: Collection[tuple[Marked, Process]]) -> bool:
    """Whether the process of a pod may be started, as far as the others are concerned.

    In a coordinated restart the configuration is in place everywhere before the first process starts.
    """
    return pod.phase is not RestartPhase.START_COORDINATED or all(
        other.phase in STARTING and process.has_configuration for other, process in others
    )


_COORDINATED = frozenset({RestartPhase.STOP_COORDINATED, RestartPhase.START_COORDINATED})
TOGETHER = frozenset({RestartPhase.SCHEDULE_COORDINATED, *_COORDINATED})
"""The phases of a restart of all members at once."""


def _is_back(pod: Marked, process: Process) -> bool:
    """Whether a process that is to run does so, as a member, and is another one than the one that was ended."""
    return process.running and process.joined and process.has_configuration and is_stopped(pod, process)


@as_verdict
def judge_alone(others: Iterable[Marked]) -> Iterator[Reason]:
    """Whether none of these other pods is under way: none leaves `schedule-rolling` during another's stop or start."""
    if under_way := [pod.name for pod in others if pod.phase in UNDER_WAY and not pod.rests]:
        yield waiting(
            "restart_under_way",
            f"The restart of {enumerate_few(under_way)} is in progress, so no other process is stopped.",
            "The next run of the playbook completes it first.",
        )


@as_verdict
def judge_words(annotations: Mapping[str, Mapping[str, str]], key: str = PHASE) -> Iterator[Reason]:
    """Whether the annotations of these objects, by name, hold phases; one reason for each that does not."""
    for name, found in sorted(annotations.items()):
        try:
            phase_of(found, key)
        except ValueError as error:
            yield refused(
                "phase_unknown",
                f"The annotation {key} of {name} holds {error}, which is not a phase of a restart.",
                f"Remove it, or set one of: {', '.join(each.value for each in RestartPhase)}.",
            )


def scheduled_at_once(pods: Iterable[Marked]) -> frozenset[str]:
    """The pods that are scheduled each for itself, and so go down together; none if it is only one."""
    names = frozenset(pod.name for pod in pods if pod.phase is RestartPhase.SCHEDULE and not pod.stays_stopped)
    return names if len(names) > 1 else frozenset()


@as_verdict
def judge_singles(names: Collection[str], batches: Sequence[Collection[str]]) -> Iterator[Reason]:
    """Whether the pods that are scheduled at once, each for itself, are one batch that is proven together."""
    most = max(batches, key=lambda batch: len({*batch} & {*names}), default=())
    if outside := sorted({*names} - {*most}):
        yield refused(
            "scheduled_together",
            f"{enumerate_few(sorted(names))} are scheduled at once, and {enumerate_few(outside)} cannot go down with"
            " the others: shards, the pool or the election of a manager need one of them up.",
            f"Set {PHASE} to schedule-rolling on them, so that they restart one after the other.",
        )
