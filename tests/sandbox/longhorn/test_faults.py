"""Faults, rare kinds of volumes, and what the webhook refuses."""

from __future__ import annotations

import pytest

from tests.sandbox.kubernetes.kinds import BUDGETS, PODS
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Refused
from tests.sandbox.longhorn.asking import (
    PLACES,
    built,
    modes,
    moved,
    ready,
    replaced,
    replica_on,
    spread,
    state,
    states_of,
    told,
)
from tests.sandbox.longhorn.controllers.snapshots import LOST
from tests.sandbox.longhorn.controllers.work import condition
from tests.sandbox.longhorn.description import NEW_IMAGE, Volume
from tests.sandbox.longhorn.kinds import (
    ENGINES,
    FRONTENDS,
    MANAGERS,
    NAMESPACE,
    NODES,
    REPLICAS,
    SETTINGS,
    SHARES,
    SNAPSHOTS,
    VOLUMES,
)
from tests.sandbox.longhorn.observer import INTERRUPTED


def test_disks_are_found_again_after_a_restart_or_not() -> None:
    found = built(spread())
    found.faults.disk_lost("n3")
    replaced(found, "n3")
    found.clock.advance(60)
    disks = found.get(NODES, "n3")["status"]["diskStatus"].values()
    assert [condition(each, "Schedulable") for each in disks] == ["False"]
    assert told(found) == ("attached", "degraded")
    found.faults.disk_found("n3")
    found.objects.delete(PODS, found.manager("n3")["metadata"]["name"])
    assert found.until(lambda: told(found) == ("attached", "healthy"))


def test_slots_for_rebuilds_are_few() -> None:
    found = built(spread())
    found.faults.slots_exhausted("n3")
    replaced(found, "n3")
    found.clock.advance(100)
    assert replica_on(found, "n3")["status"]["currentState"] == "stopped"
    found.faults.mend_all()
    assert found.until(lambda: told(found) == ("attached", "healthy"))


def test_a_rebuild_that_is_stuck_tells_no_progress() -> None:
    found = built(spread())
    found.faults.rebuild_stuck("v")
    replaced(found, "n3")
    assert found.until(lambda: "WO" in modes(found))
    found.clock.advance(600)
    assert modes(found) == ["RW", "RW", "WO"]
    found.faults.mend_all()
    assert found.until(lambda: told(found) == ("attached", "healthy"))


def test_a_manager_that_never_runs_leaves_its_replicas_failed() -> None:
    found = built(spread())
    found.faults.manager_never_runs("n3")
    found.objects.delete(MANAGERS, found.manager("n3")["metadata"]["name"])
    found.clock.advance(120)
    assert state(found, "n3") == (NEW_IMAGE, "starting")
    assert told(found) == ("attached", "degraded")
    found.faults.manager_runs("n3")
    assert found.until(lambda: told(found) == ("attached", "healthy"))


def test_the_observer_names_an_act_that_takes_too_much() -> None:
    found = built(Volume("v", ("n2",), "n1"), spread("w", "n2"))
    found.objects.delete(MANAGERS, found.manager("n2")["metadata"]["name"])
    found.clock.advance(5)
    losses = {(each.volume, each.what, each.fault) for each in found.observer.losses}
    assert ("v", "no healthy replica", "") in losses
    assert ("w", "no running instance manager", "") in losses
    assert len(found.observer.by_acts) == len(found.observer.losses)


def test_the_observer_names_the_fault_that_took_something_alone() -> None:
    found = built(Volume("v", ("n2",), "n1"))
    found.faults.node_dies("n2")
    found.clock.advance(60)
    assert {(each.volume, each.what, each.fault) for each in found.observer.losses} == {
        ("v", "no healthy replica", "node_dies"),
        ("v", INTERRUPTED, "node_dies"),
    }
    assert found.observer.by_acts == []


def test_a_node_that_dies_takes_its_replicas_and_its_engine_is_unknown() -> None:
    found = built(spread())
    moved(found, "n2")
    found.faults.node_dies("n2")
    assert found.until(lambda: told(found)[1] == "unknown", 120)
    assert {each.fault for each in found.observer.losses} == {"node_dies"}
    found.faults.node_returns("n2")
    assert found.until(lambda: told(found) == ("attached", "healthy"), 300), found.volume("v")["status"]


def test_controllers_that_are_away_do_nothing_and_then_all() -> None:
    found = built(spread())
    found.faults.controllers_away(180)
    found.write(VOLUMES, "v", {"engineNodeID": "n2"})
    found.clock.advance(170)
    assert found.volume("v")["status"]["switchoverState"] == ""
    assert found.until(lambda: found.volume("v")["status"]["currentEngineNodeID"] == "n2")


