# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/failures.md names tests that exist, and of each failure either a test or the reason why there is none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "failures.md"
HEAD = ("Failure", "Reports", "Behaviour here", "Shown by")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
REASONS = ("Does not apply: ", "Not guarded yet: ")
ISSUE = re.compile(r"#\d+")


def rows(text: str) -> list[tuple[str, ...]]:
    """The cells of each row of each table; heads and rules are left out."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return [row for row in cells if row != HEAD]


@cache
def functions_in(path: Path) -> frozenset[str]:
    """The names of the functions of a file; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def faults(text: str) -> Iterator[str]:
    """One sentence for everything that is wrong with a row."""
    for row in rows(text):
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
            yield f"{thing}: something else stands beside the tests"
        yield from (f"{path}::{name} does not exist" for path, name in named if name not in functions_in(ROOT / path))


def test_every_test_exists_and_every_failure_has_one_or_a_reason() -> None:
    assert list(faults(PAGE.read_text(encoding="utf-8"))) == []


def test_every_table_has_the_same_head() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    heads = [lines[number - 1] for number, line in enumerate(lines) if line.startswith("|---")]
    sections = [line for line in lines if line.startswith("## ")]
    assert heads == [f"| {' | '.join(HEAD)} |"] * len(sections)


def test_no_test_is_named_twice_in_a_row() -> None:
    for row in rows(PAGE.read_text(encoding="utf-8")):
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
            ["a: something else stands beside the tests"],
        ),
    ],
)
def test_what_is_wrong_with_a_row_is_told(row: str, found: list[str]) -> None:
    assert list(faults(row)) == found
