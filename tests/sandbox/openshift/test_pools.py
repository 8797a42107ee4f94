"""Pools: the order of their Kubernetes nodes, how many at once, pauses, drains and budgets."""

from __future__ import annotations

import pytest

from tests.sandbox.kubernetes.kinds import EVENTS, NODES, PODS
from tests.sandbox.kubernetes.objects import condition_of, owner_of
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import built, pool, status
from tests.sandbox.openshift.description import KubernetesNode, Pool
from tests.sandbox.openshift.faults import SEARCH
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DEGRADED,
    DESIRED,
    DESIRED_DRAIN,
    LAST_DRAIN,
    POOLS,
    POST_ACTION,
    STATE,
    annotations_of,
    rendered,
)
from tests.sandbox.openshift.openshift import OpenShift

WANTED = rendered("worker", "4.18.2")


def taken(found: OpenShift, prefix: str) -> list[str]:
    """The Kubernetes nodes, in the order in which they get their next configuration; it grows."""
    names: list[str] = []

    def changed(change: Change) -> None:
        if change.kind != NODES or change.before is None or change.type != "MODIFIED":
            return
        name = change.item["metadata"]["name"]
        other = annotations_of(change.item).get(DESIRED) != annotations_of(change.before).get(DESIRED)
        if other and name.startswith(prefix):
            names.append(name)

    found.resources.store.listeners.append(changed)
    return names


def upgrading(found: OpenShift) -> None:
    """Until the workers have their next configuration."""
    found.want("4.18.2")
    assert found.until(lambda: found.pool("worker")["spec"]["configuration"]["name"] == WANTED)


def under_way(found: OpenShift) -> list[str]:
    return [
        name
        for name in ("worker-0", "worker-1", "worker-2")
        if annotations_of(found.node(name))[DESIRED] != annotations_of(found.node(name))[CURRENT]
    ]


def test_they_are_taken_by_zone_and_age_and_those_without_a_zone_last() -> None:
    nodes = (("w-young", "b"), ("w-bare", ""), ("w-c", "c"), ("w-a2", "a"), ("w-a1", "a"))
    workers = Pool("worker", tuple(KubernetesNode(name, zone) for name, zone in nodes))
    found = built(pools=(pool("master"), workers))
    order = taken(found, "w-")
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert order == ["w-a2", "w-a1", "w-young", "w-c", "w-bare"]


def test_the_master_of_the_operator_is_taken_last() -> None:
    found = built(operator_on="master-0")
    order = taken(found, "master-")
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert order == ["master-1", "master-2", "master-0"]


@pytest.mark.parametrize(("most", "at_once"), [(2, 2), ("34%", 1), ("67%", 2), ("10%", 1), (None, 1)])
def test_no_more_are_taken_at_once_than_the_pool_says(most: int | str | None, at_once: int) -> None:
    found = built(pools=(pool("master"), pool("worker", max_unavailable=most)))
    upgrading(found)
    assert found.until(lambda: len(under_way(found)) == at_once, 60)
    largest = [0]

    def changed(_change: Change) -> None:
        largest[0] = max(largest[0], len(under_way(found)))

    found.resources.store.listeners.append(changed)
    assert found.until(found.upgrade_done)
    assert largest[0] == at_once
    assert found.observer.breaches == []


def test_a_pause_holds_the_next_ones_and_not_the_one_under_way() -> None:
    found = built()
    upgrading(found)
    assert found.until(lambda: under_way(found) == ["worker-0"], 60)
    found.write(POOLS, "worker", {"paused": True})
    assert found.until(lambda: annotations_of(found.node("worker-0"))[CURRENT] == WANTED)
    found.clock.advance(3600)
    told = found.pool("worker")
    assert (told["status"]["updatedMachineCount"], under_way(found)) == (1, [])
    assert condition_of(told, "Updating")["message"] == f"Pool is paused; will not update to MachineConfig {WANTED}"
    assert status(found.version(), "Progressing") == "False"
    found.write(POOLS, "worker", {"paused": False})
    assert found.until(lambda: status(found.pool("worker"), "Updated") == "True")


