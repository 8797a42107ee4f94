"""Upgrades of machines of kubeadm as one call: the control plane one by one, then the workers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.sampled import one_in
from tests.runs.shipped import rights_of_machines
from tests.runs.turns import Killed
from tests.runs.world import World, world
from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.plain_hosts.jobs import over
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

FROM, TO = "1.35.4", "1.36.1"


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone, with hosts."""
    with world() as made:
        yield made


@pytest.fixture
def found(here: World) -> Iterator[Machines]:
    """Three machines of the control plane and three workers, and the user with the shipped rights."""
    with machines(here, FROM, [TO]) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield made


def cordoned(found: Machines) -> list[str]:
    """The machines that are cordoned."""
    return [name for name in found.machines if found.cluster.node(name)["spec"].get("unschedulable")]


def is_upgraded(found: Machines) -> None:
    """Fails unless all is on the target, and nothing is left behind."""
    assert found.cluster.is_upgraded(TO)
    assert cordoned(found) == []
    notes = {each for name in found.machines for each in found.cluster.node(name)["metadata"].get("annotations", {})}
    assert not [each for each in notes if each.startswith("upgrade.stateful/")]
    assert found.cluster.control_plane.least_voters >= 2


def codes(played: Played) -> list[str]:
    """The codes of the reasons with which a playbook ended."""
    said = re.search(r'"upgrade_reasons": (\[[^\]]*\])', played.output)
    return json.loads(said[1]) if said else []


def upgraded(found: Machines, **more: Any) -> Played:
    """A run of the user with the shipped rights, with consent to the present plan."""
    return found.upgraded(TO, user=USER, **more)


def planned(found: Machines, target: str = TO, **more: Any) -> Played:
    """The plan, which changes nothing."""
    given = found.variables(target, user=USER, **more)
    return found.here.play(PLAYBOOK, given, *found.arguments, CHECK)


def applied(found: Machines) -> list[str]:
    """The machines with an `apply`."""
    return [name for name, each in found.machines.items() if any(" apply " in one for one in each.commands.upgrades)]


def test_machines_are_upgraded_one_after_the_other(found: Machines) -> None:
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    assert "6 upgraded to 1.36.1 · everything put back · all machines are Ready" in ended.output
    assert found.cluster.control_plane.elections == 0, "each leader of etcd has handed over first"


def test_a_leader_of_etcd_that_cannot_hand_over_is_named_and_upgraded(found: Machines) -> None:
    found.cluster.control_plane.hands_over = False
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    assert (
        "could not hand its lead over: Error: no leader endpoint. The others elect a leader when it stops."
        in ended.output
    )
    assert found.cluster.control_plane.elections > 0
    assert applied(found) == ["cp-2"], "the leader of etcd goes last"
    steps = [[each.split()[2] for each in one.commands.upgrades] for one in found.machines.values()]
    assert steps == [["node"], ["apply"], ["node"], ["node"], ["node"], ["node"]]


def test_a_second_run_has_nothing_to_do(found: Machines) -> None:
    assert upgraded(found).code == 0
    ran = {name: len(each.commands.ran) for name, each in found.machines.items()}
    found.here.calling.answered.clear()
    again = upgraded(found)
    assert again.code == 0, again.output
    assert "Nothing to do: every machine runs 1.36.1." in again.output
    assert not any(again.changed.values()), again.output
    assert not any(
        " upgrade " in one for name, each in found.machines.items() for one in each.commands.ran[ran[name] :]
    )


@pytest.mark.parametrize("number", one_in(4, range(3, 75, 4)))
def test_a_run_that_is_killed_behind_an_act_goes_on(found: Machines, number: int) -> None:
    with found.here.killing_behind(number), pytest.raises(Killed):
        upgraded(found)
    # The lock of a killed run lapses, and the commands that it has started end.
    found.here.later(900)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


@pytest.mark.parametrize(
    ("target", "code"),
    [("1.35.3", "not_greater"), ("1.37.0", "minor_skipped"), ("latest", "version_unreadable")],
)
def test_a_target_that_kubeadm_cannot_reach_is_refused(found: Machines, target: str, code: str) -> None:
    refused = planned(found, target)
    assert refused.code != 0
    assert code in codes(refused), refused.output


