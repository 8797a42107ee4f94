# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of cluster settings: the request with the undo in it, and the changes that are still in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..observe.settings import ARCHIVED, SCOPES, UNDO, Change, Settings, Undo, names_in


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
        changes.append(Change(name, scope, settings.scope(scope).get(name), value))
    return tuple(changes)


def removals(settings: Settings) -> tuple[Change, ...]:
    """The archived settings, which have to go with any change: as long as there is one, the server refuses all changes.

    This was seen on 3.8.0 with `compatibility.override_main_response_version` of 2.19 (OpenSearch#18515). Archived
    settings have no effect any more, and the server does not take them back.
    """
    return tuple(
        Change(name, scope, value, None)
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
    body: dict[str, dict[str, Any]] = {"persistent": {UNDO: undo.dumps() if undo else None}}
    for change in changes:
        body.setdefault(change.scope, {})[change.setting] = change.was if back else change.set_to
    for change in removed:
        body.setdefault(change.scope, {})[change.setting] = None
    return body


def split_ours(undo: Undo, settings: Settings) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """The changes that are still in force as the run set them, and those that another has changed since."""
    ours = tuple(c for c in undo.changes if c.is_ours(settings.scope(c.scope).get(c.setting)))
    return ours, tuple(c for c in undo.changes if c not in ours)
