"""A large cluster: a batch asks for as much at the end of a run as at its start."""

from __future__ import annotations

import pytest

from tests.runs.big_run import upgrade

RECORD = 1_500
"""Bytes of the record for each member that is done, with what the record has besides."""


@pytest.mark.parametrize(
    ("members", "shards", "at_once"),
    [(60, 300, "2"), pytest.param(300, 15_000, "10%", marks=pytest.mark.soak)],
)
def test_a_batch_costs_the_same_however_many_members_are_done(members: int, shards: int, at_once: str) -> None:
    costs = upgrade(members, shards, upgrade_max_unavailable=at_once)
    for each in costs.batches:
        print(each)
    # The first batch has the start of the run in it; the last ones are managers, one at a time.
    asked: dict[int, list[int]] = {}
    for each in costs.batches[1:]:
        asked.setdefault(each.members, []).append(each.requests)
    usual = max(asked.values(), key=len)
    assert len(usual) >= 4
    assert max(usual) == usual[0]
    assert costs.batches[-1].record < RECORD * members
