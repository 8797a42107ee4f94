"""A gate that misses a member asks its pool whether it still keeps that member."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.entry import health_gate as entry
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import gate as gate_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.look import Look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    health,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import World

THERE = ("data-0", "data-1", "managers-0")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A pool of three, whose last member is not in the cluster."""
    seen = Look(cluster(THERE, voting=coordination(THERE), elected="managers-0"), health(), Settings({}, {}))
    made = World()
    monkeypatch.setattr(health_gate, "connect", lambda *_options: None)
    monkeypatch.setattr(gate_of, "look", lambda *_asked, **_measures: seen)
    monkeypatch.setattr(kubernetes, "connect", lambda _options: made)
    return made


def gate(world: World, **given: Any) -> tuple[list[str], float]:
    """The codes of the reasons, and the seconds that it took."""
    params = {name: option.get("default") for name, option in entry.CONTRACT.argument_spec.items()}
    params |= {"moment": "before_batch", "batch": ["data-1"], "expected": [*THERE, "data-2"], "namespace": "search"}
    params |= {"wait": True, "wait_timeout": 600, "wait_sleep": 1}
    result = perform(entry.run, Task({**params, **given}, clock=world))
    return [reason["code"] for reason in result["verdict"]["reasons"]], world.now()


def scaled(world: World) -> None:
    world.pool["spec"]["replicas"] = 2


def test_a_member_that_its_pool_keeps_is_waited_for(world: World) -> None:
    assert gate(world) == (["member_missing", "timed_out"], 600)


def test_one_whose_pool_is_scaled_down_is_refused_within_seconds(world: World) -> None:
    world.on_tick = [lambda: None, lambda: scaled(world)]
    codes, seconds = gate(world)
    assert codes == ["member_missing", "member_unknown"]
    assert seconds <= 6


def test_one_of_the_same_set_in_another_namespace_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set here keeps data-0 and data-1, and one of the same name elsewhere data-2 and data-3."""
    scaled(world)
    there = (*THERE, "data-3")
    state = cluster(there, voting=coordination(there), elected="managers-0")
    monkeypatch.setattr(gate_of, "look", lambda *_asked, **_more: Look(state, health(), Settings({}, {})))
    assert gate(world)[0] == ["member_missing", "timed_out"]


@pytest.mark.parametrize("batch", [["data-2"], ["data-1", "data-2"]])
def test_one_of_the_batch_is_left_to_the_task_that_replaces_it(world: World, batch: list[str]) -> None:
    scaled(world)
    assert gate(world, batch=batch)[1] == 0


def test_without_a_namespace_or_an_answer_it_is_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled(world)
    assert gate(world, namespace=None)[0] == ["member_missing", "timed_out"]
    world.failures["get"] = Unreachable.because("kubernetes_unreachable", "It does not answer.", "Wait.")
    assert gate(world)[0] == ["member_missing", "timed_out"]
