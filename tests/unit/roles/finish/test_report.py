# SPDX-License-Identifier: GPL-3.0-or-later
"""The report at the end of a run, and what status shows of a record, from the templates themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.filter.core import FilterModule
from jinja2 import ChainableUndefined, Environment

ROOT = Path(__file__).resolve().parents[4]
CAUSE = "Stopped at batch-02 (Replace the batch): Pod data-1 has started and is not Ready yet. Read its log."
TOOK = [
    {"name": "data-0", "action": "replaced", "total_seconds": 9.96},
    {"name": "data-1", "action": "replaced", "total_seconds": None},
    {"name": "data-2", "action": "followed", "total_seconds": None},
    {"name": "data-3", "action": "untouched"},
]


def rendered(path: str, **variables: Any) -> list[str]:
    """The lines of a template, with Ansible's filters and its way of ending lines."""
    environment = Environment(trim_blocks=True, undefined=ChainableUndefined)  # noqa: S701 - text for a terminal
    environment.filters.update(FilterModule().filters())
    return environment.from_string((ROOT / path).read_text(encoding="utf-8")).render(**variables).splitlines()


def report(**variables: Any) -> list[str]:
    """The report of a run with these facts."""
    batches = [{"run": "night", "took": TOOK}]
    facts: dict[str, Any] = {
        "finish_ended": {"record": {"run": "night", "batches": batches}},
        "finish_failures": [],
        "finish_gate": {},
        "finish_waits": [],
        "settle_failures": [],
        "settle_remarks": [],
        "begin_plan": {"batches": [1], "before": {}},
    }
    return rendered("roles/finish/templates/report.j2", **{**facts, **variables})


def test_a_member_that_is_down_is_told_so_and_the_cause_is_there() -> None:
    lines = report(finish_failures=[CAUSE], roll_failure={"batch": "batch-02"})
    assert lines[0] == CAUSE
    assert lines[1].startswith("Allocation is as it was before the run.")
    assert [" ".join(line.split()) for line in lines[2:]] == [
        "data-0 10.0 s (replaced)",
        "data-1 deleted, NOT back",
        "data-2 NOT back",
        "data-3 not touched",
    ]


def test_what_could_not_be_put_back_and_a_lock_that_is_still_held_are_told() -> None:
    ended = {"msg": "The lock could not be given back.", "record": {"run": "night", "batches": []}}
    lines = report(finish_failures=[CAUSE, "Left."], roll_failure={}, settle_failures=["Left."], finish_ended=ended)
    assert lines[:3] == [CAUSE, "Left.", "The lock could not be given back."]
    assert lines[3].startswith("Not all could be put back.")


def test_plain_hosts_tell_the_cause_too() -> None:
    facts = {"finish_all": [CAUSE], "roll_failure": {}, "settle_failures": [], "settle_remarks": []}
    assert rendered("roles/finish/templates/hosts.j2", **facts)[0] == CAUSE


def test_status_tells_of_a_member_that_is_down() -> None:
    batch = {"state": "failed", "members": ["data-0", "data-1"], "took": TOOK[:2], "waited": []}
    record = {"name": "upgrade-1", "phase": "stopped", "batches": [batch], "lock": None}
    lines = rendered("playbooks/templates/status.j2", status_read={"records": [record]})
    assert "  failed   data-0, data-1, 10.0 s, data-1 deleted, NOT back" in lines
