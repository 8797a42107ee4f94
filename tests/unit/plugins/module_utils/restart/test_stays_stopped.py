"""A member that a person wants stopped, by the agent: proven, stopped, kept so over runs, and started again later."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import copy, state_answer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.agent_world import AgentWorld
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed

STAYS = ["process_stays_stopped"]
OTHERS = ["data-0", "data-2"]


@pytest.fixture
def there() -> AgentWorld:
    world = AgentWorld()
    world.annotate("data-1", restart_phase="schedule-rolling", stop="true")
    return world


def codes(result: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def killed(there: AgentWorld, kill_at: int, *batch: str) -> None:
    """A run that may be killed at this act."""
    there.acts, there.kill_at = 0, kill_at
    with suppress(Killed):
        there.restart(*batch)
    there.kill_at = None


def released(there: AgentWorld) -> None:
    """The person removes the annotation."""
    there.pods["data-1"]["metadata"]["annotations"].pop("upgrade.stateful/stop")


def test_a_member_is_stopped_and_stays_so_over_runs(there: AgentWorld) -> None:
    result = there.restart("data-1")
    assert (codes(result), result["members"][0]["action"], result["changed"]) == (STAYS, "stopped", True)
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], [], {"data-1": "stop"})
    again = there.restart("data-1")
    assert (codes(again), again["members"][0]["action"], again["changed"]) == (STAYS, "stopped", False)
    assert (there.stopped, there.started) == (["data-1/1"], [])


@pytest.mark.parametrize("kill_at", range(6))
def test_a_run_that_stops_it_may_be_killed_at_every_act(there: AgentWorld, kill_at: int) -> None:
    """The acts are: the mark `stop`, and the stop."""
    killed(there, kill_at, "data-1")
    assert codes(there.restart("data-1")) == STAYS
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], [], {"data-1": "stop"})


@pytest.mark.parametrize("kill_at", range(8))
def test_it_is_started_once_the_annotation_is_gone_wherever_that_run_is_killed(there: AgentWorld, kill_at: int) -> None:
    """The acts are: the mark `start`, the start, and the end of the marks."""
    there.restart("data-1")
    released(there)
    killed(there, kill_at, "data-1")
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.started, there.phases()) == (["data-1/1"], ["data-1/2"], {})


def test_every_act_was_killed_at(there: AgentWorld) -> None:
    there.restart("data-1")
    assert there.acts * 2 == 4
    released(there)
    there.restart("data-1")
    assert (there.acts - 2) * 2 == 6


def test_a_member_with_the_only_copy_is_not_stopped(there: AgentWorld) -> None:
    there.servers.state = state_answer(NAMES, [copy("i", "data-1", primary=True)], elected="data-2")
    assert there.restart("data-1", wait=False)["verdict"]["state"] == "refused"
    assert (there.stopped, there.phases()) == ([], {"data-1": "schedule-rolling"})


def test_another_member_restarts_meanwhile_if_its_proof_allows_it(there: AgentWorld) -> None:
    there.restart("data-1")
    there.servers.state = state_answer(
        OTHERS, [copy("i", "data-0", primary=True), copy("i", "data-2")], elected="data-2"
    )
    there.annotate("data-0", restart_phase="schedule-rolling")
    # The one that stays stopped is none of those that are expected. If it is, nothing goes down without it.
    assert "member_missing" in codes(there.restart("data-0", wait=False, allow_quorum_loss=True))
    assert there.stopped == ["data-1/1"]
    result = there.restart("data-0", expected=OTHERS, allow_quorum_loss=True)
    assert "refused" not in result["verdict"]["state"]
    assert (there.stopped, there.phases()) == (["data-1/1", "data-0/1"], {"data-1": "stop"})


def test_a_process_that_somebody_has_started_meanwhile_is_no_part_of_the_old_request(there: AgentWorld) -> None:
    """The old request has ended then. A new one stops the process."""
    there.restart("data-1")
    agent = there.agents["data-1"]
    agent.start("by-hand", agent.mounted)
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.phases()) == (["data-1/1"], {})
    there.restart("data-1", state="scheduled")
    assert codes(there.restart("data-1")) == STAYS
    assert there.stopped == ["data-1/1", "data-1/2"]


def test_an_annotation_that_comes_after_the_start_begins_waits_for_the_next_run(there: AgentWorld) -> None:
    there.annotate("data-1", restart_phase="start", restart_process="7@long ago", restart_member="before")
    assert codes(there.restart("data-1")) == []
    assert (there.stopped, there.phases()) == ([], {})
