"""The requests of an owner in a record: of several, the one that was first seen last counts. Pure.

A request of an object of a system has its own time in that object, and is not kept here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...common.verdict import Reason, as_verdict, refused, waiting
from ..start.request import Requested
from .events import EventKind, RecordedEvent, happened, of_kind

Events = Sequence[RecordedEvent]


def requests_in(events: Events) -> tuple[Requested, ...]:
    """The requests with owners, in the order in which they were first seen."""
    found = of_kind(events, EventKind.REQUESTED)
    return tuple(Requested(each.about, each.message, each.more[0]) for each in found if each.more)


def newly_requested(events: Events, request: Requested | None, at: str, by: str) -> tuple[RecordedEvent, ...]:
    """The event that a request is first seen; none if it was seen before, or has no owner.

    One that was changed at its place is another one.
    """
    if request is None or not request.owner or request == _last_at(request.source, events):
        return ()
    return (replace(happened(EventKind.REQUESTED, at, "", request.source, request.digest, by), more=(request.owner,)),)


def replaced_by(events: Events, request: Requested | None) -> Requested | None:
    """The request from another place that has replaced this one; None if it still counts."""
    noted = _last_at(request.source, events) if request is not None else None
    if noted is None or noted != request:
        return None
    last = [each for each in requests_in(events) if each.owner == noted.owner][-1]
    return last if last.source != noted.source else None


@as_verdict
def judge_standing(events: Events, request: Requested | None) -> Iterator[Reason]:
    """Whether a run may start to carry out this request."""
    other = replaced_by(events, request)
    if request is not None and other is not None:
        yield waiting(
            "request_replaced",
            f"The request {request.source} was replaced by {other.source}, which has the same owner.",
            f"Leave it as it is, or change {request.source} to request it again.",
        )


@as_verdict
def judge_still_standing(events: Events, request: Requested | None) -> Iterator[Reason]:
    """Whether the run that carries out this request may start a further batch."""
    other = replaced_by(events, request)
    if request is not None and other is not None:
        yield refused(
            "stopped_by_request",
            f"The request {request.source} was replaced by {other.source}, which has the same owner, so the upgrade is"
            " aborted.",
            f"Leave it as it is, or change {request.source} to request it again.",
        )


def _last_at(source: str, events: Events) -> Requested | None:
    found = [each for each in requests_in(events) if each.source == source]
    return found[-1] if found else None
