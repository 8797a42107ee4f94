"""Whether a kubeadm cluster is fit for machines to go down."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.fitness import (
    judge_control_plane,
    judge_counted,
    judge_facts,
    judge_machines,
    judge_members,
    judge_quorum,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.facts import (
    EtcdMember,
    KubeadmCertificate,
    MachineFacts,
    facts_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import (
    Component,
    KubeadmCluster,
    machine_id_in,
)

from tests.unit.plugins.module_utils.machines.seen import CONTROL_PLANE, FROM, GROUPS, TO, cluster, components, machine

NOW = datetime(2026, 11, 28, tzinfo=timezone.utc)
ONE = KubeadmCluster(FROM, machines={"cp-0": machine("cp-0")}, components=tuple(components("cp-0")))
ETCD = EtcdMember("7", "8", 12)


def codes(verdict: Verdict) -> list[str]:
    return [each.code for each in verdict.reasons]


def test_the_inventory_has_the_machines_of_the_cluster() -> None:
    assert codes(judge_members(cluster(), GROUPS, TO)) == []
    assert codes(judge_members(cluster(), {**GROUPS, "more": ["w-9"]}, TO)) == ["machine_unknown"]
    without = {"control_plane": ["cp-0", "cp-1"], "workers": ["w-0"]}
    assert codes(judge_members(cluster(), without, TO)) == ["control_plane_left_out", "machines_left"]


def test_a_machine_is_named_once() -> None:
    """In two batches its host would be in a play only once, and the sizes of all batches would be wrong."""
    (twice,) = judge_members(cluster(), {**GROUPS, "gpu": ["w-1"]}, TO).reasons
    assert (twice.state, twice.code) == (State.REFUSED, "machine_named_twice")
    assert twice.message == "upgrade_groups name machines more than once: w-1 (workers, gpu)."
    by_two_hosts = {**GROUPS, "workers": ["w-0", "w-1", "w-1", "w-2"]}
    assert codes(judge_members(cluster(), by_two_hosts, TO)) == ["machine_named_twice"]


def test_machines_on_the_target_need_not_be_in_the_inventory() -> None:
    done = cluster(machine("cp-2", kubelet=TO), parts=components("cp-2", TO))
    assert codes(judge_members(done, {**GROUPS, "control_plane": ["cp-0", "cp-1"]}, TO)) == []


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"ready": False}, ["kubernetes_node_unfit"]),
        ({"pressures": ("has nearly no process ids left",)}, ["kubernetes_node_unfit"]),
        ({"leaving": True}, ["machine_leaving"]),
        ({"closed": True}, ["stays_cordoned"]),
        ({"closed": True, "carries_undo": True}, []),
    ],
)
def test_a_machine_that_is_not_fit(own: dict[str, object], expected: list[str]) -> None:
    assert codes(judge_machines(cluster(machine("w-1", **own)), ["w-1"])) == expected


def test_a_component_that_is_not_ready_is_waited_for_unless_its_machine_goes() -> None:
    seen = cluster(parts=components("cp-1", ready=False)[:1])
    assert codes(judge_control_plane(seen)) == ["component_unwell"]
    assert codes(judge_control_plane(seen, ["cp-1"])) == []
    etcd = cluster(parts=components("cp-1", ready=False))
    assert codes(judge_control_plane(etcd, ["cp-1"])) == []
    (reason,) = judge_control_plane(etcd, ["cp-1"], etcd_too=True).reasons
    assert reason.message == "etcd on machine cp-1 is not Ready.", "kubeadm would not start"


def test_etcd_keeps_its_majority() -> None:
    assert codes(judge_quorum(cluster(), ["cp-0"], accepted=False)) == []
    away = [Component("etcd", "cp-1", "3.6.5-0", ready=False)]
    waits = judge_quorum(cluster(parts=away), ["cp-0"], accepted=True)
    assert (codes(waits), waits.state) == (["etcd_quorum"], State.WAITING)
    assert codes(judge_quorum(cluster(parts=away), ["cp-1"], accepted=False)) == []
    assert judge_quorum(cluster(), ["cp-0", "cp-1"], accepted=False).state is State.REFUSED
    assert codes(judge_quorum(cluster(), ["w-0", "w-1"], accepted=False)) == []


def test_a_control_plane_of_one_machine_takes_consent() -> None:
    assert judge_quorum(ONE, ["cp-0"], accepted=False).state is State.REFUSED
    assert codes(judge_quorum(ONE, ["cp-0"], accepted=True)) == ["no_api_meanwhile"]


def of(*names: str, parts: tuple[str, ...], away: tuple[str, ...] = ()) -> KubeadmCluster:
    """A control plane of these machines. Those of `parts` have their pods, and those of `away` no Ready ones."""
    found = [each for name in parts for each in components(name, ready=name not in away)]
    machines = {name: machine(name) for name in names}
    return KubeadmCluster(FROM, machines=machines, components=tuple(found))


def test_of_two_members_of_etcd_one_is_no_majority_however_well_both_are() -> None:
    two = of("cp-0", "cp-1", parts=("cp-0", "cp-1"))
    verdict = judge_quorum(two, ["cp-0"], accepted=False)
    assert verdict.state is State.REFUSED
    assert [each.sentence() for each in verdict.reasons] == [
        "While cp-0 is away etcd has at most 1 of 2 members, which is no majority, so that no API server answers. Add a"
        " machine to the control plane, or set allow_quorum_loss if pods may run without it for some minutes."
    ]
    allowed = judge_quorum(two, ["cp-0"], accepted=True)
    assert (codes(allowed), allowed.state) == (["no_api_meanwhile"], State.PASSED)


def test_with_consent_the_last_member_that_is_ready_does_not_go() -> None:
    seen = of("cp-0", "cp-1", parts=("cp-0", "cp-1"), away=("cp-1",))
    waits = judge_quorum(seen, ["cp-0"], accepted=True)
    assert (codes(waits), waits.state) == (["etcd_quorum"], State.WAITING)
    assert codes(judge_quorum(seen, ["cp-1"], accepted=True)) == ["no_api_meanwhile"], "it takes none away"


@pytest.mark.parametrize("parts", [("cp-0", "cp-1"), ("cp-0",)])
def test_a_machine_whose_pod_of_etcd_is_missing_may_come_back(parts: tuple[str, ...]) -> None:
    waits = judge_quorum(of("cp-0", "cp-1", "cp-2", parts=parts), ["cp-0"], accepted=True)
    assert (codes(waits), waits.state) == (["etcd_quorum"], State.WAITING)
    assert f"{len(parts) - 1} of 3 members Ready" in waits.reasons[0].message


def test_the_facts_of_the_machines() -> None:
    well = MachineFacts(FROM, etcd=ETCD)

    def judged(**facts: MachineFacts) -> list[str]:
        found = {**dict.fromkeys(CONTROL_PLANE, well), **{name.replace("_", "-"): each for name, each in facts.items()}}
        return codes(judge_facts(cluster(), found, CONTROL_PLANE, NOW))

    assert judged(cp_0=well) == []
    assert judged(cp_0=MachineFacts("", etcd=ETCD)) == ["kubeadm_not_installed"]
    assert judged(cp_0=MachineFacts(FROM, (KubeadmCertificate("apiserver", NOW - timedelta(1)),), ETCD)) == [
        "certificate_ended"
    ]
    assert judged(cp_0=MachineFacts(FROM, (KubeadmCertificate("apiserver", NOW + timedelta(9)),), ETCD)) == [
        "certificates_end"
    ]
    assert judged(cp_0=MachineFacts(FROM, (KubeadmCertificate("etcd-ca", NOW + timedelta(9)),), ETCD)) == [
        "authorities_end"
    ]
    external = KubeadmCertificate("apiserver", NOW + timedelta(9), external=True)
    assert judged(cp_0=MachineFacts(FROM, (external,), ETCD)) == ["external_certificates_end"]
    assert judged(cp_0=MachineFacts(FROM, (replace(external, name="ca"),), ETCD)) == ["authorities_end"]
    assert judged(cp_0=MachineFacts(FROM, (replace(external, expires=NOW),), ETCD)) == ["certificate_ended"]
    assert judged(cp_0=MachineFacts(FROM)) == ["etcd_leader_unknown"]


def test_machines_of_the_control_plane_at_which_nothing_has_looked_are_named() -> None:
    (reason,) = judge_facts(cluster(), {"cp-0": MachineFacts(FROM, etcd=ETCD)}, [*CONTROL_PLANE, "w-0"], NOW).reasons
    assert reason.code == "control_plane_not_seen"
    assert "cp-1, cp-2 itself" in reason.message


@pytest.mark.parametrize(
    ("own", "there", "said"),
    [
        ("a" * 32, "a" * 32, None),
        ("", "a" * 32, None),
        ("a" * 32, "", None),
        ("b" * 32, "a" * 32, ", but that of Kubernetes node w-1."),
        ("c" * 32, "a" * 32, "."),
    ],
)
def test_a_host_that_is_another_machine_is_refused(own: str, there: str, said: str | None) -> None:
    seen = cluster(machine("w-0", machine_id=there), machine("w-1", machine_id="b" * 32))
    found = judge_facts(seen, {"w-0": MachineFacts(FROM, machine_id=own)}, ["w-0"], NOW).reasons
    assert [each.code for each in found] == ([] if said is None else ["machine_mistaken"])
    for each in found:
        assert each.message == (
            "The host of machine w-0 is another machine: its /etc/machine-id is not that of Kubernetes node w-0"
            f"{said or ''}"
        )


@pytest.mark.parametrize(("own", "codes"), [("c" * 32, []), ("b" * 32, ["machine_mistaken"])])
def test_a_machine_that_starts_may_have_got_another_id_and_not_that_of_another_one(own: str, codes: list[str]) -> None:
    seen = cluster(machine("w-0", machine_id="a" * 32, ready=False), machine("w-1", machine_id="b" * 32))
    found = judge_facts(seen, {"w-0": MachineFacts(FROM, machine_id=own)}, ["w-0"], NOW).reasons
    assert [each.code for each in found] == codes


@pytest.mark.parametrize(
    ("said", "found"),
    [("A" * 32 + "\n", "a" * 32), ("", ""), ("uninitialized\n", ""), ("a" * 31, ""), ("worker-1", "")],
)
def test_only_an_id_as_systemd_makes_it_says_which_machine_it_is(said: str, found: str) -> None:
    assert machine_id_in(said) == found


def test_facts_are_read_strictly() -> None:
    given = {
        "kubeadm": "v1.35.1",
        "certificates": [{"name": "apiserver", "expires": "2027-01-01T00:00:00Z", "external": True}],
        "etcd": {"member": "7", "leader": "7", "revision": 4},
    }
    found = facts_in({"cp-0": given, "w-0": {}})
    assert ([*found], found["cp-0"].kubeadm) == (["cp-0"], "1.35.1")
    assert [each.external for each in found["cp-0"].certificates] == [True]
    assert found["cp-0"].etcd is not None
    assert found["cp-0"].etcd.leads
    with pytest.raises(NotUnderstood):
        facts_in({"cp-0": {**given, "etcd": {"member": 7}}})


def test_each_fault_that_a_role_has_found_on_a_machine_refuses_the_plan() -> None:
    given = {"kubeadm": FROM, "faults": [{"said": "It has too little space.", "remedy": "Make room there."}]}
    facts = facts_in({"w-0": given, "w-1": given, "w-2": {"kubeadm": FROM}})
    found = judge_facts(cluster(), facts, ["w-0", "w-2"], NOW).reasons
    assert [(each.code, each.sentence()) for each in found] == [
        ("machine_fault", "Machine w-0 cannot be upgraded as it is. It has too little space. Make room there.")
    ]


def counted(*names: str, going: str = "cp-0", accepted: bool = False) -> Verdict:
    """Whether a machine of three may go if etcd counts these members."""
    return judge_counted(
        cluster(), {"cp-1": MachineFacts(FROM, etcd=EtcdMember("7", "8", 12, names))}, [going], accepted=accepted
    )


def test_members_of_etcd_without_a_machine_count_for_its_majority() -> None:
    assert counted(*CONTROL_PLANE).reasons == ()
    assert counted(*CONTROL_PLANE, "cp-9", going="w-0").reasons == ()
    (reason,) = counted(*CONTROL_PLANE, "cp-9").reasons
    assert (reason.state, reason.code) == (State.REFUSED, "etcd_member_without_machine")
    assert reason.message == (
        "etcd counts 4 members, 1 more than the control plane has machines: cp-9. With one machine away at most 2 of"
        " them are Ready, which is no majority: no API server answers."
    )
    assert counted(*CONTROL_PLANE, "cp-9", accepted=True).passed
    # Under names that are not those of machines each of them may be the one.
    assert "machines: a, b, c, d." in counted("a", "b", "c", "d").reasons[0].message
    assert judge_counted(cluster(), {"cp-1": MachineFacts(FROM)}, ["cp-0"], accepted=False).reasons == ()


def test_a_member_without_a_machine_is_a_remark_where_the_majority_stays() -> None:
    names = [f"cp-{each}" for each in range(5)]
    parts = [one for name in names for one in components(name)]
    five = KubeadmCluster(FROM, machines={name: machine(name) for name in names}, components=tuple(parts))
    facts = {"cp-1": MachineFacts(FROM, etcd=EtcdMember("7", "8", 12, (*names, "cp-9")))}
    assert [each.state for each in judge_counted(five, facts, ["cp-0"], accepted=False).reasons] == [State.PASSED]
