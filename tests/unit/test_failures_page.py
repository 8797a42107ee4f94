"""docs/failures.md names tests that exist, and of each failure either a test or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.unit.named_tests import NAMED, ROOT, missing, tables

PAGE = ROOT / "docs" / "failures.md"
HEAD = ("Failure", "Reports", "Behaviour here", "Shown by")
REASONS = ("Does not apply: ", "Not guarded yet: ")
ISSUE = re.compile(r"#\d+")


def faults(text: str) -> Iterator[str]:
    """One sentence for everything that is wrong with a row."""
    for row in tables(text, HEAD):
        thing = row[0]
        if len(row) != len(HEAD) or not all(row):
            yield f"{thing}: not every cell is there"
            continue
        if not ISSUE.search(row[1]):
            yield f"{thing}: no issue is named"
        named = NAMED.findall(row[3])
        if not named and not row[3].startswith(REASONS):
            yield f"{thing}: neither a test nor a reason"
        elif named and ", ".join(f"`{path}::{name}`" for path, name in named) != row[3]:
            yield f"{thing}: something else is next to the tests"
        yield from missing(row[3])


def test_every_test_exists_and_every_failure_has_one_or_a_reason() -> None:
    assert list(faults(PAGE.read_text(encoding="utf-8"))) == []


def test_every_table_has_the_same_head() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    heads = [lines[number - 1] for number, line in enumerate(lines) if line.startswith("|---")]
    sections = [line for line in lines if line.startswith("## ")]
    assert heads == [f"| {' | '.join(HEAD)} |"] * len(sections)


def test_no_test_is_named_twice_in_a_row() -> None:
    for row in tables(PAGE.read_text(encoding="utf-8"), HEAD):
        named = NAMED.findall(row[3])
        assert len(set(named)) == len(named), row[0]


HERE = "tests/unit/test_failures_page.py"


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (f"| a | b #1 | c | `{HERE}::test_every_table_has_the_same_head` |", []),
        ("| a | b #1 | c | Does not apply: d. |", []),
        (f"| a | b #1 | c | `{HERE}::test_gone` |", [f"{HERE}::test_gone does not exist"]),
        ("| a | b #1 | c | `tests/gone.py::test_a` |", ["tests/gone.py::test_a does not exist"]),
        ("| a | b #1 | c | soon |", ["a: neither a test nor a reason"]),
        ("| a | b #1 | | Does not apply: d. |", ["a: not every cell is there"]),
        ("| a | b #1 | c |", ["a: not every cell is there"]),
        ("| a | b | c | Does not apply: d. |", ["a: no issue is named"]),
        (
            f"| a | b #1 | c | `{HERE}::test_every_table_has_the_same_head` and more |",
            ["a: something else is next to the tests"],
        ),
    ],
)
def test_what_is_wrong_with_a_row_is_told(row: str, found: list[str]) -> None:
    assert list(faults(row)) == found
