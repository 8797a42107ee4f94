"""The bytes that move away from members that are drained."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.drain import (
    Moving,
    judge_drained,
    size_text,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.stored import (
    copied_bytes,
    observe_bytes_left,
    stored_bytes,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
    info,
)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (208_000, "208 kB"), (37e6, "37.0 MB"), (14.24e9, "14.2 GB"), (2.5e12, "2.5 TB")],
)
def test_sizes_are_told_in_the_units_of_people(count: float, text: str) -> None:
    assert size_text(count) == text


@pytest.mark.parametrize(
    ("moving", "text"),
    [
        (Moving(37_000_000_000, 37_000_000_000), "37.0 GB of 37.0 GB"),
        # The first bytes show no rate, and neither does a member to which more is written than moves away.
        (Moving(37_000_000_000, 36_000_000_000, 5), "36.0 GB of 37.0 GB"),
        (Moving(37_000_000_000, 37_000_000_000, 60), "37.0 GB of 37.0 GB"),
        (Moving(37_000_000_000, 14_200_000_000, 109), "14.2 GB of 37.0 GB, 209.2 MB/s, about 1 min"),
        (Moving(37_000_000_000, 1_000_000_000, 30), "1.0 GB of 37.0 GB, 1.2 GB/s, about 1 min"),
        (Moving(10_000_000_000, 5_000_000_000, 600), "5.0 GB of 10.0 GB, 8.3 MB/s, about 10 min"),
    ],
)
def test_a_rate_and_the_time_to_go_are_told_once_there_is_progress(moving: Moving, text: str) -> None:
    assert moving.as_text() == text
    (reason,) = judge_drained(["a"], [copied("i", "a")], (), moving).reasons
    assert reason.message == f"Shards move away from a: 1 left ({text})."


def copied(index: str, member: str) -> Any:
    state = cluster({member: info(member)}, [copy(index, member, primary=True)], voting=coordination(member))
    return state.copies[0]


class Members:
    """Answers with sizes, or fails as a client does."""

    def __init__(self, stats: Json | Exception, recoveries: Json) -> None:
        self.stats, self.recoveries = stats, recoveries
        self.asked: list[str] = []

    def get(self, path: str, **_query: Any) -> Json:
        self.asked.append(path)
        if isinstance(self.stats, Exception):
            raise self.stats
        return self.recoveries if path == "/_recovery" else self.stats


def recovery(shard: int, copied_so_far: int) -> Json:
    return {"id": shard, "index": {"size": {"recovered_in_bytes": copied_so_far}}}


def test_the_bytes_of_a_shard_that_is_half_copied_count_half() -> None:
    copies = [copy("i", "a", primary=True, to="b"), copy("j", "a", primary=True), copy("k", "b", primary=True)]
    state = cluster({"a": info("a"), "b": info("b")}, copies, voting=coordination("a"))
    (here,) = state.ids(["a"])
    stats = {"nodes": {here: {"indices": {"store": {"size_in_bytes": 1000}}}}}
    members: Any = Members(stats, {"i": {"shards": [recovery(0, 300)]}, "k": {"shards": [recovery(0, 50)]}})
    assert observe_bytes_left(members, state, ["a"]) == 700
    assert members.asked == [f"/_nodes/{here}/stats/indices/store", "/_recovery"]
    assert copied_bytes(members.recoveries, {("i", 1)}) == 0


@pytest.mark.parametrize("stats", [{}, {"nodes": {}}, {"nodes": {"a": {}}}, KeyError("x"), TypeError("y")], ids=str)
def test_a_size_that_is_not_known_is_told_of_by_nobody_and_stops_nothing(stats: Any) -> None:
    state = cluster({"a": info("a")}, [copy("i", "a", primary=True)], voting=coordination("a"))
    members: Any = Members(stats, {})
    assert observe_bytes_left(members, state, ["a"]) is None
    assert stored_bytes({"nodes": {}}, 1) is None
