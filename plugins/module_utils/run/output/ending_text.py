"""The text for people at the end of a run: its outcome, its members, and its changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...common.verdict import sentence_of
from ...common.words import duration, shortened
from ..record.figures import longest_absence, seconds_between
from ..record.record import Record
from .plan_text import Words
from .report import runs_of, waits_of

SHORTEST_WAIT = 5.0
"""Seconds of a wait that is worth mentioning at the end."""
LONGEST_REASON = 120
"""Characters of its reason."""
OUTCOMES = {
    "replaced": "deleted, NOT back",
    "followed": "NOT back",
    "untouched": "not touched",
    "kept": "upgraded by someone else",
}
"""The words for members that the run did not bring back, by their action."""
REPLACED_BY_ANOTHER = "replaced by someone else"
"""The words for a kept member that was only to be replaced, and not upgraded."""
NOTHING_MORE_NOW = (
    "This pass has ended, and everything it changed for a batch is put back. Run it again to continue. Waiting:"
)

Items = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Ending:
    """The facts of the end of a run, as the part `tell` takes them."""

    target_version: str
    failures: Sequence[str] = ()
    failed: bool = False
    aborted: bool = False
    """Whether it failed because a person asked it to stop."""
    not_put_back: bool = False
    remains: bool = False
    """Whether a change of the run stays, as a remark says."""
    put_back: str = ""
    waiting: Items = ()
    waiting_lead: str = ""
    planned: bool = True
    found: str = ""
    record: Record | None = None
    record_name: str = ""
    took: Items = ()
    outdated: Sequence[str] = ()
    remarks: Items = ()
    check_mode: bool = False


def ending_lines(end: Ending, words: Words) -> list[str]:
    """The lines of the end of a run."""
    failures = [line for failure in end.failures for line in _indented(failure)]
    return [*failures, *_outcome(end, words), *_members(end), *(f"Note: {one}" for one in _remarks(end))]


def _indented(failure: str) -> list[str]:
    """The lines of a failure, one for each of its reasons."""
    first, *more = failure.split("\n")
    return [first, *(f"  {line}" for line in more)]


def _outcome(end: Ending, words: Words) -> Iterator[str]:
    if end.failed or end.failures:
        yield from _failed(end, words)
    elif end.check_mode:
        yield "Checked only: nothing was changed."
    elif end.waiting:
        yield end.waiting_lead or NOTHING_MORE_NOW
        yield from (f"  {sentence_of(one)}" for one in end.waiting)
    elif end.planned:
        yield " · ".join(_done(end, words))


def _failed(end: Ending, words: Words) -> Iterator[str]:
    put_back = end.put_back or "All is as it was before the run."
    if end.not_put_back:
        again = "run settle" if end.aborted else "run the playbook again, or settle"
        yield f"Not all could be put back. Fix the cause, then {again} to put everything back without going on."
    elif end.aborted:
        yield f"{put_back} Finished {words.unit}s stay as they are."
    elif end.failed:
        yield f"{put_back} Fix the cause and run the playbook again: finished {words.unit}s are left alone."
    elif not end.check_mode:
        # It failed after the last batch or without one, or a run that waits could not note that.
        done = f"All batches of this run are done ({_put_back(end)}). " if end.planned and not end.waiting else ""
        yield f"{done}Fix the cause and run the playbook again."


def _put_back(end: Ending) -> str:
    return "put back but for what the notes say" if end.remains else "everything put back"


def _done(end: Ending, words: Words) -> Iterator[str]:
    record = end.record
    seconds = seconds_between(record.started, record.updated) if record else None
    runs = runs_of(record) if record else ()
    yield "Done" if seconds is None else f"Done in {duration(seconds)}"
    yield _count(end, words) + (f" in {len(runs)} runs" if len(runs) > 1 else "")
    yield _put_back(end)
    if end.found:
        yield end.found + _so_soon(record)
    if record:
        yield from _longest_wait(record)
    if record and end.record_name:
        yield f"record {end.record_name}"


def _count(end: Ending, words: Words) -> str:
    of = {deed: {_name(one) for one in _outcomes(end) if one.get("action") == deed} for deed in ("stopped", "removed")}
    there, outdated = _upgraded(end).difference(*of.values()), _outdated(end)
    upgraded, replaced = len(there - outdated), len(there & outdated)
    parts = [
        f"{upgraded:,} {words.done(end.target_version)}" if upgraded or not (replaced or any(of.values())) else "",
        f"{replaced:,} replaced (template changed)" if replaced else "",
        *(f"{len(names):,} {deed}" for deed, names in of.items() if names),
    ]
    return ", ".join(filter(None, parts))


def _outdated(end: Ending) -> set[str]:
    """The members that ran the target version already, over all runs of the upgrade."""
    batches = end.record.batches if end.record else ()
    return {name for batch in batches for name in batch.outdated} | {*end.outdated}


def _so_soon(record: Record | None) -> str:
    """The words for the seconds after which all was whole after the last batch."""
    done = [batch for batch in record.batches if batch.state == "done"] if record else []
    seconds = max(done, key=lambda batch: batch.ended).green_seconds if done else None
    return "" if seconds is None else f" within {duration(seconds)} of the last batch"


def _longest_wait(record: Record) -> Iterator[str]:
    for longest in waits_of(record)[:1]:
        if longest.seconds >= SHORTEST_WAIT:
            reason = shortened(longest.message.rstrip("."), LONGEST_REASON)
            yield f"longest wait {duration(longest.seconds)}: {reason}"


def _outcomes(end: Ending) -> Items:
    """The outcomes of the members over all runs of the upgrade; those of this run if there is no record of them."""
    tries = end.record.tries if end.record else ()
    return [one for each in tries for one in each.took] or end.took


def _upgraded(end: Ending) -> set[str]:
    """The members that were upgraded over all runs of the upgrade; in this run if there is no record of them."""
    batches, outcomes = end.record.batches if end.record else (), _outcomes(end)
    done = [name for batch in batches if batch.state == "done" for name in batch.members]
    kept = {_name(one) for one in outcomes if one.get("action") == "kept"}
    return {*map(_name, outcomes), *done} - kept


def _members(end: Ending) -> Iterator[str]:
    """The members that did not come back, or that others have upgraded. All others were shown when they were done."""
    if not end.planned:
        return
    record = end.record
    took = end.took
    if record and record.batches:
        took = [one for batch in record.batches if batch.run == record.run for one in batch.took]
    odd = [one for one in took if not longest_absence([one])]
    outdated = _outdated(end)
    width = max((len(_name(one)) for one in odd), default=0)
    for one in odd:
        action = str(one.get("action", ""))
        outcome = OUTCOMES.get(action, action)
        if action == "kept" and _name(one) in outdated:
            outcome = REPLACED_BY_ANOTHER
        yield f"  {_name(one):<{width}}   {outcome}"


def _remarks(end: Ending) -> Iterator[str]:
    for one in end.remarks:
        if one not in end.waiting:
            yield sentence_of(one)


def _name(member: Mapping[str, Any]) -> str:
    return str(member.get("name", ""))
