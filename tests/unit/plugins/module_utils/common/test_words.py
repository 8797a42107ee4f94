"""Foreign texts: whatever a cluster is called, it can do nothing to a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, remark
from ansible_collections.stateful.upgrade.plugins.module_utils.common.words import NOT_SHOWN, printable, printable_data
from hypothesis import given
from hypothesis import strategies as st

HOSTILE = "\x1b[31mred\x1b[0m\nline\r\t\x9b2J\u202eevil\u2066\u200f\u2028\x00\x07\ud800"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, with: signs!", "plain text, with: signs!"),
        ("M\u00fcller \u0142\u00f3d\u017a \u65e5\u672c \U0001f600 a\u00a0b", None),
        ("two\nlines\tand\r\nmore", "two lines and  more"),
        ("\x1b[2J", f"{NOT_SHOWN}[2J"),
        ("\u202edesrever", f"{NOT_SHOWN}desrever"),
        ("\x9b31m", f"{NOT_SHOWN}31m"),
    ],
)
def test_what_is_shown_of_a_text(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)


@given(st.text(alphabet=st.characters()))
def test_no_text_holds_what_moves_a_terminal(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert printable(shown) == shown


def test_data_keeps_its_form() -> None:
    assert printable_data({"a\n": ["b\x1b", ("c", 1, None, True)]}) == {"a ": [f"b{NOT_SHOWN}", ["c", 1, None, True]]}


def test_nothing_in_a_result_moves_a_terminal() -> None:
    def work(task: Task) -> Outcome:
        task.journal.did("delete_pod", HOSTILE, why=HOSTILE)
        seen = Verdict((remark("said", HOSTILE, HOSTILE),))
        return Outcome(seen, True, {HOSTILE: HOSTILE}, {"a": [HOSTILE]}, HOSTILE, more={"members": [HOSTILE]})

    def refuse(_task: Task) -> Outcome:
        raise refusal("broken", HOSTILE, HOSTILE)

    for each in (work, refuse):
        text = json.dumps(perform(each, Task({}, diff_mode=True)), ensure_ascii=False)
        assert text.isprintable()
        assert "red" in text


def test_a_refusal_can_be_printed_as_it_is() -> None:
    assert str(refusal("broken", HOSTILE, "Mend it.")).isprintable()
