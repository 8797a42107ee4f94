"""Bugs of a controller on purpose: each is in the collection for the time of a `with` statement.

An observer that does not find them is of no use, and the number of random runs after which each is found shows how
close the runs look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest.mock import patch

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge import standing
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.client import OpenSearchClient
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import UNDO
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import judge, pod_roll
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.roll_batch import ObservedBatch
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start import say


@contextmanager
def proof_of_before() -> Iterator[None]:
    """Once all is prepared, the pods are deleted by the proof that was made before it."""

    def unproven(
        look: Callable[[], tuple[Any, Verdict]], prepare: Callable[[Any], bool], again: Callable[[Verdict], bool]
    ) -> tuple[Any, Verdict]:
        seen, verdict = look()
        while not verdict.passed and again(verdict):
            seen, verdict = look()
        while verdict.passed and prepare(seen):
            pass
        return seen, verdict

    with patch.object(pod_roll, "proven_and_prepared", unproven):
        yield


@contextmanager
def undo_after_change() -> Iterator[None]:
    """The undo is written in a request of its own, after the change."""
    put = OpenSearchClient.put

    def apart(self: OpenSearchClient, path: str, body: Mapping[str, Any], **params: Any) -> dict[str, Any]:
        persistent = dict(body.get("persistent") or {})
        undo = persistent.pop(UNDO, None)
        others = {**body, "persistent": persistent}
        if undo is None or not any(others.values()):
            return put(self, path, body, **params)
        put(self, path, {scope: values for scope, values in others.items() if values}, **params)
        return put(self, path, {"persistent": {UNDO: undo}}, **params)

    with patch.object(OpenSearchClient, "put", apart):
        yield


@contextmanager
def lock_not_asked() -> Iterator[None]:
    """Pods are deleted without asking whether the run still holds the lock."""
    delete = pod_roll._delete

    def unasked(*given: Any) -> Verdict:
        with patch.object(Task, "still_wanted", lambda _task: None):
            return delete(*given)

    with patch.object(pod_roll, "_delete", unasked):
        yield


@contextmanager
def done_member_again() -> Iterator[None]:
    """The pod of a member is deleted although it is of the revision that its pool wants."""
    with patch.object(ObservedBatch, "_is_wanted", lambda _batch, _pool, _pod: False):
        yield


@contextmanager
def going_pod_counts() -> Iterator[None]:
    """A pod that is being deleted counts as one that stays, with its copies and its vote."""
    becomes_of = standing.becomes_of

    def becomes(pod: Pod) -> str:
        return "" if pod.terminating else becomes_of(pod)

    with (
        patch.object(standing, "becomes_of", becomes),
        patch.object(judge, "is_down", lambda pod: pod is None or not pod.ready),
    ):
        yield


@contextmanager
def pause_ignored() -> Iterator[None]:
    """Batches start although a person has paused the upgrade."""
    with patch.object(say, "judge_hold", lambda _hold: Verdict()):
        yield


BUGS: Mapping[str, tuple[Callable[[], AbstractContextManager[None]], frozenset[str]]] = {
    "proof_of_before": (proof_of_before, frozenset({"proof"})),
    "undo_after_change": (undo_after_change, frozenset({"undo"})),
    "lock_not_asked": (lock_not_asked, frozenset({"lock"})),
    "done_member_again": (done_member_again, frozenset({"twice"})),
    "going_pod_counts": (going_pod_counts, frozenset({"others", "copies"})),
    "pause_ignored": (pause_ignored, frozenset({"pause"})),
}
"""The name of a bug, the bug, and the invariants that it breaks: one of them at least is found broken."""
