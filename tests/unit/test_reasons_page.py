"""The page of the reasons is what the code says: each code with its states, a sentence, and the remedy."""

from __future__ import annotations

import re

import pytest

from tests.pages.reading.sources import Source
from tests.pages.reading.texts import FEW_WORDS, GAP, words
from tests.pages.reason_codes import Codes, made_in
from tests.pages.reasons import PAGE, codes, given_by_tasks, page

CELLS = re.compile(r"(?<!\\)\|")


@pytest.fixture(scope="module")
def made() -> str:
    """The page as the code is now."""
    return page()


@pytest.fixture(scope="module")
def known() -> Codes:
    """All codes of the plugins."""
    return codes()


def rows(text: str) -> list[list[str]]:
    """The cells of each row."""
    return [[cell.strip() for cell in CELLS.split(line)[1:-1]] for line in text.splitlines() if line.startswith("| `")]


def test_the_page_is_what_the_code_says(made: str) -> None:
    assert PAGE.read_text(encoding="utf-8") == made, "run: make pages"


def test_every_code_has_one_row_and_a_sentence(made: str, known: Codes) -> None:
    found = rows(made)
    assert sorted(code.strip("`") for code, *_rest in found) == sorted([*known.made, *given_by_tasks()])
    assert [row for row in found if len(row) != 4] == []
    assert [row for row in found if words(row[2]) < FEW_WORDS - 1 or row[3] == GAP] == []


def test_the_codes_of_tasks_are_those_of_the_page(known: Codes) -> None:
    assert given_by_tasks() == known.made_by_tasks()


def test_the_rows_of_a_section_are_sorted(made: str) -> None:
    for section in made.split("\n## ")[1:]:
        found = [code.strip("`") for code, *_rest in rows(section)]
        assert found == sorted(found), section.splitlines()[0]
        assert found, section.splitlines()[0]


def test_codes_are_found() -> None:
    source = """
HERE = "constant"
refused("a", "A.", "")
verdict.waiting(HERE, "B.")
Unreachable.because("c", "C.", "")
remark(reason.code, "passed on")
(refused if hopeless else waiting)("d", "D.", "")
Unreachable(refused("e", "E.", ""))
"""
    found = [(each.code, sorted(each.states)) for each in made_in(Source.parsed("plugins/a", source))]
    assert found == [
        ("a", ["refused"]),
        ("constant", ["waiting"]),
        ("c", ["refused", "waiting"]),
        ("d", ["refused", "waiting"]),
        ("e", ["refused", "waiting"]),
    ]
    with pytest.raises(AssertionError, match=r"line 1: the code f'{x}' cannot be read"):
        list(made_in(Source.parsed("plugins/a", "refusal(f'{x}', '', '')")))
