"""Machines that are deleted while a run upgrades the cluster: it stops with a sentence, and leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runs.machines import NAMESPACE, UNDO, Machines, machines
from tests.runs.shipped import rights_of_machines
from tests.runs.test_delegated_work import DELEGATED
from tests.runs.test_machines import FROM, TO, upgraded
from tests.runs.upgrade_tasks import EVERY, Upgrader, requesting
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.web import Request

GONE = "worker-2"


def delete_when_cordoned(found: Machines, cordoned: str) -> None:
    """As soon as a run has cordoned this machine, the worker in the middle is deleted with its Kubernetes node."""
    deleted = list[str]()

    def look(request: Request) -> None:
        if request.method != "PATCH" or request.path != f"/api/v1/nodes/{cordoned}" or deleted:
            return
        if found.cluster.node(cordoned)["spec"].get("unschedulable"):
            deleted.append(GONE)
            found.machines[GONE].has_power = False
            found.machines[GONE].cut_off()
            found.here.sandbox.kubernetes.server.resources.delete(NODES, "", GONE)

    found.here.calling.after = look


def versions(found: Machines) -> dict[str, str]:
    """The kubelets of the machines that are left. Fails if a run has left something at one of them."""
    nodes = {
        each["metadata"]["name"]: each for each in found.here.sandbox.kubernetes.server.resources.store.each(NODES)
    }
    assert nodes.keys() == found.machines.keys() - {GONE}
    for node in nodes.values():
        assert not node["spec"].get("unschedulable")
        assert UNDO not in node["metadata"].get("annotations", {})
    return {name: each["status"]["nodeInfo"]["kubeletVersion"] for name, each in nodes.items()}


@pytest.mark.parametrize(
    ("cordoned", "said"),
    [
        ("worker-1", "worker-2 could not be reached any more."),
        (
            GONE,
            "Machine worker-2 no longer has a Kubernetes node. See the log of its kubelet (journalctl -u kubelet), or"
            " take it out of upgrade_groups if it was deleted.",
        ),
    ],
)
def test_a_worker_that_is_deleted_ends_the_run_and_the_next_one_does_without_it(cordoned: str, said: str) -> None:
    with world() as here, machines(here, FROM, [TO]) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        delete_when_cordoned(found, cordoned)
        ended = upgraded(found)
        assert ended.code != 0
        assert said in ended.message, ended.output
        assert {name for name, version in versions(found).items() if version != f"v{TO}"} == {"worker-3"}
        found.cluster.described = replace(found.cluster.described, workers=("worker-1", "worker-3"))
        again = upgraded(found)
        assert again.code == 0, again.output
        assert {*versions(found).values()} == {f"v{TO}"}


def test_the_control_plane_keeps_its_majority_although_one_machine_of_it_is_deleted() -> None:
    with world() as here, machines(here, FROM, [TO], balanced=True) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        plane, lost = found.cluster.control_plane, "cp-2"

        def delete(request: Request) -> None:
            if request.method == "PATCH" and request.path == "/api/v1/nodes/cp-3" and not plane.lost:
                found.machines[lost].lose()
                here.sandbox.kubernetes.server.resources.delete(NODES, "", lost)
                # etcd counts its member until a person removes it.
                plane.images.pop(lost)
                plane.lost.append(lost)

        here.calling.after = delete
        ended = upgraded(found)
        assert ended.code != 0
        assert plane.least_voters >= 2, ended.output
        found.cluster.described = replace(found.cluster.described, control_plane=("cp-1", "cp-3"))
        refused = upgraded(found)
        assert refused.code != 0
        assert "etcd counts 3 members, 1 more than the control plane has machines: cp-2." in refused.output
        assert plane.least_voters >= 2
        plane.lost.clear()
        ended = upgraded(found, upgrade_allow_quorum_loss=True)
        assert ended.code == 0, ended.output
        assert {each.kubelet.version for name, each in found.machines.items() if name != lost} == {TO}


def test_a_machine_that_takes_the_name_of_another_one_gets_work_of_its_own() -> None:
    with requesting() as tasks:
        upgrader = Upgrader(tasks.found)
        tasks.request(machines=(*EVERY, "worker-2"))
        ended = tasks.play(tasks.agreed(**DELEGATED))
        assert ended.code == 0, ended.output
        replaced, cluster = tasks.found.machines["worker-1"], tasks.found.cluster
        replaced.lose()
        cluster.delete_node("worker-1")
        replaced.make_again(FROM)
        tasks.here.later(60)
        before = len(upgrader.began)
        tasks.request("again", machines=("worker-1",))
        again = tasks.play(tasks.agreed("again", **DELEGATED))
        assert again.code == 0, again.output
        assert [name for name, _attempt in upgrader.began[before:]] == ["worker-1-before-drain", "worker-1-after-drain"]
        assert cluster.is_upgraded(TO)
