"""Putting back what runs have left while something turns a part of it down: the rest is put back all the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.reasons import LOST

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.asking import replica_on
from tests.sandbox.longhorn.description import QUICK, Described, Machine, Recurring, Volume
from tests.sandbox.longhorn.kinds import MANAGERS, NODES, SETTINGS, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver, Killed, Killing, outliving

WAIT = 60


def killed(driver: Driver) -> Driver:
    """The same after a run that was killed once the engine of n1 was away."""
    return killed_at(driver, lambda found: bool(found["spec"]["engineNodeID"]))


def managers_that_run(driver: Driver) -> set[str]:
    """The nodes with a running instance manager."""
    found = driver.longhorn.objects.all(MANAGERS)
    return {each["spec"]["nodeID"] for each in found if each["status"].get("currentState") == "running"}


def killed_at(driver: Driver, at: Callable[[Json], bool]) -> Driver:
    """The same after a run that was killed once vol-1 was so."""
    driver.guard = Killing(at=lambda: at(driver.longhorn.volume("vol-1")))
    with pytest.raises(Killed):
        driver.switch("n1")
    driver.run, driver.guard = "run-2", None
    return driver


def one_with_a_job() -> Longhorn:
    machines = tuple(Machine(name) for name in NODES_OF_THREE)
    volumes = (Volume("vol-1", SPREAD, "n1", groups=("default",)),)
    jobs = (Recurring("daily", ("default",), 30),)
    return Longhorn(Described(machines, volumes, frontends_outlive=True, jobs=jobs), pace=QUICK)


def about(driver: Driver) -> set[str]:
    """The objects of which something is left."""
    return {each.partition(":")[0] for each in driver.leftovers()}


def test_a_node_that_a_person_evicts_does_not_keep_the_rest_from_being_put_back(drive: type[Driver]) -> None:
    """Longhorn opens no node for replicas whose eviction is requested."""
    driver = killed(drive(one_with_a_job()))
    assert about(driver) == {"n1", "vol-1", "daily", "replica-replenishment-wait-interval"}
    driver.longhorn.write(NODES, "n1", {"evictionRequested": True})
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.state is State.REFUSED
    assert "cancel eviction" in " ".join(each.message for each in back.verdict.deciding())
    assert about(driver) == {"n1"}
    assert not driver.longhorn.get(NODES, "n1")["spec"]["allowScheduling"]
    driver.longhorn.write(NODES, "n1", {"evictionRequested": False})
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


@pytest.mark.parametrize("kind", [NODES, VOLUMES, SETTINGS], ids=lambda kind: str(kind.plural))
def test_what_longhorn_turns_down_for_now_is_put_back_later(drive: type[Driver], kind: Kind) -> None:
    driver = killed(drive(one_with_a_job()))
    driver.longhorn.faults.webhook_refuses(kind, "please retry later", times=2)
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.passed, back.verdict
    assert driver.leftovers() == []


@pytest.mark.parametrize("kind", [NODES, VOLUMES, SETTINGS], ids=lambda kind: str(kind.plural))
def test_what_longhorn_always_turns_down_is_named_and_the_rest_is_put_back(drive: type[Driver], kind: Kind) -> None:
    driver = killed(drive(one_with_a_job()))
    driver.longhorn.faults.webhook_refuses(kind, "never", times=1_000_000)
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.state is State.REFUSED
    assert "never" in " ".join(each.message for each in back.verdict.deciding())
    left = {NODES: "n1", VOLUMES: "vol-1", SETTINGS: "replica-replenishment-wait-interval"}[kind]
    assert about(driver) == {left}
    driver.longhorn.faults.mend_all()
    assert driver.switch(state="restored").verdict.passed
    assert driver.leftovers() == []


def test_an_engine_returns_to_where_its_workload_is_by_now(drive: type[Driver]) -> None:
    """The node from which it was moved is gone for good, and the workload is on another one."""
    driver = killed(drive(one_with_a_job()))
    longhorn = driver.longhorn
    longhorn.faults.node_dies("n1")
    longhorn.detach("vol-1")
    assert longhorn.until(lambda: longhorn.volume("vol-1")["status"]["state"] == "detached")
    longhorn.attach("vol-1", "n2")
    assert longhorn.until(lambda: longhorn.volume("vol-1")["status"]["state"] == "attached", 300)
    assert longhorn.engine("vol-1")["spec"]["nodeID"] != "n1"
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.passed, back.verdict
    assert driver.leftovers() == []
    assert longhorn.engine("vol-1")["spec"]["nodeID"] == "n2"


def test_an_engine_that_is_placed_for_a_volume_not_attached_yet_returns_once_it_is(drive: type[Driver]) -> None:
    driver = killed_at(drive(one_with_a_job()), lambda found: found["status"].get("currentEngineNodeID") == "n2")
    longhorn = driver.longhorn
    longhorn.detach("vol-1")
    assert longhorn.until(lambda: longhorn.volume("vol-1")["status"]["state"] == "detached")
    longhorn.attach("vol-1", "n1")
    assert longhorn.until(lambda: longhorn.engine("vol-1")["spec"]["nodeID"] == "n2")
    assert longhorn.volume("vol-1")["status"]["state"] == "attaching"
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.passed, back.verdict
    assert (driver.leftovers(), longhorn.volume("vol-1")["status"]["state"]) == ([], "attached")
    assert longhorn.engine("vol-1")["spec"]["nodeID"] == "n1"


def test_a_node_that_is_gone_for_good_is_first_until_it_is_deleted_and_what_is_left_is_settled(
    drive: type[Driver],
) -> None:
    driver = killed(drive(one_with_a_job()))
    longhorn = driver.longhorn
    longhorn.faults.node_dies("n1")
    assert longhorn.until(lambda: "n1" not in managers_that_run(driver), 300)
    again = driver.plan()
    assert again.more["batches"][0]["members"] == ["n1"]
    (reason,) = (each for each in again.verdict.deciding() if each.code == "node_not_ready")
    assert reason.remedy.endswith(LOST)
    longhorn.detach("vol-1")
    assert longhorn.until(lambda: longhorn.volume("vol-1")["status"]["state"] == "detached")
    for each in [found for found in longhorn.objects.all(MANAGERS) if found["spec"]["nodeID"] == "n1"]:
        longhorn.objects.delete(MANAGERS, each["metadata"]["name"])
    longhorn.objects.delete(NODES, "n1")
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert (back.verdict.passed, driver.leftovers()) == (True, [])
    after = driver.plan()
    assert (after.verdict.passed, after.more["batches"]) == (True, [])


def test_an_engine_that_waits_for_a_long_rebuild_does_not_keep_the_rest_from_being_put_back(
    drive: type[Driver],
) -> None:
    driver = killed(drive(one_with_a_job()))
    longhorn = driver.longhorn
    longhorn.faults.rebuild_stuck("vol-1")
    away = longhorn.engine("vol-1")["spec"]["nodeID"]
    other = next(each for each in ("n2", "n3") if each != away)
    longhorn.faults.replica_fails(replica_on(longhorn, other, "vol-1")["metadata"]["name"])
    assert longhorn.until(lambda: "WO" in longhorn.engine("vol-1")["status"]["replicaModeMap"].values())
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.state is State.REFUSED
    assert "replica_rebuilds" in {each.code for each in back.verdict.deciding()}
    assert about(driver) == {"vol-1"}
    longhorn.faults.mend_all()
    assert driver.switch(state="restored", wait_timeout=900).verdict.passed
    assert driver.leftovers() == []


def test_an_engine_that_a_person_sends_elsewhere_ends_the_wait_for_a_node_that_is_gone(drive: type[Driver]) -> None:
    volumes = (Volume("vol-1", SPREAD, "n3", engine="n1"),)
    driver = killed_at(drive(outliving(*volumes)), lambda found: found["spec"]["engineNodeID"] == "n2")
    longhorn = driver.longhorn
    longhorn.faults.node_dies("n1")
    assert longhorn.until(lambda: "n1" not in managers_that_run(driver), 300)
    back = driver.switch(state="restored", wait_timeout=WAIT)
    (reason,) = back.verdict.deciding()
    assert reason.code == "engine_stays"
    assert "another node than n2" in reason.remedy
    longhorn.write(VOLUMES, "vol-1", {"engineNodeID": "n3"})
    back = driver.switch(state="restored", wait_timeout=WAIT)
    assert back.verdict.passed, back.verdict
    assert about(driver) == {"vol-1"}  # its engine alone
    assert driver.leftovers() == ["vol-1: engine on n3"]
