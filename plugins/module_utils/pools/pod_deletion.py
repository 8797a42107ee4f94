"""The deletion of one pod. If the answer is lost, a look shows whether it was made."""

from __future__ import annotations

from ..common.errors import Conflict, Refusal, Unreachable
from ..common.task import Task
from ..common.verdict import Verdict, waiting
from ..common.words import duration
from ..kubernetes.client import KubernetesClient
from ..kubernetes.pods import list_pods, pod_path
from ..kubernetes.state import Pod

PROOF_AGE = 5.0
"""Seconds after which a proof is too old for a deletion: it is made again first, or nothing more is deleted."""
LOOK_TIME = 10.0
"""Seconds that the looks of a proof may take. What was seen first may be different at the end of longer ones."""


def judge_looks(seconds: float) -> Verdict:
    """Whether the looks of a proof were quick enough for a deletion. One of them may wait for a member that is dead."""
    if seconds < LOOK_TIME:
        return Verdict()
    return Verdict(
        (
            waiting(
                "looks_take_long",
                f"It took {duration(seconds)} to look at the pods and at what runs in them, so the pods that were seen"
                " first may have changed since.",
                "Find out which of the servers answers so late: the API server, or the one in the pods.",
            ),
        )
    )


def delete_pod(task: Task, client: KubernetesClient, pod: Pod) -> bool:
    """Delete exactly this pod, and note it. The result says whether it was still there.

    Raises:
        Conflict: another pod has its name already.
        Unreachable: no answer came in one pass (`wait: false`), and it is not known whether the pod is deleted.
        Refusal: the pod may not be deleted, the run may not act any more, or no answer came within `PROOF_AGE`.
    """
    deletion = _Deletion(task, client, pod)
    try:
        there = task.ask(deletion.look)
    except Refusal:
        if deletion.lost:
            task.journal.lost_answer()
            deletion.note(answer="lost")
        raise
    if there:
        deletion.note()
    return there


def may_be_gone(task: Task, pod: Pod) -> bool:
    """Whether this task has asked for the pod's deletion, and the answer was lost."""
    return any(each["target"] == pod.name and each.get("answer") == "lost" for each in task.journal.as_result())


class _Deletion:
    """One deletion. `lost` is the error because of which the answer to its last request is missing."""

    def __init__(self, task: Task, client: KubernetesClient, pod: Pod) -> None:
        self._task = task
        self._client = client
        self._pod = pod
        self._began = task.clock.now()
        self.lost: Unreachable | None = None

    def look(self) -> bool:
        """Ask for the deletion. If the last answer was lost, first look whether it was made.

        The result says whether the pod was still there.
        """
        if self.lost is not None:
            if not self._stays():
                return True
            if self._task.clock.now() - self._began >= PROOF_AGE:
                raise Refusal(*self.lost.verdict.reasons)
            self._task.still_wanted()
        try:
            return self._client.delete(pod_path(self._pod.namespace, self._pod.name), self._pod.uid) or bool(self.lost)
        except Unreachable as error:
            self.lost = error
            raise
        except Conflict:
            if self.lost is None:
                raise
            return True

    def note(self, **more: str) -> None:
        """Note the deletion in the journal."""
        self._task.journal.did("delete_pod", self._pod.name, uid=self._pod.uid, revision=self._pod.revision, **more)

    def _stays(self) -> bool:
        """Whether this very pod is there and is not being deleted."""
        found = list_pods(self._client, self._pod.namespace)
        return any(each.uid == self._pod.uid and not each.terminating for each in found)
