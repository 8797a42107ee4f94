"""The last sentence of the demo: it says that all is well, or everything that is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.demo.figures import AGAIN, MEANING, NEXT, Figures
from tests.lab.traffic.report import Loss, Operations, Report

NONE = Operations(10, {}, 0.1)
REPORT = Report(5.0, NONE, NONE, {"green": 5.0}, Loss(10, {}, ()))
GOOD = Figures(0, 5.0, (), REPORT, {"a": "3.8.0", "b": "3.8.0"}, "green", "3.8.0")


def last_line(figures: Figures) -> str:
    return figures.table().splitlines()[-1]


def test_all_is_well() -> None:
    assert GOOD.good
    assert last_line(GOOD) == (
        "The cluster is green, every member runs 3.8.0, and no acknowledged document is missing."
    )


def test_everything_that_is_not_well_is_named() -> None:
    lost = replace(REPORT, loss=Loss(10, {"not found": 2}, ("a-1",)))
    bad = replace(GOOD, code=2, report=lost, versions={"a": "3.8.0", "b": "2.19.6"}, health="yellow")
    assert not bad.good
    assert last_line(bad) == (
        "NOT as it should be: the upgrade did not succeed, not every member runs 3.8.0, the cluster is yellow, "
        "acknowledged documents are missing."
    )


@pytest.mark.parametrize(
    ("searches", "writes", "said"),
    [(1, 0, "1 search failed: "), (2, 1, "2 searches and 1 write failed: "), (0, 3, "3 writes failed: ")],
)
def test_a_failed_operation_is_explained(searches: int, writes: int, said: str) -> None:
    report = replace(
        REPORT,
        searches=Operations(100, {"partial result": searches} if searches else {}, 0.1),
        writes=Operations(100, {"connection refused": writes} if writes else {}, 0.1),
    )
    assert f"\n\n{said}{MEANING}\n\n" in replace(GOOD, report=report).table()
    assert MEANING not in GOOD.table()


def test_it_ends_with_what_to_do_next() -> None:
    assert GOOD.next() == NEXT
    assert replace(GOOD, code=2).next() == AGAIN
    root = Path(__file__).parents[2]
    assert "## First plan" in (root / "README.md").read_text(encoding="utf-8")
    assert "## A cluster that stays" in (root / "tests/demo/README.md").read_text(encoding="utf-8")


def test_documents_that_were_not_checked_are_not_taken_for_whole() -> None:
    assert not replace(GOOD, report=replace(REPORT, loss=None)).good
