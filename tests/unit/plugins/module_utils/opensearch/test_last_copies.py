"""Last copies whose replicas have no place: refused at once, or taken down by consent to their index."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import Selection
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_batch, judge_consent
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.looking import look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import Explanation
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    copy,
    identity,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.gate_case import WHOLE, case
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

PINNED = [*WHOLE, copy("pinned", "b", primary=True), copy("pinned", None)]
ALLOWED = Policy(allow_red_indices=frozenset({"pinned"}))


def explained(answer: str = "no", index: str = "pinned", **refusing: str) -> tuple[Explanation]:
    """The server's explanation of the replica of that index, by member."""
    said = {identity(member): frozenset(deciders.split()) for member, deciders in refusing.items()}
    return (Explanation(index, 0, False, answer, said),)


FILTERED = explained(a="filter", b="same_shard", c="filter")


def gate(moment: str = "before_batch", **changes: Any) -> set[tuple[str, State]]:
    given = {"copies": PINNED, "status": "yellow", "explanations": FILTERED, "batch": "b", "skip": ("unassigned",)}
    return case(**{**given, **changes}).said(moment) - {("check_skipped", State.PASSED)}


def test_a_replica_that_was_skipped_and_has_no_place_is_not_waited_for_before_its_primary_goes() -> None:
    assert gate() == {("last_started_copy", State.WAITING), ("last_started_copy", State.REFUSED)}
    verdict = case(copies=PINNED, status="yellow", explanations=FILTERED, batch="b").judged("before_batch")
    reason = next(each for each in verdict.reasons if each.state is State.REFUSED and each.code == "last_started_copy")
    assert "b holds the only copy of pinned[0]" in reason.message
    assert "filter on 2, same_shard on 1" in reason.message
    assert "allow_red_indices" in reason.remedy


def test_it_is_told_before_the_upgrade_where_nothing_else_has() -> None:
    assert gate("before_upgrade", batch="") == {("last_started_copy", State.REFUSED)}
    assert gate("before_upgrade", batch="", skip=()) == {("unassigned", State.REFUSED)}


@pytest.mark.parametrize(
    "explanations",
    [(), explained("throttled", a="filter"), explained(index="other", a="filter"), explained(a="node_version", b="x")],
)
def test_what_may_still_come_back_is_waited_for(explanations: tuple[Explanation, ...]) -> None:
    assert gate(explanations=explanations) == {("last_started_copy", State.WAITING)}


def test_a_batch_that_does_not_hold_it_may_go() -> None:
    assert gate(batch="c") == set()


def test_an_index_that_may_be_red_goes_down_with_the_member_that_holds_its_last_copy() -> None:
    assert gate(policy=ALLOWED) == {("last_started_copy", State.PASSED)}
    assert gate("before_upgrade", batch="", policy=ALLOWED, skip=()) == {("unassigned", State.PASSED)}
    verdict = judge_batch(cluster("abc", PINNED), ["b"], ALLOWED)
    assert [(reason.code, reason.state) for reason in verdict.reasons] == [("last_started_copy", State.PASSED)]
    other = judge_batch(cluster("abc", [*PINNED, copy("k", "b", primary=True), copy("k", None)]), ["b"], ALLOWED)
    assert other.state is State.WAITING, "consent to one index is none to another"


def test_a_single_copy_needs_no_second_consent() -> None:
    state = cluster("abc", [copy("pinned", "b", primary=True), copy("lone", "c", primary=True)])
    (reason,) = judge_consent(state, "abc", ALLOWED).reasons
    assert "lone[0]" in reason.message
    assert "pinned" not in reason.message


@pytest.mark.parametrize(
    ("copies", "asked"), [(PINNED, 1), ([*PINNED[:-1], copy("pinned", "c"), copy("pinned", None)], 0)]
)
def test_only_the_replicas_of_last_copies_are_explained_where_the_check_is_skipped(
    copies: list[Json], asked: int
) -> None:
    client: Any = Servers(state=state_answer("abc", copies, elected="a"))
    client.condition["status"] = "yellow"
    look(client, "before_batch", 0, Selection(frozenset({"unassigned"})))
    assert client.asked.count(("POST", "/_cluster/allocation/explain")) == asked


def test_while_a_member_is_away_its_replicas_have_no_place_for_that_reason_alone() -> None:
    held = [each for each in PINNED if each["node"] != identity("c") and each["index"] != "j"]
    away = gate(present="ab", copies=held, explanations=explained(a="filter", b="same_shard"))
    assert ("last_started_copy", State.REFUSED) not in away
    assert ("member_missing", State.WAITING) in away
