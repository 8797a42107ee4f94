"""The text that status shows of records, and the parts of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.status_text import status_lines
from ansible_collections.stateful.upgrade.plugins.plugin_utils.records_shown import report, status

TOOK = [
    {"name": "data-0", "action": "replaced", "total_seconds": 9.96},
    {"name": "data-1", "action": "replaced", "total_seconds": None},
    {"name": "data-2", "action": "followed", "total_seconds": None},
    {"name": "data-3", "action": "untouched"},
    {"name": "data-4", "action": "kept", "total_seconds": None},
]


HEAD: dict[str, Any] = {
    "name": "upgrade-1",
    "phase": "Upgrading",
    "aim": "to 3.8.0",
    "started": "t0",
    "digest": "p1",
    "run": "",
    "lock": None,
    "batches": [],
}


LOCK = {
    "processes": "alive",
    "who": "ops",
    "run": "night",
    "renewed": "2026-01-01T00:00:00.1Z",
    "doing": "",
    "stop": "",
}


def lines_of(record: dict[str, Any], *, free: bool) -> list[str]:
    return status_lines([{**HEAD, **record}], [], "in namespace search", free=free)


@pytest.mark.parametrize(
    ("given", "free"),
    [
        ({}, True),
        ({"upgrade_lock_kept_in": "kubernetes"}, True),
        ({"status_read": {"verdict": {"reasons": [{"code": "lock_not_seen"}]}}}, False),
        ({"upgrade_lock_kept_in": "opensearch"}, False),
        ({"upgrade_groups": ["a"]}, False),
        ({"upgrade_groups": ["a"], "status_lock": {"before": {"run": None}}}, True),
        ({"upgrade_groups": ["a"], "status_lock": {"before": {"run": "night"}}}, False),
    ],
)
def test_only_who_has_seen_the_lock_says_that_nobody_is_at_work(given: dict[str, Any], free: bool) -> None:
    read = {"records": [{**HEAD, "run": "night"}], **given.get("status_read", {})}
    lock = {"name": "upgrade-1", **given["status_lock"]} if "status_lock" in given else None
    variables = {"upgrade_namespace": "search", **given, "status_read": read, "status_lock": lock}
    said = "No run is active on it" in "".join(status(variables.get)["lines"])
    assert said is free


def test_status_says_nothing_of_who_is_at_work_where_the_lock_is_told_elsewhere() -> None:
    record = {"name": "upgrade-1", "phase": "Upgrading", "lock": None, "run": "night"}
    lines = lines_of(record, free=False)
    assert [line for line in lines if line][1:] == []


def test_status_tells_why_a_record_could_not_be_read() -> None:
    unread = {"message": "The record is not readable.", "remedy": "Look at it."}
    assert status_lines([], [unread], "in namespace search", free=False) == [
        "There is no readable record of an upgrade in namespace search.",
        "Note: The record is not readable. Look at it.",
    ]


def test_status_tells_of_a_member_that_is_down() -> None:
    batch = {"state": "failed", "members": ["data-0", "data-1"], "took": TOOK[:2], "waited": []}
    record = {"name": "upgrade-1", "phase": "Upgrading", "batches": [batch], "lock": None}
    lines = lines_of(record, free=True)
    assert "  failed   data-0, data-1, 10.0 s, data-1 deleted, NOT back" in lines


def test_status_says_of_a_batch_that_was_found_done_that_its_member_is_back() -> None:
    batch = {"state": "done", "members": ["data-1"], "took": TOOK[1:2], "waited": []}
    lines = lines_of({"phase": "Completed", "batches": [batch]}, free=True)
    assert lines[-1] == "  done     data-1, data-1 deleted, back after its run had ended"


def test_status_names_the_points_that_are_still_to_be_approved() -> None:
    points = [{"name": "canary", "after": 1}, {"name": "managers", "after": 5}, {"name": "moved", "after": 7}]
    known = {"by": "ops", "at": "t1"}
    approvals = [{"name": "canary", "place": "after 1 batch", **known}, {"name": "moved", "place": "after 6", **known}]
    lines = lines_of({"points": points, "approvals": approvals}, free=False)
    assert "  stops for approval: managers (batches done: 5), moved (batches done: 7)" in lines
    assert not [
        line for line in lines_of({"points": points[:1], "approvals": approvals}, free=False) if "stops" in line
    ]


def test_status_tells_of_a_member_that_somebody_else_has_upgraded() -> None:
    batch = {"state": "done", "members": ["data-4"], "took": TOOK[4:], "waited": []}
    record = {"name": "upgrade-1", "phase": "Upgrading", "batches": [batch], "lock": None}
    lines = lines_of(record, free=True)
    assert "  done     data-4, data-4 upgraded by someone else" in lines


def test_status_shows_conditions_and_says_which_are_steps() -> None:
    conditions = [
        {"type": name, "reason": "in_progress", "last_probe_time": "t1", "message": said}
        for name, said in (("BatchesDone", "1 of 2 done"), ("snapshot", ""))
    ]
    record = {"name": "upgrade-1", "phase": "Upgrading", "conditions": conditions, "lock": None}
    lines = lines_of(record, free=False)
    assert [line for line in lines if "in progress" in line] == [
        "  BatchesDone: in progress, t1: 1 of 2 done",
        "  step snapshot: in progress, t1",
    ]


def test_status_names_the_cause_of_a_stop_in_the_first_line_and_in_the_history_alone() -> None:
    cause = f"Member b is not back: {'its container crashes ' * 20}and again."
    conditions = [
        {"type": name, "reason": "in_progress", "last_probe_time": "t1", "message": said, "cause": why}
        for name, said, why in (("BatchesDone", "1 of 2 done", cause), ("Ended", "", cause), ("lamps", "Not lit.", ""))
    ]
    history = [{"at": "t1", "run": "night", "phase": "Upgrading", "message": f"{cause} Fix it."}]
    lines = lines_of({"reason": cause, "conditions": conditions, "history": history}, free=False)
    assert [number for number, line in enumerate(lines) if "Member b is not back" in line] == [0, 4]
    assert lines[1:4] == [
        "  BatchesDone: in progress, t1: 1 of 2 done",
        "  Ended: in progress, t1",
        "  step lamps: in progress, t1: Not lit.",
    ]


def test_status_shows_the_whole_message_of_a_condition_that_has_the_cause_of_a_stop_too() -> None:
    said = "The lamps are off. Switch them on, then run the step alone."
    condition = {"type": "lamps", "reason": "in_progress", "last_probe_time": "t1", "message": said}
    lines = lines_of({"reason": "The lamps are off.", "conditions": [condition]}, free=False)
    assert f"  step lamps: in progress, t1: {said}" in lines


def test_status_shows_accepted_risks_and_skipped_checks_with_who_said_so() -> None:
    risk = {"said": "check disk skipped", "by": "ops@bastion", "at": "t1", "run": "night"}
    assert "  check disk skipped, by ops@bastion, t1" in lines_of({"risks": [risk]}, free=False)


def test_status_shows_the_earlier_tries_of_a_batch() -> None:
    tries = [
        {"state": state, "members": ["data-4", "data-5"], "started": f"t{number}"}
        for number, state in enumerate(("failed", "upgrading", "waiting"))
    ]
    batch = {"state": "done", "members": ["data-4"], "took": [], "waited": [], "tries": tries}
    record = {"name": "upgrade-1", "phase": "Upgrading", "batches": [batch], "lock": None}
    lines = lines_of(record, free=True)
    assert [line for line in lines if "data-4" in line] == [
        "  stopped  data-4, data-5, try 1 of the batch below, t0",
        "  interrupted data-4, data-5, try 2 of the batch below, t1",
        "  paused   data-4, data-5, try 3 of the batch below, t2",
        "  done     data-4",
    ]


def test_status_tells_how_far_each_pool_is_and_which_version_was_deployed_last() -> None:
    pools = [
        {"name": "data", "status": "upgrading", "left": ["data-1", "data-0"]},
        {"name": "managers", "status": "pending", "left": [f"m-{number}" for number in range(7)]},
        {"name": "search", "status": "upgraded", "left": []},
    ]
    record = {"name": "upgrade-1", "phase": "Upgrading", "target_version": "3.8.0", "lock": LOCK}
    shown = {**record, "deployed": "2.19.6, on the way to 3.8.0", "pools": pools, "outside": ["other-0"]}
    lines = lines_of(shown, free=True)
    assert lines[2] == "  deployed 2.19.6, on the way to 3.8.0"
    assert [line for line in lines if line.startswith("  pool ")] == [
        "  pool data: upgrading, 2 left (data-1, data-0)",
        "  pool managers: pending, 7 left (m-0, m-1, m-2, m-3, m-4 and 2 more)",
        "  pool search: upgraded",
    ]
    assert "  in none of these pools, and not on 3.8.0: other-0" in lines


@pytest.mark.parametrize(
    ("phase", "reason", "said"),
    [
        ("Pending", "", "  No run is active on it: the run night was interrupted."),
        ("Upgrading", "", "  No run is active on it: the run night was interrupted."),
        ("Upgrading", "Member a is not back.", "  No run is active on it: a batch has failed. Fix the cause"),
        ("Upgrading", "Alerts fire.", "  No run is active on it: its last run has stopped. Fix the cause"),
        ("Paused", "Pod a is stopping.", "  Run the playbook again to continue."),
        ("Failed", "The cluster is red.", ""),
        ("Aborted", "Aborted on request.", "  No run continues it until the playbook resume has run."),
        ("Completed", "", ""),
    ],
)
def test_status_tells_the_phase_with_its_reason(phase: str, reason: str, said: str) -> None:
    batches = [{"name": "batch-01", "members": ["a"], "took": [], "waited": [], "state": "failed"}]
    told = {"name": "upgrade-1", "phase": phase, "aim": "to 3.8.0", "reason": reason, "run": "night", "lock": None}
    record = {**told, "digest": "p1", "batches": batches if reason.startswith("Member") else []}
    lines = lines_of(record, free=True)
    assert lines[0].startswith(f"upgrade-1: {phase}, to 3.8.0")
    assert lines[0].endswith(reason or "plan p1")
    assert ([line for line in lines[1:] if line] or [""])[0].startswith(said)
    assert any(lines[1:]) == bool(said or record["batches"])


@pytest.mark.parametrize(
    ("processes", "overdue", "said"),
    [
        (
            "unknown",
            True,
            "  The run night of ops holds the lock, and has not renewed it since 2026-01-01T00:00:00Z, al",
        ),
        ("unknown", False, "  ops is at work"),
        ("alive", True, "  ops is at work"),
    ],
)
def test_status_says_of_a_run_elsewhere_whose_lock_is_old_that_it_may_be_interrupted(
    processes: str, overdue: bool, said: str
) -> None:
    lock = {**LOCK, "processes": processes, "overdue": overdue, "seconds": 60}
    assert lines_of({"lock": lock}, free=False)[1].startswith(said)


@pytest.mark.parametrize(
    ("phase", "said"), [("Pending", "starts"), ("Failed", "was to start"), ("Aborted", "was to start")]
)
def test_status_says_of_a_start_that_will_not_come_that_it_was_planned(phase: str, said: str) -> None:
    start = {"at": "t1", "end": "t2", "policy": "start_only", "findings": [], "cured": []}
    lines = lines_of({"phase": phase, "start": start}, free=True)
    assert f"to 3.8.0, {said} t1 (window until t2, start_only), plan p1" in lines[0]


def test_status_names_the_next_step_of_an_upgrade_that_has_ended() -> None:
    points = [{"name": "canary", "after": 1}, {"name": "rest", "after": 2}]
    batches = [{"state": "done", "members": ["a"], "took": [], "waited": []}]
    missed = {"phase": "Failed", "start": {"at": "t1", "end": "t2", "policy": "start", "findings": [], "cured": []}}
    paused = {"phase": "Paused", "batches": batches}
    resume = "Resume it with the playbook resume. Then run the playbook again to continue."
    remove = "Remove the annotation upgrade.stateful/pause of its record if it is there. Then run"
    held = {"hold": {"by": "ops", "at": "t1", "reason": ""}}
    cases: list[tuple[dict[str, Any], str]] = [
        (missed, "None of its batches has started. Run the playbook again with another time (upgrade_at)."),
        ({**paused, "points": points}, "Approve canary with the playbook approve (upgrade_approval). Then run"),
        ({**paused, "points": points[1:]}, "Run the playbook again to continue."),
        ({**paused, **held}, resume),
        ({**paused, "codes": ["paused_on_request"]}, remove),
    ]
    for record, said in cases:
        assert any(line.startswith(f"  {said}") for line in lines_of(record, free=True)), said
        at_work = "\n".join(lines_of({**record, "lock": LOCK}, free=True))
        assert said not in at_work


def test_status_does_not_say_of_a_failed_upgrade_of_a_former_version_that_it_has_no_batch() -> None:
    start = {"at": "t1", "end": "t2", "policy": "start", "findings": [], "cured": []}
    batch = {"state": "failed", "started": "t1", "members": ["a"], "took": [], "waited": []}
    lines = lines_of({"phase": "Failed", "run": "night", "start": start, "batches": [batch]}, free=True)
    assert not any("None of its batches" in line for line in lines)


@pytest.mark.parametrize(
    ("lock", "free", "state"),
    [(None, True, "interrupted"), (None, False, "upgrading"), (LOCK, True, "upgrading")]
    + [({**LOCK, "processes": each}, False, "interrupted") for each in ("gone", "ending")],
)
def test_status_says_of_a_batch_that_a_killed_run_has_left_that_it_was_interrupted(
    lock: dict[str, Any] | None, free: bool, state: str
) -> None:
    batch = {"state": "upgrading", "members": ["data-1"], "took": [], "waited": []}
    lines = lines_of({"phase": "Upgrading", "run": "night", "batches": [batch], "lock": lock}, free=free)
    assert lines[-1] == f"  {state:<8} data-1"


def test_status_tells_of_a_version_that_all_members_run() -> None:
    pools = [{"name": "data", "status": "upgraded", "left": []}]
    record = {"name": "upgrade-1", "phase": "Completed", "target_version": "3.8.0", "lock": None}
    shown = {**record, "deployed": "3.8.0", "pools": pools, "outside": []}
    lines = lines_of(shown, free=True)
    assert lines[1:3] == ["  deployed 3.8.0", "  pool data: upgraded"]


def test_status_of_a_record_of_before_tells_no_version() -> None:
    record: dict[str, Any] = {
        "name": "upgrade-1",
        "phase": "Completed",
        "target_version": "3.8.0",
        "lock": None,
        "batches": [],
    }
    for shown in (record, {**record, "pools": [], "outside": [], "deployed_version": ""}):
        lines = lines_of(shown, free=True)
        assert len([line for line in lines if line]) == 1


UNREAD = {"code": "kubernetes_unreachable", "message": "Kubernetes gives no answer.", "remedy": "See that it runs."}
NOT_OURS = "The record is not what this collection writes."
BROKEN = {"code": "record_not_readable", "message": NOT_OURS, "remedy": "Look at it."}
RECORD = {**HEAD, "run": "night"}


def test_status_fails_after_its_lines_if_there_was_no_answer() -> None:
    silent = {"verdict": {"state": "waiting", "reasons": [UNREAD]}, "msg": "not this"}
    alone = status({"status_read": silent, "upgrade_namespace": "search"}.get)
    assert alone == {"lines": [], "last_words": "Kubernetes gives no answer. See that it runs."}
    left = {"code": "restart_interrupted", "message": "a is stopped.", "remedy": "Run again."}
    given = {"status_read": {"records": []}, "status_pods": {"verdict": {"reasons": [left, {**left, "code": "x"}]}}}
    assert status({**given, "upgrade_namespace": "search"}.get)["lines"] == [
        "There is no record of an upgrade in namespace search.",
        "a is stopped. Run again.",
    ]
    hosts = {"status_read": {"records": [RECORD]}, "upgrade_groups": "search", "status_lock": {"msg": "No answer."}}
    assert status(hosts.get)["last_words"] == "No answer."


def test_status_of_machines_is_that_of_a_namespace_whatever_groups_are_given() -> None:
    given = {"upgrade_groups": "workers", "upgrade_system": "stateful.upgrade.machines", "upgrade_namespace": "up"}
    silent = {"msg": "No address of the OpenSearch cluster is given."}
    shown = status({**given, "status_read": {"records": []}, "status_lock": silent}.get)
    assert shown == {"lines": ["There is no record of an upgrade in namespace up."], "last_words": ""}


def test_status_of_hosts_shows_the_record_of_their_cluster_and_its_lock() -> None:
    lock = {"name": "upgrade-1", "before": {"run": None}, "verdict": {"state": "passed", "reasons": []}}
    records = [RECORD, {**RECORD, "name": "upgrade-2"}]
    shown = status({"status_read": {"records": records}, "upgrade_groups": "a", "status_lock": lock}.get)
    assert not any("upgrade-2" in line for line in shown["lines"])
    assert shown["lines"][-1] == "No run is active on this cluster."
    assert shown["last_words"] == ""


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"report_read": {"msg": "No answer."}}, "No answer."),
        (
            {"report_read": {"records": [], "verdict": {"state": "refused", "reasons": [UNREAD]}}},
            "Kubernetes gives no answer.",
        ),
        ({"report_read": {"records": [RECORD]}, "upgrade_report_path": "r.pdf"}, "r.pdf: let it end with .html"),
        (
            {"report_read": {"records": [RECORD]}, "upgrade_report_path": "/no/folder/r.md"},
            "there is no folder /no/folder: make it",
        ),
        ({"report_read": {"records": [{"name": "upgrade-1", "lock": {}}]}}, "no record of an upgrade in namespace"),
        (
            {"report_read": {"records": [], "verdict": {"state": "passed", "reasons": [BROKEN]}}},
            "The record is not what this collection writes. Look at it.",
        ),
        ({"report_read": {"records": [RECORD]}, "upgrade_report_path": ""}, ""),
    ],
)
def test_a_report_is_refused_in_one_sentence(given: dict[str, Any], refusal: str) -> None:
    made = report({"upgrade_namespace": "search", **given}.get)
    assert (refusal in made["refusal"]) if refusal else made["refusal"] == ""


def test_a_report_is_of_the_last_record_in_the_folder_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [{**RECORD, "digest": "p0"}, RECORD, {"name": "locked", "lock": {}}]
    made = report({"report_read": {"records": records}, "upgrade_report_path": "night.md"}.get)
    assert (made["path"], made["form"], made["record"]["digest"]) == (str(tmp_path / "night.md"), "md", "p1")


def test_the_steps_that_a_system_has_names_for_have_a_line_each() -> None:
    begun = {"type": "CommenceUpgrade", "reason": "in_progress", "message": "It waits.", "last_probe_time": "t1"}
    pending = {"type": "ControlPlaneUpgraded", "reason": "pending", "message": "", "last_probe_time": ""}
    lines = lines_of({"named_steps": [begun, pending]}, free=False)
    assert "  step CommenceUpgrade: in progress, t1: It waits." in lines
    assert "  step ControlPlaneUpgraded: pending" in lines


def test_an_entry_of_the_history_without_a_message_ends_with_its_phase() -> None:
    entry = {"at": "t1", "run": "night", "phase": "Completed", "message": ""}
    assert lines_of({"phase": "Completed", "history": [entry]}, free=True)[-1].strip() == "t1 night Completed"
