"""The timed events of an upgrade, in one list: its transitions, what people have said, what was changed. Pure.

The history, consents, approvals, pause, notices and changes of a record are taken from this list. The events of batches
are derived from the batches, see `batch_events`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from enum import Enum
from typing import Any

from ...common.timestamps import timestamp_text
from ...common.words import shortened
from .figures import figure, timestamp

CHANGES = ("set", "changed", "excluded", "removed", "forced", "patch_stateful_set", "lower_partition")
PUT_BACK = ("restored", "included")
"""The actions of modules that change something, temporarily or for good, and those that put it back."""
DOWN = ("delete_pod", "stopped_process")
"""The actions that take a member down."""
LOWERED = "lower_partition"
IMAGE, STRATEGY = "image", "update strategy"
PARTS = {"image": IMAGE, "strategy": STRATEGY}
"""The parts of a pool that one request may change together, by their names in the action. The image stays."""
KEPT = 100
"""Events that are kept of the transitions, the changes, and each other kind: the newest, but of changes the first."""
LONGEST = 500
"""Characters of the message of an event that is not a transition."""


class EventKind(str, Enum):
    """The kinds of events that do not change the phase. Those that do are named as in `phases.UpgradeEvent`."""

    ACCEPTED = "risk_accepted"
    """A run was given an option that accepts a risk. The event is about the option, and its message is the value."""
    SKIPPED = "check_skipped"
    """A run was asked not to make a check."""
    APPROVED = "approved"
    REQUESTED = "requested"
    """A request with an owner was first seen. The event is about its place, its message is the digest, and it has the
    owner as its further line."""
    HELD = "held"
    """A person has paused the upgrade, for the reason in the message."""
    RESUMED = "resumed"
    NOTICED = "notice_sent"
    HEALTH = "health_seen"
    """The health of the system at the end of a run, or of the batch that the event is about."""
    WENT = "went"
    CAME = "came"
    """The event is about a member that went down, or was back in the cluster."""
    CHANGED = "changed"
    PUT_BACK = "put_back"
    """The message of both is the action of the module, followed by the option that allows it if it takes consent."""
    SETTLED = "settled"
    """All changes of an interrupted run were put back. It is kept once after each transition."""
    LASTS = "lasts_since"
    """The event is about a thing that stays in a state for a long time. Its message is the state, and its time the
    start of that state."""
    BATCH_STARTED = "batch_started"
    BATCH_ENDED = "batch_ended"
    """The event is about the batch, and its message is the outcome."""
    LATE = "late"
    """The event is about the first member of a batch that was reported as late, and its message is what it waited for.
    The names of batches change from one plan to the next."""
    WHOLE_AGAIN = "whole_again"
    """The first gate that found all whole after the batch that the event is about."""


_FIRST = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
"""Between two sentences."""
ONCE = (EventKind.ACCEPTED, EventKind.SKIPPED, EventKind.APPROVED, EventKind.NOTICED)
"""Kinds of events that are kept only once for the same content."""
MOVES = (EventKind.WENT, EventKind.CAME)
COUNTED = (EventKind.CHANGED, EventKind.PUT_BACK)
"""Kinds of events that are kept once with a count, like events of Kubernetes."""


@dataclass(frozen=True)
class RecordedEvent:
    """One event."""

    at: str
    run: str
    phase: str
    """The phase that a transition led to, in the words of the time; empty for every other event."""
    message: str
    more: tuple[str, ...] = ()
    """Further reasons, one line each."""
    kind: str = ""
    """One of `EventKind` or `phases.Event`; empty for a transition that was written before it was kept."""
    about: str = ""
    """The check, the option, the point, the notice or the setting."""
    by: str = ""
    """The person who caused it or allowed it; empty if the run did."""
    times: int = 1
    last: str = ""
    """The time of the last one, if it is counted several times."""


@dataclass(frozen=True)
class Risk:
    """A risk that was accepted, or a check that was skipped."""

    said: str
    by: str
    at: str
    run: str


def fields_of(part: Any) -> dict[str, Any]:
    """The fields of a part of a record, for the encoder of JSON: unlike `dataclasses.asdict` it copies nothing."""
    return {each.name: getattr(part, each.name) for each in fields(part)}


def happened(
    kind: EventKind, at: str, run: str = "", about: str = "", message: str = "", by: str = ""
) -> RecordedEvent:
    """An event that is not a transition."""
    return RecordedEvent(at, run, "", shortened(message, LONGEST), kind=kind.value, about=about, by=by)


def one_sentence(text: str) -> str:
    """The first sentence of a text; what follows stays in the history."""
    return shortened(_FIRST.split(text.strip(), 1)[0], LONGEST)


def of_kind(events: Iterable[RecordedEvent], *kinds: EventKind) -> tuple[RecordedEvent, ...]:
    """The events of these kinds, in their order."""
    return tuple(each for each in events if each.kind in kinds and not each.phase)


def added(events: Sequence[RecordedEvent], fresh: Iterable[RecordedEvent]) -> tuple[RecordedEvent, ...]:
    """The events, followed by these. One that was noted before is counted, or not noted again."""
    found = list(events)
    for each in fresh:
        single = (*ONCE, *COUNTED) if not each.phase else ()
        same = next((n for n, one in enumerate(found) if each.kind in single and _content(one) == _content(each)), None)
        if same is not None:
            if each.kind in COUNTED:
                found[same] = replace(found[same], times=found[same].times + 1, last=each.at)
            continue
        alike = [number for number, one in enumerate(found) if _group(one) == _group(each)]
        if len(alike) >= KEPT:
            if each.kind in COUNTED:
                continue
            del found[alike[0]]
        found.append(each)
    return tuple(found)


def changes(actions: Iterable[Mapping[str, Any]], run: str, by: str = "") -> Iterator[RecordedEvent]:
    """The events for these actions of modules. Actions that do not change or put back anything give none.

    `by` is the person who has started the run. An action that takes consent is theirs, and says what was allowed and
    by which option (`consent`).
    """
    for action in actions:
        word, at = str(action.get("action")), str(action.get("at", ""))
        if word in (*CHANGES, *PUT_BACK):
            kind = EventKind.PUT_BACK if word in PUT_BACK else EventKind.CHANGED
            consent = str(action.get("consent") or "")
            said = f"{word}: {consent}" if consent else word
            yield from (happened(kind, at, run, target, said, by if consent else "") for target in _targets(action))


def moves(
    actions: Iterable[Mapping[str, Any]], took: Iterable[Mapping[str, Any]], members: Collection[str], run: str, at: str
) -> Iterator[RecordedEvent]:
    """The events that these members went and came, from the acts and the outcomes of a batch that is noted at `at`."""
    went = {str(each.get("target")): str(each.get("at", "")) for each in actions if each.get("action") in DOWN}
    yield from (happened(EventKind.WENT, then, run, name) for name, then in went.items() if name in members)
    for each in took:
        name, seconds = str(each.get("name")), figure(each, "total_seconds")
        if seconds is not None and name in members:
            yield happened(EventKind.CAME, later(went.get(name, ""), seconds, "milliseconds") or at, run, name)


def later(began: str, seconds: float | None, precision: str = "seconds") -> str:
    """The time so many seconds after another; empty if either is missing, or there is no such time."""
    first = timestamp(began)
    with suppress(OverflowError):
        return timestamp_text(first + timedelta(seconds=seconds), precision) if first and seconds is not None else ""
    return ""


def risks_in(events: Iterable[RecordedEvent]) -> tuple[Risk, ...]:
    """The risks that were accepted, and the checks that were skipped."""
    found = of_kind(events, EventKind.ACCEPTED, EventKind.SKIPPED)
    return tuple(Risk(_said(each), each.by, each.at, each.run) for each in found)


def stays(target: str) -> bool:
    """Whether a change of this target is meant to stay: an image, or a pod that is gone."""
    return target.startswith((f"{IMAGE} of ", "Pod "))


def _targets(action: Mapping[str, Any]) -> Sequence[str]:
    """The things that an action has changed. A pool is changed in parts: one stays, another is put back."""
    target, parts = str(action.get("target")), action.get("set")
    if action.get("action") == LOWERED:
        return [f"{STRATEGY} of pool {target}"]
    if not isinstance(parts, list):
        return [target]
    return [f"{PARTS[part]} of pool {target}" for part in parts if part in PARTS]


def _content(one: RecordedEvent) -> tuple[str, ...]:
    return one.kind, one.about, one.message, one.by


def _group(one: RecordedEvent) -> str:
    return "transition" if one.phase else EventKind.CHANGED.value if one.kind in COUNTED else one.kind


def _said(risk: RecordedEvent) -> str:
    """The words for a risk."""
    if risk.kind == EventKind.SKIPPED:
        return f"check {risk.about} skipped"
    # Sentences of playbooks do not replace options that are ordinary words by their variables.
    option = risk.about if "_" in risk.about else f"{risk.about} (upgrade_{risk.about})"
    return f"risk accepted with {option}{f': {risk.message}' if risk.message else ''}"
