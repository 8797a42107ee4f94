"""The pauses of a wait, in virtual time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.plugins.module_utils.common.test_waiting import PASSED, Wait, because


def test_the_pauses_grow_while_nothing_changes_and_are_short_again_after_a_change() -> None:
    wait = Wait()
    wait.run(lambda second: PASSED if second >= 1200 else because("one" if second < 900 else "two"), 2000.0, 0.25)
    slept = wait.clock.slept
    assert slept[:50] == [0.25] * 50
    assert max(slept) == 5.0
    times = [sum(slept[:number]) for number in range(len(slept))]
    changed = next(number for number, at in enumerate(times) if at >= 900)
    assert slept[changed - 1] == 5.0
    assert slept[changed : changed + 50] == [0.25] * 50
    assert wait.looks < 900


@given(st.floats(0.1, 3000.0))
def test_an_end_is_seen_late_by_a_fiftieth_of_the_wait_at_most(end: float) -> None:
    wait = Wait()
    seen, verdict = wait.run(lambda second: PASSED if second >= end else because("one"), 4000.0, 0.25)
    assert verdict.passed
    assert seen - end <= max(0.25, end / 50) + 1e-6


def test_a_user_who_wants_longer_pauses_has_them() -> None:
    wait = Wait()
    wait.run(lambda _second: because("one"), 600.0, 30.0)
    assert set(wait.clock.slept) == {30.0}
