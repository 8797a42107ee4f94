"""Restarting by the agent: a kill at every act, agents that give no answer, and contents that are not mounted yet."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.agent_world import AgentWorld
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import Killed

CUT_OFF = ["agent_unreachable", "timed_out"]


@pytest.fixture
def there() -> AgentWorld:
    world = AgentWorld()
    world.annotate("data-1", restart_phase="schedule-rolling")
    return world


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_a_process_is_stopped_and_started_once_and_its_pod_stays(there: AgentWorld) -> None:
    result = there.restart("data-1")
    assert (codes(result), result["way"], result["members"][0]["action"]) == ([], "agent", "restarted")
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], ["data-1/2"], {})
    waited = {each["code"] for each in result["waited"]}
    assert waited == {"process_stopping", "process_starting", "pod_starting"}


@pytest.mark.parametrize("kill_at", range(12))
def test_a_run_that_is_killed_at_an_act_goes_on_with_the_same_requests(there: AgentWorld, kill_at: int) -> None:
    """The acts are: the mark `stop`, the stop, the mark `start`, the start, the end of the marks."""
    there.kill_at = kill_at
    try:
        there.restart("data-1")
    except Killed:
        there.kill_at = None
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], ["data-1/2"], {})
    assert [act for act, _request in there.agents["data-1"].done] == ["stop", "start"]


def test_every_act_of_a_restart_was_killed_at(there: AgentWorld) -> None:
    there.restart("data-1")
    assert there.acts * 2 == 10


@pytest.mark.parametrize("first", range(10))
@pytest.mark.parametrize("second", range(4))
def test_a_run_and_its_recovery_may_both_be_killed(there: AgentWorld, first: int, second: int) -> None:
    for kill_at in (first, 2 * (first // 2) + second):
        there.acts, there.kill_at = 0, kill_at
        try:
            there.restart("data-1")
        except Killed:
            there.kill_at = None
    there.kill_at = None
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], ["data-1/2"], {})


def test_an_agent_that_gives_no_answer_is_waited_for_and_never_passes(there: AgentWorld) -> None:
    there.annotate("data-1", restart_phase="stop", restart_process="40@moment 1", restart_member="before")
    there.agents["data-1"].reachable = False
    result = there.restart("data-1", wait_timeout=20)
    assert (codes(result), there.phases(), there.time >= 20) == (CUT_OFF, {"data-1": "stop"}, True)
    assert (there.stopped, there.started) == ([], [])
    there.agents["data-1"].reachable = True
    assert codes(there.restart("data-1")) == []


def test_a_process_that_was_started_since_the_mark_is_not_stopped(there: AgentWorld) -> None:
    there.annotate("data-1", restart_phase="stop", restart_process="7@long ago", restart_member="before")
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.started, there.phases()) == ([], [], {})


def test_a_process_that_did_not_run_at_the_beginning_is_started(there: AgentWorld) -> None:
    there.agents["data-1"].running = False
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.started, there.phases()) == ([], ["data-1/2"], {})


@pytest.mark.parametrize("of_run", [True, False])
def test_a_single_pass_of_a_run_ends_with_no_process_stopped(there: AgentWorld, of_run: bool) -> None:
    """A task of a role author looks once, as it says."""
    lock = {"run": "run-1", "name": "lock-1", "kept_in": "kubernetes", "namespace": "search"}
    result = there.restart("data-1", wait=False, lock=lock if of_run else None)
    assert (there.stopped, result["verdict"]["state"]) == (["data-1/1"], "passed" if of_run else "waiting")
    assert (there.started, there.phases()) == ((["data-1/2"], {}) if of_run else ([], {"data-1": "stop"}))


def test_a_pod_whose_container_has_ended_is_not_asked(there: AgentWorld) -> None:
    there.annotate("data-1", restart_phase="start", restart_process="40@moment 0", restart_member="before")
    status = there.pods["data-1"]["status"]["containerStatuses"][0]
    status["state"] = {"waiting": {"reason": "ContainerCreating"}}
    there.agents["data-1"].reachable = False
    assert codes(there.restart("data-1", wait=False))[0] == "process_starting"


def test_a_pod_without_an_address_is_refused_with_the_cause(there: AgentWorld) -> None:
    there.pods["data-1"]["status"]["podIP"] = ""
    assert codes(there.restart("data-1")) == ["agent_without_address"]
    assert (there.stopped, there.phases()) == ([], {"data-1": "schedule-rolling"})
