"""A second controller next to one at work: it is refused, naming the holder of the lock, and changes nothing."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import image_pull
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock import held_lock

from tests.lab.opensearch.layouts import Pool
from tests.runs.random_runs.events import SECOND
from tests.runs.random_runs.longhorn.story import OUTSIDE, REPLACEMENT, LonghornStory
from tests.runs.random_runs.opensearch.story import COMBINED, PATIENCE, IndexIn, OpenSearchStory
from tests.runs.random_runs.openshift.story import OpenShiftStory
from tests.runs.random_runs.playing import Ending
from tests.runs.random_runs.story import Event
from tests.runs.random_runs.systems import SYSTEMS
from tests.sandbox.longhorn.description import Machine, Volume
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.habits import KIND

NODES = ("n01", "n02", "n03")
HERE, ELSEWHERE = 0, 1
BY_PLAYBOOK = ("opensearch", "openshift", "longhorn")
"""The systems that need no hosts of an inventory: a second run with hosts cannot be in the same process."""


def played(system: str, *events: Event) -> Ending:
    """An upgrade of three members, or of three Kubernetes nodes."""
    if system == "opensearch":
        pools = (Pool("members", 3, COMBINED),)
        indices = (IndexIn("orders", 2, 1),)
        way = ("2.19.6", "3.8.0")
        return SYSTEMS[system].play(OpenSearchStory(0, pools, indices, way, options=PATIENCE, events=events))
    if system == "openshift":
        return SYSTEMS[system].play(OpenShiftStory(0, (pool("master"), pool("worker")), KIND, events=events))
    volumes = (Volume("v1", NODES, "n01"), Volume("v2", ("n02", "n03"), "n02"))
    options = {"upgrade_accept_unverified": [REPLACEMENT], "upgrade_member_timeout": 90, "upgrade_gate_timeout": 90}
    machines = tuple(map(Machine, NODES))
    story = LonghornStory(0, OUTSIDE, machines, volumes, outlive=True, options=options, events=events)
    return SYSTEMS[system].play(story)


@pytest.mark.parametrize("place", [HERE, ELSEWHERE])
@pytest.mark.parametrize("system", BY_PLAYBOOK)
def test_it_is_refused_while_the_first_one_is_at_work(system: str, place: int) -> None:
    ending = played(system, Event(9, SECOND, place))
    assert (ending.faults, ending.refused, ending.runs) == ([], "", 1)
    assert [each.is_refused for each in ending.further] == [True]


@pytest.mark.parametrize("system", BY_PLAYBOOK)
def test_it_goes_on_where_the_first_one_is_killed(system: str) -> None:
    ending = played(system, Event(9, SECOND, HERE), Event(9, "kill"))
    assert ending.faults == []
    assert [each.is_refused for each in ending.further] == [False]


def test_pods_that_pull_for_the_second_one_are_none_that_the_first_one_leaves() -> None:
    """It starts shortly before the first one ends."""
    endings = [played("opensearch", Event(act, SECOND, ELSEWHERE)) for act in (40, 42, 44)]
    assert [each.faults for each in endings] == [[], [], []]


def test_pods_of_a_second_one_that_is_killed_are_left_to_the_next_upgrade() -> None:
    """The first one has looked for such pods in its plan, before."""
    ending = played("opensearch", Event(30, SECOND, ELSEWHERE), Event(42, "kill"))
    assert (ending.faults, ending.runs) == ([], 1)
    assert any("kill" in each and "POST" in each and each.endswith("/pods)") for each in ending.told)


def test_the_observer_finds_pods_that_a_run_leaves() -> None:
    with patch.object(image_pull, "_remove", lambda *_given: None):
        ending = played("opensearch")
    assert any("[end] the pods were" in each and "image-pull" in each for each in ending.faults), ending.text()


def test_the_observer_finds_a_second_one_that_takes_the_lock() -> None:
    with patch.object(held_lock, "judge_free", lambda *_given: Verdict()):
        ending = played("opensearch", Event(9, SECOND, HERE))
    assert any("[lock]" in each and "which is at work" in each for each in ending.faults), ending.text()
