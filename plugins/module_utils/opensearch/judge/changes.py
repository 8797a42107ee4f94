"""Changes of cluster settings: the request with the undo in it, and the changes that are still in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...common.verdict import Reason, remark
from ...run.undo.undo import Change, Undo, document_of
from ..observe.settings import (
    ARCHIVED,
    EXCLUDE,
    EXCLUDING,
    LISTS,
    SCOPES,
    UNDO,
    Settings,
    names_in,
    repeated,
)


def with_names(present: Any, names: Iterable[str]) -> Any:
    """A comma-separated list that also holds these names; `present` itself if it holds them already.

    It is a text even if `present` is an array: OpenSearch takes an array, and reads it as a text in brackets.
    """
    there = names_in(present)
    missing = [name for name in names if name not in there]
    return ",".join([*there, *missing]) if missing else present


def excluding(settings: Settings, names: Iterable[str], *, keeps_last: bool) -> dict[str, Any]:
    """The settings that exclude these members too, without an effect on other exclusions.

    With `keeps_last`, as on Elasticsearch, the server keeps only those attributes of `exclude` in force that the last
    change has changed (elastic/elasticsearch#55815; seen on 8.18 and 8.19). So all that are set are changed in the same
    request: each gets the same list, written differently. To put them back is again one change of all of them.
    """
    wanted = {EXCLUDE: with_names(settings.effective(EXCLUDE), names)}
    if not keeps_last or wanted[EXCLUDE] == settings.effective(EXCLUDE):
        return wanted
    return {**wanted, **{name: repeated(settings.effective(name)) for name in other_exclusions(settings)}}


def other_exclusions(settings: Settings) -> list[str]:
    """The exclusions in force that are by another attribute than the name."""
    set_ = sorted({*settings.persistent, *settings.transient})
    found = [name for name in set_ if name.startswith(EXCLUDING) and name != EXCLUDE]
    return [name for name in found if names_in(settings.effective(name))]


def not_in_force(settings: Settings, back: Iterable[Change]) -> tuple[Reason, ...]:
    """On Elasticsearch, remarks on exclusions that others have set or changed since, once those of a run are put back.

    The server keeps in force what was changed last, see `excluding`.
    """
    changed = {each.name for each in back}
    if EXCLUDE not in changed:
        return ()
    return tuple(
        remark(
            "exclusion_not_in_force",
            f"{name} was set to {settings.effective(name)!r} during the run. Elasticsearch keeps only the exclusions in"
            f" force that were changed last, and {EXCLUDE} was put back after it (elastic/elasticsearch#55815).",
            f"If it is still wanted, set {name} to null and then to that value again with PUT _cluster/settings.",
        )
        for name in other_exclusions(settings)
        if name not in changed
    )


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
    """The archived settings. Any change has to remove them: as long as there is one, the server refuses all changes.

    This was seen on 3.8.0 with `compatibility.override_main_response_version` of 2.19 (OpenSearch#18515). Archived
    settings have no effect any more, and the server does not take them back.
    """
    return tuple(
        Change((scope, name), value, None)
        for scope in SCOPES
        for name, value in settings.scope(scope).items()
        if name.startswith(ARCHIVED)
    )


def settings_body(
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
    if left == names_in(change.was):
        return change.was
    return (left if isinstance(change.was, list) else ",".join(left)) or None


def _added(change: Change) -> set[str]:
    return set(names_in(change.set_to)) - set(names_in(change.was))
