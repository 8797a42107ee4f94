# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cluster settings, and the undo that they carry, as frozen data. Pure: no client.

OpenSearch accepts free keys under `cluster.metadata.*` in the same `PUT _cluster/settings` as a change (seen on 1.3,
2.19 and 3.8), so a change and its undo are one atomic request, and the cluster itself carries the undo even if the
controller dies. The undo is one JSON string, since nested objects would drop nulls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...common.errors import refusal
from ...common.reading import Json, part
from ...engine.undo import Writer, writer_in

UNDO = "cluster.metadata.stateful_upgrade.undo"
ARCHIVED = "archived."
"""The prefix of a setting that the running version does not know, left over from an older one."""
ENABLE = "cluster.routing.allocation.enable"
ALLOCATING = (None, "all")
"""The values of that setting with which every copy can come back."""
KEPT_IN = ("kubernetes", "opensearch")
"""The stores that a lock may be kept in."""
SCOPES = ("persistent", "transient")
EXCLUDE = "cluster.routing.allocation.exclude._name"
RECOVERIES = "cluster.routing.allocation.node_concurrent_recoveries"
RECOVERY_BYTES = "indices.recovery.max_bytes_per_sec"
REBALANCE = "cluster.routing.rebalance.enable"
DELAY = "cluster.routing.allocation.unassigned.node_left.delayed_timeout"
LISTS = frozenset({EXCLUDE})
"""Settings that are lists with commas, to which names are added: a run takes back only the names that it added."""

Flat = Mapping[str, Any]

_NUMBER = r"\d+"
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
    DELAY: (_TIME, _TIME),
}
"""All settings that a run changes, each with patterns of the value before (if it was set) and of the value set.

An undo that names other settings or values was not written by a run. A user who may write only the undo could otherwise
have anything put back with the rights of the user who settles.
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


@dataclass(frozen=True)
class Change:
    """One changed setting: its scope, its value before (None if it was absent), and the value set."""

    setting: str
    scope: str
    was: Any
    set_to: Any

    def is_ours(self, present: Any) -> bool:
        """Whether the present value is still the one that the run set; for a list, whether it still holds some of the
        names that the run added.
        """
        if self.setting in LISTS:
            return bool(self._added() & set(names_in(present)))
        return bool(present == self.set_to)

    def back(self, present: Any) -> Any:
        """The value to put back if the present one is the run's; for a list, its names without those the run added."""
        if self.setting not in LISTS:
            return self.was
        left = [name for name in names_in(present) if name not in self._added()]
        return self.was if left == names_in(self.was) else ",".join(left) or None

    def _added(self) -> set[str]:
        return set(names_in(self.set_to)) - set(names_in(self.was))


@dataclass(frozen=True)
class Undo:
    """The undo of settings. `cluster` is its cluster's UUID, since a snapshot may bring the undo of another cluster."""

    writer: Writer
    cluster: str
    changes: tuple[Change, ...]
    excluded: tuple[str, ...] = ()
    """The names of the members that are excluded from voting for a moment."""
    foreign: tuple[Any, ...] = ()
    """Changes that no run of this collection makes: they are kept as they are, and never put back."""

    def dumps(self) -> str:
        """The JSON string that the cluster carries."""
        ours = [{"setting": c.setting, "scope": c.scope, "was": c.was, "set_to": c.set_to} for c in self.changes]
        changes = [*ours, *self.foreign]
        excluded = {"voting_exclusions": list(self.excluded)} if self.excluded else {}
        return json.dumps({**self.writer.head(), "cluster": self.cluster, "settings": changes, **excluded})


def names_in(value: Any) -> list[str]:
    """The names of a list with commas, in its order."""
    return [name.strip() for name in str(value or "").split(",") if name.strip()]


def parse_settings(answer: Json) -> Settings:
    """Settings from the flat answer.

    Raises:
        Unreadable: a scope is missing.
    """
    return Settings(persistent=part(answer, "persistent"), transient=part(answer, "transient"))


def carried_undo(settings: Settings) -> Undo | None:
    """The undo that the cluster carries, if any.

    Raises:
        Refusal: it carries one that cannot be read. A person has to look, since such an undo is never overwritten.
    """
    text = settings.persistent.get(UNDO)
    if text is None:
        return None
    try:
        raw = json.loads(text)
        listed = list(raw["settings"])
        read = [(each, Change(each["setting"], each["scope"], each["was"], each["set_to"])) for each in listed]
        foreign = tuple(each for each, change in read if not is_known(change))
        changes = tuple(change for _each, change in read if is_known(change))
        excluded = raw.get("voting_exclusions", [])
        if not isinstance(excluded, list) or not all(isinstance(name, str) for name in excluded):
            raise ValueError("unknown exclusions from voting")
        writer = writer_in(raw)
        if not isinstance(raw["cluster"], str) or (writer.lock and writer.lock["kept_in"] not in KEPT_IN):
            raise ValueError("unknown cluster or lock")
        return Undo(writer, raw["cluster"], changes, tuple(excluded), foreign)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refusal(
            "undo_not_readable",
            f"The cluster setting {UNDO} holds an undo that cannot be read ({type(error).__name__}: {error}).",
            "Read it with GET _cluster/settings, put back the settings it names by hand, then set it to null.",
        ) from error


def is_known(change: Change) -> bool:
    """Whether runs of this collection make such a change."""
    if not isinstance(change.setting, str) or change.setting not in CHANGED or change.scope not in SCOPES:
        return False
    before, then = CHANGED[change.setting]
    return (change.was is None or _fits(before, change.was)) and _fits(then, change.set_to)


def _fits(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value, re.IGNORECASE) is not None
