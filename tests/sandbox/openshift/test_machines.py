"""MachineSets and machines: they become Kubernetes nodes of the worker pool, are drained, and go."""

from __future__ import annotations

import pytest

from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Refused, copied
from tests.sandbox.openshift.asking import built, pool, status
from tests.sandbox.openshift.description import MachineSet, Pool
from tests.sandbox.openshift.kinds import (
    CURRENT,
    MACHINE_API,
    MACHINE_SETS,
    MACHINES,
    OF_CLUSTER,
    annotations_of,
    rendered,
)
from tests.sandbox.openshift.openshift import OpenShift

SETS = (MachineSet("workers-a", "a", 2), MachineSet("workers-b", "b"))


def with_sets() -> OpenShift:
    return built(pools=(pool("master"), Pool("worker")), machine_sets=SETS)


def names(found: OpenShift, of: str = "workers-a") -> list[str]:
    return [each["metadata"]["name"] for each in found.controllers.machines.of_set(of)]


def phases(found: OpenShift, of: str = "workers-a") -> list[str]:
    return [each["status"]["phase"] for each in found.controllers.machines.of_set(of)]


def ready(found: OpenShift, of: str = "workers-a") -> int:
    return int(found.machine_set(of)["status"].get("readyReplicas", 0))


def test_machines_are_kubernetes_nodes_of_the_worker_pool_in_their_zone() -> None:
    found = with_sets()
    assert (ready(found), ready(found, "workers-b")) == (2, 1)
    assert found.pool("worker")["status"]["machineCount"] == 3
    node = found.node(names(found, "workers-b")[0])
    assert node["metadata"]["labels"]["topology.kubernetes.io/zone"] == "b"
    assert annotations_of(node)[CURRENT] == rendered("worker", "4.18.1")


def test_a_new_machine_is_counted_ready_only_with_its_kubernetes_node() -> None:
    found = with_sets()
    found.write(MACHINE_SETS, "workers-a", {"replicas": 3}, namespace=MACHINE_API)
    found.clock.advance(5)
    status = found.machine_set("workers-a")["status"]
    assert (status["replicas"], status["readyReplicas"], "Provisioning" in phases(found)) == (3, 2, True)
    assert found.until(lambda: ready(found) == 3, 600)
    assert phases(found) == ["Running"] * 3


def test_counts_that_are_zero_are_left_out() -> None:
    found = with_sets()
    found.controllers.machines.never_boots.add("spare")
    body = found.machine_set("workers-a")
    spare: Json = {"metadata": {"name": "spare"}, "spec": {**body["spec"], "replicas": 1}}
    found.resources.create(MACHINE_SETS, MACHINE_API, spare)
    found.clock.advance(3600)
    assert "readyReplicas" not in found.machine_set("spare")["status"]
    assert phases(found, "spare") == ["Provisioning"]


def test_a_machine_that_names_no_cluster_never_gets_a_kubernetes_node() -> None:
    found = with_sets()
    spec = copied(found.machine_set("workers-a")["spec"])
    for labels in (spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]):
        del labels[OF_CLUSTER]
    spare: Json = {"metadata": {"name": "spare"}, "spec": {**spec, "replicas": 1}}
    found.resources.create(MACHINE_SETS, MACHINE_API, spare)
    found.clock.advance(3600)
    (machine,) = found.controllers.machines.of_set("spare")
    assert "phase" not in machine.get("status", {})
    assert ready(found, "spare") == 0


def test_a_deleted_set_takes_its_machines_and_their_kubernetes_nodes() -> None:
    found = with_sets()
    name = names(found, "workers-b")[0]
    found.resources.delete(MACHINE_SETS, MACHINE_API, "workers-b")
    found.clock.advance(10)
    machine = found.get(MACHINES, name, MACHINE_API)
    assert machine["status"]["phase"] == "Deleting"
    assert found.node(name)["spec"]["unschedulable"]
    assert found.until(lambda: found.resources.store.kept(NODES, "", name) is None, 600)
    found.clock.advance(1)
    with pytest.raises(Refused, match="not found"):
        found.get(MACHINES, name, MACHINE_API)
    found.clock.advance(10)
    assert found.pool("worker")["status"]["machineCount"] == 2


