# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delay instead of restriction: whether it can be used. Pure: no client, no clock.

From 3.8.0 on, the time for which the servers wait for a member before they rebuild its shards elsewhere is a setting of
the whole cluster, for the indices that have none of their own (`index.unassigned.node_left.delayed_timeout`). Seen on
3.8.0: it is dynamic, and once it is put back the shards that still wait are allocated at once.
"""

from __future__ import annotations

import re

from ...common.errors import refusal
from ...common.verdict import Verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.state import ClusterState

_SECONDS = {"nanos": 1e-9, "micros": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TIME = re.compile(r"(?P<number>\d+(\.\d+)?)(?P<unit>nanos|micros|ms|s|m|h|d)")


def seconds_of(text: str) -> float:
    """Seconds of a time value of the servers; 0 for the values that mean none (`0`, `-1`).

    Raises:
        ValueError: the text is no time.
    """
    if text in {"0", "-1"}:
        return 0.0
    found = _TIME.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(text)
    return float(found["number"]) * _SECONDS[found["unit"]]


def choose(state: ClusterState, delay: str, *, only: bool) -> tuple[bool, Verdict]:
    """Whether the delay is used, and the reasons about it. `only` says that the user wants nothing else.

    Raises:
        Refusal: `delay` is no time.
    """
    try:
        wanted = seconds_of(delay)
    except ValueError as error:
        raise refusal(
            "delay_unreadable", f"delay {delay!r} is not a time.", "Give a number and a unit: 1h, 90m."
        ) from error
    since = state.product.delay_since
    old = [f"{one.name} ({one.version})" for one in state.members.values() if since is None or one.version < since]
    if old:
        below = f" below {since}" if since else f" of {state.product.name}"
        reason = refused(
            "delay_unknown",
            f"Members{below} do not know the delay for the whole cluster: {enumerate_few(old)}.",
            "Use method=restrict, or method=auto until every member is new enough.",
        )
        return False, Verdict((reason,)) if only else Verdict()
    shorter = [index.name for index in state.indices.values() if index.replicas and _is_shorter(index.delay, wanted)]
    if not shorter:
        return True, Verdict()
    text = f"These indices set a shorter delay of their own than {delay}: {enumerate_few(shorter)}."
    rest = "Their replicas are rebuilt elsewhere after it." if only else "So allocation is restricted instead."
    return only, Verdict((remark("delay_shorter", f"{text} {rest}"),))


def _is_shorter(own: str | None, wanted: float) -> bool:
    """Whether an index's own delay is shorter. One that cannot be read counts as shorter: it proves nothing."""
    try:
        return own is not None and seconds_of(own) < wanted
    except ValueError:
        return True
