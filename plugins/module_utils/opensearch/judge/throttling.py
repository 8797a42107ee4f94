"""Limits of recoveries that let no copy come back, or only after hours. Pure.

A limit of 0 is valid. The server then answers `throttled` for as long as it stands, as if other recoveries had to end
first (server source, ThrottlingAllocationDecider). A limit of both directions (`node_concurrent_recoveries`) is not
judged here, since a run raises it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...common.verdict import Reason, State, Verdict, as_verdict, refused, remark
from ..observe.explanation import Explanation
from ..observe.settings import RECOVERY_BYTES, ROUTING, Settings

LIMITS = tuple(
    f"{ROUTING}node_{each}_recoveries" for each in ("concurrent_incoming", "concurrent_outgoing", "initial_primaries")
)
"""The limits that no change of a run raises."""
_STOPPED = dict(
    zip(LIMITS, ("no replica recovers", "no replica recovers", "no primary is read from its disk"), strict=True)
)
"""What a limit of 0 stops (server source, ThrottlingAllocationDecider)."""
LEAST = 1024**2
"""Bytes a second below which a remark names the limit: a gigabyte takes more than a quarter of an hour."""
_UNITS = ("", "k", "m", "g", "t", "p")

THROTTLED = "throttled"
"""The server's answer for a copy whose turn has not come."""
IF_THROTTLED = (
    "If this lasts although no shard recovers, a limit of recoveries is 0: see"
    f" {ROUTING}node_concurrent_recoveries, {', '.join(LIMITS)}."
)
"""The remedy for copies that a server is about to allocate, but throttles."""


def naming_limits(verdict: Verdict, explanations: Iterable[Explanation]) -> Verdict:
    """The verdict; its waits name the limits if the server throttles a copy, though no other is on its way then."""
    if all(each.can_allocate != THROTTLED for each in explanations):
        return verdict
    return Verdict(
        tuple(
            replace(each, remedy=f"{each.remedy} {IF_THROTTLED}") if each.state is State.WAITING else each
            for each in verdict.reasons
        )
    )


@as_verdict
def judge_limits(settings: Settings) -> Iterator[Reason]:
    """Whether the limits in force let copies recover."""
    for name in LIMITS:
        value = settings.effective(name)
        if value is not None and re.fullmatch(r"\+?0+", str(value).strip()):
            yield refused(
                "recoveries_disabled",
                f"{name} is set to {value}, so {_STOPPED[name]}: copies could not come back after a restart.",
                f"Set {name} to null, then run again.",
            )
    given = settings.effective(RECOVERY_BYTES)
    pace = _bytes_in(given)
    if pace is not None and 0 < pace < LEAST:
        yield remark(
            "recoveries_slow",
            f"{RECOVERY_BYTES} is set to {given}, so copies that have to be made again take long.",
            f"Set {RECOVERY_BYTES} to null, or to what disks and network can bear.",
        )


def _bytes_in(value: Any) -> float | None:
    """A size in bytes (server source, ByteSizeValue.parseBytesSizeValue); None if it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)b?", str(value).strip().lower())
    return float(found[1]) * 1024 ** _UNITS.index(found[2]) if found else None
