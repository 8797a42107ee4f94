"""Upgrades of OpenShift during which a person applies a MachineConfig, or further Kubernetes nodes join."""

from __future__ import annotations

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.test_openshift_capacity import MACHINED
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, MACHINE_API, MACHINE_SETS, annotations_of, rendered
from tests.sandbox.web import Request


def taken(cluster: CalledOpenShift) -> list[str]:
    """The workers with another configuration than at the start, or on their way to one."""
    old = rendered("worker", cluster.described.version)
    workers = [each for each in cluster.openshift.resources.store.each(NODES) if "worker" in each["metadata"]["name"]]
    return [each["metadata"]["name"] for each in workers if annotations_of(each)[DESIRED] != old]


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
    newest = cluster.openshift.pool("worker")["spec"]["configuration"]["name"]
    workers = [annotations_of(cluster.openshift.node(f"worker-{place}"))[CURRENT] for place in range(3)]
    assert workers == [newest] * 3
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
