"""Starting the processes again that an interrupted restart has stopped, without continuing the restart.

Starting a process endangers nothing, so it needs no proof, no plan and no consent. The phases stay: the next run goes
on from them, and takes the process that was started here for the successor of the one that it has stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..common.errors import Refusal, Unreachable
from ..common.task import Outcome, Task
from ..common.verdict import Verdict, combine
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import Pod
from ..kubernetes.stateful_sets import observe_namespace
from .act.marks import cluster_of
from .judge.phases import TOGETHER, UNDER_WAY, Marked, Process, judge_words, marked
from .judge.pods_to_restart import judge_resting
from .judge.settling import judge_interrupted, judge_left, judge_others, of_other_clusters
from .look import annotations_of
from .process_control import ProcessControl


@dataclass(frozen=True)
class _Left:
    """The pods that an interrupted restart has left, at one time."""

    verdict: Verdict
    pods: tuple[tuple[Marked, Pod], ...] = ()
    """Those of other clusters of the namespace are left to the runs on these."""


def left_behind(task: Task, cluster: KubernetesClient) -> Outcome:
    """One reason for each pod whose process a restart has begun to stop. Nothing is changed."""
    found = task.ask(lambda: _look(task, cluster))
    left = combine(judge_left(mark, ready=pod.ready) for mark, pod in found.pods)
    return Outcome(combine((found.verdict, left)), more={"members": _members(found)})


def started(task: Task, cluster: KubernetesClient, way: ProcessControl) -> Outcome:
    """Start each process that a restart of one member after the other has stopped, and wait until its pod is Ready."""
    starting = _Starting(task, cluster, way)
    try:
        found, verdict = starting.waited()
    except Refusal as error:
        return Outcome(task.verdict_of(error), bool(starting.asked))
    return Outcome(verdict, bool(starting.asked), more={"members": _members(found), "way": way.name})


@dataclass
class _Starting:
    """The looks, in each of which the processes are started that are stopped still."""

    task: Task
    cluster: KubernetesClient
    way: ProcessControl
    asked: set[str] = field(default_factory=set)
    """The pods whose processes were asked to start."""

    def waited(self) -> tuple[_Left, Verdict]:
        """The last look and the verdict. In check mode nothing is started that could be waited for."""
        if self.task.check_mode:
            found = self.task.ask(self.look)
            return found, found.verdict
        return self.task.wait(self.look, lambda seen: seen.verdict)

    def look(self) -> _Left:
        """One look."""
        found = _look(self.task, self.cluster)
        return _Left(combine((found.verdict, *(self._judged(mark, pod) for mark, pod in found.pods))), found.pods)

    def _judged(self, mark: Marked, pod: Pod) -> Verdict:
        if mark.rests:
            return judge_resting((mark.name,))
        try:
            process = self.way.look(pod)
            if mark.phase not in TOGETHER and not process.running:
                self._start(pod, process, mark)
        except Unreachable as error:
            # The agent of one pod keeps no other process stopped.
            return error.as_waiting()
        return judge_interrupted(mark, process, self.way.name, ready=pod.ready, started=pod.name in self.asked)

    def _start(self, pod: Pod, process: Process, mark: Marked) -> None:
        if not self.way.keeps_stopped:
            return
        self.task.still_wanted()
        if pod.name in self.asked:
            self.way.start(pod, process.expected)
            return
        with self.task.journal.doing(("started_process", pod.name, {"uid": pod.uid, "after": mark.process})):
            if not self.task.check_mode:
                self.way.start(pod, process.expected)
        self.asked.add(pod.name)


def _look(task: Task, cluster: KubernetesClient) -> _Left:
    key = task.params["annotation"]
    there = observe_namespace(cluster, task.params["namespace"])
    of_sets = [pod for pool in there.sets for pod in there.pods_of(pool).values()]
    words = judge_words(annotations_of((), of_sets), key)
    if not words.passed:
        return _Left(words)
    marks = [(marked(pod.name, pod.uid, pod.annotations, key=key), pod) for pod in of_sets]
    begun = [(mark, pod) for mark, pod in marks if mark.phase in UNDER_WAY]
    others = of_other_clusters((mark for mark, _pod in begun), cluster_of(task))
    own = tuple((mark, pod) for mark, pod in begun if mark not in others)
    return _Left(combine((words, judge_others(others))), own)


def _members(found: _Left) -> list[dict[str, str]]:
    return [
        {"name": mark.name, "phase": mark.phase.value if mark.phase else "", "uid": mark.uid}
        for mark, _pod in found.pods
    ]
