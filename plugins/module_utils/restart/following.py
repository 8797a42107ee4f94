"""Following the processes of a batch from the phase `stop` until they are members again on the wanted configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any

from ..common.errors import Refusal, Unreachable
from ..common.task import Task
from ..common.verdict import Reason, State, Verdict, as_verdict, combine, waiting
from ..common.waiting import Patience
from ..kubernetes.state import Pod
from ..opensearch.absence import Absence
from ..opensearch.observe.state import ClusterMember
from ..pools.follow import NO_EVIDENCE, Follower, View, pool_named_in
from ..pools.judge import pool_of
from ..pools.pod_deletion import PROOF_AGE
from ..pools.replacement import ReplacementStage, Sighting, judge_replacement
from .act.marks import Marks
from .configurations import Configurations
from .judge.phases import (
    NO_PROCESS,
    STARTING,
    STOPPING,
    TOGETHER,
    UNDER_WAY,
    Marked,
    Process,
    RestartPhase,
    advanced,
    is_stopped,
    may_start,
)
from .judge.pods_to_restart import judge_resting
from .look import RestartBatch, RestartLooks
from .observe.state import SHOWN
from .ownership import is_of_user
from .process_control import ProcessControl

STAGES = {"process_stopping": "stopping", "process_starting": "starting", "pod_starting": "starting"}
"""The word for each stage that every restart goes through, by the code of its reason."""

ASK_AGAIN = 30.0
"""Seconds after which a process that has not ended is asked again."""

RECOVERY = 60.0
"""Seconds for which a cluster may refuse the user once all processes run. Elasticsearch knows no user of its own index
before it has a manager and has recovered its state (401)."""


@dataclass
class Restarting:
    """The steps of restarts that are due, which each look makes. Each may be made again after a kill."""

    follower: Follower
    task: Task
    looking: RestartLooks
    absence: Absence
    way: ProcessControl
    marks: Marks
    configurations: Configurations
    prove: Callable[[RestartBatch], Verdict]
    """Makes the proof anew, for the pods of the batch that are `unproven`."""
    proven_at: float
    """The time of the proof with which this begins."""
    _proven: dict[str, float] = field(default_factory=dict)
    """The time of the last proof of each pod."""
    _kept: Verdict | None = None
    """The proof that did not hold in this look."""
    _together: bool = False
    """Whether the members that were followed restart all at once."""
    _resting: set[str] = field(default_factory=set)
    """The pods whose processes have ended and stay stopped, since a person wants that."""
    _adopted: set[str] = field(default_factory=set)
    """The pods whose restart was under way at the first look of this task."""
    _asked: dict[tuple[str, str], float] = field(default_factory=dict)
    """The time at which each process, by its pod and its identity, was last asked to end."""
    _labelled: set[str] = field(default_factory=set)
    """The pods whose labels this task has set."""
    _restarts: dict[str, Mapping[str, int]] = field(default_factory=dict)
    """The restarts of each container when this task began to follow the pod."""
    _silence: str = ""
    """Why no server has answered the last look; empty if one has, or none was asked."""
    _refused: Refusal | None = None
    """The refusal by a server at the last look that is no outage."""
    _refused_since: float | None = None
    """The time since which it is refused although all processes run; None if it is not."""

    def begin(self, pod: Pod, mark: Marked, member: str, process: Process) -> None:
        """Note that this process of a pod is to be stopped. The next looks stop it.

        A short outage is waited for, but no longer than the proof holds.

        Raises:
            Refusal: it could not be noted.
        """
        phase = mark.phase if mark.phase in STOPPING else mark.next_phase
        noted = partial(self.marks.set, pod, phase, process.identity or NO_PROCESS, member)
        self.task.wait_apart(noted, lambda _done: Verdict(), Patience(PROOF_AGE, 0.5))
        self._follow(pod, replace(mark, phase=phase))
        self._proven[pod.name] = self.proven_at
        self.task.progress(f"{pod.name} goes down")

    def look(self) -> View[RestartBatch]:
        """One look, with the steps that are due in it."""
        batch, self._kept = self.looking.look(), None
        if not batch.verdict.passed:
            return View(batch, batch.verdict)
        there = {name: (batch.marks[name], batch.pods[name]) for name in batch.marks if name in batch.down}
        gone = [name for name in self.follower.trails if name not in batch.marks]
        members = self._members(there)
        try:
            found = {name: self._process(batch, mark, pod, members) for name, (mark, pod) in there.items()}
        except Refusal as error:
            # The Secret with the content may come back.
            if error.verdict.state is not State.WAITING:
                raise
            return View(batch, error.verdict)
        verdicts: list[Verdict] = [Verdict((*map(_pod_missing, gone), *self._without_mark(batch)))]
        for name, (mark, pod) in there.items():
            if name not in self.follower.trails:
                self._follow(pod, mark)
                self._adopted.add(name)
            others = [(batch.marks[n], found[n]) for n in there if n != name and not _rests(batch.marks[n], found[n])]
            verdicts.append(self._step(batch, mark, pod, found[name], others))
        up = (there[name][0].rests or (each.running and each.has_configuration) for name, each in found.items())
        self._judge_refused(all_up=all(up))
        ended = {name for name, trail in self.follower.trails.items() if ReplacementStage.JOINED in trail.reached}
        marks = {name: replace(mark, phase=None) if name in ended else mark for name, mark in batch.marks.items()}
        return View(replace(batch, marks=marks), combine(verdicts))

    def _judge_refused(self, *, all_up: bool) -> None:
        """Raise the refusal of the last look once all processes run. One of the user may pass for a time."""
        if self._refused is None or not all_up:
            self._refused_since = None
            return
        now = self.task.clock.now()
        self._refused_since = now if self._refused_since is None else self._refused_since
        if now - self._refused_since >= RECOVERY or not is_of_user(self._refused):
            raise self._refused

    def _without_mark(self, batch: RestartBatch) -> Iterator[Reason]:
        """The reasons to wait for pods that were made again on the way, or whose mark someone has removed."""
        for name, trail in self.follower.trails.items():
            if name not in batch.marks or name in batch.down or ReplacementStage.JOINED in trail.reached:
                continue
            if batch.pods[name].ready:
                trail.note(ReplacementStage.JOINED, self.task.clock.now())
            else:
                said = f"Pod {name} has no mark of its restart any more, and is not Ready."
                yield waiting("pod_starting", said, "Read its log, and look who has changed it.", about=name)

    def _follow(self, pod: Pod, mark: Marked) -> None:
        self.follower.follow(pod.name, stage=_stage(mark.phase))
        self._together = self._together or mark.phase in TOGETHER
        self._restarts[pod.name] = {each.name: each.restart_count for each in pod.containers}

    def _members(self, there: Mapping[str, tuple[Marked, Pod]]) -> Mapping[str, ClusterMember]:
        """The members of the cluster, once one is to join. While all are stopped together, none answers."""
        self._silence, self._refused = "", None
        phases = {mark.phase for mark, _pod in there.values()}
        if not phases & STARTING:
            return {}
        try:
            return self.absence.look(list(there))
        except Refusal as error:
            if not phases & TOGETHER:
                raise
            self._silence = error.verdict.reasons[0].message
            # The first that runs again may refuse the connection: the others are started all the same.
            self._refused = None if isinstance(error, Unreachable) else error
            return {}

    def _process(self, batch: RestartBatch, mark: Marked, pod: Pod, members: Mapping[str, ClusterMember]) -> Process:
        """The process of a pod, with the configuration that it is to have once it is its turn."""
        process = self.way.look(pod)
        expected = ""
        if mark.phase in STARTING or not self.way.keeps_stopped:
            expected = self.configurations.bring(batch.pool_of(pod.name), mark, pod, runs=process.running)
        if expected and not self.way.keeps_stopped:
            process = self._seen(batch, pod, process, expected)
        member = members.get(mark.name)
        joined = member is not None and member.ephemeral_id != mark.member
        return replace(process, expected=expected, joined=joined)

    def _seen(self, batch: RestartBatch, pod: Pod, process: Process, expected: str) -> Process:
        """The process with the checksum that is mounted, which is asked for until it is the expected one."""
        if not self.configurations.is_mounted(pod, expected):
            pool = pool_of(batch.pools, pod.name)
            file = self.configurations.file(pool, pod, self.way.container) if pool else ""
            process = self.way.look(pod, file)
            self.configurations.saw(pod, process.checksum)
            return process
        return replace(process, checksum=expected)

    def _step(
        self,
        batch: RestartBatch,
        mark: Marked,
        pod: Pod,
        process: Process,
        others: list[tuple[Marked, Process]],
    ) -> Verdict:
        """The act that is due for one pod, its next phase, and the reason to wait for it."""
        starts = mark.phase in STARTING and may_start(mark, others)
        if starts:
            self._label(batch, pod)
        if self._is_to_end(mark, process, starts=starts):
            kept = self._judge_proof(batch, mark, process, others)
            if not kept.passed:
                return kept
            self._stop(pod, process)
        elif starts and not process.running:
            self.task.still_wanted()
            self.way.start(pod, process.expected)
        if _rests(mark, process):
            self._resting.add(mark.name)
            return judge_resting((mark.name,))
        self._resting.discard(mark.name)
        after = advanced(mark, process, others)
        if after is not mark.phase:
            # Only an agent knows the content that the process has read. Else it is the one that was written before.
            brought = process.checksum if process.expected and self.way.keeps_stopped else mark.chosen
            self.marks.set(pod, after, configuration=brought)
            self.follower.trails[pod.name].note(_stage(after), self.task.clock.now())
            if after is None:
                return Verdict()
        of_phase = _judge_phase(replace(mark, phase=after), process, self._silence)
        # Its pod cannot become Ready before its process was started, so its probe is not at fault.
        held = not process.running and not (process.has_configuration and may_start(mark, others))
        return of_phase if held else combine((of_phase, self._judge_pod(batch, pod)))

    def _label(self, batch: RestartBatch, pod: Pod) -> None:
        """Give the pod the labels of its new roles, once in a task. They come before a process that has these roles."""
        pool = pool_of(batch.pools, pod.name)
        if pool is not None and pod.name not in self._labelled:
            self.configurations.label(pool, pod)
            self._labelled.add(pod.name)

    def _is_to_end(self, mark: Marked, process: Process, *, starts: bool) -> bool:
        """Whether it is the turn of a process to end: the one of before, or one that has started on another content."""
        if starts:
            return process.running and self.way.keeps_stopped and not process.has_configuration
        return mark.phase in STOPPING and not is_stopped(mark, process) and process.has_configuration

    def _judge_proof(
        self, batch: RestartBatch, mark: Marked, process: Process, others: Sequence[tuple[Marked, Process]]
    ) -> Verdict:
        """Whether a process may be asked to end, by a proof that is made again if it is too old.

        While others of the batch are down, none of them waits for it.
        """
        if not self._needs_proof(mark, process):
            return Verdict()
        if self._kept is None:
            now = self.task.clock.now()
            ends = [each for each in others if self._is_to_end(*each, starts=each[0].phase in STARTING)]
            names = {mark.name, *(other.name for other, found in ends if self._needs_proof(other, found))}
            try:
                proof = self.prove(replace(batch, unproven=frozenset(names)))
            except Unreachable as error:
                proof = error.as_waiting()
            if proof.passed:
                self._proven.update(dict.fromkeys(names, now))
                return Verdict()
            self._kept = proof if names == {*batch.down} else Unreachable(*proof.deciding()).as_waiting()
        return self._kept

    def _needs_proof(self, mark: Marked, process: Process) -> bool:
        """Whether a proof is needed to end a process: it serves, was not asked to end, and its proof is too old."""
        if mark.phase in TOGETHER or not process.running or process.ending:
            return False
        if (mark.name, process.identity) in self._asked or (is_stopped(mark, process) and not process.joined):
            return False
        return self.task.clock.now() - self._proven.get(mark.name, -inf) >= PROOF_AGE

    def _stop(self, pod: Pod, process: Process) -> None:
        now, key = self.task.clock.now(), (pod.name, process.identity)
        if now - self._asked.get(key, -inf) >= ASK_AGAIN:
            self.task.still_wanted()
            with self.task.journal.doing(("stopped_process", pod.name, {"uid": pod.uid, "process": process.identity})):
                self.way.stop(pod, process)
            self._asked[key] = now

    def _judge_pod(self, batch: RestartBatch, pod: Pod) -> Verdict:
        """The problem of a pod that does not become Ready: its container crashes, or its Kubernetes node is lost."""
        pool, trail, now = pool_of(batch.pools, pod.name), self.follower.trails[pod.name], self.task.clock.now()
        if pool is None or trail.stage is ReplacementStage.STOPPING:
            return Verdict()
        events = self.follower.events(pool, pod) if trail.is_slow(now) else ()
        pod = _since(pod, self._restarts[pod.name])
        seen = Sighting(pod.name, "", pod, now - trail.since, events=events)
        # The pod stays, so it is of the revision that it had.
        verdict = judge_replacement(replace(pool, update_revision=pod.revision), seen)
        # The end that was asked for is no crash, whatever the kubelet reports.
        return Verdict(tuple(each for each in verdict.reasons if each.code != "container_crashed" or _crashed(pod)))

    def result(self, name: str, verdict: Verdict) -> dict[str, Any]:
        """What this task did with a pod, the seconds, and the last log lines and events of a pod that is stuck."""
        trail = self.follower.trails.get(name)
        if trail is None:
            return {"action": "untouched", "total_seconds": None}
        action = "stopped" if name in self._resting else "followed" if name in self._adopted else "restarted"
        stuck = ReplacementStage.JOINED not in trail.reached and verdict.state is State.REFUSED
        evidence = self._evidence(name) if stuck else {}
        return {"action": action, "total_seconds": trail.total_seconds, **evidence}

    def _evidence(self, name: str) -> Mapping[str, Any]:
        try:
            batch = self.looking.look()
        except Refusal:
            return NO_EVIDENCE
        pod = batch.pods.get(name)
        return self.follower.evidence(pool_named_in(batch.pools, name), pod) if pod else NO_EVIDENCE

    @property
    def downtime(self) -> float | None:
        """Seconds from the first process that was asked to end to the last one that has joined, if all restart at once.

        It is None before that, and if they do not.
        """
        reached = [trail.reached for trail in self.follower.trails.values()]
        if not self._together or not all(ReplacementStage.JOINED in each for each in reached):
            return None
        return round(
            max(each[ReplacementStage.JOINED] for each in reached) - min(min(each.values()) for each in reached), 2
        )


def _stage(phase: RestartPhase | None) -> ReplacementStage:
    return (
        ReplacementStage.JOINED
        if phase is None
        else ReplacementStage.STOPPING
        if phase in STOPPING
        else ReplacementStage.STARTING
    )


def _rests(mark: Marked, process: Process) -> bool:
    """Whether a process that a person wants stopped has ended."""
    return mark.rests and not process.running and process.held


def _since(pod: Pod, before: Mapping[str, int]) -> Pod:
    """The pod with its restarts since then, without the one that was asked for."""
    containers = (
        replace(each, restart_count=max(0, each.restart_count - before.get(each.name, 0) - 1))
        for each in pod.containers
    )
    return replace(pod, containers=tuple(containers))


def _crashed(pod: Pod) -> bool:
    return any(each.restart_count for each in pod.containers)


def _pod_missing(name: str) -> Reason:
    return waiting("pod_not_recreated", f"Pod {name} is gone: someone else has deleted it.", about=name)


@as_verdict
def judge_ready(batch: RestartBatch) -> Iterator[Reason]:
    """Whether every pod of the batch is Ready, except those whose processes stay stopped."""
    yield from batch.verdict.reasons
    if resting := [name for name, mark in batch.marks.items() if mark.rests]:
        yield from judge_resting(resting).reasons
    for name, pod in batch.pods.items():
        if not pod.ready and not batch.marks[name].rests:
            yield waiting("pod_starting", f"Pod {name} has started and is not Ready yet.", "Read its log.", about=name)


@as_verdict
def _judge_phase(mark: Marked, process: Process, silence: str) -> Iterator[Reason]:
    """What the phase of a pod waits for. `silence` says why no server answers."""
    if mark.phase in UNDER_WAY and not process.has_configuration:
        stays = "" if process.running else " Its process is stopped, and does not start on another one."
        yield waiting(
            "configuration_not_mounted",
            f"The new configuration has not reached pod {mark.name} yet: the mounted file is"
            f" {process.checksum[:SHOWN] or 'not there'}, and {process.expected[:SHOWN]} is expected.{stays}",
            "The kubelet brings it within two minutes. If it does not, look at the events of the pod, and see that the"
            " file is not mounted by subPath.",
            about=mark.name,
        )
    elif mark.phase in STOPPING:
        yield waiting("process_stopping", f"The process of {mark.name} is stopping.", about=mark.name)
    elif mark.phase in UNDER_WAY:
        cause = f" {silence}" if silence and process.running else ""
        yield waiting(
            "process_starting", f"The process of {mark.name} has not joined the cluster yet.{cause}", about=mark.name
        )
