# SPDX-License-Identifier: GPL-3.0-or-later
"""The text that status shows of a record, from the template itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.plugins.filter.core import FilterModule
from jinja2 import ChainableUndefined, Environment, FileSystemLoader

ROOT = Path(__file__).resolve().parents[3]
TOOK = [
    {"name": "data-0", "action": "replaced", "total_seconds": 9.96},
    {"name": "data-1", "action": "replaced", "total_seconds": None},
    {"name": "data-2", "action": "followed", "total_seconds": None},
    {"name": "data-3", "action": "untouched"},
    {"name": "data-4", "action": "kept", "total_seconds": None},
]


def rendered(path: str, **variables: Any) -> list[str]:
    """The lines of a template, with Ansible's filters and its way of ending lines."""
    beside = FileSystemLoader((ROOT / path).parent)
    environment = Environment(  # noqa: S701 - text for a terminal
        loader=beside, trim_blocks=True, undefined=ChainableUndefined
    )
    environment.filters.update(FilterModule().filters())
    return environment.from_string((ROOT / path).read_text(encoding="utf-8")).render(**variables).splitlines()


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
    (play,) = yaml.safe_load((ROOT / "playbooks/status.yml").read_text(encoding="utf-8"))
    (shows,) = [task for task in play["tasks"] if task["name"] == "Show the records"]
    environment = Environment(undefined=ChainableUndefined)  # noqa: S701 - text for a terminal
    assert environment.from_string(shows["vars"]["status_free"]).render(**given) == str(free)


def test_status_says_nothing_of_who_is_at_work_where_the_lock_is_told_elsewhere() -> None:
    record = {"name": "upgrade-1", "phase": "Upgrading", "lock": None, "run": "night"}
    lines = rendered("playbooks/templates/status.j2", status_records=[record], status_free=False)
    assert [line for line in lines if line][1:] == []


def test_status_tells_why_a_record_could_not_be_read() -> None:
    unread = {"message": "The record is not readable.", "remedy": "Look at it."}
    lines = rendered(
        "playbooks/templates/status.j2",
        status_records=[],
        upgrade_namespace="search",
        status_read={"verdict": {"reasons": [unread]}},
    )
    assert [line for line in lines if line] == [
        "There is no readable record of an upgrade in namespace search.",
        "Note: The record is not readable. Look at it.",
    ]


def test_status_tells_of_a_member_that_is_down() -> None:
    batch = {"state": "failed", "members": ["data-0", "data-1"], "took": TOOK[:2], "waited": []}
    record = {"name": "upgrade-1", "phase": "Upgrading", "batches": [batch], "lock": None}
    lines = rendered("playbooks/templates/status.j2", status_records=[record], status_free=True)
    assert "  failed   data-0, data-1, 10.0 s, data-1 deleted, NOT back" in lines


def test_status_tells_of_a_member_that_somebody_else_has_upgraded() -> None:
    batch = {"state": "done", "members": ["data-4"], "took": TOOK[4:], "waited": []}
    record = {"name": "upgrade-1", "phase": "Upgrading", "batches": [batch], "lock": None}
    lines = rendered("playbooks/templates/status.j2", status_records=[record], status_free=True)
    assert "  done     data-4, data-4 upgraded by somebody else" in lines


def test_status_shows_conditions_and_says_which_are_steps() -> None:
    conditions = [
        {"type": name, "reason": "in_progress", "last_probe_time": "t1", "message": said}
        for name, said in (("BatchesDone", "1 of 2 done"), ("snapshot", ""))
    ]
    record = {"name": "upgrade-1", "phase": "Upgrading", "conditions": conditions, "lock": None}
    lines = rendered("playbooks/templates/status.j2", status_records=[record], status_free=False)
    assert [line for line in lines if "in progress" in line] == [
        "  BatchesDone: in progress, t1: 1 of 2 done",
        "  step snapshot: in progress, t1",
    ]


def test_status_shows_the_earlier_tries_of_a_batch() -> None:
    tries = [
        {"state": state, "members": ["data-4", "data-5"], "started": f"t{number}"}
        for number, state in enumerate(("failed", "upgrading", "waiting"))
    ]
    batch = {"state": "done", "members": ["data-4"], "took": [], "waited": [], "tries": tries}
    record = {"name": "upgrade-1", "phase": "Upgrading", "batches": [batch], "lock": None}
    lines = rendered("playbooks/templates/status.j2", status_records=[record], status_free=True)
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
    record = {"name": "upgrade-1", "phase": "Upgrading", "target_version": "3.8.0", "lock": {"processes": "alive"}}
    shown = {**record, "deployed": "2.19.6, on the way to 3.8.0", "pools": pools, "outside": ["other-0"]}
    lines = rendered("playbooks/templates/status.j2", status_records=[shown], status_free=True)
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
        ("Pending", "", "  No run is at work on it: the run night was interrupted."),
        ("Upgrading", "", "  No run is at work on it: the run night was interrupted."),
        ("Upgrading", "Member a is not back.", "  No run is at work on it: a batch has failed. Fix the cause"),
        ("Upgrading", "Alerts fire.", "  No run is at work on it: its last run has stopped. Fix the cause"),
        ("Paused", "Pod a is stopping.", ""),
        ("Failed", "The cluster is red.", ""),
        ("Aborted", "Aborted on request.", ""),
        ("Completed", "", ""),
    ],
)
def test_status_tells_the_phase_with_its_reason(phase: str, reason: str, said: str) -> None:
    batches = [{"name": "batch-01", "members": ["a"], "took": [], "waited": [], "state": "failed"}]
    told = {"name": "upgrade-1", "phase": phase, "aim": "to 3.8.0", "reason": reason, "run": "night", "lock": None}
    record = {**told, "digest": "p1", "batches": batches if reason.startswith("Member") else []}
    lines = rendered("playbooks/templates/status.j2", status_records=[record], status_free=True)
    assert lines[0].startswith(f"upgrade-1: {phase}, to 3.8.0")
    assert lines[0].endswith(reason or "plan p1")
    assert ([line for line in lines[1:] if line] or [""])[0].startswith(said)
    assert any(lines[1:]) == bool(said or record["batches"])


def test_status_tells_of_a_version_that_all_members_run() -> None:
    pools = [{"name": "data", "status": "upgraded", "left": []}]
    record = {"name": "upgrade-1", "phase": "Completed", "target_version": "3.8.0", "lock": None}
    shown = {**record, "deployed": "3.8.0", "pools": pools, "outside": []}
    lines = rendered("playbooks/templates/status.j2", status_records=[shown], status_free=True)
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
        lines = rendered("playbooks/templates/status.j2", status_records=[shown], status_free=True)
        assert len([line for line in lines if line]) == 1
