# SPDX-License-Identifier: GPL-3.0-or-later
"""The last sentence of the demo: it says that all is well, or everything that is not."""

from __future__ import annotations

from dataclasses import replace

from tests.demo.figures import Figures
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


def test_documents_that_were_not_checked_are_not_taken_for_whole() -> None:
    assert not replace(GOOD, report=replace(REPORT, loss=None)).good
