"""The stand-in controllers by themselves: an update from its request to its end, and what refuses it."""

from __future__ import annotations

from tests.sandbox.openshift.asking import built, history, status, versions
from tests.sandbox.openshift.controllers.operators import version_of
from tests.sandbox.openshift.habits import Habits
from tests.sandbox.openshift.kinds import CURRENT, annotations_of, rendered


def test_a_description_comes_to_life() -> None:
    found = built()
    item = found.version()
    assert (history(found), versions(found)) == ([("4.18.1", "Completed")], ["4.18.3", "4.18.2"])
    told = {each: status(item, each) for each in ("Available", "Progressing", "Failing", "RetrievedUpdates")}
    assert told == {"Available": "True", "Progressing": "False", "Failing": "False", "RetrievedUpdates": "True"}
    assert status(item, "ReleaseAccepted") == "True"
    assert status(item, "Upgradeable") == ""
    for name in ("master", "worker"):
        told = found.pool(name)["status"]
        assert (told["machineCount"], told["readyMachineCount"], told["unavailableMachineCount"]) == (3, 3, 0)
        assert told["configuration"]["name"] == rendered(name, "4.18.1")
    assert found.upgrade_done()


def test_a_z_stream_upgrade_runs_to_its_end() -> None:
    found = built()
    found.want("4.18.2")
    assert found.until(lambda: history(found) == [("4.18.2", "Partial"), ("4.18.1", "Completed")])
    assert status(found.version(), "Progressing") == "True"
    assert found.until(lambda: history(found)[0] == ("4.18.2", "Completed"))
    assert found.pool("master")["status"]["updatedMachineCount"] == 3
    assert found.until(found.upgrade_done)
    for name in ("worker-0", "worker-1", "worker-2"):
        node = found.node(name)
        assert annotations_of(node)[CURRENT] == rendered("worker", "4.18.2")
        assert not node["spec"].get("unschedulable")
    assert {version_of(found.operator(each)) for each in found.described.operators} == {"4.18.2"}


def test_with_all_bad_habits_it_takes_longer_and_ends_the_same() -> None:
    found = built(Habits())
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert history(found)[0] == ("4.18.2", "Completed")
