# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes one pod, and where the answer is lost looks for what became of it."""

from __future__ import annotations

from ..common.errors import Conflict, Refusal, Unreachable
from ..common.task import Task
from ..common.verdict import Verdict
from ..kubernetes.client import KubernetesClient
from ..kubernetes.pods import list_pods, pod_path
from ..kubernetes.state import Pod

PROOF_AGE = 5.0
"""Seconds after which a proof is too old for a deletion: it is made again first, or nothing is asked for any more."""


def delete_pod(task: Task, client: KubernetesClient, pod: Pod) -> bool:
    """Delete exactly this pod, and note it; whether it was still there.

    Raises:
        Conflict: its name has another pod already.
        Unreachable: no answer was had in one pass (`wait: false`), and whether it is deleted is not known.
        Refusal: it may not be deleted, the run may not act any more, or no answer was had within `PROOF_AGE`.
    """
    deletion = _Deletion(task, client, pod)
    try:
        there, _verdict = task.wait(deletion.look, lambda _there: Verdict())
    except Refusal:
        if deletion.lost:
            task.journal.unconfirmed = True
            deletion.note(answer="lost")
        raise
    if there:
        deletion.note()
    return there


def may_be_gone(task: Task, pod: Pod) -> bool:
    """Whether this task has asked for its deletion and the answer was lost."""
    return any(each["target"] == pod.name and each.get("answer") == "lost" for each in task.journal.as_result())


class _Deletion:
    """One deletion; `lost` is why the answer to it was not had, at its last request."""

    def __init__(self, task: Task, client: KubernetesClient, pod: Pod) -> None:
        self._task = task
        self._client = client
        self._pod = pod
        self._began = task.clock.now()
        self.lost: Unreachable | None = None

    def look(self) -> bool:
        """Ask for it; where the answer to that was lost, first look whether it was made. Gives whether it was there."""
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
        """Among what was done."""
        self._task.journal.did("delete_pod", self._pod.name, uid=self._pod.uid, revision=self._pod.revision, **more)

    def _stays(self) -> bool:
        """Whether this very pod is there and is not on its way out."""
        found = list_pods(self._client, self._pod.namespace)
        return any(each.uid == self._pod.uid and not each.terminating for each in found)
