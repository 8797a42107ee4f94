"""Upgrades of OpenShift during which a person applies a MachineConfig, or further Kubernetes nodes join."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.test_openshift_capacity import MACHINED
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.asking import SMALL, history, pool
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DESIRED,
    MACHINE_API,
    MACHINE_SETS,
    STATE,
    WORKING,
    annotations_of,
    rendered,
)
from tests.sandbox.web import Request


def taken(cluster: CalledOpenShift) -> list[str]:
    """The workers with another configuration than at the start, or on their way to one."""
    old = rendered("worker", cluster.described.version)
    workers = [each for each in cluster.openshift.resources.store.each(NODES) if "worker" in each["metadata"]["name"]]
    return [each["metadata"]["name"] for each in workers if annotations_of(each)[DESIRED] != old]


def has_newest(cluster: CalledOpenShift) -> None:
    """Fails unless all workers have the newest configuration of their pool, which is released."""
    newest = cluster.openshift.pool("worker")["spec"]["configuration"]["name"]
    workers = [annotations_of(cluster.openshift.node(f"worker-{place}"))[CURRENT] for place in range(3)]
    assert workers == [newest] * 3
    assert cluster.paused() == []


def test_a_kubernetes_node_is_not_taken_again_in_place_of_another_batch(here: World) -> None:
    cluster = CalledOpenShift(here)
    given, applied = cluster.agreed(), list[bool]()

    def apply(request: Request) -> None:
        done = annotations_of(cluster.openshift.node("worker-0"))[CURRENT] == rendered("worker", TARGET)
        if done and not applied and request.method == "PATCH" and "/configmaps/" in request.path:
            # The record has the end of its batch.
            applied.append(True)
            cluster.openshift.faults.person_configures("worker")

    here.calling.after = apply
    ended = here.play(PLAYBOOK, given)
    assert applied
    assert codes(ended) == ["out_of_turn"], ended.output
    assert "is another one than that of Kubernetes nodes worker-0" in ended.output
    cluster.openshift.clock.advance(3600)
    assert taken(cluster) == ["worker-0"]
    assert annotations_of(cluster.openshift.node("worker-0"))[DESIRED] == rendered("worker", TARGET)
    assert cluster.paused() == ["worker"]
    assert here.play(PLAYBOOK, given).code == 0
    has_newest(cluster)


@pytest.mark.parametrize(
    ("name", "codes_of_end", "left"), [("worker-0", ["out_of_turn"], 2), ("worker-2", ["pool_reconfigured"], 0)]
)
def test_a_batch_is_done_that_has_the_release_although_its_pool_has_a_newer_configuration(
    here: World, name: str, codes_of_end: list[str], left: int
) -> None:
    """A person applies a MachineConfig while the batch is under way."""
    cluster = CalledOpenShift(here)

    def is_at_work(item: Json) -> bool:
        return item["metadata"]["name"] == name and annotations_of(item)[STATE] == WORKING

    cluster.openshift.faults.when(NODES, is_at_work, lambda: cluster.openshift.faults.person_configures("worker"))
    given, began = cluster.agreed(), cluster.openshift.clock.now()
    ended = here.play(PLAYBOOK, given)
    assert codes(ended) == codes_of_end, ended.output
    assert cluster.openshift.clock.now() - began < 1800
    batches = cluster.record()["batches"]
    assert [each["state"] for each in batches if each["members"] == [name]] == ["done"]
    assert len(taken(cluster)) == 3 - left
    assert here.play(PLAYBOOK, given).code == 0
    has_newest(cluster)


def test_an_upgrade_is_not_completed_with_a_pool_that_would_go_on_without_any_gate(here: World) -> None:
    """A person applies a MachineConfig for a pool whose last batch is done."""
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker"), pool("infra", 2))))

    def is_at_work(item: Json) -> bool:
        return item["metadata"]["name"] == "worker-0" and annotations_of(item)[STATE] == WORKING

    cluster.openshift.faults.when(NODES, is_at_work, lambda: cluster.openshift.faults.person_configures("infra"))
    given, began = cluster.agreed(), cluster.openshift.clock.now()
    ended = here.play(PLAYBOOK, given)
    assert codes(ended) == ["pool_reconfigured"], ended.output
    assert cluster.openshift.clock.now() - began < 1800
    newest = cluster.openshift.pool("infra")["spec"]["configuration"]["name"]
    assert "MachineConfigPool infra has a newer configuration of 4.18.2 than Kubernetes nodes infra-1." in ended.output
    assert cluster.paused() == ["infra"]
    assert here.play(PLAYBOOK, given).code == 0
    assert annotations_of(cluster.openshift.node("infra-1"))[CURRENT] == newest
    assert cluster.paused() == []


def test_a_kubernetes_node_that_joins_is_not_taken_in_place_of_another_batch(here: World) -> None:
    """The autoscaler adds one while the control plane is updated: it has the old configuration."""
    cluster = CalledOpenShift(here, MACHINED)

    def scale() -> None:
        cluster.openshift.write(MACHINE_SETS, "workers-a", {"replicas": 2}, namespace=MACHINE_API)

    given = cluster.agreed()
    cluster.openshift.clock.later(300.0, scale)
    ended = here.play(PLAYBOOK, given)
    assert codes(ended) == ["out_of_turn"], ended.output
    assert len(taken(cluster)) == 1
    assert here.play(PLAYBOOK, given).code == 0
    assert len(taken(cluster)) == 4
    assert cluster.paused() == []


def test_a_version_whose_configurations_are_those_of_the_one_before_restarts_nothing(here: World) -> None:
    """Their names are the same, and only their annotations are others."""
    cluster = CalledOpenShift(here)
    cluster.openshift.controllers.machine_configs.same_content = True
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert history(cluster.openshift)[0] == (TARGET, "Completed")
    assert taken(cluster) == []
    assert cluster.paused() == []
