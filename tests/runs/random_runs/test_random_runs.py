"""Random upgrades, each watched at every change. One that fails is told as the smallest story that still fails."""

from __future__ import annotations

import os

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.random_runs.opensearch.events import KINDS
from tests.runs.random_runs.opensearch.story import IndexIn, OpenSearchStory
from tests.runs.random_runs.shrinking import shrunk, smallest_text
from tests.runs.random_runs.story import Event
from tests.runs.random_runs.systems import SYSTEMS

SEEDS = int(os.environ.get("STATEFUL_UPGRADE_RANDOM_RUNS", "60"))
"""The number of random upgrades."""
OPENSEARCH = SYSTEMS["opensearch"]
IN_ONE_TEST = 10


@pytest.mark.parametrize("first", range(0, SEEDS, IN_ONE_TEST))
def test_random_upgrades(first: int) -> None:
    endings = [OPENSEARCH.play(OPENSEARCH.story_of(seed)) for seed in range(first, min(first + IN_ONE_TEST, SEEDS))]
    failed = [each.story for each in endings if each.faults]
    assert not failed, "\n\n".join(smallest_text(story, OPENSEARCH.play) for story in failed)
    assert any(each.acts for each in endings)


def test_a_seed_is_one_story_and_happens_in_one_way_only() -> None:
    told = [OPENSEARCH.play(OPENSEARCH.story_of(3)) for _time in range(2)]
    assert told[0].story == told[1].story
    assert told[0].told == told[1].told
    assert told[0].acts == told[1].acts


def test_the_seeds_make_every_kind_of_event() -> None:
    assert {event.kind for seed in range(1000) for event in OPENSEARCH.story_of(seed).events} == set(KINDS)


def test_a_story_is_shrunk_to_the_things_that_make_it_fail() -> None:
    def fails(story: OpenSearchStory) -> bool:
        return any(event.kind == "evicted" for event in story.events) and bool(story.indices)

    pools = (Pool("managers", 3, ("cluster_manager",)), Pool("data", 6, ("data",)), Pool("coordinating", 1, ()))
    events = (Event(1, "kill"), Event(2, "evicted"), Event(3, "busy"))
    indices = (IndexIn("one", 1, 1), IndexIn("two", 2, 1))
    story = OpenSearchStory(0, pools, indices, ("2.19.6", "3.8.0"), options={"upgrade_wait": False}, events=events)
    smallest = shrunk(story, fails)
    assert [event.kind for event in smallest.events] == ["evicted"]
    assert len(smallest.indices) == 1
    assert smallest.options == {}
    assert [pool.replicas for pool in smallest.pools] == [3, 3]