def test_a_snapshot_becomes_ready_and_goes_again() -> None:
    found = built(spread(), Volume("away", ("n1", "n2")))
    for name, volume in (("one", "v"), ("two", "away")):
        metadata = {"name": name, "labels": {"upgrade.stateful/run": "r"}}
        found.kubernetes.server.resources.create(
            SNAPSHOTS, NAMESPACE, {"metadata": metadata, "spec": {"volume": volume, "createSnapshot": True}}
        )
    assert found.until(lambda: all(ready(found, each) for each in ("one", "two")))
    assert found.get(SNAPSHOTS, "one")["metadata"]["labels"] == {"upgrade.stateful/run": "r", "longhornvolume": "v"}
    assert "one" in found.engine("v")["status"]["snapshots"]
    assert found.until(lambda: found.volume("away")["status"]["state"] == "detached")
    found.objects.delete(SNAPSHOTS, "one")
    assert found.until(lambda: found.objects.get(SNAPSHOTS, "one") is None)
    assert "one" not in found.engine("v")["status"]["snapshots"]


def test_a_new_engine_loses_track_of_a_snapshot_until_its_monitor_has_looked() -> None:
    found = built(spread())
    found.objects.create(SNAPSHOTS, {"metadata": {"name": "s"}, "spec": {"volume": "v", "createSnapshot": True}})
    assert found.until(lambda: ready(found, "s"))
    before = found.get(SNAPSHOTS, "s")["status"]["creationTime"]
    found.write(VOLUMES, "v", {"engineNodeID": "n2"})
    assert found.until(lambda: not ready(found, "s"))
    status = found.get(SNAPSHOTS, "s")["status"]
    assert (status["error"], status["creationTime"]) == (LOST, before)
    assert found.until(lambda: ready(found, "s"), 10.0)
    assert found.get(SNAPSHOTS, "s")["status"]["error"] == ""


def test_a_snapshot_that_is_never_ready() -> None:
    found = built(spread())
    found.faults.snapshots_stuck("v")
    found.objects.create(SNAPSHOTS, {"metadata": {"name": "s"}, "spec": {"volume": "v", "createSnapshot": True}})
    found.clock.advance(100)
    assert not ready(found, "s")


def test_volumes_are_attached_and_detached_by_their_tickets() -> None:
    found = built(spread())
    found.detach("v")
    assert found.until(lambda: told(found)[0] == "detached")
    assert not found.objects.of_volume(ENGINES, "v")[0]["status"]["replicaModeMap"]
    found.attach("v", "n3")
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    assert found.volume("v")["status"]["currentEngineNodeID"] == "n3"


def test_the_offline_path_when_the_last_volume_is_detached_the_manager_swaps_itself() -> None:
    found = built(Volume("v", ("n1", "n2"), "n1"))
    found.detach("v")
    assert found.until(lambda: {state(found, each) for each in PLACES} == {(NEW_IMAGE, "running")})
    found.attach("v", "n1")
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    assert found.observer.losses == []


def test_a_volume_that_is_deleted_takes_all_of_it_along() -> None:
    found = built(spread(), spread("w"))

    def switching(item: Json) -> bool:
        return bool(item["status"].get("switchoverState") == "preparing")

    found.faults.when(VOLUMES, switching, lambda: found.faults.volume_deleted("v"))
    found.write(VOLUMES, "v", {"engineNodeID": "n2"})
    found.clock.advance(10)
    assert [found.objects.of_volume(kind, "v") for kind in (VOLUMES, ENGINES, FRONTENDS, REPLICAS)] == [[], [], [], []]
    for node in PLACES:
        status = found.manager(node)["status"]
        held = [*(status.get("instanceReplicas") or {}), *(status.get("instanceEngines") or {})]
        assert [each for each in held if each.startswith("v-")] == []
    assert found.observer.losses == []


def test_a_share_manager_has_engine_and_frontend_where_its_pod_is() -> None:
    found = built(spread(access="rwx"))
    assert found.get(SHARES, "v")["status"]["state"] == "running"
    assert found.volume("v")["spec"]["nodeID"] == "n1"
    moved(found, "n2")
    assert found.get(SHARES, "v")["status"]["state"] == "running"


@pytest.mark.parametrize("standby", [True, False])
def test_a_volume_without_a_frontend_has_no_endpoint_and_its_switch_never_ends(standby: bool) -> None:
    found = built(spread(standby=standby, hidden=not standby))
    status = found.volume("v")["status"]
    assert (status["state"], status["isStandby"], status["frontendDisabled"]) == ("attached", standby, True)
    assert found.objects.of_volume(FRONTENDS, "v")[0]["status"]["endpoint"] == ""
    found.write(VOLUMES, "v", {"engineNodeID": "n2"})
    found.clock.advance(3600)
    assert found.volume("v")["status"]["switchoverState"] == "switching-over"
    found.write(VOLUMES, "v", {"engineNodeID": ""})
    assert found.until(lambda: not found.volume("v")["status"]["switchoverState"])
    assert (told(found), found.engine("v")["spec"]["nodeID"]) == (("attached", "healthy"), "n1")


