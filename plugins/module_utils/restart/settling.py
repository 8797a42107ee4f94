"""Starting the processes again that an interrupted restart has stopped, without continuing the restart.

Starting a process endangers nothing, so it needs no proof, no plan and no consent. The phases stay: the next run goes
on from them, and takes the process that was started here for the successor of the one that it has stopped.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    asked: set[str] = set()

    def look() -> _Left:
        found = _look(task, cluster)
        verdicts = [found.verdict]
        for mark, pod in found.pods:
            if mark.rests:
                verdicts.append(judge_resting((mark.name,)))
                continue
            try:
                process = way.look(pod)
                if mark.phase not in TOGETHER and not process.running:
                    _start(pod, process, mark)
            except Unreachable as error:
                # The agent of one pod keeps no other process stopped.
                verdicts.append(error.as_waiting())
                continue
            verdicts.append(judge_interrupted(mark, process, way.name, ready=pod.ready, started=pod.name in asked))
        return _Left(combine(verdicts), found.pods)

    def _start(pod: Pod, process: Process, mark: Marked) -> None:
        if not way.keeps_stopped:
            return
        task.still_wanted()
        if pod.name in asked:
            way.start(pod, process.expected)
            return
        with task.journal.doing(("started_process", pod.name, {"uid": pod.uid, "after": mark.process})):
            if not task.check_mode:
                way.start(pod, process.expected)
        asked.add(pod.name)

    try:
        if task.check_mode:
            # Nothing is started that could be waited for.
            found = task.ask(look)
            verdict = found.verdict
        else:
            found, verdict = task.wait(look, lambda seen: seen.verdict)
    except Refusal as error:
        return Outcome(task.verdict_of(error), bool(asked))
    return Outcome(verdict, bool(asked), more={"members": _members(found), "way": way.name})


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
