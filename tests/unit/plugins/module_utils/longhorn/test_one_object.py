"""One object of the design's kinds for all nodes: Longhorn goes through them by itself, and the run follows."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State

from tests.sandbox.longhorn.description import NEW_IMAGE
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, NODES_OF_THREE, Driver
from tests.unit.plugins.module_utils.longhorn.test_switch_by_longhorn import (
    AT_NODE,
    DESIGN,
    NEWER,
    ONE,
    S3,
    made,
    offering,
    switch,
)


def one_by_one(driver: Driver, **more: object) -> list[Outcome]:
    """A switch of each node after the other, as the batches of a run ask for it, by one object for all."""
    return [switch(driver, each, in_one_object=list(NODES_OF_THREE), **more) for each in NODES_OF_THREE]


def test_one_object_brings_all_nodes_to_the_image(drive: type[Driver]) -> None:
    driver = drive(offering(DESIGN, *S3))
    planned = driver.plan(accept_unverified=[], one_object=True)
    assert [each.code for each in planned.verdict.reasons] == ["nodes_without_gates"]
    assert planned.more["in_one_object"] == list(NODES_OF_THREE)
    assert planned.more["digest"] != driver.plan(accept_unverified=[]).more["digest"]
    done = one_by_one(driver)
    assert [each.verdict.passed for each in done] == [True] * 3, driver.said
    assert [each["spec"]["nodes"] for each in made(driver, DESIGN)] == [list(NODES_OF_THREE)]
    assert set(driver.images().values()) == {NEW_IMAGE.rpartition(":")[2]}
    switch(driver, state="restored")
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []


def test_each_node_has_its_own_object_where_the_kind_takes_one_node(drive: type[Driver]) -> None:
    driver = drive(offering(NEWER, *ONE))
    assert switch(driver, "n1", in_one_object=list(NODES_OF_THREE)).verdict.passed, driver.said
    assert [each["spec"]["nodeID"] for each in made(driver, NEWER)] == ["n1"]


def test_a_node_waits_for_its_turn_as_long_as_nodes_before_it_are_finished(drive: type[Driver]) -> None:
    driver = drive(offering(DESIGN, *S3))
    driver.longhorn.faults.upgrade_stalls(AT_NODE[DESIGN], "pending")
    given: dict[str, Any] = {"in_one_object": list(NODES_OF_THREE), "wait_timeout": 25}
    assert switch(driver, "n1", **given).verdict.state is State.REFUSED
    driver.longhorn.faults.mend_all()
    began = driver.longhorn.clock.now()
    last = switch(driver, "n3", **given)
    assert last.verdict.passed, driver.said
    assert driver.longhorn.clock.now() - began > 2 * given["wait_timeout"]


@pytest.mark.parametrize("kinds", ["", NEWER])
def test_one_object_is_refused_where_no_kind_takes_several_nodes(drive: type[Driver], kinds: str) -> None:
    planned = drive(offering(kinds, *ONE)).plan(one_object=True, accept_unverified=ACCEPTED)
    assert [each.code for each in planned.verdict.deciding()] == ["one_upgrade_not_offered"]


def test_a_failure_at_a_node_of_one_object_leaves_the_others_to_the_next_one(drive: type[Driver]) -> None:
    driver = drive(offering(DESIGN, *S3))
    driver.longhorn.faults.upgrade_fails(AT_NODE[DESIGN], "switching-over", "on purpose")
    failed = one_by_one(driver)[0]
    assert [each.code for each in failed.verdict.reasons] == ["upgrade_failed"]
    driver.longhorn.faults.mend_all()
    driver.run = "run-2"
    assert switch(driver, state="restored", wait_timeout=900).verdict.passed
    assert driver.leftovers() == []
    done = one_by_one(driver, wait_timeout=900)
    assert [each.verdict.passed for each in done] == [True] * 3, driver.said
    assert len(made(driver, DESIGN)) == 2
    switch(driver, state="restored")
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []


@pytest.mark.parametrize("acts", range(1, 6))
def test_a_run_killed_at_any_act_before_one_object_is_gone_on_with(drive: type[Driver], acts: int) -> None:
    driver = drive(offering(DESIGN, *S3))
    driver.killed_before(acts, accept_unverified=[], in_one_object=list(NODES_OF_THREE))
    driver.guard, driver.run = None, "run-2"
    done = one_by_one(driver)
    assert [each.verdict.passed for each in done] == [True] * 3, driver.said
    assert len(made(driver, DESIGN)) == 1
    switch(driver, state="restored")
    assert driver.leftovers() == []
    assert driver.longhorn.observer.by_acts == []