def test_a_kubernetes_node_that_joins_in_an_upgrade_has_the_old_configuration_and_is_taken_too() -> None:
    found = with_sets()
    found.want("4.18.2")
    wanted = rendered("worker", "4.18.2")
    assert found.until(lambda: found.pool("worker")["spec"]["configuration"]["name"] == wanted)
    before = set(names(found))
    found.write(MACHINE_SETS, "workers-a", {"replicas": 3}, namespace=MACHINE_API)
    assert found.until(lambda: ready(found) == 3, 600)
    added = (set(names(found)) - before).pop()
    assert annotations_of(found.node(added))[CURRENT] == rendered("worker", "4.18.1")
    assert found.until(found.upgrade_done)
    assert annotations_of(found.node(added))[CURRENT] == wanted


@pytest.mark.parametrize("policy", ["Newest", "Oldest"])
def test_the_policy_of_deletion_names_the_first_to_go(policy: str) -> None:
    found = with_sets()
    old = set(names(found))
    found.write(MACHINE_SETS, "workers-a", {"replicas": 5, "deletePolicy": policy}, namespace=MACHINE_API)
    assert found.until(lambda: ready(found) == 5, 600)
    found.write(MACHINE_SETS, "workers-a", {"replicas": 2}, namespace=MACHINE_API)
    assert found.until(lambda: len(names(found)) == 2, 600)
    assert old & set(names(found)) == (old if policy == "Newest" else set())


def test_a_machine_is_available_some_time_after_it_is_ready() -> None:
    found = with_sets()
    found.write(MACHINE_SETS, "workers-a", {"replicas": 3, "minReadySeconds": 90}, namespace=MACHINE_API)
    assert found.until(lambda: ready(found) == 3, 600)
    assert found.machine_set("workers-a")["status"]["availableReplicas"] == 2
    found.clock.advance(100)
    assert found.machine_set("workers-a")["status"]["availableReplicas"] == 3


def test_a_hook_before_the_drain_holds_a_machine() -> None:
    found = with_sets()
    name = names(found, "workers-b")[0]
    hooks = {"lifecycleHooks": {"preDrain": [{"name": "wait", "owner": "someone"}]}}
    found.write(MACHINES, name, hooks, namespace=MACHINE_API)
    found.resources.delete(MACHINE_SETS, MACHINE_API, "workers-b")
    found.clock.advance(600)
    assert not found.node(name)["spec"].get("unschedulable")
    found.write(MACHINES, name, {"lifecycleHooks": {}}, namespace=MACHINE_API)
    assert found.until(lambda: found.resources.store.kept(NODES, "", name) is None, 600)


def test_a_budget_blocks_the_drain_of_a_machine() -> None:
    found = with_sets()
    name = names(found, "workers-b")[0]
    found.faults.drain_blocked(name)
    found.resources.delete(MACHINE_SETS, MACHINE_API, "workers-b")
    found.clock.advance(600)
    machine = found.get(MACHINES, name, MACHINE_API)
    assert (status(machine, "Drained"), found.node(name)["spec"]["unschedulable"]) == ("False", True)
    found.faults.drain_unblocked(name)
    assert found.until(lambda: found.resources.store.kept(NODES, "", name) is None, 1800)


def test_a_marked_machine_goes_first() -> None:
    found = with_sets()
    marked = names(found)[1]
    mark = {"machine.openshift.io/delete-machine": "true"}
    found.resources.change(
        MACHINES, MACHINE_API, marked, lambda item: item["metadata"].setdefault("annotations", {}).update(mark)
    )
    found.write(MACHINE_SETS, "workers-a", {"replicas": 1}, namespace=MACHINE_API)
    assert found.until(lambda: len(names(found)) == 1, 600)
    assert marked not in names(found)
