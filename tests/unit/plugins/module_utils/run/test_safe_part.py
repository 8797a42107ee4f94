"""The part of a batch that can go when the whole cannot."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import safe_part
from hypothesis import given
from hypothesis import strategies as st

NAMES = "abcdefgh"


@given(
    st.lists(st.sampled_from(NAMES), unique=True),
    st.lists(st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=3), max_size=6),
)
def test_it_is_safe_and_nothing_can_be_added(names: list[str], conflicts: list[frozenset[str]]) -> None:
    def passes(together: Sequence[str]) -> bool:
        return not any(conflict <= {*together} for conflict in conflicts)

    part = safe_part(names, passes)
    assert passes(part)
    assert part == [name for name in names if name in part]
    assert not any(passes([*part, name]) for name in names if name not in part)


def test_one_that_cannot_go_among_many_costs_few_questions() -> None:
    asked: list[Sequence[str]] = []
    names = [str(number) for number in range(256)]

    def passes(together: Sequence[str]) -> bool:
        asked.append(together)
        return "77" not in together

    assert safe_part(names, passes) == [name for name in names if name != "77"]
    assert len(asked) <= 2 * 8 + 1