def test_a_failed_step_of_kubeadm_ends_the_run_before_the_drain_and_the_next_one_goes_on(found: Machines) -> None:
    commands = found.machines["cp-2"].commands
    commands.upgrade_fails = "[ERROR ImagePull]: failed to pull image registry.test/kube-apiserver"
    failed = upgraded(found)
    assert failed.code != 0
    assert "[ERROR ImagePull]: failed to pull image" in failed.message
    assert cordoned(found) == []
    assert {each.kubelet.version for each in found.machines.values()} == {FROM}
    commands.upgrade_fails = ""
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_a_failure_of_kubeadm_that_passes_does_not_end_the_run(found: Machines) -> None:
    commands = found.machines["worker-2"].commands
    commands.upgrade_fails = 'Get "https://api.test:6443": dial tcp 10.0.0.1:6443: connect: connection refused'

    def pass_by(_request: Request) -> None:
        commands.upgrade_fails = commands.upgrade_fails if len(commands.upgrades) < 2 else ""

    found.here.calling.after = pass_by
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    assert len(commands.upgrades) > 1
    assert "kubeadm upgrade node has succeeded on worker-2 after" in ended.output
    is_upgraded(found)


def test_nothing_goes_down_before_all_machines_are_prepared(found: Machines) -> None:
    found.machines["worker-3"].packages.available.clear()
    failed = upgraded(found)
    assert failed.code != 0
    assert "worker-3" in failed.message
    assert not any(each.commands.upgrades for each in found.machines.values())
    assert not [path for method, path in found.here.acts() if method == "PATCH" and path.startswith("/api/v1/nodes")]


def test_nothing_is_begun_where_the_look_at_a_machine_fails_or_is_cut_off(found: Machines) -> None:
    consent = {"upgrade_confirm": digest_in(planned(found))}
    given = {**found.variables(TO, user=USER), **consent}
    look = found.machines["worker-2"].modules
    kept = look["stat"]
    look["stat"] = lambda _given: over({"failed": True, "msg": "sudo: a password is required"})
    for shown in (planned(found), found.here.play(PLAYBOOK, given, *found.arguments)):
        assert codes(shown) == ["hosts_unreachable"], shown.output
        assert (
            "reached or seen: worker-2: See whether it is a machine of the control plane: sudo: a password is required."
            in shown.message
        )
    look["stat"] = kept
    door, commands = found.doors["worker-3"], found.machines["worker-3"].commands
    commands.ran.clear()

    def cut_off(_request: Request) -> None:
        if any(each.startswith("df ") for each in commands.ran):
            door.close()

    found.here.calling.after = cut_off
    refused = found.here.play(PLAYBOOK, given, *found.arguments)
    assert codes(refused) == ["hosts_unreachable"], refused.output
    assert "reached or seen: worker-3: its connection was lost" in refused.message
    assert not any(" upgrade " in one for each in found.machines.values() for one in each.commands.ran)
    assert not [path for method, path in found.here.acts() if method == "PATCH" and path.startswith("/api/v1/nodes")]


def test_too_little_space_is_named_with_all_else_before_consent(found: Machines) -> None:
    found.machines["worker-3"].commands.free["/var/lib"] = 2**29
    found.machines["cp-2"].commands.free["/"] = 2**29
    unwell(found, "kube-scheduler", "cp-3")
    found.machines["worker-1"].packages.installed["kubeadm"] = ""
    refused = planned(found)
    assert sorted(codes(refused)) == ["kubeadm_not_installed", "machine_fault"], refused.output
    assert (
        "Machine worker-3 cannot be upgraded as it is. It has too little space: /var/lib has 0.5 GiB free, and 2.0"
        in (refused.message)
    )
    assert "Machine cp-2 cannot be upgraded as it is. It has too little space: / has 0.5 GiB free" in refused.message
    assert codes(planned(found, member_kubeadm_free=0)) == ["kubeadm_not_installed"]
    assert not any(" upgrade " in one for each in found.machines.values() for one in each.commands.ran)


