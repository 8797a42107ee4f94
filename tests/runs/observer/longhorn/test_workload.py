"""The invariant about the workload that is asked before each Kubernetes node."""

from __future__ import annotations

from unittest.mock import patch

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import gate

from tests.runs.observer.longhorn.workload import Workload, asked
from tests.runs.random_runs.longhorn.story import OUTSIDE, REPLACEMENT, LonghornStory
from tests.runs.random_runs.playing import Ending
from tests.runs.random_runs.story import Event
from tests.runs.random_runs.systems import SYSTEMS
from tests.sandbox.longhorn.description import Machine, Volume
from tests.sandbox.opensearch.rooms import THREE, Room

NODES = ("n01", "n02", "n03")


def played(*events: Event) -> Ending:
    """An upgrade of three Kubernetes nodes, each with a member of the database that is asked."""
    volumes = (Volume("v1", NODES, "n01"), Volume("v2", ("n02", "n03"), "n02"))
    options = {"upgrade_accept_unverified": [REPLACEMENT], "upgrade_member_timeout": 90, "upgrade_gate_timeout": 90}
    machines = tuple(Machine(name, zone) for name, zone in zip(NODES, "abc", strict=True))
    story = LonghornStory(0, OUTSIDE, machines, volumes, outlive=True, workload=True, options=options, events=events)
    return SYSTEMS["longhorn"].play(story)


def test_a_workload_refuses_what_takes_the_last_copy_or_a_second_member() -> None:
    room = Room()
    names = [*THREE]
    workload = Workload(room.cluster, dict(zip("abc", names, strict=True)))
    assert [workload.refuses(each) for each in "abcd"] == [(), (), (), ()]
    room.index(replicas=0)
    (place,) = [node for node, member in workload.member_on.items() if member in room.places()]
    (said,) = workload.refuses(place)
    assert said == f"shard 0 of logs has no copy elsewhere than on {workload.member_on[place]}"
    room.cluster.kill(names[0])
    assert workload.refuses("d") == (f"member {names[0]} is away",)


def test_it_is_asked_since_the_node_before_and_does_not_refuse() -> None:
    assert not [*asked("a", 5, 4, ())]
    assert [*asked("a", 3, 4, ())] == ["node a is begun, and the workload was not asked since the node before it"]
    assert [*asked("a", 5, 4, ("red",))] == ["node a is begun, and the workload says no: red"]


def test_a_node_waits_for_a_member_that_is_away() -> None:
    ending = played(Event(20, "member_away"))
    assert (ending.faults, ending.refused) == ([], "")
    assert any("Members are missing from the cluster: opensearch-members-0." in each for each in ending.told)


def test_the_observer_finds_a_gate_that_lets_all_through() -> None:
    with patch.object(gate, "judge", lambda *_given: Verdict()):
        ending = played(Event(20, "member_away"))
    assert any("[workload]" in each and "is away" in each for each in ending.faults), ending.text()
