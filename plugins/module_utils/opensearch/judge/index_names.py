"""The indices that a consent covers, by name and by pattern. Pure.

The patterns are those of OpenSearch's own index expressions: `*` stands for any characters, and a pattern after a minus
takes out again what those before it cover. Consent is given for names, so `*` covers hidden indices and those that
start with a dot, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...common.errors import refusal
from ...common.verdict import Reason, as_verdict, remark
from ...common.words import enumerate_few
from ..observe.state import ClusterState

ALL, NOT, ANY = "*", "-", "*"
YES, NO = frozenset({"true", "yes", "on"}), frozenset({"false", "no", "off"})
"""Words that, alone, stand for every index and for none."""


@dataclass(frozen=True)
class IndexNames:
    """A set of names of indices: `name in names` says whether an index is among them."""

    patterns: tuple[str, ...] = ()

    def __contains__(self, index: object) -> bool:
        """Whether the patterns cover an index of this name; the last one that fits decides."""
        covered = False
        for takes_out, fits in self._read:
            if covered is takes_out and fits.fullmatch(str(index)):
                covered = not takes_out
        return covered

    def __bool__(self) -> bool:
        """Whether there is any pattern."""
        return bool(self.patterns)

    def __str__(self) -> str:
        """The patterns, as a user writes them."""
        return ",".join(self.patterns)

    @cached_property
    def _read(self) -> tuple[tuple[bool, re.Pattern[str]], ...]:
        return tuple(
            (each.startswith(NOT), re.compile(".*".join(map(re.escape, each.removeprefix(NOT).split(ANY)))))
            for each in self.patterns
        )


EVERY = IndexNames((ALL,))


def index_names(given: Sequence[str], option: str) -> IndexNames:
    """The names from the values of an option: a list of names and patterns, or a single `true` or `false`.

    Raises:
        Refusal: the first pattern takes something out, and it is not known from what.
    """
    values = tuple(str(each).strip() for each in given)
    if len(values) == 1 and values[0].lower() in YES | NO:
        return EVERY if values[0].lower() in YES else IndexNames()
    if values and values[0].startswith(NOT):
        raise refusal(
            "index_pattern_unusable",
            f"{option} starts with {values[0]}, which takes indices out, and there is nothing before it.",
            f"Start with the indices from which they are taken out, such as {ALL},{values[0]}.",
        )
    # The order decides only if something is taken out. Otherwise it is not part of what the user agrees to.
    takes_out = any(each.startswith(NOT) for each in values)
    return IndexNames(values if takes_out else tuple(sorted(set(values))))


@as_verdict
def judge_covered(state: ClusterState, names: IndexNames, option: str) -> Iterator[Reason]:
    """The indices that a consent covers now, and each name or pattern that fits none."""
    for pattern in _idle(state.indices, names):
        yield remark(
            "consent_without_index",
            f"{option} has {pattern}, and no index of the cluster has such a name.",
            "Correct it, or leave it out.",
        )
    covered = [index for index in state.indices if index in names]
    if covered and ANY in str(names) and names != EVERY:
        are = "1 index" if len(covered) == 1 else f"{len(covered)} indices"
        yield remark("consent_covers", f"{option} ({names}) covers {are}: {enumerate_few(covered)}.")


def _idle(indices: Iterable[str], names: IndexNames) -> list[str]:
    """The names and patterns that fit no index. The pattern for every index never counts."""
    there = list(indices)
    return [
        pattern
        for pattern in names.patterns
        if pattern != ALL and not any(index in IndexNames((pattern.removeprefix(NOT),)) for index in there)
    ]
