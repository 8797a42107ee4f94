# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of cluster settings: the request with the undo in it, and the changes that are still in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...engine.undo import Change, Undo, document_of
from ..observe.settings import ARCHIVED, LISTS, SCOPES, UNDO, Settings, names_in


def with_names(present: Any, names: Iterable[str]) -> Any:
    """A list with commas that also holds these names; `present` itself if it holds them already."""
    there = names_in(present)
    missing = [name for name in names if name not in there]
    return ",".join([*there, *missing]) if missing else present


def plan_changes(settings: Settings, wanted: Mapping[str, Any]) -> tuple[Change, ...]:
    """The changes that make `wanted` effective. Each goes to the scope that is in force, so that nothing hides it."""
    changes = []
    for name, value in wanted.items():
        if settings.effective(name) == value:
            continue
        scope = "transient" if name in settings.transient else "persistent"
        changes.append(Change((scope, name), settings.at((scope, name)), value))
    return tuple(changes)


def removals(settings: Settings) -> tuple[Change, ...]:
    """The archived settings, which have to go with any change: as long as there is one, the server refuses all changes.

    This was seen on 3.8.0 with `compatibility.override_main_response_version` of 2.19 (OpenSearch#18515). Archived
    settings have no effect any more, and the server does not take them back.
    """
    return tuple(
        Change((scope, name), value, None)
        for scope in SCOPES
        for name, value in settings.scope(scope).items()
        if name.startswith(ARCHIVED)
    )


def request_of(
    changes: Iterable[Change], undo: Undo | None, *, back: bool, removed: Iterable[Change] = ()
) -> dict[str, dict[str, Any]]:
    """The body of the one `PUT _cluster/settings` that makes the changes (or puts them back) and writes the undo.

    `removed` are settings that are removed for good in the same request.
    """
    values = {each.path: each.was if back else each.set_to for each in changes}
    gone = {each.path: None for each in removed}
    return document_of({("persistent", UNDO): undo.text() if undo else None, **values, **gone})


def split_ours(undo: Undo, settings: Settings) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The changes that are still in force as the run set them, and those that another has changed since."""
    return undo.split(settings.at, is_ours)


def is_ours(change: Change, present: Any) -> bool:
    """Whether the present value is still the run's; for a list, whether it still holds some of the names it added."""
    return bool(_added(change) & set(names_in(present))) if change.name in LISTS else change.is_ours(present)


def value_back(change: Change, present: Any) -> Any:
    """The value to put back if the present one is the run's; for a list, its names without those the run added."""
    if change.name not in LISTS:
        return change.was
    left = [name for name in names_in(present) if name not in _added(change)]
    return change.was if left == names_in(change.was) else ",".join(left) or None


def _added(change: Change) -> set[str]:
    return set(names_in(change.set_to)) - set(names_in(change.was))