def test_a_backup_goes_on_for_a_while() -> None:
    found = built(spread())
    name = found.faults.backup_starts("v")
    assert found.until(lambda: name in (found.engine("v")["status"].get("backupStatus") or {}))
    assert found.engine("v")["status"]["backupStatus"][name]["state"] == "in_progress"
    assert found.until(lambda: found.engine("v")["status"]["backupStatus"][name]["state"] == "complete")


def test_a_cordoned_node_gets_no_pod_and_loses_its_budget_once_nothing_is_attached() -> None:
    found = built(spread("v", "n2"), spread("w", "n1"))
    name = found.manager("n1")["metadata"]["name"]
    change = found.kubernetes.server.resources.change
    change(KUBERNETES_NODES, "", "n1", lambda item: item["spec"].update(unschedulable=True))
    found.clock.advance(5)
    assert condition(found.get(NODES, "n1")["status"], "Schedulable") == "False"
    assert found.objects.get(BUDGETS, name)
    found.detach("w")
    assert found.until(lambda: found.objects.get(BUDGETS, name) is None)


def test_a_frontend_dies_with_its_manager_and_its_volume_is_faulted() -> None:
    found = built(spread())
    moved(found, "n2")
    seen = states_of(found, "robustness")
    found.objects.delete(MANAGERS, found.manager("n1")["metadata"]["name"])
    found.clock.advance(120)
    assert "faulted" in seen
    assert told(found)[0] == "attached"
    assert [(each.volume, each.what) for each in found.observer.by_acts] == [("v", INTERRUPTED)]


def test_a_workload_that_lets_go_of_its_volume_interrupts_nothing() -> None:
    found = built(spread())
    found.detach("v")
    assert found.until(lambda: told(found)[0] == "detached")
    found.attach("v", "n2")
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    assert found.observer.losses == []


@pytest.mark.parametrize(
    ("kind", "name", "spec", "words"),
    [
        (NODES, "n1", {"evictionRequested": True}, "need to disable scheduling on node n1"),
        (VOLUMES, "v", {"numberOfReplicas": 0}, "replica count value must between 1 to 20"),
        (VOLUMES, "v", {"dataEngine": "v1"}, "changing data engine for volume v is not supported"),
        (VOLUMES, "v", {"dataLocality": "strict-local"}, "number of replica count should be 1"),
        (VOLUMES, "v", {"size": "1024"}, "shrinking volume v size"),
        (VOLUMES, "v", {"engineNode": "n2"}, 'unknown field "spec.engineNode"'),
    ],
)
def test_what_the_webhook_and_the_definition_refuse(kind: object, name: str, spec: Json, words: str) -> None:
    found = built(spread())
    with pytest.raises(Refused) as refused:
        found.write(kind, name, spec)  # type: ignore[arg-type]
    assert words in refused.value.message


def test_settings_that_are_read_only_or_make_no_sense_are_refused() -> None:
    found = built(spread())
    for name, value, words in (
        ("default-instance-manager-image", "x:1", "setting default-instance-manager-image is read-only"),
        ("replica-replenishment-wait-interval", "soon", "failed to parse value soon"),
        ("node-drain-policy", "never", "value never is not a valid choice"),
        ("auto-salvage", "maybe", "should be true or false"),
    ):
        with pytest.raises(Refused) as refused:
            found.set(name, value)
        assert words in refused.value.message
    found.set("replica-replenishment-wait-interval", "0")
    assert found.get(SETTINGS, "replica-replenishment-wait-interval")["value"] == "0"


def test_the_webhook_refuses_the_last_healthy_replica_and_whatever_it_is_told_to() -> None:
    found = built(Volume("v", ("n2",), "n1"))
    with pytest.raises(Refused) as refused:
        found.objects.delete(REPLICAS, replica_on(found, "n2")["metadata"]["name"])
    assert "no other healthy replica available for volume v" in refused.value.message
    found.faults.webhook_refuses(NODES, "no")
    with pytest.raises(Refused) as refused:
        found.write(NODES, "n1", {"allowScheduling": False})
    assert refused.value.message == 'admission webhook "validator.longhorn.io" denied the request: no'
    found.write(NODES, "n1", {"allowScheduling": False})


def test_a_replica_that_fails_is_rebuilt_once_its_rebuild_goes_on() -> None:
    found = built(spread())
    found.faults.rebuild_stuck("v")
    found.faults.replica_fails(replica_on(found, "n2")["metadata"]["name"])
    assert found.until(lambda: told(found) == ("attached", "degraded"))
    assert found.until(lambda: "WO" in modes(found))
    found.clock.advance(60.0)
    assert told(found) == ("attached", "degraded")
    found.faults.rebuild_goes_on("v")
    assert found.until(lambda: told(found) == ("attached", "healthy"))
    assert modes(found) == ["RW", "RW", "RW"]
