"""Random upgrades, each watched at every change. One that fails is shown as the smallest story that still fails."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.random_runs.events import SECOND
from tests.runs.random_runs.longhorn.events import KINDS as KINDS_OF_LONGHORN
from tests.runs.random_runs.longhorn.story import DESIGN, OUTSIDE, REPLACEMENT, LonghornStory
from tests.runs.random_runs.machines.events import KINDS as KINDS_OF_MACHINES
from tests.runs.random_runs.machines.story import PATIENCE as PATIENCE_OF_MACHINES
from tests.runs.random_runs.machines.story import MachinesStory
from tests.runs.random_runs.opensearch.events import KINDS
from tests.runs.random_runs.opensearch.host_events import KINDS_ON_HOSTS
from tests.runs.random_runs.opensearch.story import COMBINED, PATIENCE, IndexIn, OpenSearchStory
from tests.runs.random_runs.openshift.events import KINDS as KINDS_OF_OPENSHIFT
from tests.runs.random_runs.openshift.story import OpenShiftStory
from tests.runs.random_runs.playing import Ending
from tests.runs.random_runs.shrinking import shrunk, smallest_text
from tests.runs.random_runs.story import Event
from tests.runs.random_runs.systems import SYSTEMS
from tests.sandbox.longhorn.description import Machine, Recurring, Volume
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.habits import KIND

SEEDS = int(os.environ.get("STATEFUL_UPGRADE_RANDOM_RUNS", "120"))
"""The number of random upgrades of OpenSearch. One of another system takes longer, so that there are fewer of them."""
IN_ONE_TEST = 10
FIRSTS = [("opensearch", first) for first in range(0, SEEDS, IN_ONE_TEST)]
FEWER = SEEDS // 20
FIRSTS += [(name, first) for name in ("longhorn", "openshift", "machines") for first in range(0, FEWER, IN_ONE_TEST)]


KINDS_OF = [
    ("opensearch", {*KINDS, *KINDS_ON_HOSTS}),
    ("longhorn", {*KINDS_OF_LONGHORN}),
    ("openshift", {*KINDS_OF_OPENSHIFT}),
    ("machines", {*KINDS_OF_MACHINES}),
]
"""The events of each system."""


@pytest.mark.parametrize(("name", "first"), FIRSTS)
def test_random_upgrades(name: str, first: int) -> None:
    system, end = SYSTEMS[name], SEEDS if name == "opensearch" else FEWER
    endings = [system.play(system.story_of(seed)) for seed in range(first, min(first + IN_ONE_TEST, end))]
    failed = [each.story for each in endings if each.faults]
    assert not failed, "\n\n".join(smallest_text(story, system.play) for story in failed)
    assert any(each.acts for each in endings)


@pytest.mark.parametrize(("name", "seed"), [("opensearch", 10), ("longhorn", 0), ("openshift", 2)])
def test_a_seed_is_one_story_and_happens_in_one_way_only(name: str, seed: int) -> None:
    system = SYSTEMS[name]
    told = [system.play(system.story_of(seed)) for _time in range(2)]
    assert told[0].story == told[1].story
    assert told[0].told == told[1].told
    assert told[0].acts == told[1].acts


@pytest.mark.parametrize(("name", "kinds"), KINDS_OF)
def test_the_seeds_make_every_kind_of_event(name: str, kinds: set[str]) -> None:
    assert {event.kind for seed in range(1000) for event in SYSTEMS[name].story_of(seed).events} == kinds | (
        set() if name == "machines" else {SECOND}
    )


def test_some_stories_have_their_members_on_hosts_and_such_a_story_happens_in_one_way_only() -> None:
    system = SYSTEMS["opensearch"]
    stories = [system.story_of(seed) for seed in range(200)]
    on_hosts = [each for each in stories if isinstance(each, OpenSearchStory) and each.on_hosts]
    assert 0.05 < len(on_hosts) / len(stories) < 0.2
    assert all({event.kind for event in each.events} <= {*KINDS_ON_HOSTS} for each in on_hosts)
    one = next(each for each in on_hosts if each.seed == 78)
    told = [system.play(one) for _time in range(2)]
    assert (told[0].told, told[0].acts) == (told[1].told, told[1].acts)
    assert not told[0].faults


@pytest.mark.parametrize(
    ("way", "options"), [(OUTSIDE, {"upgrade_nodes": ["n1"]}), (DESIGN, {"upgrade_one_object": True})]
)
def test_passes_come_to_an_end_although_a_recurring_job_is_due_every_minute(way: str, options: dict[str, Any]) -> None:
    # Found by seed 135: each pass let the job go that the pass before had held off, and never started work on the node.
    places, job = ("n1", "n2", "n3"), Recurring("daily", ("default",), 1)
    volumes = (Volume("v1", places, "n1", groups=job.groups), Volume("v2", places[1:], "n3", groups=job.groups))
    given = {"upgrade_wait": False, "upgrade_accept_unverified": [REPLACEMENT] if way == OUTSIDE else [], **options}
    story = LonghornStory(0, way, tuple(map(Machine, places)), volumes, outlive=True, jobs=(job,), options=given)
    ending = SYSTEMS["longhorn"].play(story)
    assert not ending.faults, ending.text()
    assert ending.runs > 1


def members(number: int) -> tuple[Pool, ...]:
    """One pool of members that do everything."""
    return (Pool("members", number, COMBINED),)


def without_fault(
    seed: int, pools: tuple[Pool, ...], *events: Event, orders: tuple[int, int] | None = None, **more: Any
) -> Ending:
    """The end of an upgrade of OpenSearch, once it breaks no rule; `orders` are the shards and replicas of an index."""
    indices = (IndexIn("orders", *orders),) if orders else ()
    story = OpenSearchStory(seed, pools, indices, ("2.19.6", "3.8.0"), events=events, **more)
    ending = SYSTEMS["opensearch"].play(story)
    assert not ending.faults, ending.text()
    return ending


def test_a_member_killed_while_a_batch_is_away_may_take_the_majority_and_so_all_copies() -> None:
    # Found by seed 5071: two of four managers were away, so that all copies had to start again.
    events = (Event(13, "evicted", 41, 1.0), Event(87, "process_killed", 79))
    ending = without_fault(5071, members(4), *events, orders=(3, 1), options={"upgrade_wait": False})
    assert any("process_killed" in each for each in ending.told)


def test_a_host_that_loses_its_power_after_its_member_has_started_is_no_act_of_the_run() -> None:
    # Found by seed 5075: the next request found nothing there, and was taken for the one that had ended the process.
    pools = (Pool("managers", 3, ("cluster_manager",)), Pool("data", 4, ("data", "ingest")))
    lost = Event(76, "host_without_power", 42, 1.0)
    ending = without_fault(5075, pools, lost, orders=(4, 1), on_hosts=True)
    assert any("host_without_power" in each for each in ending.told)


def test_an_index_that_is_made_between_the_proof_and_the_deletion_is_no_fault_of_the_run() -> None:
    # Found by seed 5119: its only copy was on the second member of a batch, of which the first was away already.
    made = Event(27, "index_without_replicas", 11, 5.0)
    without_fault(5119, members(4), made, options={"upgrade_batching": "zones"})


def test_the_time_that_an_event_takes_after_a_look_is_no_wait_of_the_run() -> None:
    # Found by seed 5169: an index was made between the last look and the deletion, and its copy took a moment to start.
    without_fault(5169, members(3), Event(23, "index_without_replicas", 63, 1.0))


def test_a_cluster_that_is_refused_also_without_its_events_is_no_fault() -> None:
    # Found by seed 5205: something had happened while its plan was made, and nothing lets a single member go.
    options, removed = {"upgrade_raise_replicas": True}, Event(1, "record_removed", 85, 5.0)
    ending = without_fault(5205, members(1), removed, orders=(3, 0), on_hosts=True, options=options)
    assert "no majority" in ending.refused


def test_a_replica_that_a_person_takes_away_too_late_for_another_one_is_not_needed_by_the_members_left() -> None:
    # Found by seed 6190: a member of the new version, which does not go again, had the only copy of a shard, which no
    # other one takes.
    options = {"upgrade_raise_replicas": True, "upgrade_batching": "disjoint", "upgrade_allow_quorum_loss": True}
    events = (Event(7, "node_dead", 89, 5.0), Event(44, "replicas_by_person", 51), Event(49, "never_ready", 6))
    ending = without_fault(6190, members(3), *events, orders=(4, 0), options={**PATIENCE, **options})
    assert not any("is refused" in each for each in ending.told)
    # It is needed of a member that goes.
    assert without_fault(6190, members(1), orders=(4, 0), options={**PATIENCE, **options}).refused


def test_of_two_managers_a_run_continues_with_the_one_that_was_left_stopped() -> None:
    # Found by seed 5143: in check mode the gate of the other one, which voted alone by then, was refused.
    lost = Event(10, "host_unreachable", 65, 90.0)
    assert without_fault(5143, members(2), lost, orders=(2, 1), on_hosts=True).runs == 2


def test_work_that_is_aborted_before_its_upgrader_has_seen_it_is_reported_as_aborted() -> None:
    # Found by seed 6416: the upgrader was away for the whole time of the work, and said nothing of it after that.
    events, options = (Event(47, "upgrader_away", 60),), PATIENCE_OF_MACHINES
    story = MachinesStory(6416, "1.35.5", 3, 1, True, delegated=True, options=options, events=events)
    ending = SYSTEMS["machines"].play(story)
    assert not ending.faults, ending.text()
    assert any("is being aborted" in each for each in ending.told)


def test_a_request_that_is_made_again_after_its_upgrade_is_not_answered_yet() -> None:
    # Found by seed 3009: it was deleted during the last batch, and no run came after it was made again.
    events = (Event(190, "request_deleted"),)
    story = OpenShiftStory(3009, (pool("master"), pool("worker")), KIND, requested=True, events=events)
    ending = SYSTEMS["openshift"].play(story)
    assert not ending.faults, ending.text()
    assert ending.runs == 1
    assert any("request_deleted" in each for each in ending.told)


def test_a_longhorn_is_shrunk_to_the_things_that_make_a_story_fail() -> None:
    def fails(story: LonghornStory) -> bool:
        return any(each.name == "v2" for each in story.volumes)

    nodes = ("n1", "n2", "n3", "n4", "n5")
    volumes = (Volume("v1", nodes[:3], "n5"), Volume("v2", nodes[:2], "n1"))
    story = LonghornStory(0, OUTSIDE, tuple(map(Machine, nodes)), volumes, outlive=False, events=(Event(1, "kill"),))
    smallest = shrunk(story, fails)
    assert (smallest.events, smallest.volumes, smallest.outlive) == ((), volumes[1:], True)
    assert {"n1", "n2"} < {*smallest.nodes}
    assert len(smallest.nodes) == 3


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


def test_pools_that_a_person_has_let_go_by_settling_between_two_passes_are_no_fault() -> None:
    # Found by seed 500029: the first pass had ended paused, so that the lock was free.
    system = SYSTEMS["openshift"]
    assert not system.play(system.story_of(500029)).faults
