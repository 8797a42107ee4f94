"""Settings that a run has left in the cluster, whatever the undo says. Pure.

A person may remove the undo while a run is at work, write something else in its place, or restore an older state of the
cluster. A run knows the settings of its start and the values that it sets. Without a run only the value shows it: some
values that runs set are seldom set by anyone else.

With a record of the start, a value that the run has set and that had another one is put back and named. Without a
run, `settle` names the values that look left over and resets those that a person names. If nothing can be put back,
every setting that stays is named with its request.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ...run.undo.undo import Change, document_of
from ..observe.settings import EXCLUDE, SCOPES, UNDO, Settings, is_changed_by_runs, is_known, names_in, repeated
from .changes import with_names

At = Mapping[str, Any]
"""Values by scope and name, such as `persistent cluster.routing.allocation.enable`."""


def of_run(settings: Settings, before: At, sets: Mapping[str, str], members: Collection[str]) -> tuple[Change, ...]:
    """The settings that have a value which this run sets, and had another one at its start (`before`).

    `sets` has the values that the run sets, by name; it excludes only `members`.
    """
    found = []
    for path in _paths(settings):
        was, present = before.get(" ".join(path)), settings.at(path)
        change = Change(path, was, present)
        if present != was and _is_set_by(change, sets, members):
            added = [name for name in names_in(present) if name in members]
            found.append(Change(path, was, with_names(was, added)) if path[1] == EXCLUDE else change)
    return tuple(found)


def _is_set_by(change: Change, sets: Mapping[str, str], members: Collection[str]) -> bool:
    if change.name == EXCLUDE:
        return bool((set(names_in(change.set_to)) - set(names_in(change.was))).intersection(members))
    if change.name in sets:
        return bool(change.set_to == sets[change.name])
    return change.was is not None and is_known(change)


def as_of_a_run(settings: Settings) -> tuple[Change, ...]:
    """The settings whose value is one that runs set. Their former values are not known."""
    found = [Change(path, None, settings.at(path)) for path in _paths(settings)]
    return tuple(each for each in found if is_known(each) or _is_repeated(each))


def _is_repeated(change: Change) -> bool:
    names = names_in(change.set_to)
    half = names[: len(names) // 2]
    return change.name != EXCLUDE and bool(half) and change.set_to == repeated(half)


def _paths(settings: Settings) -> Iterator[tuple[str, str]]:
    for scope in SCOPES:
        for name in sorted(settings.scope(scope)):
            if is_changed_by_runs(name):
                yield scope, name


def request_for(change: Change, *, with_undo: bool = False) -> str:
    """The request that puts a setting back, as people write it, and with the undo set to null on request."""
    undo: dict[tuple[str, ...], Any] = {("persistent", UNDO): None} if with_undo else {}
    return f"PUT _cluster/settings {json.dumps(document_of({change.path: change.was, **undo}))}"


def staying(changes: Iterable[Change], *, known: bool, with_undo: bool = False) -> tuple[Reason, ...]:
    """The refusals that name settings which stay as a run has set them. `known` says that the former ones are known."""
    return tuple(
        refused(
            "setting_stays",
            f"The {each.path[0]} setting {each.name} stays {each.set_to!r}. {_before(each, known)}",
            f"Settle, or send {request_for(each, with_undo=with_undo)}.",
        )
        for each in changes
    )


def _before(change: Change, known: bool) -> str:
    if not known:
        return "A run sets such a value."
    return f"It was {change.was!r} before the run." if change.was is not None else "It was not set before the run."


def found_again(changes: Iterable[Change]) -> tuple[Reason, ...]:
    """The remarks on settings of this run that were put back although no undo named them."""
    return tuple(
        remark(
            "put_back_without_undo",
            f"The {each.path[0]} setting {each.name} was still {each.set_to!r} at the end of the run, and no undo in"
            " the cluster named it. It is as at the start of the run again:"
            f" {'not set' if each.was is None else each.was}.",
            "Find out who has changed the undo, or has restored an older state of the cluster.",
        )
        for each in changes
    )


def left_overs(changes: Iterable[Change]) -> tuple[Reason, ...]:
    """The remarks on settings that look as if a run had set them, and that no undo names."""
    return tuple(
        remark(
            "looks_left_over",
            f"The {each.path[0]} setting {each.name} is {each.set_to!r}, and no undo names it. A run may have left it,"
            " or it was set on purpose.",
            f"If it was not set on purpose, settle with upgrade_reset={each.name}, or send {request_for(each)}.",
        )
        for each in changes
    )


@as_verdict
def judge_reset(names: Collection[str]) -> Iterator[Reason]:
    """Whether all these are settings that runs change, or the undo."""
    wrong = [name for name in names if name != UNDO and not is_changed_by_runs(name)]
    if wrong:
        yield refused(
            "reset_of_another",
            f"No run changes {enumerate_few(wrong)}, so that is not reset.",
            "Give full names of settings that the playbook settle has named.",
        )
