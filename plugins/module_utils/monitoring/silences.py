"""The silences that an upgrade holds: which are ours, and what to do about each. Pure.

A silence says whose it is, so that it is found again after a kill: its creator names the lock of the upgrade, and its
comment the run. It lasts only a short time, and the run extends it while it lives.

An update under the same id, with the same matchers and the same start, continues without a gap (Alertmanager,
silence/silence.go, canUpdate).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..common.reading import Json, Unreadable, flag, listed, part, text
from .selectors import Matcher, Selector

CREATOR = "stateful.upgrade"
OVER = "expired"
RENEWALS = 3
"""Renewals of a silence within the time that it lasts."""


@dataclass(frozen=True)
class Silence:
    """One silence of the Alertmanager."""

    id: str
    selector: Selector
    creator: str
    comment: str
    starts: str
    """As the Alertmanager writes it: an update has to give the same."""
    ends: datetime
    state: str
    """active, pending or expired."""
    updated: datetime | None = None
    """The time of its last change; None if the server does not say."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended. The server forgets it after some days."""
        return self.state == OVER

    @property
    def ended_by_hand(self) -> bool:
        """Whether it was ended before its time: that makes both times equal (silence/silence.go, expire)."""
        return self.updated is not None and self.ends - self.updated < timedelta(seconds=1)


def creator_of(owner: str) -> str:
    """The creator of the silences of an upgrade: the name of its lock, perhaps with that of the cluster."""
    return f"{CREATOR} {owner}"


def comment_of(run: str) -> str:
    """The comment of the silences of a run."""
    return f"An upgrade is under way, run {run}. It ends by itself if that run dies."


def lost(silences: Iterable[Silence], run: str, wanted: Sequence[Selector]) -> list[Silence]:
    """The silences that a run still wants, but that have ended without a replacement: the last one of each."""
    found = sorted(silences, key=lambda silence: silence.ends)
    there = {each.selector.key for each in found if not each.is_over}
    keys = {each.key for each in wanted} - there
    over = {each.selector.key: each for each in found if each.is_over and each.comment == comment_of(run)}
    return [each for key, each in over.items() if key in keys]


@dataclass(frozen=True)
class Steps:
    """The acts that bring the silences of an upgrade to what is wanted."""

    made: tuple[Selector, ...]
    kept: tuple[Silence, ...]
    """They are extended, and taken over by this run."""
    ended: tuple[Silence, ...]


def steps_to(wanted: Sequence[Selector], held: Sequence[Silence]) -> Steps:
    """The acts that are needed. Silences with the same matchers are the same; of two such, the later one is ended."""
    kept: dict[frozenset[Matcher], Silence] = {}
    ended = []
    keys = {each.key for each in wanted}
    for each in sorted(held, key=lambda silence: (silence.starts, silence.id)):
        key = each.selector.key
        if key in keys and key not in kept:
            kept[key] = each
        else:
            ended.append(each)
    made = tuple({each.key: each for each in wanted if each.key not in kept}.values())
    return Steps(made, tuple(kept.values()), tuple(ended))


def is_due(silence: Silence, comment: str, now: datetime, duration: timedelta) -> bool:
    """Whether to renew a silence: a third of its time is over, or it is of an earlier run."""
    return silence.comment != comment or silence.ends - now < duration * (RENEWALS - 1) / RENEWALS


def parse_silence(raw: Json) -> Silence:
    """A silence as the API has it, version 2 (https://github.com/prometheus/alertmanager, api/v2/openapi.yaml)."""
    return Silence(
        id=text(raw, "id"),
        selector=Selector(listed(raw, "matchers", _matcher)),
        creator=text(raw, "createdBy", ""),
        comment=text(raw, "comment", ""),
        starts=text(raw, "startsAt"),
        ends=_moment(raw, "endsAt"),
        state=text(part(raw, "status"), "state"),
        updated=_moment(raw, "updatedAt") if "updatedAt" in raw else None,
    )


def _matcher(raw: Json) -> Matcher:
    return Matcher(
        name=text(raw, "name"),
        value=text(raw, "value", ""),
        is_equal=flag(raw, "isEqual", default=True),
        is_regex=flag(raw, "isRegex", default=False),
    )


def _moment(raw: Json, name: str) -> datetime:
    found = text(raw, name)
    try:
        # Alertmanager writes nanoseconds and drops zeros at their end, neither of which Python 3.10 reads.
        whole, _dot, rest = found.partition(".")
        zone = rest.lstrip("0123456789") if rest else ""
        return datetime.fromisoformat((whole + zone).replace("Z", "+00:00"))
    except ValueError as error:
        raise Unreadable(f"is {found}, which is no time", name) from error
