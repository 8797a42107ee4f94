"""A plan names the indices whose writes wait while members restart."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_writes
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    copy,
    index_metadata,
)

COPIES = [copy("i", "a", primary=True), copy("i", "b"), copy("i/1", "b", primary=True), copy("i/1", "c")]


def slowed(awaited: str, batches: list[str], copies: list[dict[str, Any]] | None = None, **more: Any) -> list[str]:
    settings = index_metadata(number_of_shards="2", number_of_replicas="1", write={"wait_for_active_shards": awaited})
    state = cluster("abc", COPIES if copies is None else copies, indices={"i": {**settings, **more}})
    reasons = judge_writes(state, batches).reasons
    assert all((each.code, each.state) == ("writes_wait", State.PASSED) for each in reasons)
    return [each.message for each in reasons]


@pytest.mark.parametrize(
    ("awaited", "batches", "waits"),
    [
        ("1", ["a", "b", "c"], False),
        ("2", ["a", "b", "c"], True),
        ("all", ["a", "b", "c"], True),
        ("2", [], False),
        # All copies of a shard in one batch is another reason, which the proof gives.
        ("2", ["abc"], False),
        ("2", ["ac", "b"], True),
    ],
)
def test_an_index_that_asks_for_more_copies_than_stay_is_named_once(
    awaited: str, batches: list[str], waits: bool
) -> None:
    found = slowed(awaited, batches)
    assert len(found) == waits
    assert all("While one of its members is away, writes to i wait" in each for each in found)


def test_neither_copies_for_search_nor_closed_indices_count() -> None:
    searched = [copy("i", "a", primary=True), copy("i", "b", search_only=True), copy("i", "c", search_only=True)]
    assert slowed("2", ["b", "c"], searched) == []
    assert slowed("2", ["a", "b", "c"], state="close") == []
