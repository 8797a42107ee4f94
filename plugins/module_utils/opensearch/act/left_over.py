"""The look at the settings after all was put back, and the names of those that stay if that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...common.errors import Refusal
from ...common.task import Outcome, Task, passed_or_raise
from ...common.verdict import Reason, Verdict, combine, refused
from ...common.words import enumerate_few
from ...run.undo.undo import Change, Undo
from ..judge.changes import settings_body, split_ours, value_back
from ..judge.left_over import as_of_a_run, found_again, judge_reset, left_overs, of_run, staying
from ..observe.client import OpenSearchClient
from ..observe.cluster import read_settings
from ..observe.settings import ENABLE, UNDO, Settings, carried_undo, excluded_by
from .putting_back import restore
from .raising import lower_replicas
from .settings_change import OF_RUN, name_of, there, write

SILENT = frozenset({"orphaned", "lock_lost", "locked"})
"""The failures after which another run may be at work: that run then reports what is left over."""


def settle(task: Task, client: OpenSearchClient, settings: Settings) -> Outcome:
    """Put back what the undo names, then look again: at what this run has changed, or at what looks left over."""
    before, reset = task.params["before"], task.params["reset"]
    passed_or_raise(judge_reset(reset or ()))
    if UNDO in (reset or ()) and _unreadable(settings):
        _remove_undo(task, client, settings)
        settings = read_settings(client)
    done = restore(task, client, settings)
    if task.params["state"] == "restored" and task.params["part"] == "all":
        lowered = lower_replicas(task, client, settings)
        done = replace(done, verdict=combine((done.verdict, lowered.verdict)), changed=done.changed or lowered.changed)
    # In check mode all that a run has set is still there.
    if task.params["part"] != "all" or (reset is None if before is None else task.check_mode):
        return done
    after = read_settings(client)
    undo = carried_undo(after)
    named = {change.path for change in (*undo.changes, *undo.foreign)} if undo else set()
    if before is not None:
        back = tuple(
            each for each in of_run(after, before, _sets(task), task.params["batch"]) if each.path not in named
        )
        said = found_again(back)
    else:
        found = [each for each in as_of_a_run(after) if each.path not in named]
        back = tuple(each for each in found if each.name in reset)
        said = left_overs(each for each in found if each.name not in reset)
    written = _write_back(task, client, after, back, undo) if back else {}
    done = replace(done, after=there({**(done.after or {}), **written}), changed=done.changed or bool(back))
    return replace(done, verdict=combine((done.verdict, Verdict(said))))


def naming(task: Task, client: OpenSearchClient, error: Refusal) -> Refusal:
    """The same failure to put back, with the settings that stay and the request for each, as far as they can be read.

    This only reads, so it needs no lock: the failure may be that the lock cannot be read any more.
    """
    if SILENT.intersection(reason.code for reason in error.verdict.reasons):
        return error
    try:
        settings = read_settings(client)
    except Refusal:
        return error
    return type(error)(*error.verdict.reasons, *_staying(task, settings))


def _staying(task: Task, settings: Settings) -> tuple[Reason, ...]:
    try:
        undo, broken = carried_undo(settings), False
    except Refusal:
        undo, broken = None, True
    if undo is not None:
        ours = split_ours(undo, settings)[0]
        return (*staying(_exactly(ours, settings), known=True), *_without_vote(undo))
    before = task.params["before"]
    if before is not None:
        found = of_run(settings, before, _sets(task), task.params["batch"])
        return staying(_exactly(found, settings), known=True, with_undo=broken)
    return staying(as_of_a_run(settings), known=False, with_undo=broken)


def _exactly(changes: tuple[Change, ...], settings: Settings) -> tuple[Change, ...]:
    """The changes with the present value, and with the one that would be put back now."""
    return tuple(
        Change(each.path, value_back(each, settings.at(each.path)), settings.at(each.path)) for each in changes
    )


def _without_vote(undo: Undo) -> tuple[Reason, ...]:
    names = excluded_by(undo)
    if not names:
        return ()
    return (
        refused(
            "exclusion_stays",
            f"Run {undo.writer.run} may have excluded {enumerate_few(names)} from voting.",
            "Settle, or send DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
        ),
    )


def _sets(task: Task) -> Mapping[str, str]:
    """The values that the tasks of this run set, by name."""
    params = task.params
    given = {ENABLE: params["enable"], **{name: params[each] for name, each in OF_RUN.items()}}
    return {name: str(value) for name, value in given.items() if value is not None}


def _unreadable(settings: Settings) -> bool:
    try:
        carried_undo(settings)
    except Refusal:
        return True
    return False


def _remove_undo(task: Task, client: OpenSearchClient, settings: Settings) -> None:
    """Remove an undo that cannot be read, as a person has asked for."""
    act = ("removed", f"persistent {UNDO}", {"was": settings.persistent.get(UNDO)})
    write(task, client, settings_body((), None, back=True), [act])


def _write_back(
    task: Task, client: OpenSearchClient, settings: Settings, changes: tuple[Change, ...], undo: Undo | None
) -> dict[str, Any]:
    """Put settings back without an undo. The result is what is written, by the names of results."""
    back = tuple(replace(each, was=value_back(each, settings.at(each.path))) for each in changes)
    acts = [("restored", name_of(each), {"value": each.was, "was": settings.at(each.path)}) for each in back]
    write(task, client, settings_body(back, undo, back=True), acts)
    return {name_of(each): each.was for each in back}
