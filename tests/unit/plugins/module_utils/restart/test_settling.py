"""A restart that was killed is settled alone: what it has stopped is started, or the ending says that it is not."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.restart import process_restart
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.process_restart import CONTRACT
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.agent_world import AgentWorld
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed, World


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def settled(world: World, **params: Any) -> dict[str, Any]:
    return world.restart(state="started", pools=[], expected=[], **params)


def killed(world: World, kill_at: int, *batch: str, phase: str = "schedule-rolling", **params: Any) -> None:
    for name in batch:
        world.annotate(name, restart_phase=phase)
    world.kill_at = kill_at
    with suppress(Killed):
        world.restart(*batch, **params)
    world.kill_at = None
    while world.on_tick:
        world.on_tick.pop(0)()


@pytest.mark.parametrize("kill_at", range(2, 10))
def test_settle_starts_a_process_that_a_killed_run_has_stopped_and_stops_none(kill_at: int) -> None:
    """The acts are: the mark `stop`, the stop, the mark `start`, the start, the end of the marks."""
    world = AgentWorld()
    killed(world, kill_at, "data-1")
    stopped = list(world.stopped)
    result = settled(world)
    assert set(codes(result)) <= {"restart_interrupted"}
    assert (world.agents["data-1"].running, world.stopped) == (True, stopped)
    phases, started = world.phases(), list(world.started)
    assert codes(world.restart("data-1")) == []
    assert (world.stopped, world.phases()) == (["data-1/1"], {})
    # A process that was stopped and started by settle is the successor that the next run waits for.
    assert world.started == (started if stopped else ["data-1/2"]), phases


def test_settle_tells_what_it_has_started_and_that_the_phase_stays() -> None:
    world = AgentWorld()
    killed(world, 3, "data-1")
    assert not world.agents["data-1"].running
    result = settled(world)
    (reason,) = result["verdict"]["reasons"]
    assert "interrupted in phase stop. Its process was started" in reason["message"]
    assert [(each["action"], each["target"]) for each in result["actions"]] == [("started_process", "data-1")]
    assert (result["changed"], world.phases()) == (True, {"data-1": "stop"})


def test_check_mode_names_what_it_would_start_and_waits_for_nothing() -> None:
    world = AgentWorld()
    killed(world, 3, "data-1")
    before = world.time
    result = settled(world, check=True)
    assert (result["verdict"]["state"], result["changed"], world.started) == ("waiting", True, [])
    assert [(each["action"], each["target"]) for each in result["actions"]] == [("started_process", "data-1")]
    assert world.time == before


def test_a_process_that_does_not_start_is_named() -> None:
    world = AgentWorld()
    killed(world, 3, "data-1")
    world.agents["data-1"].mounted = ""
    result = settled(world, wait_timeout=20)
    assert "timed_out" in codes(result)
    assert "does not run yet. The file with its configuration is not mounted" in str(result["verdict"])


def test_an_agent_that_gives_no_answer_keeps_no_other_process_stopped() -> None:
    world = AgentWorld()
    for name in ("data-0", "data-1"):
        world.annotate(name, restart_phase="stop", restart_process=f"{name}/1")
        world.agents[name].running = False
    world.agents["data-0"].reachable = False
    result = settled(world, wait_timeout=20)
    assert (world.started, "timed_out" in codes(result)) == (["data-1/2"], True)
    assert "The agent of data-0 gives no answer" in str(result["verdict"])


def test_without_the_way_of_the_agent_a_stopped_process_is_named_with_what_to_give() -> None:
    world = World()
    world.annotate("data-1", restart_phase="stop", restart_process="data-1/1")
    world.ready("data-1", ready=False)
    result = settled(world, wait_timeout=20)
    assert "timed_out" in codes(result)
    assert "give upgrade_restart_way=agent" in str(result["verdict"])


def test_after_a_restart_of_all_at_once_nothing_is_started_alone() -> None:
    world = AgentWorld()
    killed(world, 13, *NAMES, phase="schedule-coordinated", allow_full_restart=True)
    assert [each.pod for each in world.agents.values() if not each.running]
    result = settled(world)
    assert (set(codes(result)) >= {"restart_together_interrupted"}, world.started) == (True, [])


def test_a_process_that_a_person_wants_stopped_stays_so() -> None:
    world = AgentWorld()
    world.annotate("data-1", restart_phase="schedule-rolling", stop="true")
    world.restart("data-1")
    result = settled(world)
    assert (codes(result), world.started) == (["process_stays_stopped"], [])


def test_without_an_interrupted_restart_there_is_nothing_to_do() -> None:
    world = AgentWorld()
    world.annotate("data-1", restart_phase="schedule-rolling")
    result = settled(world)
    assert (codes(result), result["changed"], result["members"]) == ([], False, [])


@pytest.mark.parametrize(
    ("ready", "said", "state"),
    [(True, "The pod is Ready.", "passed"), (False, "its process may be stopped", "refused")],
)
def test_each_pod_that_a_restart_has_left_is_named_and_one_that_may_be_stopped_is_no_pass(
    monkeypatch: pytest.MonkeyPatch, ready: bool, said: str, state: str
) -> None:
    world = World()
    world.annotate("data-1", restart_phase="stop", restart_process="data-1/1")
    world.annotate("data-2", restart_phase="schedule-rolling")
    world.ready("data-1", ready=ready)
    monkeypatch.setattr(kubernetes, "connect", lambda _options: world)
    given = {name: option.get("default") for name, option in CONTRACT.argument_spec.items()}
    result = perform(process_restart.run, Task({**given, "namespace": "search", "state": "seen"}, clock=world))
    (reason,) = result["verdict"]["reasons"]
    assert (reason["state"], "data-1" in reason["message"], said in reason["message"]) == (state, True, True)
    assert "upgrade_system=stateful.upgrade.restart" in reason["remedy"]


def lock(name: str) -> dict[str, str]:
    return {"run": f"run-of-{name}", "name": name, "kept_in": "kubernetes", "namespace": "search"}


@pytest.mark.parametrize("by_person", [False, True])
def test_the_restart_of_another_cluster_of_the_namespace_is_left_to_its_own_run(by_person: bool) -> None:
    world = AgentWorld()
    if not by_person:
        world.restart("data-1", state="scheduled", lock=lock("ours"))
    killed(world, 2 * world.acts + 3, "data-1", lock=lock("ours"))
    result = settled(world, lock=lock("theirs"))
    (reason,) = result["verdict"]["reasons"]
    assert (reason["code"], reason["state"], "lock ours" in reason["message"]) == (
        "restart_of_another_cluster",
        "passed",
        True,
    )
    assert (result["members"], world.started, world.agents["data-1"].running) == ([], [], False)
    assert codes(settled(world, lock=lock("ours"))) == ["restart_interrupted"]
    assert codes(world.restart("data-1", lock=lock("ours"))) == []
    assert world.pods["data-1"]["metadata"]["annotations"] == {}


def test_a_restart_of_a_task_without_a_lock_is_settled_and_named() -> None:
    world = AgentWorld()
    killed(world, 3, "data-1")
    result = settled(world, lock=lock("ours"))
    assert (codes(result), world.agents["data-1"].running) == (["restart_interrupted"], True)
