"""Bugs of a run of Longhorn on purpose: each is in the collection for the time of a `with` statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn import node_engine_switch
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.act import changes, putting_back
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.act.putting_back import Return
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge import (
    gate,
    recurring_jobs,
    stages,
    upgrades,
    volumes,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe import recurring_jobs as observed
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.kinds import SETTINGS
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock import held_lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo import temporary_changes
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import document_of


def _removing(remove: changes.Performed) -> AbstractContextManager[Any]:
    """With another act in the place of the one that removes an instance manager."""
    return patch.dict(changes.ACTS, {"delete_manager": remove})


@contextmanager
def copies_not_asked() -> Iterator[None]:
    """A node is changed without asking whether its volumes keep a copy elsewhere."""
    with ExitStack() as patches:
        for judge in (stages, upgrades):
            patches.enter_context(patch.object(judge, "judge_copies", lambda _seen, _node: Verdict()))
        yield


@contextmanager
def undo_after_change() -> Iterator[None]:
    """The undo is written in a request of its own, after the change."""
    send = temporary_changes._send

    def apart(task: Any, client: Any, path: str, found: Any, undo: Any, values: Any, *, back: bool) -> None:
        if back:
            send(task, client, path, found, undo, values, back=back)
            return
        with patch.object(temporary_changes, "patch_of", lambda _found, _undo, given: document_of(given)):
            send(task, client, path, found, undo, values, back=back)
        send(task, client, path, client.get(path), undo, {}, back=back)

    with patch.object(temporary_changes, "_send", apart):
        yield


@contextmanager
def lock_taken_back() -> Iterator[None]:
    """A run whose lock another one has taken goes on, and writes itself into the lock again."""
    with patch.object(held_lock, "judge_ours", lambda _lock, _run, _stoppable: Verdict()):
        yield


@contextmanager
def new_manager_too() -> Iterator[None]:
    """The instance manager of the new image is removed with the old one."""
    remove = changes.ACTS["delete_manager"]

    def both(at: changes.At, act: stages.Act) -> None:
        remove(at, act)
        for each in at.seen.managers_of[act.node]:
            if each.image == at.image:
                remove(at, stages.Act(act.kind, each.name, act.node, each.uid, each.version))

    with _removing(both):
        yield


@contextmanager
def engines_stay() -> Iterator[None]:
    """An instance manager is removed while engines run in it."""
    with patch.object(stages, "_switch_over", lambda _seen, _node: None):
        yield


@contextmanager
def not_waited_for_whole() -> Iterator[None]:
    """Work on the next node starts while replicas of the one before it are not rebuilt."""
    with ExitStack() as patches:
        for judge in (stages, upgrades, gate, volumes):
            patches.enter_context(patch.object(judge, "is_whole", lambda _seen, _volume: True))
        yield


@contextmanager
def settings_forgotten() -> Iterator[None]:
    """The settings are not put back."""
    put_back = Return._put_back

    def others(self: Return, kind: str, *more: Any) -> list[Reason]:
        return [] if kind == SETTINGS else put_back(self, kind, *more)

    with patch.object(Return, "_put_back", others):
        yield


@contextmanager
def jobs_forgotten() -> Iterator[None]:
    """Recurring jobs that are held off are not let go again."""
    with ExitStack() as patches:
        for place in (recurring_jobs, putting_back):
            patches.enter_context(patch.object(place, "to_let_go", lambda _seen, _kept: ()))
        yield


@contextmanager
def jobs_of_status_alone() -> Iterator[None]:
    """Only the Jobs that the status of a CronJob names are waited for."""
    with patch.object(observed, "with_jobs", lambda jobs, _owned: jobs):
        yield


@contextmanager
def jobs_not_awaited() -> Iterator[None]:
    """A Job that Kubernetes starts soon after recurring jobs were held off is not waited for."""
    with patch.object(node_engine_switch, "QUIET", 0.0):
        yield


BUGS: Mapping[str, tuple[Callable[[], AbstractContextManager[None]], frozenset[str]]] = {
    "copies_not_asked": (copies_not_asked, frozenset({"copies"})),
    "undo_after_change": (undo_after_change, frozenset({"undo"})),
    "lock_taken_back": (lock_taken_back, frozenset({"lock"})),
    "new_manager_too": (new_manager_too, frozenset({"twice"})),
    "engines_stay": (engines_stay, frozenset({"engine"})),
    "not_waited_for_whole": (not_waited_for_whole, frozenset({"whole"})),
    "settings_forgotten": (settings_forgotten, frozenset({"end"})),
    "jobs_forgotten": (jobs_forgotten, frozenset({"end"})),
    "jobs_of_status_alone": (jobs_of_status_alone, frozenset({"jobs"})),
    "jobs_not_awaited": (jobs_not_awaited, frozenset({"jobs", "late"})),
}
"""The name of a bug, the bug, and the invariants that it breaks: one of them at least is found broken."""
