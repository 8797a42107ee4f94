"""The verdict, the table and the JSON of the benchmark, from hand-made results."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.benchmarks.phases import Course, Phases
from tests.benchmarks.results import Result, difference, document, heading, passed, table, task_table
from tests.benchmarks.tasks import seconds_by_task
from tests.lab.traffic import Report
from tests.lab.traffic.report import STATUSES, Loss, Operations

TITLES = {"script": "tight script", "collection": "this collection"}


def report(missing: int = 0, **health: float) -> Report:
    loss = Loss(100, {"not found": missing} if missing else {}, ())
    seconds = dict.fromkeys(STATUSES, 0.0) | health
    return Report(60.0, Operations(200, {"timeout": 3}, 1.5), Operations(100, {}, 0.25), seconds, loss)


def result(way: str, rest: float, **changes: Any) -> Result:
    course = Course(2.0, {"b": Phases(1, 8, 0, 1, 2, rest), "a": Phases(1, 8, 0, 1, 2, 0)}, 4.0)
    made = Result(way, "", 30.0 + rest, 31.0 + rest, course, report(yellow=5.0), {"Look": 4.0, "Act": 6.0})
    return replace(made, **changes)


SCRIPT, OURS = result("script", 1.0), result("collection", 4.0)


@pytest.mark.parametrize(
    ("changes", "good"),
    [
        ({}, True),
        ({"failure": "The playbook ended with exit code 2"}, False),
        ({"whole": None}, False),
        ({"report": report(missing=1)}, False),
        ({"report": report(red=0.2)}, False),
        ({"report": replace(report(), loss=None)}, False),
    ],
)
def test_only_an_upgrade_that_does_no_harm_passes(changes: dict[str, Any], good: bool) -> None:
    assert passed({"collection": [OURS, replace(OURS, **changes)]}) is good


def test_the_other_ways_are_not_judged() -> None:
    assert passed({"script": [replace(SCRIPT, failure="stuck")]})


def test_the_difference_is_told_by_part_and_needs_both() -> None:
    more = difference({"script": [SCRIPT], "collection": [OURS]})
    assert more is not None
    assert more["rest"] == 1.5
    assert sum(more.values()) == 1.5
    assert difference({"collection": [OURS]}) is None


def test_the_heading_names_the_limit() -> None:
    settings = {"members": "seven", "origin": "2.19.6", "target": "3.8.0", "documents": 20000, "rate": 40.0}
    cluster, traffic, limit = heading({**settings, "cpu": "400m"}).split("; ")
    assert cluster == "seven members, 2.19.6 → 3.8.0"
    assert traffic == "20000 documents, 40 operations a second"
    assert limit == "each member limited to 400m CPU"
    assert heading({**settings, "cpu": None}).endswith("; members share all cores")


def test_the_table_has_a_column_a_way() -> None:
    shown = table({"script": [SCRIPT, replace(SCRIPT, failure="stuck")], "collection": [OURS]}, TITLES).splitlines()
    rows = {line[:26].strip(): line[26:].split() for line in shown if line}
    assert rows["done after"] == ["31.0", "s", "34.0", "s"]
    assert rows["until the next one stops"] == ["0.50", "2.00", "+1.50"]
    assert rows["together"] == ["15.50", "17.00", "+1.50"]
    assert rows["failed writes"] == ["6", "of", "400", "(1.50%)", "3", "of", "200", "(1.50%)"]
    assert rows["yellow"] == ["5.0", "s", "5.0", "s"]
    assert rows["documents missing"] == ["0", "0"]
    assert shown[-1] == "tight script failed: stuck"


def test_a_cluster_that_did_not_become_whole_is_said_to_never_be() -> None:
    assert "never" in table({"collection": [OURS, replace(OURS, whole=None)]}, TITLES)


def test_the_document_can_be_written_as_json() -> None:
    found = json.loads(json.dumps(document({"script": [SCRIPT], "collection": [OURS]}, {"members": "three"})))
    assert found["members"] == "three"
    assert found["passed"] is True
    assert [one["way"] for one in found["results"]] == ["script", "collection"]
    assert found["results"][1]["a_member"]["rest"] == 2.0
    assert found["more_than_script_a_member"]["rest"] == 1.5


LOG = """\
2026-11-21 03:00:00,000 p=1 u=root n=ansible INFO| PLAY [Begin] ******
2026-11-21 03:00:00,500 p=1 u=root n=ansible INFO| TASK [stateful.upgrade.begin : Plan the upgrade] ******
2026-11-21 03:00:01,500 p=1 u=root n=ansible INFO| ok: [localhost]
2026-11-21 03:00:02,000 p=1 u=root n=ansible INFO| TASK [stateful.upgrade.roll : Replace: the batch] ****
2026-11-21 03:00:12,250 p=1 u=root n=ansible INFO| TASK [stateful.upgrade.begin : Plan the upgrade] ******
2026-11-21 03:00:13,250 p=1 u=root n=ansible INFO| PLAY RECAP ****
"""


def test_tasks_last_until_the_next_one_begins() -> None:
    assert seconds_by_task(LOG) == {"Replace: the batch": 10.25, "Plan the upgrade": 2.5, "(between plays)": 0.5}
    assert seconds_by_task("") == {}


def test_the_longest_tasks_come_first_and_the_others_together() -> None:
    shown = task_table({"collection": [OURS]}, most=1).splitlines()
    assert [line.split(maxsplit=1) for line in shown[1:]] == [["3.00", "Act"], ["2.00", "all others"]]
    assert task_table({"script": [SCRIPT]}) == ""
