"""Units that may be away at once, against a list of all sets of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part
from hypothesis import given
from hypothesis import strategies as st

NAMES = ("a", "b", "c", "d", "e", "f", "g")


@st.composite
def away_sets(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> AwaySets:
    """Two alternatives at most, each of one part of its own and of parts that go with any."""
    parts = [Part(frozenset(), draw(st.integers(1, 3))) for _number in range(4)]
    for name in names:
        place = draw(st.integers(0, 4))
        if place < 4:
            parts[place] = Part(parts[place].names | {name}, parts[place].at_once)
    first, second, *others = parts
    return AwaySets([[first, *others], [second, *others]] if draw(st.booleans()) else [parts])


def listed(away: AwaySets) -> Iterator[frozenset[str]]:
    """Every greatest set."""
    for parts in away.alternatives:
        of_part = (combinations(sorted(each.names), min(each.at_once, len(each.names))) for each in parts)
        yield from (frozenset(name for part in chosen for name in part) for chosen in product(*of_part))


@given(away_sets(), st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3)))
def test_the_worst_set_takes_as_much_as_any_of_all_sets(away: AwaySets, held: dict[str, int]) -> None:
    worst = away.worst(held)
    assert any({*worst} <= each for each in listed(away))
    assert sum(held[name] for name in worst) == max(sum(held.get(name, 0) for name in each) for each in listed(away))


@given(away_sets(), st.frozensets(st.sampled_from(NAMES)))
def test_some_may_be_away_at_once_if_one_of_all_sets_has_them(away: AwaySets, names: frozenset[str]) -> None:
    assert away.has(names) == any(names <= each for each in listed(away))


@given(away_sets())
def test_plain_data_says_the_same(away: AwaySets) -> None:
    assert AwaySets.of_result(away.as_result()) == away
