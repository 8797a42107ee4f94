"""The waves of a fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import (
    BAD,
    DONE,
    FAILED,
    STATES,
    UPGRADING,
    Cluster,
    FleetPlan,
    digest_of,
    end_lines,
    held_back,
    plan_lines,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.waves import Wave, waves_of
from hypothesis import given
from hypothesis import strategies as st

CLUSTERS = [f"c{number}" for number in range(10)]
GROUPS: Mapping[str, Sequence[str]] = {"all": CLUSTERS, "eu": CLUSTERS[:4], "us": CLUSTERS[4:]}


def arranged(canary: Sequence[str] = (), wanted: Sequence[str] = ()) -> list[tuple[str, int]]:
    return [(wave.name, len(wave.clusters)) for wave in waves_of(CLUSTERS, GROUPS, canary, wanted)]


@pytest.mark.parametrize(
    ("canary", "wanted", "expected"),
    [
        ((), (), [("wave 1", 10)]),
        (("c5",), (), [("canary", 1), ("wave 2", 9)]),
        (("c5",), ("20%", "100%"), [("canary", 1), ("wave 2", 2), ("wave 3", 7)]),
        ((), ("4",), [("wave 1", 4), ("wave 2", 4), ("wave 3", 2)]),
        ((), ("1%", "50%"), [("wave 1", 1), ("wave 2", 5), ("wave 3", 4)]),
        (("c0",), ("us", "eu"), [("canary", 1), ("us", 6), ("eu", 3)]),
        ((), ("us", "2"), [("us", 6), ("wave 2", 2), ("wave 3", 2)]),
    ],
)
def test_waves_are_a_canary_groups_and_sizes(
    canary: Sequence[str], wanted: Sequence[str], expected: list[tuple[str, int]]
) -> None:
    assert arranged(canary, wanted) == expected


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(Refusal) as caught:
        arranged(("nobody",), ("0", "101%", "asia", "5"))
    assert [reason.message.split(" is not ")[0] for reason in caught.value.verdict.reasons] == [
        *("The canary nobody", "The wave 0", "The wave 101%", "The wave asia")
    ]


def test_clusters_that_no_wave_takes_are_named() -> None:
    with pytest.raises(Refusal, match=r"No wave includes c4, c5, c6.*100%"):
        arranged((), ("eu",))


@given(
    st.lists(st.sampled_from(CLUSTERS), unique=True, min_size=1),
    st.lists(st.sampled_from(CLUSTERS), unique=True, max_size=2),
    st.lists(st.sampled_from(["1", "3", "10%", "50%", "eu", "us", "100%"]), max_size=4),
)
def test_each_cluster_of_a_run_is_in_one_wave(clusters: list[str], canary: list[str], wanted: list[str]) -> None:
    try:
        waves = waves_of(clusters, GROUPS, canary, wanted)
    except Refusal:
        assert wanted[-1] in GROUPS
        return
    assert sorted(name for wave in waves for name in wave.clusters) == sorted(clusters)
    assert all(wave.clusters for wave in waves)
    assert len({wave.name for wave in waves}) == len(waves) or len(set(wanted)) < len(wanted)


WAVES = (Wave("canary", ("a",)), Wave("wave 2", ("b", "c")), Wave("wave 3", ("d",)))


def fleet(states: Mapping[str, str], failures: int = 1) -> FleetPlan:
    clusters = {name: Cluster(name, states.get(name, "planned"), cause=f"{name} is old.") for name in "abcd"}
    return FleetPlan(WAVES, failures, "f1", clusters)


@given(st.dictionaries(st.sampled_from("abcd"), st.sampled_from(STATES)), st.integers(0, 3), st.sampled_from("abcd"))
def test_no_cluster_begins_before_the_waves_in_front_of_it_or_behind_the_last_failure(
    states: dict[str, str], failures: int, name: str
) -> None:
    cause = held_back(fleet(states, failures), name)
    failed = [each for each in states.values() if each in BAD]
    before = WAVES[: next(number for number, wave in enumerate(WAVES) if name in wave.clusters)]
    behind = [each for wave in before for each in wave.clusters if states.get(each) not in (DONE, *BAD)]
    assert bool(cause) == (bool(behind) or 0 < failures <= len(failed))


def test_the_plan_and_the_end_of_a_fleet_name_each_cluster() -> None:
    planned = plan_lines(fleet({"c": "refused"}, failures=2), "opensearch")
    assert planned[0] == "Plan f1   opensearch on 4 clusters in 3 waves, stops after 2 failed"
    assert "    c   is left out: c is old." in planned
    ended = end_lines(fleet({"a": DONE, "b": FAILED, "c": UPGRADING}), ["a", "b", "c", "d"])
    told = ["Fleet f1: 1 planned, 1 upgrading, 1 done, 1 failed of 4 clusters", "  a: done", "  b: failed: b is old."]
    assert ended[:3] == told


def test_the_digest_tells_waves_and_plans_apart() -> None:
    clusters = {name: Cluster(name, "planned", digest=f"p{name}") for name in "abcd"}
    other = {**clusters, "d": Cluster("d", "planned", digest="px")}
    assert digest_of(WAVES, clusters) == digest_of(WAVES, dict(clusters))
    assert len({digest_of(WAVES, clusters), digest_of(WAVES, other), digest_of(WAVES[::-1], clusters)}) == 3
