"""The proof for the rest of a batch of which some are deleted: they count as down, and are no reason against it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.index_names import EVERY
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import prove
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
)

POLICY = Policy(allow_single_copy=EVERY)
ELSEWHERE = [copy("i", "c", primary=True), copy("i", "d")]


def codes(present: str, copies: Sequence[Json], gone: str, members: str = "abcde") -> set[str]:
    """The codes about the batch a and b, of which some are gone."""
    state = cluster(present, copies, voting=coordination("cde"), elected="e")
    verdict = prove(state, list(members), ["a", "b"], POLICY, list(gone))
    return {reason.code for reason in verdict.deciding()}


@pytest.mark.parametrize("members", ["abcde", ""])
def test_that_they_are_away_is_no_wonder_whoever_is_named(members: str) -> None:
    assert codes("bcde", ELSEWHERE, "a", members) == set()
    assert codes("bcde", ELSEWHERE, "", "") == {"member_unrecognised"}
    assert codes("bcd", ELSEWHERE, "a") >= {"member_missing"}


@pytest.mark.parametrize(
    ("copies", "said"),
    [
        ([copy("i", "a", primary=True), copy("i", "c")], set()),
        # Copies that one of them still seems to hold are as good as gone.
        ([copy("i", "a"), copy("i", "b", primary=True)], {"every_copy_in_batch"}),
        # One that has come back recovers by itself what it alone holds, and takes from the rest what they hold.
        ([*ELSEWHERE, copy("j", "a", "INITIALIZING", primary=True)], set()),
        ([copy("i", "b", primary=True), copy("i", "c"), copy("i", "a", "INITIALIZING")], {"recovery_running"}),
    ],
)
def test_they_count_as_down(copies: Sequence[Json], said: set[str]) -> None:
    assert codes("abcde", copies, "a") == said


def test_an_index_that_was_made_meanwhile_keeps_the_rest_up() -> None:
    made = [copy("made", "b", primary=True), copy("made", None)]
    assert codes("bcde", [*ELSEWHERE, *made], "a") == {"last_started_copy"}
