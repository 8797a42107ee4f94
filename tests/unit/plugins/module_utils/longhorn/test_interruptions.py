"""An attached volume that a switch interrupts: it is named, and work on no further node starts.

The stand-in ends the frontends with their instance manager here, as the sources of Longhorn 1.12 expect it.
"""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.gate import all_whole, may_go_down
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.preflight import preflight
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.reasons import REPLACEMENT

from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.description import QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import ATTACHMENTS, MANAGERS, NODES, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.longhorn.observer import INTERRUPTED
from tests.unit.plugins.module_utils.longhorn.driving import NODES_OF_THREE, SPREAD, Driver, Killed, Killing, outliving
from tests.unit.plugins.module_utils.longhorn.world import NEW, with_volume, world

S3 = tuple(Volume(f"vol-{number}", SPREAD, f"n{number}") for number in (1, 2, 3))
ONLY_FRONTEND = (Volume("vol-1", ("n2", "n3"), "n1", engine="n2"),)
"""Its workload is on n1, and neither its engine nor a replica is."""
ONLY_N1 = {"n1": "v1.12.0", "n2": "v1.11.2", "n3": "v1.11.2"}


def dying(*volumes: Volume, offers: str = "") -> Longhorn:
    """A Longhorn whose frontends end with their instance manager."""
    machines = tuple(Machine(name) for name in NODES_OF_THREE)
    return Longhorn(Described(machines, volumes, offers=offers), pace=QUICK)


def codes(done: Outcome) -> set[str]:
    return {each.code for each in done.verdict.deciding()}


def told(done: Outcome) -> str:
    assert done.verdict.state is State.REFUSED, done.verdict
    return " ".join(each.sentence() for each in done.verdict.deciding())


def lost(driver: Driver) -> list[tuple[str, str]]:
    return [(each.volume, each.what) for each in driver.longhorn.observer.by_acts]


@pytest.mark.parametrize("volumes", [S3, ONLY_FRONTEND], ids=["S3", "only the frontend"])
def test_the_first_interrupted_volume_is_named_and_no_further_node_is_begun(
    drive: type[Driver], volumes: tuple[Volume, ...]
) -> None:
    driver = drive(dying(*volumes))
    done = driver.switch(*NODES_OF_THREE)
    assert codes(done) == {"volume_interrupted"}, driver.said
    assert "Volume vol-1 was interrupted while node n1 was changed" in told(done)
    assert [each["name"] for each in done.more["nodes"]] == ["n1"]
    assert any("vol-1 was interrupted" in each for each in driver.said)
    # While its only volume is detached, Longhorn itself replaces the instance managers in which nothing runs.
    assert driver.images() == ONLY_N1 or volumes is ONLY_FRONTEND
    assert lost(driver) == [("vol-1", INTERRUPTED)]
    # The node on which work was started is completed.
    assert driver.switch(state="restored").verdict.passed
    assert driver.longhorn.volume("vol-1")["status"]["robustness"] == "healthy"


def test_a_shared_volume_whose_share_manager_comes_back_on_another_node_is_named(drive: type[Driver]) -> None:
    driver = drive(dying(Volume("vol-1", SPREAD, "n2", access="rwx"), Volume("vol-2", SPREAD, "n3")))
    assert codes(driver.switch("n2", wait_sleep=30.0)) == {"volume_interrupted"}, driver.said
    assert driver.longhorn.volume("vol-1")["spec"]["nodeID"] == "n1"
    assert lost(driver) == [("vol-1", INTERRUPTED)]
    assert driver.switch(state="restored").verdict.passed


@pytest.mark.parametrize("killed", [True, False], ids=["between two runs", "in the run"])
def test_a_share_manager_that_moves_before_the_instance_manager_is_replaced_is_no_interruption(
    drive: type[Driver], killed: bool
) -> None:
    driver = drive(outliving(Volume("vol-1", SPREAD, "n2", access="rwx"), Volume("vol-2", SPREAD, "n3")))
    longhorn, share = driver.longhorn, "share-manager-vol-1"

    def drained() -> None:
        longhorn.objects.delete(PODS, share)

    if killed:
        driver.guard = Killing(at=lambda: driver.snapshots() > 1)
        with pytest.raises(Killed):
            driver.switch("n2")
        drained()
        assert longhorn.until(lambda: longhorn.volume("vol-1")["status"].get("currentNodeID") == "n1")
        driver.run, driver.guard = "run-2", None
    else:
        longhorn.faults.when(VOLUMES, lambda item: bool(item["spec"].get("engineNodeID")), drained)
    assert driver.switch("n2").verdict.passed, driver.said
    assert longhorn.volume("vol-1")["spec"]["nodeID"] == "n1"
    assert driver.images()["n2"] == "v1.12.0"
    assert lost(driver) == []


def test_the_next_run_does_not_take_the_acceptance_for_that_of_an_interruption(drive: type[Driver]) -> None:
    driver = drive(dying(*S3))
    driver.switch(*NODES_OF_THREE)
    driver.switch(state="restored")
    driver.run = "run-2"
    planned = driver.plan()
    assert codes(planned) == {"interrupted_before"}
    assert "vol-1" in told(planned)
    assert "upgrade-" in told(planned), "the snapshot to remove is named"
    assert codes(driver.switch(*NODES_OF_THREE)) == {"interrupted_before"}
    assert driver.images() == ONLY_N1
    # The method offline is always possible.
    for each in S3:
        driver.longhorn.detach(each.name)
    driver.longhorn.clock.advance(10.0)
    assert driver.plan(accept_unverified=[]).verdict.passed
    assert driver.switch(*NODES_OF_THREE, accept_unverified=[]).verdict.passed
    assert set(driver.images().values()) == {"v1.12.0"}


