"""The stand-in controllers of Longhorn, by themselves and when a user writes what an upgrade writes."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import BUDGETS, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.asking import (
    MACHINES,
    PLACES,
    built,
    modes,
    moved,
    replaced,
    replica_on,
    spread,
    state,
    states_of,
    told,
)
from tests.sandbox.longhorn.controllers.work import condition
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, Machine, Volume
from tests.sandbox.longhorn.kinds import (
    ENGINES,
    FRONTENDS,
    MANAGERS,
    NODES,
    REPLICAS,
    VOLUMES,
)


def test_a_description_comes_to_life_with_a_default_manager_stopped_beside_each_old_one() -> None:
    found = built(spread(), spread("w", "n2", engine="n3"), Volume("away", ("n1", "n2")))
    assert (told(found), told(found, "w")) == (("attached", "healthy"), ("attached", "healthy"))
    assert found.volume("away")["status"]["state"] == "detached"
    assert found.volume("w")["status"]["currentEngineNodeID"] == "n3"
    for node in PLACES:
        managers = found.objects.of_node(MANAGERS, node)
        images = {each["spec"]["image"]: each["status"]["currentState"] for each in managers}
        assert images == {OLD_IMAGE: "running", NEW_IMAGE: "stopped"}
        item = found.get(NODES, node)
        assert (condition(item["status"], "Ready"), condition(item["status"], "Schedulable")) == ("True", "True")
        assert found.objects.get(BUDGETS, found.manager(node)["metadata"]["name"])
    assert found.manager("n1")["status"]["apiVersion"] == 6
    assert modes(found) == ["RW", "RW", "RW"]
    assert found.observer.losses == []


def test_a_manager_that_holds_nothing_gives_way_to_the_default_one() -> None:
    found = built(Volume("v", ("n1", "n2"), "n1"))
    assert found.until(lambda: state(found, "n3") == (NEW_IMAGE, "running"))
    assert len(found.objects.of_node(MANAGERS, "n3")) == 1


def test_an_engine_is_switched_in_four_states_and_its_name_changes() -> None:
    found = built(spread())
    seen, before = states_of(found, "switchoverState"), found.engine("v")["metadata"]["name"]
    moved(found, "n2")
    assert [each for each in seen if each] == ["preparing", "switching-over", "finalizing"]
    assert seen[-1] == ""
    engine = found.engine("v")
    assert (before, engine["metadata"]["name"], engine["spec"]["nodeID"]) == ("v-e-0", "v-e-1", "n2")
    assert found.volume("v")["spec"]["nodeID"] == "n1"
    frontend = found.objects.of_volume(FRONTENDS, "v")[0]
    assert (frontend["spec"]["nodeID"], frontend["status"]["targetIP"]) == ("n1", engine["status"]["ip"])
    assert len(found.objects.of_volume(ENGINES, "v")) == 1
    moved(found, "")
    assert found.engine("v")["metadata"]["name"] == "v-e-2"
    assert found.observer.losses == []


def test_the_old_engine_lives_until_the_frontend_tells_the_new_target() -> None:
    found = built(spread())
    problems: list[Json] = []

    def note(kind: object, item: Json, gone: bool) -> None:
        frontend = found.objects.of_volume(FRONTENDS, "v")[0]
        if kind == ENGINES and gone and item["status"]["ip"] == frontend["status"]["targetIP"]:
            problems.append(item)

    found.objects.listeners.append(note)
    moved(found, "n2")
    assert problems == []


def test_a_switch_that_reverts_is_tried_again_and_leaves_the_old_engine() -> None:
    found = built(spread())
    found.faults.switch_reverts("v", times=2)
    seen = states_of(found, "switchoverState")
    moved(found, "n2")
    assert seen.count("reverting") == 2
    assert found.observer.losses == []


def test_a_node_name_that_does_not_exist_is_accepted_and_stays_in_preparing() -> None:
    found = built(spread())
    found.write(VOLUMES, "v", {"engineNodeID": "nowhere"})
    found.clock.advance(60)
    assert found.volume("v")["status"]["switchoverState"] == "preparing"
    assert found.volume("v")["status"]["currentEngineNodeID"] == "n1"
    moved(found, "")
    assert [each["metadata"]["name"] for each in found.objects.of_volume(ENGINES, "v")] == ["v-e-0"]


def test_a_rebuild_reverts_a_switch() -> None:
    found = built(spread())
    found.faults.rebuild_stuck("v")
    replaced(found, "n3")
    assert found.until(lambda: "WO" in modes(found))
    seen = states_of(found, "switchoverState")
    found.write(VOLUMES, "v", {"engineNodeID": "n2"})
    found.clock.advance(5)
    assert "reverting" in seen
    assert found.engine("v")["spec"]["nodeID"] == "n1"


def test_a_whole_node_by_hand() -> None:
    found = built(spread(), frontends_outlive=True)
    found.write(NODES, "n1", {"allowScheduling": False})
    moved(found, "n2")
    replaced(found, "n1")
    assert found.until(lambda: told(found) == ("attached", "degraded"))
    failed = replica_on(found, "n1")
    assert failed["spec"]["failedAt"]
    moved(found, "")
    found.clock.advance(300)
    # Nothing is rebuilt onto a Kubernetes node that takes no replicas.
    assert told(found) == ("attached", "degraded")
    found.write(NODES, "n1", {"allowScheduling": True})
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    assert replica_on(found, "n1")["metadata"]["name"] == failed["metadata"]["name"]
    assert found.engine("v")["spec"]["nodeID"] == "n1"
    assert found.engine("v")["status"]["instanceManagerName"] == found.manager("n1")["metadata"]["name"]
    assert found.observer.losses == []


def test_progress_of_a_rebuild_is_told_and_another_replica_is_made_only_after_the_interval() -> None:
    machines = (*MACHINES, Machine("n4"))
    found = built(spread(), machines=machines, replica_replenishment_wait_interval="60")
    progress: set[int] = set()

    def note(kind: object, item: Json, _gone: bool) -> None:
        if kind == ENGINES:
            progress.update(each["progress"] for each in (item["status"].get("rebuildStatus") or {}).values())

    found.objects.listeners.append(note)
    found.write(NODES, "n3", {"allowScheduling": False})
    replaced(found, "n3")
    found.clock.advance(40)
    assert len(found.objects.of_volume(REPLICAS, "v")) == 3
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    assert replica_on(found, "n4")["spec"]["healthyAt"]
    assert progress == {0, 25, 50, 75}


def test_more_and_fewer_replicas() -> None:
    found = built(Volume("v", ("n1", "n2"), "n1"))
    found.write(VOLUMES, "v", {"numberOfReplicas": 3})
    assert found.until(lambda: told(found)[1] == "degraded")
    assert found.until(lambda: told(found)[1] == "healthy")
    assert modes(found) == ["RW", "RW", "RW"]
    found.write(VOLUMES, "v", {"numberOfReplicas": 2})
    assert found.until(lambda: len(found.objects.of_volume(REPLICAS, "v")) == 2)
    found.clock.advance(5)
    assert (modes(found), told(found)[1]) == (["RW", "RW"], "healthy")
    assert found.observer.losses == []


def test_an_old_manager_whose_pod_is_deleted_gives_way_and_a_default_one_gets_another_pod() -> None:
    found = built(spread())
    found.objects.delete(PODS, found.manager("n3")["metadata"]["name"])
    assert found.until(lambda: state(found, "n3") == (NEW_IMAGE, "running"))
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    name = found.manager("n3")["metadata"]["name"]
    found.objects.delete(PODS, name)
    assert found.until(lambda: state(found, "n3")[1] == "error")
    assert found.until(lambda: state(found, "n3") == (NEW_IMAGE, "running"))
    assert found.manager("n3")["metadata"]["name"] == name
    assert found.until(lambda: told(found) == ("attached", "healthy"))
