"""Nodes that someone has emptied outside of a run, such as for maintenance: no run changes them or puts them back."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State

from tests.sandbox.longhorn.description import Volume
from tests.sandbox.longhorn.kinds import NODES, SETTINGS
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver, Killed, Killing, outliving

TWO = (Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n2"))
WAITS = "replica-replenishment-wait-interval"


def codes(done: Outcome) -> set[str]:
    return {each.code for each in done.verdict.reasons}


def emptied(driver: Driver) -> Driver:
    """The same after someone has emptied n1 outside of a run; the next task is one of a run."""
    driver.run = ""
    gone = driver.switch("n1", state="evacuated", accept_unverified=[])
    assert gone.verdict.passed, gone.verdict
    driver.run = "run-1"
    return driver


def stays(driver: Driver) -> bool:
    """Whether n1 is still closed, its engines are away, and Longhorn waits for its replicas."""
    engines = [driver.longhorn.engine(each.name)["spec"]["nodeID"] for each in TWO]
    closed = not driver.longhorn.get(NODES, "n1")["spec"]["allowScheduling"]
    return closed and "n1" not in engines and driver.longhorn.get(SETTINGS, WAITS)["value"] == "86400"


def restored_by_person(driver: Driver) -> bool:
    """Whether nothing is left once the one who has emptied the node puts it back."""
    driver.run = ""
    back = driver.switch(state="restored")
    assert back.verdict.passed, back.verdict
    engine = driver.longhorn.engine("vol-1")["spec"]["nodeID"]
    return (driver.leftovers(), engine, driver.longhorn.observer.losses) == ([], "n1", [])


def test_a_run_puts_back_nothing_of_a_node_that_someone_has_emptied(drive: type[Driver]) -> None:
    driver = emptied(drive(outliving(*TWO)))
    back = driver.switch(state="restored")
    assert back.verdict.passed
    assert codes(back) == {"node_stays_emptied"}
    assert not back.changed
    assert stays(driver)
    assert restored_by_person(driver)


def test_a_run_does_not_change_a_node_that_someone_has_emptied(drive: type[Driver]) -> None:
    driver = emptied(drive(outliving(*TWO)))
    plan = driver.plan()
    assert plan.verdict.state is State.REFUSED
    assert {each.code for each in plan.verdict.deciding()} == {"node_emptied"}
    # It may be emptied after the plan.
    refused = driver.switch("n1")
    assert {each.code for each in refused.verdict.deciding()} == {"node_emptied"}
    assert stays(driver)
    assert driver.images()["n1"] == "v1.11.2"
    assert restored_by_person(driver)


def test_the_other_nodes_are_changed_while_one_is_emptied(drive: type[Driver]) -> None:
    driver = emptied(drive(outliving(*TWO)))
    assert driver.plan(nodes=["n2", "n3"]).verdict.passed
    done = driver.switch("n2", "n3")
    assert done.verdict.passed, (done.verdict, driver.said)
    assert driver.switch(state="restored").verdict.passed
    assert stays(driver)
    assert driver.images() == {"n1": "v1.11.2", "n2": "v1.12.0", "n3": "v1.12.0"}
    assert driver.longhorn.engine("vol-1")["spec"]["nodeID"] in {"n2", "n3"}
    assert restored_by_person(driver)
    assert driver.switch("n1").verdict.passed


def test_a_node_that_is_done_and_emptied_is_no_part_of_a_plan(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    assert driver.switch(*NODES_OF_THREE).verdict.passed
    assert driver.switch(state="restored").verdict.passed
    plan = emptied(driver).plan()
    assert plan.verdict.passed, plan.verdict
    assert plan.more["batches"] == []


def test_a_node_that_a_killed_run_was_emptying_is_put_back(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    driver.guard = Killing(acts_left=4)
    with pytest.raises(Killed):
        driver.switch("n1", state="evacuated")
    driver.run, driver.guard = "run-2", None
    back = driver.switch(state="restored")
    assert back.verdict.passed, back.verdict
    assert (driver.leftovers(), codes(back)) == ([], set())


def test_a_node_of_a_killed_run_that_someone_then_empties_stays_so(drive: type[Driver]) -> None:
    driver = drive(outliving(*TWO))
    driver.guard = Killing(acts_left=5)
    with pytest.raises(Killed):
        driver.switch("n1")
    driver.guard = None
    assert stays(emptied(driver))
    driver.run = "run-2"
    assert "node_stays_emptied" in codes(driver.switch(state="restored"))
    assert stays(driver)
    assert restored_by_person(driver)