def test_nothing_goes_down_before_the_dry_run_of_kubeadm_passes_on_each_machine(found: Machines) -> None:
    found.machines["worker-3"].written.preflight["SystemVerification"] = "kernel release 4.9.0 is unsupported"
    found.machines["cp-3"].written.preflight["CoreDNSUnsupportedPlugins"] = "CoreDNS cannot migrate these: [federation]"
    failed = upgraded(found)
    assert failed.code != 0
    assert (
        "By its dry run (kubeadm upgrade node) kubeadm 1.36.1 cannot upgrade worker-3, so it was left alone:"
        " SystemVerification: kernel release 4.9.0 is unsupported. Correct the kernel" in failed.message
    )
    assert "(kubeadm upgrade apply) kubeadm 1.36.1 cannot upgrade cp-3" in failed.message
    assert not any(each.commands.upgrades or each.written.left for each in found.machines.values())
    assert cordoned(found) == []
    found.machines["worker-3"].written.preflight.clear()
    ended = upgraded(found, member_kubeadm_arguments=["--ignore-preflight-errors=CoreDNSUnsupportedPlugins"])
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_an_api_behind_one_machine_is_named_in_the_plan(found: Machines, here: World) -> None:
    assert "controlPlaneEndpoint (cp-1:6443) is the address of machine cp-1" in planned(found).output
    configuration = found.cluster.configuration()
    said = configuration["data"]["ClusterConfiguration"].replace("cp-1:6443", "balancer.test:6443")
    here.sandbox.kubernetes.server.resources.store.put(
        CONFIG_MAPS, {**configuration, "data": {"ClusterConfiguration": said}}
    )
    assert "controlPlaneEndpoint" not in planned(found).output


def test_a_machine_that_a_person_has_cordoned_is_upgraded_and_stays_cordoned(found: Machines) -> None:
    node = found.cluster.node("worker-2")
    node["spec"]["unschedulable"] = True
    found.here.sandbox.kubernetes.server.resources.store.put(NODES, node)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    assert found.cluster.is_upgraded(TO)
    assert cordoned(found) == ["worker-2"]
    assert "Machines that another user has cordoned stay cordoned: worker-2." in ended.output


def test_a_control_plane_of_one_machine_takes_consent(here: World) -> None:
    with machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        assert codes(planned(found)) == ["etcd_quorum"]
        ended = upgraded(found, upgrade_allow_quorum_loss=True)
        assert ended.code == 0, ended.output
        assert found.cluster.is_upgraded(TO)


def test_a_control_plane_of_two_machines_is_refused_at_once_or_takes_consent(here: World) -> None:
    with machines(here, FROM, [TO], control_plane=2, workers=1) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        before = here.sandbox.clock.now()
        refused = planned(found)
        assert {*codes(refused)} == {"etcd_quorum"}
        assert "Add a machine to the control plane" in refused.message
        assert here.sandbox.clock.now() - before < 60, "it waits for nothing"
        ended = upgraded(found, upgrade_allow_quorum_loss=True)
        assert ended.code == 0, ended.output
        assert found.cluster.is_upgraded(TO)


def test_a_host_that_is_another_machine_is_refused_before_it_is_touched(found: Machines) -> None:
    resources, status = found.here.sandbox.kubernetes.server.resources, Writing("kubelet", subresource="status")
    ids = {name: f"{number:032x}" for number, name in enumerate(found.machines)}
    for name, own in ids.items():

        def tell(item: Json, own: str = own) -> None:
            item["status"]["nodeInfo"]["machineID"] = own

        resources.change(NODES, "", name, tell, status)
        found.machines[name].lines["/etc/machine-id"] = own
    exchanged = {"worker-1": ids["worker-2"], "worker-2": ids["worker-1"]}
    for name, own in exchanged.items():
        found.machines[name].lines["/etc/machine-id"] = own
    refused = planned(found)
    assert codes(refused) == ["machine_mistaken"], refused.output
    for one, other in (("worker-1", "worker-2"), ("worker-2", "worker-1")):
        assert f"not that of Kubernetes node {one}, but that of Kubernetes node {other}." in refused.message
    for name in exchanged:
        found.machines[name].lines["/etc/machine-id"] = ids[name]
    assert planned(found).code == 0