def test_a_paused_pool_does_not_hold_the_version_but_a_paused_master_pool_does() -> None:
    found = built(pools=(pool("master"), pool("worker", paused=True)))
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert found.pool("worker")["status"]["updatedMachineCount"] == 0
    other = built(pools=(pool("master", paused=True), pool("worker")))
    other.want("4.18.2")
    other.clock.advance(900)
    assert status(other.operator("machine-config"), "Degraded") == "True"
    assert not other.until(other.upgrade_done, 4 * 3600)
    assert condition_of(other.version(), "Failing")["reason"] == "ClusterOperatorDegraded"


def test_the_annotations_tell_each_step_of_a_kubernetes_node() -> None:
    found = built()
    steps: list[tuple[str, ...]] = []

    def changed(change: Change) -> None:
        if change.kind == NODES and change.item["metadata"]["name"] == "worker-0":
            notes = annotations_of(change.item)
            verbs = [notes[each].partition("-")[0] for each in (DESIRED_DRAIN, LAST_DRAIN)]
            cordoned = "cordoned" if change.item["spec"].get("unschedulable") else "open"
            ready = condition_of(change.item, "Ready")["status"]
            step = (notes[STATE], *verbs, cordoned, notes.get(POST_ACTION, ""), ready)
            if not steps or steps[-1] != step:
                steps.append(step)

    found.resources.store.listeners.append(changed)
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert steps == [
        ("Done", "uncordon", "uncordon", "open", "", "True"),
        ("Working", "uncordon", "uncordon", "open", "", "True"),
        ("Working", "drain", "uncordon", "open", "", "True"),
        ("Working", "drain", "uncordon", "cordoned", "", "True"),
        ("Working", "drain", "drain", "cordoned", "", "True"),
        ("Working", "drain", "drain", "cordoned", "Rebooting", "True"),
        ("Working", "drain", "drain", "cordoned", "Rebooting", "Unknown"),
        ("Working", "drain", "drain", "cordoned", "Rebooting", "True"),
        ("Working", "uncordon", "drain", "cordoned", "Rebooting", "True"),
        ("Working", "uncordon", "drain", "open", "Rebooting", "True"),
        ("Working", "uncordon", "uncordon", "open", "Rebooting", "True"),
        ("Done", "uncordon", "uncordon", "open", "", "True"),
    ]


def test_a_budget_blocks_a_drain_until_it_is_gone() -> None:
    found = built()
    name = found.faults.drain_blocked("worker-0")
    found.clock.advance(5)
    upgrading(found)
    assert found.until(lambda: under_way(found) == ["worker-0"], 60)
    found.clock.advance(1800)
    assert (under_way(found), found.get(PODS, name, SEARCH)["status"]["phase"]) == (["worker-0"], "Running")
    taints = [each for each in found.node("worker-0")["spec"]["taints"] if "timeAdded" in each]
    assert [each["key"] for each in taints] == ["node.kubernetes.io/unschedulable"]
    found.faults.drain_unblocked("worker-0")
    assert found.until(found.upgrade_done)


def test_a_drain_of_more_than_an_hour_makes_its_pool_degraded_and_still_goes_on() -> None:
    found = built()
    found.faults.drain_blocked("worker-0")
    upgrading(found)
    assert found.until(lambda: annotations_of(found.node("worker-0"))[STATE] == DEGRADED)
    assert found.until(lambda: status(found.pool("worker"), "Degraded") == "True", 60)
    told = found.pool("worker")
    assert told["status"]["degradedMachineCount"] == 1
    assert "failed to drain node: worker-0 after 1 hour" in condition_of(told, "NodeDegraded")["message"]
    assert found.until(lambda: status(found.operator("machine-config"), "Upgradeable") == "False", 60)
    found.faults.mend_all()
    assert found.until(found.upgrade_done)
    assert status(found.pool("worker"), "Degraded") == "False"


def test_a_kubernetes_node_that_a_person_has_cordoned_stops_its_pool() -> None:
    found = built()
    found.faults.person_cordons("worker-2")
    upgrading(found)
    found.clock.advance(7200)
    assert (under_way(found), found.pool("worker")["status"]["unavailableMachineCount"]) == ([], 1)
    found.faults.person_uncordons("worker-2")
    assert found.until(found.upgrade_done)


def test_a_kubernetes_node_that_is_opened_in_its_drain_is_cordoned_again() -> None:
    found = built()
    found.faults.drain_blocked("worker-0")
    upgrading(found)
    assert found.until(lambda: found.node("worker-0")["spec"].get("unschedulable"))
    found.faults.person_uncordons("worker-0")
    # The round of evictions under way ends before that, and no pause follows it.
    found.clock.advance(120)
    assert found.node("worker-0")["spec"]["unschedulable"]


