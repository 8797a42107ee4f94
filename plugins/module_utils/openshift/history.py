"""The history in the status of an UpgradeConfig, from the record of the upgrade that it has requested. Pure.

It has the fields and the order of managed-upgrade-operator (`api/v1alpha1/upgradeconfig_types.go`): one entry for each
version, the newest upgrade and the newest condition first. A time that has not come is absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..common.timestamps import in_seconds
from ..common.words import shortened
from ..run.record.conditions import KEPT_UPGRADES, Upgrade
from ..run.record.phases import Phase
from ..run.record.record import Record
from .course import UpgradeCourse, begun_at
from .named_steps import NamedProgress, with_own_steps

Entry = dict[str, Any]
VALIDATION = "Validation"
"""The condition of a request that is not carried out as it is."""
LONGEST = 1000
"""Characters of a message."""
NEW, UPGRADED, FAILED = "New", "Upgraded", "Failed"
PHASES = {
    Phase.NEW: NEW,
    Phase.PENDING: "Pending",
    Phase.UPGRADING: "Upgrading",
    Phase.PAUSED: "Upgrading",
    Phase.COMPLETED: UPGRADED,
    Phase.FAILED: FAILED,
    Phase.ABORTED: FAILED,
}
"""The phases of the history. Its readers know none for a pause, after which the upgrade goes on by itself; and they
take one that is aborted, which no one resumes, for one that has failed."""


def history_of(record: Record, kept: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The history, in which the entry of this upgrade is new; `kept` is the one that the status has.

    An upgrade that never began, since another version was asked for before, is left out.
    """
    earlier = [_brought_up_to_date(each, record.upgrades[:-1]) for each in _earlier(record.target_version, kept)]
    return [_entry(record), *earlier][:KEPT_UPGRADES]


def with_new(version: str, kept: Sequence[Mapping[str, Any]], fault: str = "", at: str = "") -> list[Entry]:
    """The history of an upgrade that is only requested; the one that is `kept` if it has that version already.

    A `fault` that was found `at` a time is its condition, by the name that the operator has for its own validation.
    An empty version is one that is not known, which may be that of any entry.
    """
    if any(each.get("version", "") == version and each.get("phase") != NEW for each in kept):
        return [dict(each) for each in kept]
    known = next((each for each in kept if each.get("version", "") == version), {})
    since = next((str(each.get("startTime", "")) for each in known.get("conditions", ())), "") or at
    unfit = [_condition(VALIDATION, f"{VALIDATION} failed", fault, since, "", at)] if fault else []
    entry = {**_filled({"version": version}), "phase": NEW, **_filled({"conditions": unfit})}
    others = _earlier(version, kept) if version else [dict(each) for each in kept if each.get("phase") != NEW]
    return [entry, *others][:KEPT_UPGRADES]


def _earlier(version: str, kept: Sequence[Mapping[str, Any]]) -> list[Entry]:
    return [dict(each) for each in kept if each.get("version", "") != version and each.get("startTime")]


def _brought_up_to_date(entry: Entry, upgrades: Sequence[Upgrade]) -> Entry:
    """An earlier entry, brought up to date in case its last news was not written. One that was not completed has
    failed."""
    if entry.get("phase") in (UPGRADED, FAILED):
        return entry
    found = next((each for each in reversed(upgrades) if each.version == entry.get("version")), None)
    if found is None or not found.completed:
        return {**entry, "phase": FAILED}
    return {**entry, "phase": UPGRADED, "completeTime": in_seconds(found.completed)}


def _entry(record: Record) -> Entry:
    course, begins = UpgradeCourse(record), bool(record.run)
    times = {
        "startTime": course.begun,
        "completeTime": course.completed,
        "workerStartTime": begun_at(course.workers),
        "workerCompleteTime": course.workers_done,
    }
    phase = PHASES[Phase.UPGRADING] if record.phase is Phase.PENDING and begins else PHASES[record.phase]
    return {
        "version": record.target_version,
        **_filled({"precedingVersion": record.upgrades[-1].preceding if record.upgrades else ""}),
        "phase": phase,
        **{name: in_seconds(time) for name, time in _filled(times).items()},
        **_filled({"conditions": list(_conditions(record, phase))}),
    }


def _conditions(record: Record, phase: str) -> Iterator[Entry]:
    """The conditions, the newest first. The operator adds one by the name of `FailedUpgrade` to those of its steps."""
    if phase == FAILED:
        at = record.updated
        yield _condition("FailedUpgrade", "Upgrade failed", record.reason, at, at, at)
    for each in reversed(with_own_steps(record)):
        yield _of_step(each, record)


def _of_step(step: NamedProgress, record: Record) -> Entry:
    since, done, said = step.progress.since, step.progress.done, step.progress.said
    message = f"{step.name} {'is completed' if done else 'still in progress'}{f': {said}' if said else ''}"
    reason = f"{step.name} {'done' if done else 'not done'}"
    return _condition(step.name, reason, message, since, done, done or record.updated)


def _condition(name: str, reason: str, message: str, since: str, done: str, looked: str) -> Entry:
    times = {"startTime": since, "completeTime": done, "lastProbeTime": looked, "lastTransitionTime": done or since}
    return {
        "type": name,
        "status": "True" if done else "False",
        "reason": reason,
        "message": shortened(message, LONGEST),
        **{each: in_seconds(time) for each, time in _filled(times).items()},
    }


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
