"""Writing the phase of a restart into the annotations of a pod, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...common.attempts import just_looked, until_unchanged
from ...common.errors import Conflict
from ...common.task import Task, passed_or_raise
from ...common.verdict import refused
from ...kubernetes.client import KubernetesClient
from ...kubernetes.pods import list_pods, pod_path
from ...kubernetes.state import Pod, StatefulSet
from ...kubernetes.stateful_sets import list_stateful_sets, path_of
from ...run.undo.undo import place_of
from ..judge.phases import (
    CHOSEN,
    CLUSTER,
    CONFIGURED,
    FOUND,
    MEMBER,
    PHASE_OF_OPERATOR,
    PROCESS,
    RUN,
    SCHEDULED,
    STOPPING,
    RestartPhase,
    judge_words,
    may_become,
    phase_of,
    word_of,
)

ATTEMPTS = 10
"""Conflicts in a row before a mark is given up. Every status update changes the resourceVersion that guards it."""


@dataclass(frozen=True)
class Marks:
    """The marks of the pods of one task."""

    task: Task
    client: KubernetesClient
    key: str
    """The annotation that holds the phase."""

    def set(
        self,
        pod: Pod,
        phase: RestartPhase | None,
        process: str = "",
        member: str = "",
        configuration: str = "",
        *,
        by_person: bool = False,
    ) -> bool:
        """Bring a pod into a phase, or out of its restart. The result says whether there was anything to do.

        `process` and `member` are noted with the phase `stop`, and removed at the end. `configuration` is the checksum
        of the content that is there when the pod is scheduled, and at the end of the one that it runs, which stays.
        `by_person` says that a person has scheduled it with its StatefulSet.

        Raises:
            Conflict: the pod was replaced, or its phase was changed to one that this step cannot follow.
            Unreachable: the answer was lost. The next look shows whether the mark was made.
        """

        def step(found: Pod, before: RestartPhase | None) -> bool:
            if before is phase and (not process or found.annotations.get(PROCESS)):
                return False
            if not may_become(before, phase):
                raise self._moved(found, before, phase)
            own = {RUN: None if by_person else self.task.run or None, FOUND: configuration or None}
            scheduled = own if phase in SCHEDULED else {}
            of_run = {CLUSTER: cluster_of(self.task) or None} if phase in SCHEDULED | STOPPING else {}
            self._write(found, phase, {**scheduled, **of_run, **_notes(phase, process, member, configuration)})
            return True

        return self._made(pod, step)

    def choose(self, pod: Pod, configuration: str) -> None:
        """Note the checksum of the configuration that the restart of a pod brings, before that is written.

        Raises:
            Conflict: the restart of the pod is over, or the pod was replaced.
        """

        def step(found: Pod, before: RestartPhase | None) -> bool:
            if before is None:
                raise self._moved(found, before, RestartPhase.START)
            self._write(found, before, {CHOSEN: configuration})
            return True

        self._made(pod, step)

    def found(self, pod: Pod, configuration: str) -> None:
        """Note the checksum of the content that the run has found at its start, in a pod that has a phase.

        Raises:
            Conflict: the pod was replaced.
        """

        def step(found: Pod, before: RestartPhase | None) -> bool:
            if before is None or found.annotations.get(FOUND, "") == configuration:
                return False
            self._write(found, before, {FOUND: configuration})
            return True

        self._made(pod, step)

    def hand_on(self, pod: Pod, phase: RestartPhase) -> None:
        """Give a pod the phase of its StatefulSet, unless it has one of its own.

        Raises:
            Conflict: the pod was replaced.
        """

        def step(found: Pod, before: RestartPhase | None) -> bool:
            if before is None:
                self._write(found, phase, {CLUSTER: cluster_of(self.task) or None})
            return before is None

        self._made(pod, step)

    def clear(self, pod: Pod) -> bool:
        """Remove the phase of a pod whose process was left alone. The result says whether there was one.

        Raises:
            Conflict: its restart has begun since.
        """

        def step(found: Pod, before: RestartPhase | None) -> bool:
            if before is not None and before not in SCHEDULED:
                raise self._moved(found, before, None)
            if before is not None:
                self._write(found, None, {RUN: None, FOUND: None, CLUSTER: None})
            return before is not None

        return self._made(pod, step)

    def take_from(self, pool: StatefulSet) -> None:
        """Remove the phase of a StatefulSet, once each of its pods has it. One that has another phase by now keeps it.

        Raises:
            Unreachable: the answer was lost. Made again, this does nothing more.
        """
        look = just_looked(pool, lambda: self._look_again_at(pool))

        def attempt() -> None:
            found = look()
            # A word that is no phase by now is not this one either.
            if found and word_of(found.annotations, self.key) == word_of(pool.annotations, self.key):
                self._annotate("marked_pool", path_of(found.namespace, found.name), found, None, {})

        until_unchanged(attempt, ATTEMPTS)

    def _look_again_at(self, pool: StatefulSet) -> StatefulSet | None:
        there = list_stateful_sets(self.client, pool.namespace)
        return next((each for each in there if each.uid == pool.uid), None)

    def _made(self, pod: Pod, step: Callable[[Pod, RestartPhase | None], bool]) -> bool:
        """Make a step from the phase of a pod, which is looked at again after each conflict."""
        look = just_looked(pod, lambda: self._look_again(pod))

        def attempt() -> bool:
            found = look()
            passed_or_raise(judge_words({f"pod {found.name}": found.annotations}, self.key))
            return step(found, phase_of(found.annotations, self.key))

        return until_unchanged(attempt, ATTEMPTS)

    def _look_again(self, pod: Pod) -> Pod:
        found = [each for each in list_pods(self.client, pod.namespace) if each.uid == pod.uid]
        if not found:
            message = f"Pod {pod.name} was replaced just now, so its process is another one."
            raise Conflict(refused("pod_replaced", message, "Run again."))
        return found[0]

    def _write(self, pod: Pod, phase: RestartPhase | None, notes: Mapping[str, str | None]) -> None:
        self._annotate("marked_pod", pod_path(pod.namespace, pod.name), pod, phase, notes)

    def _annotate(
        self,
        action: str,
        path: str,
        seen: Pod | StatefulSet,
        phase: RestartPhase | None,
        notes: Mapping[str, str | None],
    ) -> None:
        if not self.task.check_mode:
            self.task.still_wanted()
        said = phase.value if phase else None
        annotations = {self.key: said, PHASE_OF_OPERATOR: None, **notes}
        metadata = {"uid": seen.uid, "resourceVersion": seen.resource_version, "annotations": annotations}
        with self.task.journal.doing((action, seen.name, {"uid": seen.uid, "phase": said or ""})):
            self.client.patch(path, {"metadata": metadata}, "merge", dry_run=self.task.check_mode)

    @staticmethod
    def _moved(pod: Pod, before: RestartPhase | None, after: RestartPhase | None) -> Conflict:
        was = f"is in phase {before.value}" if before else "has no phase"
        wanted = f"phase {after.value}" if after else "the end of its restart"
        message = f"Pod {pod.name} {was}, from which no step leads to {wanted}: someone else has changed it."
        return Conflict(refused("phase_moved", message, "Look who else restarts this cluster, and run again."))


def cluster_of(task: Task) -> str:
    """The name of the lock of a task, which is one for each cluster; empty without a lock."""
    return place_of(task.params.get("lock")).get("name", "")


def _notes(phase: RestartPhase | None, process: str, member: str, configuration: str) -> dict[str, str | None]:
    if phase is None:
        kept: dict[str, str | None] = {CONFIGURED: configuration} if configuration else {}
        return {**dict.fromkeys((PROCESS, MEMBER, RUN, CLUSTER, CHOSEN, FOUND)), **kept}
    return {PROCESS: process, MEMBER: member, CHOSEN: None} if process else {}
