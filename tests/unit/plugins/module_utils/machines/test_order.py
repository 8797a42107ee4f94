"""The order of the machines, and how kubeadm upgrades each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.order import (
    courses,
    digest,
    narrowed,
    snapshots,
    turns,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.facts import EtcdMember, MachineFacts
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import KubeadmCluster
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, FROM, GROUPS, TO, cluster, components, machine

HOPS = (Release.parse(TO),)
LEADER = {
    "cp-0": MachineFacts(FROM, etcd=EtcdMember("7", "7", 120)),
    "cp-1": MachineFacts(FROM, etcd=EtcdMember("8", "7", 120)),
}


def names(seen: KubeadmCluster, most: str | None = None) -> list[list[str]]:
    return [[*each.members] for each in turns(seen, GROUPS, HOPS, LEADER, most)]


def test_the_control_plane_goes_one_by_one_with_the_leader_of_etcd_last_and_then_the_workers() -> None:
    assert names(cluster()) == [["cp-1"], ["cp-2"], ["cp-0"], ["w-0"], ["w-1"], ["w-2"]]
    last = turns(cluster(), GROUPS, HOPS, LEADER)[2]
    assert (last.reason, last.proof) == (
        "the last of the control plane, since its member of etcd leads",
        "etcd keeps 2 of 3 members",
    )


def test_unhealthy_components_on_a_ready_machine_go_first_and_then_what_a_person_wants() -> None:
    seen = cluster(machine("cp-1", canary=True), parts=components("cp-2", ready=False))
    assert names(seen)[:3] == [["cp-2"], ["cp-1"], ["cp-0"]]
    unready = cluster(machine("cp-2", ready=False), parts=components("cp-2", ready=False))
    assert names(unready)[:3] == [["cp-1"], ["cp-2"], ["cp-0"]]
    assert turns(unready, GROUPS, HOPS, LEADER)[1].reason == "next of the control plane"


def test_unhealthy_components_go_first_even_where_the_leader_of_etcd_is() -> None:
    first = turns(cluster(parts=components("cp-0", ready=False)[:1]), GROUPS, HOPS, LEADER)[0]
    assert (first.members, first.reason) == (["cp-0"], "first, since components on it are not Ready")


def test_a_canary_goes_before_the_workers_of_its_group() -> None:
    assert names(cluster(machine("w-2", canary=True)), "3")[3:] == [["w-2"], ["w-0", "w-1"]]


def test_a_machine_with_work_that_goes_on_is_finished_before_a_canary_and_before_other_groups() -> None:
    groups = {"control plane": CONTROL_PLANE, "a": ["w-0", "w-1"], "b": ["w-2"]}
    seen = replace(cluster(machine("w-0", canary=True)), at_work=frozenset({"w-2"}))
    found = turns(seen, groups, HOPS, LEADER)[3:]
    assert [each.members for each in found] == [["w-2"], ["w-0"], ["w-1"]]
    assert found[0].reason == "first, since a run has begun to upgrade it"


@pytest.mark.parametrize(
    ("most", "expected"),
    [(None, [["w-1"], ["w-0"], ["w-2"]]), ("2", [["w-1"], ["w-0", "w-2"]]), ("100%", [["w-1"], ["w-0", "w-2"]])],
)
def test_workers_of_a_batch_are_of_one_zone(most: str | None, expected: list[list[str]]) -> None:
    seen = cluster(machine("w-0", zone="b"), machine("w-1", zone="a"), machine("w-2", zone="b"))
    assert names(seen, most)[3:] == expected


def test_workers_that_hold_all_copies_of_something_go_apart() -> None:
    placement = Placement([frozenset({"w-0", "w-1"}), frozenset({"w-2"})])
    found = turns(cluster(), GROUPS, HOPS, LEADER, "2", placement)[3:]
    assert [each.members for each in found] == [["w-0", "w-2"], ["w-1"]]
    kept = "every copy and vote of the databases on them has another elsewhere"
    assert [each.proof for each in found] == [
        f"workers keeps 1 of its 3 workers, {kept}, and evictions respect every budget",
        "workers keeps 2 of its 3 workers, and evictions respect every budget",
    ]


def test_a_machine_on_the_target_is_left_out_and_one_with_an_old_component_is_not() -> None:
    done = machine("cp-1", kubelet=TO)
    assert names(cluster(done, parts=components("cp-1", TO)))[:2] == [["cp-2"], ["cp-0"]]
    assert names(cluster(done))[0] == ["cp-1"]


def test_the_first_machine_of_the_control_plane_gets_apply_and_all_others_node() -> None:
    assert courses(cluster(), ["cp-1"], TO) == {"cp-1": "apply"}
    assert courses(cluster(configured=TO), ["cp-1"], TO) == {"cp-1": "node"}
    assert courses(cluster(), ["w-0"], TO) == {"w-0": "node"}


def test_where_cluster_api_owns_the_control_plane_all_get_node() -> None:
    seen = cluster(*[machine(name, owner="KubeadmControlPlane") for name in CONTROL_PLANE])
    assert courses(seen, ["cp-0"], TO) == {"cp-0": "node"}


def test_etcd_is_saved_before_the_first_machine_of_the_control_plane_whoever_owns_it() -> None:
    assert snapshots(cluster(), ["cp-1", "w-0"], TO) == ["cp-1"]
    assert snapshots(cluster(configured=TO), ["cp-1"], TO) == []
    owner = "KubeadmControlPlane"
    owned = [machine(name, owner=owner) for name in CONTROL_PLANE]
    # Cluster API has written the configuration before the first machine goes.
    assert snapshots(cluster(*owned, configured=TO), ["cp-1", "w-0"], TO) == ["cp-1"]
    assert snapshots(cluster(*owned[1:], machine("cp-0", kubelet=TO, owner=owner), configured=TO), ["cp-1"], TO) == []


def test_consent_covers_the_machines_and_not_how_far_they_are() -> None:
    assert digest(HOPS, GROUPS, None) == digest(HOPS, {each: GROUPS[each][::-1] for each in reversed(GROUPS)}, "1")
    further = (*HOPS, Release.parse("1.37.1"))
    others = [(HOPS, GROUPS, "2"), ((Release.parse(FROM),), GROUPS, None), (HOPS, {}, None), (further, GROUPS, None)]
    assert len({digest(HOPS, GROUPS, None), *(digest(*each) for each in others)}) == 5


def test_a_machine_that_is_half_upgraded_is_finished_before_another_is_chosen() -> None:
    cordoned = cluster(machine("w-2", carries_undo=True), machine("w-1", canary=True))
    assert names(cordoned)[3:] == [["w-2"], ["w-1"], ["w-0"]]
    # A killed `kubeadm upgrade apply` writes the version of the cluster behind the control plane of its machine.
    for configured in (FROM, TO):
        half = cluster(machine("cp-2", canary=True), parts=components("cp-0", TO), configured=configured)
        assert names(half)[:3] == [["cp-0"], ["cp-2"], ["cp-1"]], "even the leader"


THROUGH = (Release.parse(TO), Release.parse("1.37.2"))


def test_each_machine_goes_to_each_version_and_all_to_one_before_one_to_the_next() -> None:
    found = turns(cluster(machine("w-2", carries_undo=True)), GROUPS, THROUGH, LEADER)
    first = [("cp-1",), ("cp-2",), ("cp-0",), ("w-2",), ("w-0",), ("w-1",)]
    # After the first version nothing is half upgraded, and no one knows which member of etcd leads.
    second = [("cp-0",), ("cp-1",), ("cp-2",), ("w-0",), ("w-1",), ("w-2",)]
    assert [(each.target, tuple(each.members)) for each in found] == [
        *((TO, names) for names in first),
        *(("", names) for names in second),
    ]
    assert (found[0].reason, found[-1].reason) == (
        f"next of the control plane, to {TO}",
        "next of workers, to 1.37.2",
    )


def test_a_chain_goes_on_where_it_was() -> None:
    done = [machine(name, kubelet=TO) for name in (*CONTROL_PLANE, "w-0")]
    parts = [each for name in CONTROL_PLANE for each in components(name, TO)]
    found = turns(cluster(*done, parts=parts, configured=TO), GROUPS, THROUGH, {})
    assert [tuple(each.members) for each in found if each.target] == [("w-1",), ("w-2",)]
    assert [tuple(each.members) for each in found if not each.target][-3:] == [("w-0",), ("w-1",), ("w-2",)]
    further = [machine("cp-0", kubelet="1.37.2"), *done[1:], machine("w-1", kubelet=TO), machine("w-2", kubelet=TO)]
    parts = [*parts, *components("cp-0", "1.37.2")]
    found = turns(cluster(*further, parts=parts, configured="1.37.2"), GROUPS, THROUGH, {})
    assert [(each.target, tuple(each.members)) for each in found][:2] == [("", ("cp-1",)), ("", ("cp-2",))]


def test_a_run_is_narrowed_to_machines() -> None:
    assert narrowed(GROUPS, []) == GROUPS
    assert narrowed(GROUPS, ["w-1", "w-9"]) == {"workers": ["w-1"]}


@pytest.mark.parametrize("hops", [HOPS, (Release.parse("1.36.0"), *HOPS)])
@pytest.mark.parametrize(
    ("facts", "goes"), [(None, True), (MachineFacts(TO), True), (MachineFacts(TO, under_way=False), False)]
)
def test_a_machine_on_the_target_gets_a_batch_until_the_end_of_its_operation_was_read(
    hops: tuple[Release, ...], facts: MachineFacts | None, goes: bool
) -> None:
    done = machine("w-1", kubelet=TO, operation="p1-1")
    known = {**LEADER, **({"w-1": facts} if facts is not None else {})}
    found = [each for each in turns(cluster(done), GROUPS, hops, known) if "w-1" in each.members]
    assert [each.target for each in found] == ([""] if goes else []), "only for the last version"
    newer = machine("w-1", kubelet="1.37.0", operation="p1-1")
    assert not [each for each in turns(cluster(newer), GROUPS, hops, known) if "w-1" in each.members]


def test_a_machine_whose_agent_may_be_at_work_is_finished_first() -> None:
    seen = cluster(machine("w-2", operation="p1-1"), machine("w-1", canary=True))
    assert names(seen)[3:] == [["w-2"], ["w-1"], ["w-0"]]