def test_a_drain_is_not_over_while_the_kubernetes_node_is_open() -> None:
    found = built()
    found.faults.drain_blocked("worker-0")
    wrong: list[str] = []

    def changed(change: Change) -> None:
        notes = annotations_of(change.item)
        other = change.before is not None and notes.get(LAST_DRAIN) != annotations_of(change.before).get(LAST_DRAIN)
        drained = change.kind == NODES and other and notes[LAST_DRAIN].startswith("drain-")
        if drained and not change.item["spec"].get("unschedulable"):
            wrong.append(change.item["metadata"]["name"])

    found.resources.store.listeners.append(changed)
    upgrading(found)
    assert found.until(lambda: found.node("worker-0")["spec"].get("unschedulable"))
    found.faults.person_uncordons("worker-0")
    found.faults.drain_unblocked("worker-0")
    assert found.until(found.upgrade_done)
    assert wrong == []


def test_a_drain_that_fails_for_long_is_tried_less_often() -> None:
    found = built()
    found.faults.drain_blocked("worker-0")
    upgrading(found)
    assert found.until(lambda: found.node("worker-0")["spec"].get("unschedulable"))
    found.clock.advance(1800)
    # Rounds of 90 s end after 90, 245, 400, 555 and 710 s; the next ones are five minutes apart.
    events = [each for each in found.resources.store.each(EVENTS) if each["reason"] == "DrainThresholdExceeded"]
    assert [(each["involvedObject"]["name"], each["count"]) for each in events] == [("worker-0", 3)]


def test_pods_of_a_daemon_set_and_static_ones_outlive_a_drain() -> None:
    found = built()
    found.faults.drain_blocked("worker-0")
    found.faults.drain_unblocked("worker-0")
    kind = found.kubernetes.server.kinds.named("apps/v1", "DaemonSet")
    assert kind is not None
    owner = owner_of(kind, found.resources.create(kind, SEARCH, {"metadata": {"name": "agents"}, "spec": {}}))
    spec = {"nodeName": "worker-0", "containers": [{"name": "agent", "image": "agent:1"}]}
    notes = {"kubernetes.io/config.mirror": "x"}
    for metadata in ({"name": "agent", "ownerReferences": [owner]}, {"name": "static", "annotations": notes}):
        found.resources.create(PODS, SEARCH, {"metadata": metadata, "spec": spec})
    upgrading(found)
    assert found.until(lambda: annotations_of(found.node("worker-0"))[LAST_DRAIN].startswith("drain-"))
    assert [each["metadata"]["name"] for each in found.resources.store.each(PODS, SEARCH)] == ["agent", "static"]


def test_a_degraded_kubernetes_node_counts_against_the_pool() -> None:
    found = built(pools=(pool("master"), pool("worker", max_unavailable=2)))
    found.faults.node_degraded("worker-0")
    upgrading(found)
    assert found.until(lambda: annotations_of(found.node("worker-0"))[STATE] == DEGRADED)
    together = [0]

    def changed(_change: Change) -> None:
        together[0] = max(together[0], len(under_way(found)))

    assert found.until(lambda: under_way(found) == ["worker-0"])
    found.resources.store.listeners.append(changed)
    states: set[str] = set()
    for _minute in range(60):
        found.clock.advance(60)
        states.add(annotations_of(found.node("worker-0"))[STATE])
    assert (together[0], states) == (2, {DEGRADED})
    assert annotations_of(found.node("worker-2"))[CURRENT] == WANTED


def test_a_custom_pool_is_upgraded_side_by_side_with_the_workers() -> None:
    found = built(pools=(pool("master"), pool("worker"), pool("infra", 2)))
    assert [found.pool(each)["status"]["machineCount"] for each in ("master", "worker", "infra")] == [3, 3, 2]
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert annotations_of(found.node("infra-1"))[CURRENT] == rendered("infra", "4.18.2")


def test_workers_are_under_way_before_the_version_is_complete() -> None:
    found = built()
    upgrading(found)
    assert found.until(lambda: under_way(found), 60)
    assert status(found.version(), "Progressing") == "True"
