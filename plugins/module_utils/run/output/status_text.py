"""The lines of the playbook status: the progress of each upgrade, who works on it, and what it waits for. Pure.

A record is a result of the module `upgrade_record`. A record that cannot be read has only a name and a lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...common.verdict import sentence_of
from ...common.words import first_few
from ..lock.lock import Life
from ..record.batches import LEFT
from ..record.settling import is_settled
from ..start.approvals import PAUSE, PAUSED, Approval, Point, points_in, unapproved

Record = Mapping[str, Any]
GONE = (Life.GONE.value, Life.ENDING.value)
"""States of the processes of a run that was interrupted."""
OVER = ("Completed", "Aborted")
"""Phases of an upgrade that has ended, so no pause or point holds it up."""
CONTINUE = "Run the playbook again to continue"
GO_ON = f"{CONTINUE}, or settle to put settings back."


def status_lines(records: Sequence[Record], said: Sequence[Mapping[str, Any]], place: str, *, free: bool) -> list[str]:
    """The lines about all records of a place, such as `in namespace search`, and the reasons `said` from reading them.

    `free` says whether it is known that no run holds a lock that the records do not show.
    """
    lines = [line for record in records for line in _about(record, free)]
    if not records:
        lines = [f"There is no {'readable ' if said else ''}record of an upgrade {place}."]
    return lines + [f"Note: {sentence_of(each)}" for each in said]


def _about(record: Record, free: bool) -> Iterator[str]:
    if "phase" in record:
        yield _head(record)
    yield from (f"  {line}" for line in _within(record, free))


def _head(record: Record) -> str:
    start = record.get("start") or {}
    begun = f"begun {record['started']}"
    if start and not record["run"]:
        starts = "was to start" if record["phase"] in ("Failed", "Aborted") else "starts"
        begun = f"{starts} {start['at']} (window until {start['end']}, {start['policy']})"
    parts = [record["phase"], record["aim"], begun, f"plan {record['digest']}", record.get("reason")]
    return f"{record['name']}: {', '.join(str(part) for part in parts if part)}"


def _within(record: Record, free: bool) -> Iterator[str]:
    going = record.get("phase") not in OVER
    yield from _of_run(record, free)
    yield from _of_start(record)
    if record.get("deployed"):
        yield f"deployed {record['deployed']}"
    for pool in record.get("pools") or ():
        left = pool["left"]
        yield f"pool {pool['name']}: {pool['status']}" + (f", {len(left)} left ({first_few(left)})" if left else "")
    if record.get("outside"):
        yield f"in none of these pools, and not on {record['target_version']}: {first_few(record['outside'])}"
    yield from _said_by_people(record, going=going)
    points = [f"{each.name} (batches done: {each.after})" for each in _unapproved(record)]
    if points and going:
        yield f"stops for approval: {', '.join(points)}"
    for each in record.get("conditions") or ():
        yield _condition(each)
    for each in record.get("named_steps") or ():
        yield f"step {_condition(each)}"
    for each in (record.get("request_status") or {}).get("machines", ()):
        yield from _machine(each)
    left = _is_left(record, free)
    for batch in record.get("batches") or ():
        yield from _batch(batch, left=left)
    for entry in record.get("history") or ():
        when = " ".join(filter(None, (entry["at"], entry["run"], entry["phase"])))
        yield f"{when}: {entry['message']}" if entry["message"] else when
        yield from (f"  {line}" for line in entry.get("more") or ())


def _unapproved(record: Record) -> list[Point]:
    """The points that no one has approved at their place."""
    known = [
        Approval(each["name"], each["by"], each["at"], each.get("place") or "")
        for each in record.get("approvals") or ()
    ]
    return unapproved(points_in(record.get("points") or ()), known)


def _said_by_people(record: Record, *, going: bool) -> Iterator[str]:
    if record.get("hold") and going:
        hold = record["hold"]
        yield f"paused by {hold['by']} since {hold['at']}" + (f": {hold['reason']}" if hold["reason"] else "")
    for each in record.get("approvals") or ():
        place = f" ({each['place']})" if each.get("place") else ""
        yield f"{each['name']} approved by {each['by']}, {each['at']}{place}"
    if record.get("replaced_by"):
        request = record["request"]["source"]
        yield f"the request {request} was replaced by {record['replaced_by']}, which has the same owner"
    for each in record.get("risks") or ():
        yield f"{each['said']}, by {each['by']}, {each['at']}"


def _is_left(record: Record, free: bool) -> bool:
    """Whether it is known that no run works on it."""
    lock = record.get("lock")
    return lock["processes"] in GONE if lock else free or record.get("phase") in OVER


def _of_run(record: Record, free: bool) -> Iterator[str]:
    """The run that works on it now, or did before."""
    lock, phase, run = record.get("lock"), record.get("phase"), record.get("run")
    if lock and lock["processes"] in GONE:
        gone = f"The run {lock['run']} of {lock['who']} was interrupted: its processes on this machine are gone."
        yield f"{gone} {GO_ON}"
    elif lock and lock["processes"] == Life.UNKNOWN.value and lock.get("overdue"):
        held = f"The run {lock['run']} of {lock['who']} holds the lock, and has not renewed it since"
        yield f"{held} {lock['renewed'][:19]}Z, although it lasts {lock['seconds']} s: it may be interrupted. {GO_ON}"
    elif lock:
        waits = f", waiting: {lock['doing']}" if lock["doing"] else ""
        asked = f", asked to stop {lock['stop']}" if lock["stop"] else ""
        yield f"{lock['who']} is at work (run {lock['run']}, lock renewed {lock['renewed'][:19]}Z){waits}{asked}"
    elif free and run and phase in ("Pending", "Upgrading") and not record.get("reason"):
        following = f"{CONTINUE}: everything is put back." if is_settled(record) else GO_ON
        yield f"No run is active on it: the run {run} was interrupted. {following}"
    elif free and phase == "Upgrading":
        failed = any(batch["state"] == "failed" for batch in record["batches"])
        cause = "a batch has failed" if failed else "its last run has stopped"
        yield f"No run is active on it: {cause}. Fix the cause and run the playbook again to continue."
    else:
        yield from _next(record)


def _next(record: Record) -> Iterator[str]:
    """What continues an upgrade on which no run works, because its last one has ended."""
    phase, start = record.get("phase"), record.get("start") or {}
    if phase == "Aborted":
        yield "No run continues it until the playbook resume has run."
    elif phase == "Failed" and start and not any(each.get("started") for each in record.get("batches") or ()):
        yield "None of its batches has started. Run the playbook again with another time (upgrade_at)."
    elif phase == "Paused" and record.get("hold"):
        yield "Resume it with the playbook resume. Then run the playbook again to continue."
    elif phase == "Paused" and PAUSED in record.get("codes", ()):
        yield f"Remove the annotation {PAUSE} of its record if it is there. Then run the playbook again to continue."
    elif phase == "Paused":
        done = record.get("dropped", 0) + sum(each["state"] == "done" for each in record.get("batches") or ())
        due = [each.name for each in _unapproved(record) if each.after <= done]
        approve = f"Approve {first_few(due)} with the playbook approve (upgrade_approval). Then run" if due else "Run"
        yield f"{approve} the playbook again to continue."


def _of_start(record: Record) -> Iterator[str]:
    start = record.get("start") or {}
    if not start or record.get("phase") != "Pending":
        return
    for finding in start["findings"]:
        yield f"to be fixed before the start: {finding}{' (new)' if finding in start['new'] else ''}"
    for finding in start["cured"]:
        yield f"fixed since the check before: {finding}"


def _condition(condition: Mapping[str, Any]) -> str:
    """Those of steps have names in small letters. The first line has the cause."""
    name = str(condition["type"])
    state = ", ".join(filter(None, (condition["reason"].replace("_", " "), condition["last_probe_time"])))
    message = f": {condition['message']}" if condition["message"] else ""
    return f"{'step ' if name.islower() else ''}{name}: {state}{message}"


def _machine(machine: Mapping[str, Any]) -> Iterator[str]:
    """A machine that the request names."""
    for each in machine["conditions"]:
        message = f": {each['message']}" if each["message"] else ""
        state = f"{each['type']} {each['status']}, {each['reason']}, {each['lastTransitionTime']}"
        yield f"machine {machine['nodeName']}: {state}{message}"


def _batch(batch: Mapping[str, Any], *, left: bool) -> Iterator[str]:
    """A batch and its earlier tries. One that is `left` by its run is not under way any more."""
    for number, each in enumerate(batch.get("tries") or (), 1):
        state = LEFT.get(each["state"], each["state"])
        yield f"{state:<8} {', '.join(each['members'])}, try {number} of the batch below, {each['started']}"
    outdated = batch.get("outdated") or ()
    hop = f"to {batch['target_version']}" if batch.get("target_version") else ""
    parts = [", ".join(batch["members"]), *(["template changed"] if outdated else []), *([hop] if hop else [])]
    parts += [f"image {each['before']} to {each['after']}" for each in batch.get("images") or ()]
    parts += filter(None, (_took(each, outdated, done=batch["state"] == "done") for each in batch["took"]))
    parts += [f"longest wait {wait['seconds']} s: {wait['message']}" for wait in batch["waited"][:1]]
    state = LEFT["upgrading"] if left and batch["state"] == "upgrading" else batch["state"]
    yield f"{state:<8} {', '.join(parts)}"


def _took(took: Mapping[str, Any], outdated: Sequence[str], *, done: bool) -> str:
    """The outcome of one member; empty if there is nothing to say.

    The run that has taken a member down may have ended before it was back: a later one has found its batch `done`.
    """
    seconds, action, name = took.get("total_seconds"), took.get("action"), took.get("name")
    if isinstance(seconds, (int, float)):
        return f"{float(round(seconds, 1))} s"
    if action == "kept":
        return f"{name} {'replaced' if name in outdated else 'upgraded'} by someone else"
    deleted = "deleted, " if action == "replaced" else ""
    back = "back after its run had ended" if done else "NOT back"
    return f"{name} {deleted}{back}" if action in ("replaced", "followed") else ""
