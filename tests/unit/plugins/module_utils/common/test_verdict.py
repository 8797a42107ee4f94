"""Verdicts, refusals and their wording."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import (
    Reason,
    State,
    Verdict,
    combine,
    refused,
    remark,
    waiting,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.words import NAMED, enumerate_few
from hypothesis import given
from hypothesis import strategies as st

REASONS = st.builds(Reason, st.sampled_from(State), st.sampled_from("abc"), st.text(max_size=3), st.text(max_size=3))
VERDICTS = st.builds(Verdict, st.lists(REASONS, max_size=5).map(tuple))

SAID, SLOW, BROKEN = remark("said", "A."), waiting("slow", "B."), refused("broken", "C.", "D.")


@pytest.mark.parametrize(
    ("reasons", "state", "deciding"),
    [
        ((), State.PASSED, ()),
        ((SAID,), State.PASSED, ()),
        ((SAID, SLOW), State.WAITING, (SLOW,)),
        ((SLOW, BROKEN, SAID), State.REFUSED, (BROKEN,)),
    ],
)
def test_the_most_severe_reason_decides(
    reasons: tuple[Reason, ...], state: State, deciding: tuple[Reason, ...]
) -> None:
    verdict = Verdict(reasons)
    assert (verdict.state, verdict.deciding(), verdict.passed) == (state, deciding, state is State.PASSED)


@given(st.lists(VERDICTS, max_size=4))
def test_verdicts_together_say_everything_once_and_are_as_severe_as_the_worst(verdicts: list[Verdict]) -> None:
    together = combine(verdicts)
    everything = [reason for verdict in verdicts for reason in verdict.reasons]
    assert list(together.reasons) == sorted(set(everything), key=everything.index)
    severity = [State.PASSED, State.WAITING, State.REFUSED]
    worst = max((severity.index(verdict.state) for verdict in verdicts), default=0)
    assert together.state is severity[worst]


def test_a_refusal_carries_its_reasons_and_says_them() -> None:
    error = Refusal(BROKEN, refused("other", "E.", "F."))
    assert str(error) == "C. D. E. F."
    assert error.verdict == Verdict((BROKEN, refused("other", "E.", "F.")))
    assert refusal("broken", "C.", "D.").verdict == Verdict((BROKEN,))


@given(st.lists(st.text(st.characters(exclude_characters=", "), min_size=1), max_size=12))
def test_few_things_are_named_and_many_are_counted(things: list[str]) -> None:
    said = enumerate_few(things)
    different = sorted(set(things))
    assert said.split(" and ")[0] == ", ".join(different[:NAMED])
    assert said.endswith(f" and {len(different) - NAMED} more") == (len(different) > NAMED)
