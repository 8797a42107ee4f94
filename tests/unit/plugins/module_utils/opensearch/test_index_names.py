"""The indices that a consent covers."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.index_names import (
    EVERY,
    IndexNames,
    index_names,
    judge_covered,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    copy,
    info,
)

INDICES = (".ds-logs-000001", ".hidden", "logs", "logs-1", "logs-2", "logs-keep", "logs-keep-2", "true")
OPTION = "allow_red_indices"


@pytest.mark.parametrize(
    ("given", "covered"),
    [
        ([], ()),
        (["false"], ()),
        (["No"], ()),
        (["True"], INDICES),
        (["*"], INDICES),
        (["logs"], ("logs",)),
        ([" logs ", "nothing"], ("logs",)),
        (["logs-*"], ("logs-1", "logs-2", "logs-keep", "logs-keep-2")),
        (["*logs*1"], (".ds-logs-000001", "logs-1")),
        ([".*"], (".ds-logs-000001", ".hidden")),
        (["logs-*", "-logs-keep*"], ("logs-1", "logs-2")),
        (["logs-*", "-logs-keep*", "logs-keep-2"], ("logs-1", "logs-2", "logs-keep-2")),
        (["logs-*", "-*", "logs"], ("logs",)),
        (["true", "logs"], ("logs", "true")),
        (["logs-?", "logs-[12]", "log", "LOGS"], ()),
    ],
)
def test_names_patterns_and_exceptions(given: list[str], covered: tuple[str, ...]) -> None:
    names = index_names(given, OPTION)
    assert tuple(index for index in INDICES if index in names) == covered


def test_an_exception_needs_something_before_it() -> None:
    with pytest.raises(Refusal) as caught:
        index_names(["-logs-keep", "logs-*"], OPTION)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "index_pattern_unusable"
    assert "such as *,-logs-keep." in reason.remedy


def test_the_order_counts_only_where_something_is_taken_out() -> None:
    assert index_names(["b", "a", "b"], OPTION) == index_names(["a", "b"], OPTION)
    assert index_names(["b*", "-ba", "a*"], OPTION) != index_names(["a*", "b*", "-ba"], OPTION)
    assert str(index_names(["b*", "-ba"], OPTION)) == "b*,-ba"


@pytest.mark.parametrize(
    ("names", "sentences"),
    [
        (IndexNames(), []),
        (EVERY, []),
        (IndexNames(("logs-1",)), []),
        (IndexNames(("lgs-1",)), ["allow_red_indices has lgs-1, and no index of the cluster has such a name."]),
        (
            IndexNames(("logs-*", "-logs-2", "-x*")),
            [
                "allow_red_indices has -x*, and no index of the cluster has such a name.",
                "allow_red_indices (logs-*,-logs-2,-x*) covers 3 indices: logs-1, logs-keep, logs-keep-2.",
            ],
        ),
        (IndexNames((".h*",)), ["allow_red_indices (.h*) covers 1 index: .hidden."]),
    ],
)
def test_a_plan_names_the_indices_that_are_covered(names: IndexNames, sentences: list[str]) -> None:
    copies = [copy(index, "a", primary=True) for index in INDICES]
    state = cluster({"a": info("a")}, copies, voting=coordination("a"))
    verdict = judge_covered(state, names, OPTION)
    assert verdict.passed
    assert [reason.message for reason in verdict.reasons] == sentences
