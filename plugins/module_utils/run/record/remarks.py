"""The remarks on a note in a record: it was removed, none is kept, or the upgrade was aborted. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, remark
from ...common.words import enumerate_few
from .batches import deed_of
from .phases import Deed, Phase, UpgradeEvent
from .record import Record, going_on


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
    if state == "begun" and (back := _went_back(before, params["plan"])):
        yield remark(
            "record_contradicted",
            f"The record here says that {enumerate_few(back)} was upgraded to {params['plan']['target_version']}, and"
            " the cluster shows another version. The upgrade continues with the approvals of that record.",
            "If it is of another cluster with the same UUID, such as a clone, end the run with the playbook abort, and"
            " give each of the two a folder of its own (record_path).",
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


def _went_back(before: Record | None, plan: Mapping[str, Any]) -> list[str]:
    """The members that a record of the same upgrade has as upgraded, and that run another version."""
    if before is None or deed_of(plan) is not Deed.UPGRADE or going_on(before, plan) is None:
        return []
    shown, target = plan["before"], str(plan["target_version"])
    done = {name for each in before.batches if each.state == "done" for name in each.upgraded}
    return sorted(name for name in done if shown.get(name) and str(shown[name]).partition(" ")[0] != target)


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
