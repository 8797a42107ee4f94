"""The preflight of a batch: the workers that are left, and the machines to which a run is narrowed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Denied
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines.observe.look import ClusterApi
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.preflight import (
    allowed_of,
    judge_available,
    judge_only,
    judge_owners,
    may_go,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.owned_machines import OwnedMachine
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.owners import most_in, owners_of
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import OwnedWorkers
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, GROUPS, TO, WORKERS, cluster, machine


def owned_worker(node: str, machine_set: str = "old", *, going: bool = False, in_place: bool = False) -> OwnedMachine:
    """A Machine of a MachineDeployment."""
    return OwnedMachine(
        namespace="clusters",
        name=f"m-{node}",
        uid=f"uid-{node}",
        kubernetes_node=node,
        going=going,
        mark="",
        skip=None,
        undo=None,
        conditions={},
        controller=("MachineSet", machine_set),
        deployment="workers",
        updated_in_place=in_place,
    )


ONE_SET = (owned_worker("w-0"), owned_worker("w-1"))


@given(st.integers(1, 20), st.integers(1, 20), st.data())
def test_after_the_machines_went_no_more_are_away_than_may_be(total: int, most: int, data: st.DataObject) -> None:
    available, going = data.draw(st.integers(0, total)), data.draw(st.integers(1, total))
    assert may_go(available, total, going, most) is (total - (available - going) <= most)
    assert may_go(available, total, 1, most) is (available > total - most)


@pytest.mark.parametrize(
    ("away", "going", "most", "passes"),
    [
        ({}, ["w-0"], None, True),
        ({}, ["w-0", "w-1"], None, False),
        ({}, ["w-0", "w-1"], "2", True),
        ({"ready": False}, ["w-0"], None, False),
        ({"leaving": True}, ["w-0"], None, False),
        ({"leaving": True}, ["w-0"], "2", True),
        ({"ready": False}, ["w-2"], None, True),
        ({"closed": True}, ["w-0"], None, True),
        ({"ready": False}, ["cp-0"], None, True),
    ],
)
def test_a_group_keeps_enough_workers(away: dict[str, bool], going: list[str], most: str | None, passes: bool) -> None:
    verdict = judge_available(cluster(machine("w-2", **away)), GROUPS, going, most)
    assert verdict.passed is passes
    if not passes:
        assert [each.code for each in verdict.reasons] == ["too_few_available"]


def test_a_worker_without_a_kubernetes_node_is_not_available() -> None:
    groups = {**GROUPS, "workers": [*WORKERS, "w-9"]}
    (reason,) = judge_available(cluster(), groups, ["w-0"], None).reasons
    assert reason.message == "Group workers has 3 of 4 workers available, and at most 1 may be away: w-9."


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        ({"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}}}, "2"),
        ({"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "30%"}}}}, "30%"),
        ({"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}, "0"),
        ({"strategy": {"type": "OnDelete"}}, ""),
        ({}, ""),
    ],
)
def test_the_most_machines_that_may_be_away_are_read_from_both_versions_of_the_api(spec: Any, most: str) -> None:
    assert most_in(spec) == most


@pytest.mark.parametrize(
    ("most", "total", "allowed"),
    [
        ("2", 5, 2),
        ("30%", 10, 3),
        ("39%", 10, 3),
        ("10%", 5, 1),
        ("0", 5, 1),
        ("", 5, 1),
        ("many", 5, 1),
        ("100%", 4, 4),
    ],
)
def test_a_share_is_rounded_down_and_one_may_always_go(most: str, total: int, allowed: int) -> None:
    assert allowed_of(most, total) == allowed


@pytest.mark.parametrize(
    ("total", "most", "given_most", "going", "passes"),
    [
        (3, "", None, ["w-0"], True),
        (4, "", None, ["w-0"], False),
        (4, "2", None, ["w-0"], True),
        (4, "50%", None, ["w-0"], True),
        (4, "49%", None, ["w-0"], False),
        (4, "", "2", ["w-0"], True),
        (3, "2", "1", ["w-0", "w-1"], True),
        (3, "", None, ["w-0", "w-1"], False),
        (4, "", None, ["w-9"], True),
    ],
)
def test_a_machine_deployment_keeps_enough_of_the_machines_that_it_is_to_have(
    total: int, most: str, given_most: str | None, going: list[str], passes: bool
) -> None:
    owner = OwnedWorkers("MachineDeployment clusters/workers", total, tuple(WORKERS), most)
    verdict = judge_owners(cluster(owners=(owner,)), going, given_most)
    assert verdict.passed is passes
    for each in verdict.reasons:
        assert each.code == "too_few_available"
        assert each.message.startswith(f"MachineDeployment clusters/workers has 3 of {total} machines available, and")


def test_a_machine_that_is_away_takes_none_from_its_machine_deployment() -> None:
    owner = OwnedWorkers("MachineDeployment clusters/workers", 3, tuple(WORKERS), "")
    seen = cluster(machine("w-0", ready=False), owners=(owner,))
    assert judge_owners(seen, ["w-0"], None).passed
    assert not judge_owners(seen, ["w-1"], None).passed


def test_no_machine_goes_while_its_machine_deployment_is_rolled_out() -> None:
    owner = OwnedWorkers("MachineDeployment clusters/workers", 3, tuple(WORKERS), "", rolls_out=True)
    (reason,) = judge_owners(cluster(owners=(owner,)), ["w-0"], None).reasons
    assert reason.sentence() == (
        "MachineDeployment clusters/workers is being rolled out, so Cluster API may delete a machine of it during work"
        " on it. Wait until its rollout has ended, or pause it (annotation cluster.x-k8s.io/paused)."
    )
    assert judge_owners(cluster(owners=(owner,)), ["w-9"], None).passed


TWO_SETS = (owned_worker("w-0"), owned_worker("w-1", machine_set="new"))
COUNTED = {"replicas": 2, "upToDateReplicas": 1}
IN_V1BETA2 = {"rollout": {"strategy": {"type": "OnDelete"}}}


@pytest.mark.parametrize(
    ("own", "spec", "status", "rolls_out"),
    [
        (ONE_SET, {}, {}, False),
        (ONE_SET, {}, {**COUNTED, "upToDateReplicas": 2}, False),
        (ONE_SET, {}, COUNTED, True),
        (ONE_SET, {}, {"replicas": 2, "updatedReplicas": 0}, True),
        (ONE_SET, {"strategy": {"type": "OnDelete"}}, COUNTED, False),
        (TWO_SETS, IN_V1BETA2, COUNTED, False),
        (TWO_SETS, {}, {}, True),
        (TWO_SETS, {"paused": True}, COUNTED, False),
        ((TWO_SETS[0], owned_worker("w-1", machine_set="new", going=True)), {}, {}, False),
        ((owned_worker("w-0", in_place=True), TWO_SETS[1]), {}, COUNTED, False),
        ((TWO_SETS[0], owned_worker("w-1", machine_set="new", in_place=True)), {}, COUNTED, True),
    ],
)
def test_a_rollout_is_seen_unless_it_is_the_update_of_the_machine_that_goes(
    own: tuple[OwnedMachine, ...], spec: Any, status: Any, rolls_out: bool
) -> None:
    item = {"metadata": {}, "spec": spec, "status": status}
    api = ClusterApi(cast("Any", SimpleNamespace(get=lambda _path: item)), "v1beta2")
    (found,) = owners_of(api, {each.kubernetes_node: each for each in own}, ["w-0"])
    assert found.rolls_out is rolls_out


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("paused", [True, False])
def test_before_cluster_api_1_9_no_rollout_is_of_a_cluster_that_is_paused(paused: bool, allowed: bool) -> None:
    """One that may not be seen counts as at work."""
    metadata = {"namespace": "clusters", "name": "workers", "labels": {"cluster.x-k8s.io/cluster-name": "main"}}
    item = {"metadata": metadata, "spec": {}, "status": {**COUNTED, "observedGeneration": 1}}

    def get(path: str) -> Any:
        if not path.endswith("/clusters/main"):
            return item
        if not allowed:
            raise Denied.because("kubernetes_rights", "This user may not.", "Give the right.")
        return {"metadata": {}, "spec": {"paused": paused}}

    api = ClusterApi(cast("Any", SimpleNamespace(get=get)), "v1beta1")
    (found,) = owners_of(api, {each.kubernetes_node: each for each in ONE_SET}, ["w-0"])
    assert found.rolls_out is not (paused and allowed)


PLANE = {
    "/apis/controlplane.cluster.x-k8s.io": {"preferredVersion": {"version": "v1beta2"}},
    "/apis/controlplane.cluster.x-k8s.io/v1beta2": {
        "resources": [{"kind": "KubeadmControlPlane", "name": "kubeadmcontrolplanes"}]
    },
}
PAUSED = {"cluster.x-k8s.io/paused": ""}


@pytest.mark.parametrize(
    ("in_place", "annotations", "up_to_date", "rolls_out"),
    [("", {}, 3, False), ("", {}, 2, True), ("", PAUSED, 2, False), ("cp-0", {}, 2, False), ("cp-1", {}, 2, True)],
)
def test_a_control_plane_that_cluster_api_replaces_is_seen_and_etcd_alone_says_how_many_may_be_away(
    in_place: str, annotations: dict[str, str], up_to_date: int, rolls_out: bool
) -> None:
    plane = f"{[*PLANE][-1]}/namespaces/clusters/kubeadmcontrolplanes/main"
    counted = {"replicas": 3, "upToDateReplicas": up_to_date}
    there = {**PLANE, plane: {"metadata": {"annotations": annotations}, "spec": {}, "status": counted}}
    own = {
        name: replace(
            owned_worker(name, in_place=name == in_place), controller=("KubeadmControlPlane", "main"), deployment=""
        )
        for name in CONTROL_PLANE
    }
    (found,) = owners_of(ClusterApi(cast("Any", SimpleNamespace(get=there.get)), "v1beta2"), own, ["cp-0"])
    assert (found.called, found.rolls_out) == ("KubeadmControlPlane clusters/main", rolls_out)
    away = cluster(*(machine(name, ready=False) for name in CONTROL_PLANE), owners=(found,))
    assert [each.code for each in judge_owners(away, ["cp-0"], None).reasons] == ["machines_roll_out"] * rolls_out


def test_workers_go_alone_only_once_the_control_plane_is_on_the_target() -> None:
    every = [*CONTROL_PLANE, *WORKERS]
    assert judge_only(cluster(), every, [], TO).passed
    assert judge_only(cluster(), every, ["cp-0"], TO).passed
    (behind,) = judge_only(cluster(), every, ["cp-0", "w-0"], TO).reasons
    assert (behind.code, "cp-1, cp-2" in behind.message or "cp-1 and cp-2" in behind.message) == (
        "control_plane_behind",
        True,
    )
    assert judge_only(cluster(), every, [*CONTROL_PLANE, "w-0"], TO).passed
    assert [each.code for each in judge_only(cluster(), every, ["w-8"], TO).reasons] == ["machine_unknown"]