def test_a_member_of_etcd_whose_machine_is_gone_counts_until_it_is_removed(found: Machines) -> None:
    found.cluster.control_plane.lost = ["cp-9"]
    refused = planned(found)
    assert codes(refused) == ["etcd_member_without_machine"], refused.output
    assert "etcd counts 4 members, 1 more than the control plane has machines: cp-9." in refused.message
    found.cluster.control_plane.lost = []
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_etcd_is_asked_for_its_majority_immediately_before_a_machine_goes(found: Machines) -> None:
    plane = found.cluster.control_plane

    def join(_request: Request) -> None:
        # A member that was added after the plan, and does not start.
        if any("snapshot save" in line for each in found.machines.values() for line in each.commands.ran):
            plane.lost = ["cp-9"]

    found.here.calling.after = join
    ended = upgraded(found)
    assert ended.code != 0
    said = (
        "Without this member 2 of 4 members of etcd answer (no answer now: cp-9), which is no majority. So nothing was"
    )
    assert said in ended.message, ended.output
    assert not any(each.commands.upgrades for each in found.machines.values())
    assert cordoned(found) == []
    found.here.calling.after = lambda _request: None
    plane.lost = []
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def unwell(found: Machines, component: str, name: str) -> None:
    """The container of a static pod crashes again and again until its manifest changes."""
    store = found.here.sandbox.kubernetes.server.resources.store
    pod = store.kept(PODS, "kube-system", f"{component}-{name}")
    assert pod is not None
    with_condition(pod, "Ready", "False", pod["metadata"]["creationTimestamp"], reason="ContainersNotReady")
    store.put(PODS, pod)


@pytest.mark.parametrize("name", ["cp-3", "cp-1"])
def test_a_machine_with_a_component_that_is_not_ready_goes_first(found: Machines, name: str) -> None:
    unwell(found, "kube-scheduler", name)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    assert re.search(f"1   {name} .*; first, since components on it are not Ready", ended.output)
    is_upgraded(found)
    assert applied(found) == [name]
    assert found.cluster.control_plane.elections == 0


def test_the_plan_waits_for_a_member_of_etcd_that_is_not_ready(found: Machines) -> None:
    unwell(found, "etcd", "cp-3")
    assert {*codes(planned(found, upgrade_gate_timeout=60))} >= {"component_unwell", "etcd_quorum"}


def test_a_gate_of_a_workload_that_fails_ends_the_run_with_the_machine_up(found: Machines, tmp_path: Path) -> None:
    gate = tmp_path / "gate.yml"
    gate.write_text(
        "- ansible.builtin.fail: {msg: a shard is not safe}\n  when: \"'worker-1' in upgrade_batch.members\"\n"
    )
    failed = upgraded(found, upgrade_workload_gate=str(gate))
    assert failed.code != 0
    assert "a shard is not safe" in failed.message
    assert cordoned(found) == []
    assert [each.kubelet.version for each in found.machines.values()] == [TO, TO, TO, FROM, FROM, FROM]


def test_a_gate_of_a_workload_is_asked_again_before_the_drain(found: Machines, tmp_path: Path) -> None:
    """What it has said is minutes old once kubeadm has upgraded the machine."""
    gate = tmp_path / "gate.yml"
    gate.write_text(
        '- ansible.builtin.set_fact: {asked: "{{ asked | default(0) | int + 1 }}"}\n'
        "- ansible.builtin.fail: {msg: a shard is not safe any more}\n"
        "  when: asked | int > 1 and 'worker-1' in upgrade_batch.members\n"
    )
    failed = upgraded(found, upgrade_workload_gate=str(gate))
    assert failed.code != 0
    assert "a shard is not safe any more" in failed.message
    assert any("kubeadm upgrade node" in each for each in found.machines["worker-1"].commands.ran)
    assert cordoned(found) == []
    assert [each.kubelet.version for each in found.machines.values()] == [TO, TO, TO, FROM, FROM, FROM]
    assert upgraded(found).code == 0


def test_without_a_right_the_plan_names_it(here: World) -> None:
    with machines(here, FROM, [TO]) as found:
        here.sandbox.apply([each for each in rights_of_machines(NAMESPACE) if each["kind"] != "ClusterRoleBinding"])
        refused = planned(found)
        assert refused.code != 0
        assert "nodes" in refused.message
