"""Upgrades of OpenShift whose pools, versions or Kubernetes nodes something else changes, or is allowed to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.runs.openshift import PLAYBOOK, SYSTEM
from tests.runs.test_openshift import SETTLE, TARGET, CalledOpenShift, codes
from tests.runs.turns import Killed
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.asking import SMALL, history, pool
from tests.sandbox.openshift.description import KubernetesNode, Pool
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DESIRED,
    MACHINE_CONFIG,
    POOLS,
    REQUIRED,
    STATE,
    VERSION,
    VERSIONS,
    WORKING,
    annotations_of,
    rendered,
)
from tests.sandbox.web import CutOff, Request
from tests.scenarios.playbook import PLAN

ASKED = "- name: See that the database is whole\n  ansible.builtin.fail:\n    msg: One copy is away.\n"
OF_WORKERS = f"{ASKED}  when: upgrade_batch.members | length == 1\n"
"""A gate that no batch of one Kubernetes node passes."""


def gate_of(folder: Path, tasks: str) -> str:
    """A file with the tasks of a gate."""
    path = folder / "gate.yml"
    path.write_text(tasks)
    return str(path)


def test_kubernetes_nodes_without_a_zone_are_taken_last_and_each_batch_is_asked_for(
    here: World, tmp_path: Path
) -> None:
    nodes = tuple(KubernetesNode(f"worker-{place}", zone) for place, zone in enumerate(["", "a", "b"]))
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), Pool("worker", nodes))))
    gate = gate_of(tmp_path, f"{ASKED}  when: upgrade_batch.members == ['worker-2']\n")
    assert cluster.upgrade(upgrade_workload_gate=gate).code != 0
    assert cluster.on_target() == {"master-0", "master-1", "master-2", "worker-1"}
    assert cluster.paused() == ["worker"]
    assert cluster.upgrade().code == 0
    cluster.is_upgraded()


def test_a_kubernetes_node_of_windows_is_in_no_batch(here: World) -> None:
    cluster = CalledOpenShift(here)

    def windows(item: Json) -> None:
        metadata = item["metadata"]
        metadata["labels"]["kubernetes.io/os"] = "windows"
        metadata["annotations"] = {
            key: each for key, each in metadata["annotations"].items() if MACHINE_CONFIG not in key
        }

    cluster.openshift.resources.change(NODES, "", "worker-2", windows, Writing("windows", strict="Strict"))
    cluster.openshift.clock.advance(60)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert cluster.paused() == []


def labelled(cluster: CalledOpenShift, name: str, *, there: bool = True) -> None:
    """A pool gets the label, so that OpenShift completes no update before its Kubernetes nodes are updated, or loses
    it."""

    def change(item: Json) -> None:
        others = {key: each for key, each in (item["metadata"].get("labels") or {}).items() if key != REQUIRED}
        item["metadata"]["labels"] = {**others, **({REQUIRED: ""} if there else {})}

    cluster.openshift.resources.change(POOLS, "", name, change, Writing("person"))


@pytest.mark.parametrize("name", ["infra", "arbiter"])
def test_a_pool_for_which_the_control_plane_waits_goes_with_it(here: World, name: str) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker"), pool(name, 2))))
    labelled(cluster, name)
    planned = here.play(PLAN, {**cluster.variables(), **SYSTEM})
    assert planned.code == 0, planned.output
    said = "so that OpenShift updates its Kubernetes nodes with the control plane, 1 at a time, and no gate is asked"
    assert f"MachineConfigPool {name} has the label {REQUIRED}, {said}" in planned.output
    # The machine config operator puts that of an arbiter back.
    assert (f"oc label machineconfigpool {name} {REQUIRED}-" in planned.output) == (name == "infra")
    assert "those of MachineConfigPool master go one by one, so that etcd keeps its majority" in planned.output
    assert "pause of 1 pool" in planned.output
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert f"the control plane goes first, with MachineConfigPool {name}" in ended.output
    cluster.is_upgraded()
    assert {name for _manager, name in cluster.openshift.observer.writes_of("spec.paused")} == {"worker"}


@pytest.mark.parametrize("at_work", ["master-0", "infra-0"])
def test_a_pool_that_gets_the_label_once_it_is_held_is_let_go(here: World, at_work: str) -> None:
    """While the control plane is updated, and once its own batch is."""
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 1), pool("infra", 2))))

    def is_at_work(item: Json) -> bool:
        return item["metadata"]["name"] == at_work and annotations_of(item)[STATE] == WORKING

    cluster.openshift.faults.when(NODES, is_at_work, lambda: labelled(cluster, "infra"))
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_a_control_plane_that_would_wait_for_a_paused_pool_is_refused(here: World) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker"), pool("infra", 2))))
    labelled(cluster, "infra")
    cluster.openshift.faults.person_pauses("infra")
    cluster.openshift.clock.advance(60)
    refused = here.play(PLAN, {**cluster.variables(), **SYSTEM})
    assert codes(refused) == ["pool_required"]
    assert "MachineConfigPool infra is paused by another user" in refused.output
    cluster.openshift.faults.person_unpauses("infra")
    cluster.openshift.faults.person_pauses("master")
    cluster.openshift.clock.advance(60)
    refused = here.play(PLAN, {**cluster.variables(), **SYSTEM})
    assert codes(refused) == ["pool_required"]
    assert "MachineConfigPool master is paused by another user" in refused.output
    cluster.openshift.faults.person_unpauses("master")
    cluster.openshift.clock.advance(60)
    assert cluster.upgrade().code == 0
    assert cluster.paused() == []


def test_a_pool_that_a_killed_run_has_left_open_is_held_before_anything_is_asked(here: World, tmp_path: Path) -> None:
    cluster = CalledOpenShift(here)
    given, patched = cluster.agreed(), list[str]()

    def kill(request: Request) -> None:
        patched.extend([request.path] if request.method == "PATCH" and request.path == POOLS.path("", "worker") else [])
        if len(patched) == 2:
            # The pool was held, and is let go.
            raise Killed

    here.calling.after = kill
    with pytest.raises(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    assert cluster.paused() == []
    cluster.openshift.clock.advance(120)
    ended = here.play(PLAYBOOK, {**given, "upgrade_workload_gate": gate_of(tmp_path, ASKED)})
    assert ended.code != 0
    assert "MachineConfigPool worker stays paused" in ended.output
    cluster.openshift.clock.advance(3600)
    assert cluster.paused() == ["worker"]
    assert cluster.on_target() == {"master-0", "master-1", "master-2", "worker-0"}
    assert here.play(PLAYBOOK, given).code == 0
    cluster.is_upgraded()


def test_another_update_during_the_workers_ends_the_upgrade_and_no_pool_is_let_go_for_it(here: World) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 4))))

    def is_first(item: Json) -> bool:
        found = annotations_of(item)[CURRENT] == rendered("worker", TARGET)
        return item["metadata"]["name"] == "worker-0" and found

    cluster.openshift.faults.when(NODES, is_first, lambda: cluster.openshift.faults.person_wants("4.18.3"))
    given = cluster.agreed()
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert codes(ended)[0] == "update_changed", ended.output
    assert "Something else has set the desired update of OpenShift to 4.18.3" in ended.output
    assert "MachineConfigPool worker stays paused, with 3 Kubernetes nodes left to update." in ended.output
    workers = [each.name for each in cluster.described.pools[1].nodes]
    before = [annotations_of(cluster.openshift.node(name))[DESIRED] for name in workers]
    cluster.openshift.clock.advance(2 * 3600)
    assert history(cluster.openshift)[0] == ("4.18.3", "Completed")
    assert [annotations_of(cluster.openshift.node(name))[DESIRED] for name in workers] == before
    assert cluster.paused() == ["worker"]
    ended = cluster.upgrade(target_version="4.18.3")
    assert ended.code == 0, ended.output
    assert cluster.paused() == []
    assert {annotations_of(cluster.openshift.node(name))[CURRENT] for name in workers} == {rendered("worker", "4.18.3")}


def test_a_pool_that_is_said_to_stay_paused_is(here: World) -> None:
    cluster = CalledOpenShift(here)
    faults, clock = cluster.openshift.faults, cluster.openshift.clock
    faults.operator_breaks_in_upgrade("etcd")
    given = cluster.agreed(upgrade_control_plane_timeout=900)
    faults.when(
        VERSIONS,
        lambda item: "desiredUpdate" in item["spec"],
        lambda: clock.later(600.0, lambda: faults.person_unpauses("worker")),
    )
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert "MachineConfigPool worker stays paused, with 3 Kubernetes nodes left to update." in ended.output
    assert cluster.paused() == ["worker"]
    faults.operator_mended("etcd")
    assert here.play(PLAYBOOK, cluster.variables(upgrade_confirm=given["upgrade_confirm"])).code == 0
    cluster.is_upgraded()


@pytest.mark.parametrize("seconds", [60, 400])
def test_a_pool_that_cannot_be_held_again_is_held_later_or_named(here: World, seconds: int) -> None:
    cluster = CalledOpenShift(here)
    given, patched, clock = cluster.agreed(upgrade_member_timeout=900), list[float](), cluster.openshift.clock

    def cut_off(request: Request) -> None:
        if request.method == "PATCH" and request.path == POOLS.path("", "worker"):
            patched.append(clock.now())
        if len(patched) < 2:
            return
        # The pool was held, and is let go. The API is away when the time of the batch is over.
        cluster.openshift.faults.machine_config_away(5000)
        if 890 < clock.now() - patched[1] < 890 + seconds:
            raise CutOff(made=True)

    here.calling.after = cut_off
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    held = seconds < 120
    assert ("pool_may_be_open" in codes(ended)) is not held, ended.output
    assert cluster.paused() == (["worker"] if held else [])
    assert ("No other one is taken." in ended.output) is False
    here.calling.after = lambda _request: None
    clock.advance(5000)
    again = here.play(PLAYBOOK, cluster.variables(upgrade_confirm=given["upgrade_confirm"]))
    assert again.code == 0, again.output
    cluster.is_upgraded()


def test_a_pool_that_cannot_be_put_back_holds_no_other_one_up_nor_does_one_without_kubernetes_nodes(
    here: World, tmp_path: Path
) -> None:
    pools = (pool("master"), pool("worker"), pool("infra", 1), pool("batch", 1))
    cluster = CalledOpenShift(here, replace(SMALL, pools=pools))
    assert cluster.upgrade(upgrade_workload_gate=gate_of(tmp_path, OF_WORKERS)).code != 0
    assert cluster.paused() == ["worker", "infra", "batch"]
    resources = cluster.openshift.resources

    def edit(item: Json) -> None:
        item["metadata"]["annotations"]["upgrade.stateful/undo"] = "edited"

    resources.change(POOLS, "", "batch", edit, Writing("person"))
    resources.delete(NODES, "", "infra-0")
    settled = here.play(SETTLE, {**cluster.variables(), **SYSTEM})
    assert settled.code != 0
    assert "The annotation upgrade.stateful/undo of MachineConfigPool batch is not what" in settled.output
    assert cluster.paused() == ["batch"]


def test_an_update_that_a_person_has_checked_before_is_carried_out(here: World) -> None:
    cluster = CalledOpenShift(here)
    checked = {"version": TARGET, "mode": "Preflight"}
    cluster.openshift.write(VERSIONS, VERSION, {"desiredUpdate": checked})
    cluster.openshift.clock.advance(300)
    planned = cluster.agreed()
    assert cluster.openshift.version()["spec"]["desiredUpdate"] == checked
    ended = here.play(PLAYBOOK, planned)
    assert ended.code == 0, ended.output
    assert "mode" not in cluster.openshift.version()["spec"]["desiredUpdate"]
    assert history(cluster.openshift)[0] == (TARGET, "Completed")
