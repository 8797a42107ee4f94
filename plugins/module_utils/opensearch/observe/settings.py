"""Cluster settings, and the undo that they carry, as frozen data. Pure: no client.

OpenSearch accepts free keys under `cluster.metadata.*` in the same `PUT _cluster/settings` as a change (seen on 1.3,
2.19 and 3.8), so a change and its undo are one atomic request, and the cluster itself carries the undo even if the
controller dies. The undo is one JSON string, since nested objects would drop nulls. Next to its changes it has the UUID
of its `cluster`, since a snapshot may bring the undo of another cluster, and the names excluded from voting. The path
of a change is the scope and the name of a setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...common.errors import refusal
from ...common.reading import Json, part
from ...run.undo.undo import UNREADABLE, Change, Path, Undo, undo_in

UNDO = "cluster.metadata.stateful_upgrade.undo"
EXCLUDED = "voting_exclusions"
ARCHIVED = "archived."
"""The prefix of a setting that the running version does not know, left over from an older one."""
ENABLE = "cluster.routing.allocation.enable"
KEPT_IN = ("kubernetes", "opensearch")
"""The stores that a lock may be kept in."""
SCOPES = ("persistent", "transient")
ROUTING = "cluster.routing.allocation."
EXCLUDING = f"{ROUTING}exclude."
"""The prefix of the settings that keep shards off members by an attribute of them, such as `_ip` or `zone`."""
EXCLUDE = f"{EXCLUDING}_name"
RECOVERIES = "cluster.routing.allocation.node_concurrent_recoveries"
RECOVERY_BYTES = "indices.recovery.max_bytes_per_sec"
REBALANCE = "cluster.routing.rebalance.enable"
NODE_LEFT = "cluster.routing.allocation.unassigned.node_left.delayed_timeout"
"""Known from OpenSearch 3.8.0 on, and for the indices without `index.unassigned.node_left.delayed_timeout`."""
LISTS = frozenset({EXCLUDE})
"""Settings that are comma-separated lists. A run adds names to them, and takes back only those that it added."""

Flat = Mapping[str, Any]

_NUMBER = r"\+?\d+"
_RESTRICTED = "primaries|new_primaries|none"
_BYTES = r"-1|\d+(\.\d+)?\s*([kmgtp]?b|[kmgtp])?"
_TIME = r"-1|\d+(\.\d+)?(nanos|micros|ms|s|m|h|d)?"
_NAMES = r"[^\x00-\x1f]*"
CHANGED: Mapping[str, tuple[str, str]] = {
    ENABLE: (f"all|{_RESTRICTED}", _RESTRICTED),
    EXCLUDE: (_NAMES, _NAMES),
    RECOVERIES: (_NUMBER, _NUMBER),
    RECOVERY_BYTES: (_BYTES, _BYTES),
    REBALANCE: ("all|primaries|replicas|none", "none"),
    NODE_LEFT: (_TIME, r"\d+s"),
}
"""All settings that a run changes, each with patterns of the value before (if it was set) and of the value set.

An undo that names other settings or values was not written by a run. A user who may write only the undo could otherwise
have anything put back with the rights of the user who settles. Other exclusions are only written again, see `repeated`.
"""


@dataclass(frozen=True)
class Settings:
    """`GET _cluster/settings?flat_settings=true`: both scopes, with only what was set explicitly."""

    persistent: Flat
    transient: Flat

    def effective(self, name: str) -> Any:
        """The value in force, or None if that is the default. Transient hides persistent."""
        return self.transient.get(name, self.persistent.get(name))

    def scope(self, name: str) -> Flat:
        """The settings of one scope."""
        return self.transient if name == "transient" else self.persistent

    def at(self, path: Path) -> Any:
        """The value of a setting in its scope: its path has both."""
        return self.scope(path[0]).get(path[1])


def allocates(value: Any) -> bool:
    """Whether every copy can come back with this value of `allocation.enable`, of a cluster or of an index.

    Servers take it in any case, and return it as it was given (server source, EnableAllocationDecider.Allocation).
    """
    return value is None or str(value).lower() == "all"


def names_in(value: Any) -> list[str]:
    """The names of a list, in its order: a text with commas, or a JSON array, which servers take and return too."""
    listed = value if isinstance(value, list) else str(value or "").split(",")
    return [name.strip() for name in map(str, listed) if name.strip()]


def repeated(value: Any) -> str:
    """The same list written differently: each name is in it twice, which means the same to the server."""
    return ",".join([*names_in(value)] * 2)


def parse_settings(answer: Json) -> Settings:
    """Settings from the flat answer."""
    return Settings(persistent=part(answer, "persistent"), transient=part(answer, "transient"))


def carried_undo(settings: Settings) -> Undo | None:
    """The undo that the cluster carries, if any.

    Raises:
        Refusal: it carries one that cannot be read. A person has to look, since such an undo is never overwritten.
    """

    def judge(undo: Undo) -> None:
        excluded = undo.more.get(EXCLUDED, [])
        if not isinstance(excluded, list) or not all(isinstance(name, str) for name in excluded):
            raise ValueError("unknown exclusions from voting")

    return undo_under(settings, UNDO, is_known, judge, "settings")


def undo_under(
    settings: Settings, name: str, known: Callable[[Change], bool], judge: Callable[[Undo], None], things: str
) -> Undo | None:
    """The undo that a cluster setting carries, if any; `judge` raises ValueError for one that no run writes.

    Raises:
        Refusal: it carries one that cannot be read. `things` are those that a person then puts back.
    """
    written = settings.persistent.get(name)
    if written is None:
        return None
    try:
        undo = undo_in(written, known)
        judge(undo)
        if not isinstance(undo.more["cluster"], str) or undo.writer.lock.get("kept_in", KEPT_IN[0]) not in KEPT_IN:
            raise ValueError("unknown cluster or lock")
        return undo
    except UNREADABLE as error:
        raise refusal(
            "undo_not_readable",
            f"The cluster setting {name} holds an undo that cannot be read ({type(error).__name__}: {error}).",
            f"Read it with GET _cluster/settings, put back the {things} it names by hand, then set it to null.",
        ) from error


def excluded_by(undo: Undo | None) -> tuple[str, ...]:
    """The names of the members that the run has excluded from voting for a short time."""
    return tuple(undo.more.get(EXCLUDED, ())) if undo else ()


def with_excluded(undo: Undo, names: Iterable[str]) -> Undo:
    """The undo with these names in place of those that it had."""
    others = {name: value for name, value in undo.more.items() if name != EXCLUDED}
    excluded = list(names)
    return replace(undo, more={**others, **({EXCLUDED: excluded} if excluded else {})})


def is_changed_by_runs(name: str) -> bool:
    """Whether runs change such a setting for a while."""
    return name in CHANGED or name.startswith(EXCLUDING)


def is_known(change: Change) -> bool:
    """Whether runs of this collection make such a change."""
    if len(change.path) != 2 or change.path[0] not in SCOPES:
        return False
    if change.name.startswith(EXCLUDING) and change.name != EXCLUDE:
        return bool(names_in(change.was)) and change.set_to == repeated(change.was)
    if change.name not in CHANGED:
        return False
    before, then = CHANGED[change.name]
    was = change.was if change.name in LISTS and isinstance(change.was, list) else [change.was]
    return (change.was is None or all(_fits(before, each) for each in was)) and _fits(then, change.set_to)


def _fits(pattern: str, value: Any) -> bool:
    """Whether a value is of that form. Servers return texts, with the blanks around them with which they were given."""
    return isinstance(value, str) and re.fullmatch(pattern, value.strip(), re.IGNORECASE) is not None