def test_without_the_snapshots_of_the_run_the_acceptance_counts_again(drive: type[Driver]) -> None:
    driver = drive(dying(*S3))
    driver.switch(*NODES_OF_THREE)
    driver.switch(state="restored")
    driver.switch(state="cleaned")
    assert driver.longhorn.until(lambda: driver.snapshots() == 0)
    assert driver.plan().verdict.passed


def test_a_run_that_was_killed_as_it_interrupted_a_volume_is_not_gone_on_with_unsaid(drive: type[Driver]) -> None:
    driver = drive(dying(*S3))
    gone = []

    def seen(kind: object, item: Json, ended: bool) -> None:
        if kind == MANAGERS and ended and item["spec"]["nodeID"] == "n1":
            gone.append(item)

    driver.longhorn.objects.listeners.append(seen)
    driver.guard = Killing(at=lambda: bool(gone))
    with pytest.raises(Killed):
        driver.switch(*NODES_OF_THREE)
    driver.longhorn.clock.advance(60.0)
    assert driver.longhorn.volume("vol-1")["status"]["state"] == "attached"
    driver.run, driver.guard = "run-2", None
    done = driver.switch(*NODES_OF_THREE)
    assert codes(done) == {"volume_interrupted"}
    assert driver.images() == ONLY_N1


def test_one_pass_at_a_time_names_it_too(drive: type[Driver]) -> None:
    driver = drive(dying(*S3))
    for number in range(60):
        driver.run = f"run-{number}"
        done = driver.switch("n1", wait=False)
        if done.verdict.state is not State.WAITING:
            break
        driver.longhorn.clock.advance(10.0)
    assert codes(done) == {"volume_interrupted"}
    assert driver.longhorn.volume("vol-1")["status"]["robustness"] == "healthy"


def test_a_workload_that_moves_in_mid_run_is_no_interruption(drive: type[Driver]) -> None:
    driver = drive(dying(Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n2")))

    def moves() -> None:
        driver.longhorn.detach("vol-1")
        driver.longhorn.clock.later(5.0, lambda: driver.longhorn.attach("vol-1", "n2"))

    driver.longhorn.faults.when(VOLUMES, lambda item: bool(item["spec"].get("engineNodeID")), moves)
    assert driver.switch("n1").verdict.passed, driver.said
    assert lost(driver) == []


def test_a_workload_that_takes_over_a_volume_from_a_backup_is_not_interrupted(drive: type[Driver]) -> None:
    """The volume stays attached all the time, by one ticket after the other."""
    driver = drive(outliving(Volume("vol-1", SPREAD), Volume("vol-2", SPREAD, "n2")))
    ticket = {"id": "backup-controller-b1", "type": "backup-controller", "nodeID": "n1", "generation": 0}

    def for_backup(item: Json) -> None:
        item["spec"]["attachmentTickets"] = {ticket["id"]: ticket}

    driver.longhorn.objects.change(ATTACHMENTS, "vol-1", for_backup)
    assert driver.longhorn.until(lambda: driver.longhorn.volume("vol-1")["status"]["state"] == "attached")
    driver.longhorn.clock.advance(30.0)
    driver.longhorn.faults.when(
        NODES, lambda item: not item["spec"]["allowScheduling"], lambda: driver.longhorn.attach("vol-1", "n1")
    )
    assert driver.switch("n1").verdict.passed, driver.said
    assert driver.images()["n1"] == "v1.12.0"
    tickets = driver.longhorn.get(ATTACHMENTS, "vol-1")["spec"]["attachmentTickets"].values()
    assert [each["type"] for each in tickets] == ["csi-attacher"]
    assert lost(driver) == []


@pytest.mark.parametrize("offers", ["design", "v1.13"])
def test_upgrades_by_longhorn_itself_are_watched_likewise(drive: type[Driver], offers: str) -> None:
    driver = drive(dying(*S3, offers=offers))
    done = driver.switch(*NODES_OF_THREE, accept_unverified=[])
    assert codes(done) == {"volume_interrupted"}
    assert "vol-1" in told(done)
    assert driver.images() == ONLY_N1
    assert lost(driver) == [("vol-1", INTERRUPTED)]


@pytest.mark.parametrize(
    ("state", "robustness", "node", "code"),
    [("detached", "faulted", "", "volume_faulted"), ("attaching", "unknown", "n1", "volume_in_between")],
)
def test_a_volume_that_is_neither_attached_nor_at_rest_holds_the_plan_and_the_gates(
    state: str, robustness: str, node: str, code: str
) -> None:
    well = world({"v1": ("n1", ("n1", "n2", "n3"))})
    seen = with_volume(well, "v1", state=state, robustness=robustness, node=node)
    for verdict in (
        preflight(seen, ["n1"], NEW, {REPLACEMENT}),
        may_go_down(seen, ["n2"], ["n1", "n2", "n3"]),
        all_whole(seen, ["n1", "n2", "n3"]),
    ):
        assert code in {each.code for each in verdict.deciding()}, verdict
