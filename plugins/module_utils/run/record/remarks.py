"""The remarks on a note in a record: it was removed, none is kept, or the upgrade was aborted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, remark
from .phases import Phase, UpgradeEvent
from .record import Record


@as_verdict
def judge_there(params: Mapping[str, Any], run: str, before: Record | None, after: Record | None) -> Iterator[Reason]:
    """Remarks if the record that a task with these options changes is elsewhere, was gone, or has not its batch."""
    batch, state = params["batch"], params["state"]
    if state == "begun" and after is not None and after.uncounted and not (before and before.uncounted):
        number = after.uncounted
        several = "1 member already runs" if number == 1 else f"{number} members already run"
        yield remark(
            "record_elsewhere",
            f"{several} {after.target_version}, and there is no record here of an upgrade to it. If it is elsewhere,"
            " such as on another controller, a pause, an abort and the approvals in it do not count here.",
            "If it matters, end the run with the playbook abort, and continue where that record is (record_path).",
        )
    if state != "begun" and before is None and after is not None:
        yield remark(
            "record_started_again",
            "The record of the upgrade was removed while the run was at work, and was started again.",
            "It has what the run knows; the history, the waits and the times of members before are lost.",
        )
    elif state == "batch" and (after is None or all(each.name != batch for each in after.batches)):
        said = f"There is no record of batch {batch} of run {run}, so nothing was noted."
        removed = "It was removed, or is one of so many batches that they do not fit; the upgrade does not need it."
        yield remark("record_missing", said, removed)


@as_verdict
def judge_kept_nowhere(params: Mapping[str, Any]) -> Iterator[Reason]:
    """A remark if it matters that no record is kept."""
    if _aborts(params):
        said = "No record of the upgrade is kept (upgrade_record_kept_in=none), so the next run continues with it."
        yield remark("aborted_without_record", said, "Start no run, or keep a record.")


@as_verdict
def judge_not_noted(params: Mapping[str, Any]) -> Iterator[Reason]:
    """A remark if it matters that the record cannot be read or written."""
    if _aborts(params):
        said = "The abort cannot be noted in the record of the upgrade, so the next run continues with it."
        yield remark("aborted_without_record", said, "Start no run, or correct the record, and abort again.")


@as_verdict
def judge_aborted(params: Mapping[str, Any], record: Record | None) -> Iterator[Reason]:
    """The remark on aborting: the upgrade is aborted, or there was none to abort."""
    if not _aborts(params):
        return
    if record is not None and record.phase is Phase.ABORTED:
        yield remark(
            "upgrade_aborted",
            f"The {record.title} is Aborted.",
            "No run continues it until the playbook resume has run.",
        )
        return
    last = f": the {record.title} is {record.phase.value}" if record is not None else ""
    yield remark("no_upgrade_under_way", f"No upgrade is in progress{last}, so none was aborted.")


def _aborts(params: Mapping[str, Any]) -> bool:
    return bool(params["state"] == "ended" and params["event"] == UpgradeEvent.ABORTED.value)
