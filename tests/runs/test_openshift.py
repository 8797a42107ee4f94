"""Upgrades of OpenShift as one call: the control plane, then its workers, batch by batch."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.observer.looking import RECORD
from tests.runs.openshift import NAMESPACE, PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.sampled import one_in
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.asking import GRAPH, NEXT, SMALL, history, pool
from tests.sandbox.openshift.description import OPERATORS, ConditionalEdge, Described, Risk
from tests.sandbox.openshift.habits import KIND, Habits, Pace
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, POOLS, VERSION, VERSIONS, annotations_of, rendered
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import PLAN, Played, digest_in

SETTLE = "stateful.upgrade.settle"
TARGET = "4.18.2"
RISKY = replace(GRAPH, edges=(), conditional=(ConditionalEdge("4.18.1", TARGET, (Risk("SlowPods"),)),))


class CalledOpenShift:
    """An OpenShift with the user who upgrades it."""

    def __init__(
        self, here: World, described: Described = SMALL, habits: Habits = KIND, pace: Pace | None = None
    ) -> None:
        self.here, self.described = here, described
        self.openshift = OpenShift(described, habits, pace, here.sandbox.kubernetes)
        here.sandbox.apply(shipped_rights())

    def variables(self, **more: Any) -> dict[str, Any]:
        """The variables of the playbook, without consent."""
        kubernetes = {"kubeconfig": str(self.here.sandbox.kubeconfig(USER))}
        own = {"target_version": TARGET, "upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes}
        return {**own, **more}

    def plan(self, **more: Any) -> Played:
        """The plan, which changes nothing."""
        planned = self.here.play(PLAN, {**self.variables(**more), **SYSTEM})
        assert not self.openshift.observer.writes
        return planned

    def agreed(self, **more: Any) -> dict[str, Any]:
        """The variables with consent to the present plan."""
        planned = self.here.play(PLAN, {**self.variables(**more), **SYSTEM})
        assert planned.code == 0, planned.output
        return {**self.variables(**more), "upgrade_confirm": digest_in(planned)}

    def upgrade(self, **more: Any) -> Played:
        """Plan, consent and upgrade."""
        return self.here.play(PLAYBOOK, self.agreed(**more))

    def record(self) -> dict[str, Any]:
        """The record of its one upgrade."""
        maps = self.openshift.resources.store.each(CONFIG_MAPS, NAMESPACE)
        (found,) = [each["data"][RECORD] for each in maps if RECORD in (each.get("data") or {})]
        return dict(json.loads(found))

    def paused(self) -> list[str]:
        """The pools that are paused."""
        names = [each.name for each in self.described.pools]
        return [name for name in names if self.openshift.pool(name)["spec"].get("paused")]

    def on_target(self) -> set[str]:
        """The Kubernetes nodes with the configuration of the target."""
        return {
            node.name
            for each in self.described.pools
            for node in each.nodes
            if annotations_of(self.openshift.node(node.name))[CURRENT] == rendered(each.name, TARGET)
        }

    def is_upgraded(self) -> None:
        """Fails unless all is on the target, wanted once, and nothing is left behind."""
        assert history(self.openshift)[0] == (TARGET, "Completed")
        assert self.on_target() == {node.name for each in self.described.pools for node in each.nodes}
        assert self.paused() == []
        for each in self.described.pools:
            assert not self.openshift.get(POOLS, each.name)["metadata"].get("annotations")
        assert self.openshift.observer.breaches == []
        assert len(self.openshift.observer.writes_of("spec.desiredUpdate")) == 1


def codes(played: Played) -> list[str]:
    """The codes of the reasons with which a playbook ended."""
    found = re.search(r'"upgrade_reasons": (\[[^\]]*\])', played.output)
    return json.loads(found[1]) if found else []


def test_an_upgrade_at_the_worst_pace_of_the_operators(here: World) -> None:
    cluster = CalledOpenShift(here, habits=Habits())
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert "Done in " in ended.output
    assert "everything put back" in ended.output


def test_a_second_run_has_nothing_to_do(here: World) -> None:
    cluster = CalledOpenShift(here)
    assert cluster.upgrade().code == 0
    before = len(cluster.openshift.observer.writes)
    again = cluster.upgrade()
    assert again.code == 0, again.output
    assert len(cluster.openshift.observer.writes) == before


@pytest.mark.parametrize("number", one_in(3, range(1, 28, 2)))
def test_a_run_that_is_killed_behind_an_act_goes_on(here: World, number: int) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 2))))
    given = cluster.agreed()
    killed = here.killed_behind(number, given, PLAYBOOK)
    assert killed is None, killed.output
    # The lock of a killed run lapses.
    cluster.openshift.clock.advance(120)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


QUICK = Pace(pool=2.0, daemon=1.0, prepare=1.0)


@pytest.mark.parametrize("pace", [None, QUICK], ids=["with restarts", "within seconds"])
def test_the_workloads_are_asked_before_each_batch(here: World, tmp_path: Path, pace: Pace | None) -> None:
    """Also if Kubernetes nodes are done so soon that the next one is taken a few seconds after the first."""
    cluster = CalledOpenShift(here, pace=pace)
    cluster.openshift.controllers.daemons.needs_no_restart = pace is QUICK
    gate = tmp_path / "gate.yml"
    gate.write_text(
        "- name: See that the database is whole\n"
        "  ansible.builtin.fail:\n"
        "    msg: One copy is away.\n"
        "  when: upgrade_batch.members == ['worker-1']\n"
    )
    ended = cluster.upgrade(upgrade_workload_gate=str(gate))
    assert ended.code != 0
    assert "One copy is away." in ended.output
    assert "MachineConfigPool worker stays paused, with 2 Kubernetes nodes left to update." in ended.output
    assert cluster.on_target() == {"master-0", "master-1", "master-2", "worker-0"}
    cluster.openshift.clock.advance(3600)
    assert cluster.on_target() == {"master-0", "master-1", "master-2", "worker-0"}
    assert cluster.paused() == ["worker"]
    assert cluster.upgrade().code == 0
    cluster.is_upgraded()


def test_settle_lets_the_machine_config_operator_go_on(here: World, tmp_path: Path) -> None:
    cluster = CalledOpenShift(here)
    gate = tmp_path / "gate.yml"
    gate.write_text("- name: Never\n  ansible.builtin.fail:\n    msg: Not yet.\n")
    assert cluster.upgrade(upgrade_workload_gate=str(gate)).code != 0
    assert history(cluster.openshift)[0] == ("4.18.1", "Completed")
    assert cluster.paused() == []
    kept = tmp_path / "kept.yml"
    kept.write_text(
        "- name: Only the control plane\n"
        "  ansible.builtin.fail:\n"
        "    msg: Not yet.\n"
        "  when: upgrade_batch.members | length == 1\n"
    )
    assert cluster.upgrade(upgrade_workload_gate=str(kept)).code != 0
    assert cluster.paused() == ["worker"]
    settled = here.play(SETTLE, {**cluster.variables(), **SYSTEM})
    assert settled.code == 0, settled.output
    assert cluster.openshift.until(cluster.openshift.upgrade_done)
    cluster.is_upgraded()


def test_an_abort_leaves_the_workers_to_a_later_run_and_not_to_the_operator(here: World) -> None:
    cluster = CalledOpenShift(here)
    given = cluster.agreed()
    assert here.killed_behind(20, given, PLAYBOOK) is None
    # The lock of a killed run lapses.
    cluster.openshift.clock.advance(120)
    own = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")} | SYSTEM
    aborted = here.play("stateful.upgrade.abort", own)
    assert aborted.code == 0, aborted.output
    assert "MachineConfigPool worker stays paused, with 3 Kubernetes nodes left to update." in aborted.output
    assert cluster.paused() == ["worker"]
    assert '"aborted_on_request"' in here.play(PLAYBOOK, given).output
    cluster.openshift.clock.advance(3600)
    assert len(cluster.on_target()) == 3
    assert here.play("stateful.upgrade.resume", own).code == 0
    ended = here.play(PLAYBOOK, cluster.agreed())
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_a_pool_that_a_person_has_paused_stays_as_it_is(here: World) -> None:
    cluster = CalledOpenShift(
        here, replace(SMALL, pools=(pool("master"), pool("worker"), pool("infra", 2, paused=True)))
    )
    planned = cluster.plan()
    assert "MachineConfigPool infra is paused by another user" in planned.output
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert cluster.paused() == ["infra"]
    assert not {"infra-0", "infra-1"} & cluster.on_target()


def test_an_operator_that_is_degraded_at_the_end_is_waited_for(here: World) -> None:
    cluster = CalledOpenShift(here)
    faults, clock = cluster.openshift.faults, cluster.openshift.clock

    def is_last(item: Json) -> bool:
        return item["metadata"]["name"] == "worker-2" and annotations_of(item)[CURRENT] == rendered("worker", TARGET)

    def degrade() -> None:
        faults.operator_stays_degraded("etcd")
        clock.later(1200.0, lambda: faults.operator_mended("etcd"))

    faults.when(NODES, is_last, degrade)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert "ClusterOperator etcd is degraded" in ended.output
    cluster.is_upgraded()


@pytest.mark.parametrize("own", [2, "50%"])
def test_fewer_are_taken_at_a_time_than_the_pool_allows(here: World, own: int | str) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 4, max_unavailable=own))))
    assert "pause of 1 pool, maxUnavailable of 1 pool" in cluster.plan(upgrade_max_unavailable=1).output
    given = cluster.agreed(upgrade_max_unavailable=1)
    away = set[int]()

    def look(_request: Request) -> None:
        notes = [annotations_of(cluster.openshift.node(f"worker-{place}")) for place in range(4)]
        away.add(sum(each[CURRENT] != each[DESIRED] for each in notes))

    here.calling.after = look
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert away == {0, 1}
    cluster.is_upgraded()
    assert cluster.openshift.pool("worker")["spec"]["maxUnavailable"] == own


def test_a_pool_that_an_earlier_run_has_held_gets_fewer_too(here: World, tmp_path: Path) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 2, max_unavailable=2))))
    gate = tmp_path / "gate.yml"
    gate.write_text(
        "- name: Not both\n"
        "  ansible.builtin.fail:\n"
        "    msg: Two members are on them.\n"
        "  when: upgrade_batch.members | length == 2\n"
    )
    assert cluster.upgrade(upgrade_workload_gate=str(gate)).code != 0
    assert cluster.paused() == ["worker"]
    ended = cluster.upgrade(upgrade_workload_gate=str(gate), upgrade_max_unavailable=1)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.openshift.pool("worker")["spec"]["maxUnavailable"] == 2


def test_a_risk_takes_consent_by_its_name(here: World) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, graph=RISKY))
    refused = cluster.plan()
    assert refused.code != 0
    assert codes(refused) == ["update_risk"]
    ended = cluster.upgrade(upgrade_accept_risks=["SlowPods"])
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_a_release_that_is_not_accepted_and_is_later(here: World) -> None:
    """The operator goes on to say that it has refused a release while the next run wants it, or another one, again."""
    cluster = CalledOpenShift(here, habits=replace(KIND, keeps_refusal=True))
    cluster.openshift.faults.release_unsigned(TARGET)
    refused = cluster.upgrade()
    assert refused.code != 0
    assert "OpenShift does not accept the release 4.18.2: Retrieving payload failed" in refused.output
    assert "The update cannot be verified" in refused.output
    cluster.openshift.write(VERSIONS, VERSION, {"desiredUpdate": None})
    cluster.openshift.faults.release_signed(TARGET)
    cluster.openshift.clock.advance(300)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert history(cluster.openshift)[0] == (TARGET, "Completed")
    assert cluster.paused() == []
    assert cluster.openshift.observer.breaches == []


def test_a_minor_version_waits_for_the_backup_of_etcd(here: World) -> None:
    """Up to 4.14 the version operator refuses it, until the etcd operator has read that and made a backup."""
    described = replace(SMALL, version="4.18.2", channel=NEXT)
    cluster = CalledOpenShift(here, described, replace(KIND, backup=600.0))
    ended = cluster.upgrade(target_version="4.19.0")
    assert ended.code == 0, ended.output
    assert history(cluster.openshift)[0] == ("4.19.0", "Completed")
    assert "OpenShift backs up etcd before the update to 4.19.0: Preconditions failed" in ended.output


@pytest.mark.parametrize(
    ("target", "code"),
    [("4.18.0", "not_greater"), ("4.20.1", "minor_skipped"), ("4.18.7", "update_not_offered")],
)
def test_a_version_that_cannot_be_reached_is_refused(here: World, target: str, code: str) -> None:
    refused = CalledOpenShift(here).plan(target_version=target)
    assert refused.code != 0
    assert codes(refused) == [code]


def test_all_that_stands_in_the_way_is_said_at_once(here: World) -> None:
    cluster = CalledOpenShift(here)
    cluster.openshift.faults.operator_stays_degraded("etcd")
    cluster.openshift.faults.person_cordons("worker-1")
    cluster.openshift.clock.advance(60)
    refused = here.play(PLAN, {**cluster.variables(target_version="4.18.7"), **SYSTEM})
    assert refused.code != 0
    assert {"update_not_offered", "operator_unwell", "kubernetes_node_unfit"} == set(codes(refused))
    for said in ("ClusterOperator etcd is degraded", "Kubernetes node worker-1 is cordoned", "does not offer 4.18.7"):
        assert said in refused.output, said


def test_a_budget_that_never_lets_a_pod_go_is_refused(here: World) -> None:
    cluster = CalledOpenShift(here)
    name = cluster.openshift.faults.drain_blocked("worker-1")
    cluster.openshift.clock.advance(60)
    refused = cluster.plan()
    assert codes(refused) == ["drain_never_ends"]
    assert f"PodDisruptionBudget search/{name} never lets a pod go" in refused.output
    assert f"keeps {name} on Kubernetes node worker-1" in refused.output


def test_a_drain_that_does_not_end_names_the_budget_and_the_pod(here: World) -> None:
    cluster = CalledOpenShift(here)
    given = cluster.agreed(upgrade_member_timeout=900)
    patched, blocked = list[str](), list[str]()

    def block(request: Request) -> None:
        patched.extend([request.path] if request.method == "PATCH" and request.path == POOLS.path("", "worker") else [])
        if len(patched) == 2 and not blocked:
            # The pool was held, and is let go.
            blocked.append(cluster.openshift.faults.drain_blocked("worker-0"))

    here.calling.after = block
    ended = here.play(PLAYBOOK, given)
    (name,) = blocked
    assert ended.code != 0
    assert f"PodDisruptionBudget search/{name}" in ended.output
    assert cluster.paused() == ["worker"]
    cluster.openshift.faults.drain_unblocked("worker-0")
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_the_page_shows_the_plan_of_fifteen_kubernetes_nodes(here: World) -> None:
    workers = pool("worker", 12, max_unavailable=2)
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), workers), operators=OPERATORS))
    said = json.loads(re.findall(r'"upgrade_plan_text": ("(?:[^"\\]|\\.)+")', cluster.plan().output)[0])
    assert said in (Path(__file__).parents[2] / "docs" / "openshift.md").read_text(encoding="utf-8")


def test_passes_go_on_from_where_they_were_and_leave_no_pool_open(here: World) -> None:
    cluster = CalledOpenShift(here)
    given = cluster.agreed(upgrade_wait=False)
    for _between in here.passes(PLAYBOOK, given, 60):
        assert cluster.paused() == ["worker"] or len(cluster.on_target()) > 4
    cluster.is_upgraded()


def test_a_pool_whose_kubernetes_nodes_are_not_taken_is_held_again(here: World) -> None:
    cluster = CalledOpenShift(here)
    given = cluster.agreed(upgrade_member_timeout=900)
    patched = []

    def stop(request: Request) -> None:
        patched.extend([request.path] if request.method == "PATCH" and request.path == POOLS.path("", "worker") else [])
        if len(patched) == 2:
            cluster.openshift.faults.machine_config_away(5000)

    here.calling.after = stop
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert "The machine config operator has not taken Kubernetes node worker-0 yet." in ended.output
    assert cluster.paused() == ["worker"]
    cluster.openshift.clock.advance(5000)
    assert here.play(PLAYBOOK, cluster.variables(upgrade_confirm=given["upgrade_confirm"])).code == 0
    cluster.is_upgraded()
