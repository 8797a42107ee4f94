"""The notices of an upgrade: each state is sent once, and the record has those that were sent. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from ..record.events import EventKind, happened
from ..record.phases import Deed
from ..record.record import Record
from ..record.trying import SKIPPED_NOTICE
from ..start.approvals import MISSING, PAUSED

AGAIN = frozenset({"failed", "cancelled"})
"""The states in which an upgrade can be again after further batches, for a reason with the same code. That batches are
late is sent once for all of them."""
REPEATED = frozenset({"waiting", "refused"})
"""The states before a start, which each pass reports until it starts. The others are reported by one run alone."""
OF_PEOPLE = frozenset({MISSING, PAUSED})
"""The codes for which the same is true of an upgrade that is paused. Single passes pause for others again and again."""

STATE_WORDS = {SKIPPED_NOTICE: "continues without additional capacity"}
"""The words of a notice for a state that is no word."""
UPGRADE = Deed.UPGRADE.value


def notice_key(state: str, codes: Collection[str], record: Record | None, target: str = "") -> str:
    """The key of a notice, under which it is sent once.

    It differs for another upgrade or `target`, another start time, other reasons, and after further batches: the second
    point that has to be approved has the same code as the first. The sentences are not part of it, because they contain
    times that change.
    """
    of_upgrade = "" if record is None else record.started if record.run else "before"
    start = record.start.at if record is not None and record.start is not None else ""
    if record is not None and record.run and state == "started":
        # It may wait for a further window, and does not start once more after it.
        start = ""
    again = state in AGAIN or (state == "paused" and not OF_PEOPLE.isdisjoint(codes))
    done = record.batches_done if record is not None and again else 0
    # A plan that is refused may be for another version than the record.
    other = target if record is not None and target and target != record.target_version else ""
    more = [*([str(done)] if done else []), *([other] if other else [])]
    text = "|".join([state, *sorted(set(codes)), of_upgrade, start, *more])
    return f"{state}-{sha256(text.encode()).hexdigest()[:12]}"


def is_sent(record: Record | None, key: str) -> bool:
    """Whether the record shows that this notice was sent."""
    return record is not None and key in record.notices


def with_notice(record: Record | None, key: str, at: str) -> Record | None:
    """The record with one more notice; None if there is no record, or it has the notice already."""
    if record is None or is_sent(record, key):
        return None
    return record.with_events(happened(EventKind.NOTICED, at, record.run, key))


def content_of(
    facts: Mapping[str, Any], record: Record | None, body: Mapping[str, Any] | None, key: str
) -> dict[str, Any]:
    """The content of a notice: the user's own, or all that is known, with one sentence in `text`.

    `facts` has the `state`, the `cause`, the `codes`, the `target_version`, the `deed`, the `plan`, the `place`, the
    `run` and the time (`at`).
    """
    if body:
        return dict(body)
    cause = f": {facts['cause']}" if facts["cause"] else "."
    system = record.system if record is not None and record.system else "cluster"
    # A restart leads to no other version.
    target = f" to {facts['target_version']}" if facts["target_version"] and facts["deed"] == UPGRADE else ""
    state = STATE_WORDS.get(facts["state"], f"is {facts['state']}")
    return {
        **facts,
        "text": f"The {facts['deed']} of {facts['place'] or system}{target} {state}{cause}",
        "system": system,
        "phase": record.phase.value if record is not None else "",
        "key": key,
    }
