"""Changing values of any Kubernetes object temporarily, and putting them back, each in one guarded patch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ...common.attempts import until_unchanged
from ...common.errors import refusal
from ...common.task import Task
from ...common.verdict import Reason
from ...kubernetes.client import Json, KubernetesClient
from ..lock.lock_watch import writer_of
from .undo import Change, Path, Undo, Writer, judge_kept, left_alone, value_at
from .undo_annotation import Known, carried_undo, dotted, named, patch_of

ATTEMPTS = 10
"""Conflicts in a row before a patch is given up. Every status update changes the resourceVersion that guards it."""


def change(
    task: Task,
    client: KubernetesClient,
    path: str,
    wanted: Mapping[Path, Any],
    is_known: Known,
    judge_writer: Callable[[Writer], None],
) -> bool:
    """Set the wanted values of the object at `path`, with their undo. The result says whether there was anything to do.

    The object may carry the undo of another run, which this one then extends. `judge_writer` refuses while that
    run is alive.

    Raises:
        Refusal: there is no such object, its undo cannot be read, its run is alive, a value could not be put back, or
            the change was not made.
    """

    def attempt() -> bool:
        found = client.get(path)
        if found is None:
            remedy = "Check the name, the namespace and kubernetes.context."
            raise refusal("kubernetes_not_found", f"There is no object at {path}, which was to be changed.", remedy)
        at, undo, writer = partial(value_at, found), carried_undo(found, is_known), writer_of(task)
        fresh = [Change(each, at(each), value) for each, value in wanted.items() if at(each) != value]
        if not fresh:
            return False
        judge_kept(fresh, is_known, lambda each: f"{dotted(each.path)} of {named(found)}")
        if undo is not None:
            judge_writer(undo.writer)
        undo = undo or Undo(writer)
        # If someone else has changed a value since, it is put back to what they set.
        void = [each for each in undo.split(at)[1] if each.path in wanted]
        undo = undo.without(void).extended(writer, fresh)
        _send(task, client, path, found, undo, {each.path: each.set_to for each in fresh}, back=False)
        return True

    return until_unchanged(attempt, ATTEMPTS)


def judge_undo(client: KubernetesClient, path: str, is_known: Known, judge_writer: Callable[[Writer], None]) -> None:
    """Check with `judge_writer` that the run is dead whose undo the object at `path` carries, if it carries any.

    Raises:
        Refusal: the undo cannot be read, or its run lives.
    """
    found = client.get(path)
    undo = carried_undo(found, is_known) if found is not None else None
    if undo is not None:
        judge_writer(undo.writer)


def put_back(
    task: Task,
    client: KubernetesClient,
    path: str,
    is_known: Known,
    judge_writer: Callable[[Writer], None],
    part: Callable[[Change], bool] = lambda _change: True,
) -> tuple[bool, tuple[Reason, ...]]:
    """Put back what the undo of the object at `path` names, and remove it. `judge_writer` refuses while its run lives.

    With `part`, only the changes for which it is true are put back, and the undo keeps the others. The result says
    whether there was anything to do, and has a remark on each value that another has changed since.

    Raises:
        Refusal: the undo cannot be read, its run lives, or the change was not made.
    """

    def attempt() -> tuple[bool, tuple[Reason, ...]]:
        found = client.get(path)
        undo = carried_undo(found, is_known) if found is not None else None
        going = [each for each in undo.changes if part(each)] if undo else []
        if found is None or undo is None or not going:
            return False, ()
        judge_writer(undo.writer)
        left = undo.without(going)
        ours, others = replace(undo, changes=tuple(going)).split(partial(value_at, found))
        _send(
            task, client, path, found, left if left.changes else None, {each.path: each.was for each in ours}, back=True
        )
        return True, tuple(
            left_alone(undo.writer, each, f"{dotted(each.path)} of {named(found)}", value_at(found, each.path))
            for each in others
        )

    return until_unchanged(attempt, ATTEMPTS)


def _send(
    task: Task,
    client: KubernetesClient,
    path: str,
    found: Json,
    undo: Undo | None,
    values: Mapping[Path, Any],
    *,
    back: bool,
) -> None:
    if not task.check_mode:
        task.still_wanted()
    shown = {dotted(each): value for each, value in values.items()}
    with task.journal.doing(("restored" if back else "changed", named(found), {"set": shown})):
        client.patch(path, patch_of(found, undo, values), "merge", dry_run=task.check_mode)
