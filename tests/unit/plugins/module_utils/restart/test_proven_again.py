"""A mark proves nothing: a process that was marked by a killed run, or a while ago, ends only after a new proof."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.phases import (
    Marked,
    Process,
    RestartPhase,
    to_prove_again,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import copy, state_answer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.agent_world import AgentWorld
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed, World

STOP, STOP_ALL, START = RestartPhase.STOP, RestartPhase.STOP_COORDINATED, RestartPhase.START
LOST = [copy("i", "data-1", primary=True), copy("i", None)]
WHOLE = [copy("i", "data-0", primary=True), copy("i", "data-1")]


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def shards(there: World, *copies: Any) -> None:
    """The copies of all shards are these from now on."""
    there.servers.state["routing_table"] = state_answer(NAMES, list(copies), elected="data-2")["routing_table"]


def killed(there: World, kill_at: int, *batch: str, **params: Any) -> None:
    there.acts, there.kill_at = 0, kill_at
    with suppress(Killed):
        there.restart(*batch, **params)
    there.kill_at = None
    while there.on_tick:
        there.on_tick.pop(0)()


@pytest.mark.parametrize("world", [World, AgentWorld])
def test_a_process_that_a_killed_run_has_only_marked_is_proven_again(world: type[World]) -> None:
    there = world()
    there.annotate("data-1", restart_phase="schedule-rolling")
    killed(there, 1, "data-1")
    shards(there, *LOST)
    result = there.restart("data-1", wait_timeout=20)
    assert (result["verdict"]["state"], there.stopped) == ("refused", [])
    assert (there.phases(), "last_started_copy" in codes(result)) == ({"data-1": "stop"}, True)
    shards(there, *WHOLE)
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.phases()) == (["data-1/1"], {})


def test_one_that_needs_a_member_that_is_down_waits_until_that_is_back() -> None:
    there, batch = AgentWorld(), ("data-0", "data-1")
    for name in batch:
        there.annotate(name, restart_phase="schedule-rolling")
    shards(there, copy("i", "data-2", primary=True), copy("i", "data-1"))
    killed(there, 5, *batch, allow_quorum_loss=True)
    assert (there.stopped, there.phases()) == (["data-0/1"], {"data-0": "stop", "data-1": "stop"})
    shards(there, copy("i", "data-1", primary=True), copy("i", None))
    back = there.joined

    def joined(name: str) -> None:
        back(name)
        shards(there, copy("i", "data-2", primary=True), copy("i", "data-1"))

    there.joined = joined  # type: ignore[method-assign]
    assert codes(there.restart(*batch, allow_quorum_loss=True)) == []
    assert (there.stopped, there.started) == (["data-0/1", "data-1/1"], ["data-0/2", "data-1/2"])
    assert there.phases() == {}


@pytest.mark.parametrize("lost", [False, True])
def test_a_process_that_could_not_be_asked_at_once_is_proven_again(lost: bool) -> None:
    there = World()
    there.annotate("data-1", restart_phase="schedule-rolling")
    stop, silent = there.stop, [1] * 30

    def silently(pod: Pod, process: Process) -> None:
        if silent:
            silent.pop()
            if lost:
                shards(there, *LOST)
            raise Unreachable.because("agent_unreachable", "It is silent.", "It passes.")
        stop(pod, process)

    there.stop = silently  # type: ignore[method-assign]
    result = there.restart("data-1", wait_timeout=40)
    assert (there.stopped, result["verdict"]["state"]) == (([], "refused") if lost else (["data-1/1"], "passed"))


def test_a_phase_that_a_person_has_set_to_stop_names_its_process_before_that_ends() -> None:
    there = World()
    there.annotate("data-1", restart_phase="stop")
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.phases()) == (["data-1/1"], {})


def test_a_restart_of_all_that_has_stopped_none_is_left_to_the_plan_and_proven_again() -> None:
    there = AgentWorld()
    for name in NAMES:
        there.annotate(name, restart_phase="schedule-coordinated")
    killed(there, 5, *NAMES, allow_full_restart=True)
    assert there.phases() == dict.fromkeys(NAMES, "stop-coordinated")
    result = there.restart(state="resumed", pools=[], expected=[])
    assert (codes(result), result["members"], there.stopped) == ([], [], [])
    there.ready("data-1", ready=False)
    assert there.restart(*NAMES, allow_full_restart=True, wait_timeout=20)["verdict"]["state"] == "refused"
    assert there.stopped == []
    there.ready("data-1", ready=True)
    assert codes(there.restart(*NAMES, allow_full_restart=True)) == []
    assert (len(there.stopped), there.phases()) == (3, {})


def marked(phase: RestartPhase, process: str = "p1") -> Marked:
    return Marked("a", "uid", phase, process)


def runs(identity: str = "p1", *, ending: bool = False) -> Process:
    return Process(running=True, identity=identity, ending=ending)


@pytest.mark.parametrize(
    ("mark", "process", "again"),
    [
        (marked(STOP), runs(), True),
        (marked(STOP, ""), runs(), True),
        (marked(STOP), runs("p2"), False),
        (marked(STOP), runs(ending=True), False),
        (marked(STOP), Process(running=False, identity=""), False),
        (marked(START), runs(), False),
        (marked(STOP_ALL), runs(), True),
        (marked(STOP_ALL), runs("p2"), True),
        (marked(STOP_ALL), runs(ending=True), False),
        (marked(RestartPhase.SCHEDULE_ROLLING, ""), runs(), False),
    ],
)
def test_what_was_marked_and_not_asked_to_end_is_to_be_proven(mark: Marked, process: Process, again: bool) -> None:
    assert to_prove_again([(mark, process)]) == ({"a"} if again else frozenset())


def test_of_a_restart_of_all_it_is_all_or_none() -> None:
    down = Marked("b", "uid", STOP_ALL, "p1"), Process(running=False, identity="")
    assert to_prove_again([(marked(STOP_ALL), runs()), down]) == frozenset()
