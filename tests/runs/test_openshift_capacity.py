"""Spare workers for the time of an upgrade of OpenShift: made once, waited for, and removed after every ending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.openshift import PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.sampled import one_in
from tests.runs.test_openshift import SETTLE, CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import timestamp
from tests.sandbox.openshift.asking import SMALL, history, pool
from tests.sandbox.openshift.description import Described, MachineSet, Pool
from tests.sandbox.openshift.habits import Habits
from tests.sandbox.openshift.kinds import CURRENT, MACHINE_API, MACHINE_SETS, MACHINES, annotations_of, rendered
from tests.sandbox.web import Request

ZONES = ("a", "b", "c")
SETS = tuple(MachineSet(f"workers-{zone}", zone) for zone in ZONES)
SPARE = [f"workers-{zone}-spare" for zone in ZONES]
MACHINED = replace(SMALL, pools=(pool("master"), Pool("worker")), machine_sets=SETS)


class WithSpareWorkers(CalledOpenShift):
    """An OpenShift whose user may make spare workers, and wants some."""

    def __init__(self, here: World, described: Described = MACHINED, **more: Any) -> None:
        super().__init__(here, described, **more)
        here.sandbox.apply(shipped_rights(spare_workers=True))

    def variables(self, **more: Any) -> dict[str, Any]:
        """See `CalledOpenShift`."""
        return super().variables(**{"upgrade_extra_workers": True, **more})

    def sets(self) -> list[str]:
        """The names of all MachineSets."""
        return sorted(each["metadata"]["name"] for each in self.openshift.resources.store.each(MACHINE_SETS))

    def spare(self) -> list[str]:
        """The names of the spare MachineSets."""
        return [name for name in self.sets() if name.endswith("-spare")]

    def workers(self) -> dict[str, str]:
        """The configuration of each worker."""
        nodes = self.openshift.resources.store.each(NODES)
        return {
            each["metadata"]["name"]: annotations_of(each)[CURRENT]
            for each in nodes
            if each["metadata"]["name"].startswith("workers")
        }

    def made(self) -> list[str]:
        """The MachineSets that were made, in order."""
        writes = self.openshift.observer.writes
        return [each.name for each in writes if each.kind == MACHINE_SETS and "created" in each.fields]

    def is_as_before(self) -> None:
        """Fails unless every spare worker is gone, and nothing is left behind."""
        self.sets_are_gone()
        assert self.openshift.observer.leftovers() == []

    def sets_are_gone(self) -> None:
        """Fails unless every spare worker is gone."""
        there = {each["metadata"]["name"] for each in self.openshift.resources.store.each(MACHINES)}
        assert self.sets() == [each.name for each in self.described.machine_sets]
        assert there == set(self.workers())

    def is_upgraded(self) -> None:
        """See `CalledOpenShift`."""
        super().is_upgraded()
        self.is_as_before()
        assert set(self.workers().values()) == {rendered("worker", "4.18.2")}


def test_each_zone_has_a_spare_worker_while_the_upgrade_lasts(here: World) -> None:
    cluster = WithSpareWorkers(here)
    planned = cluster.plan()
    assert "changes and puts back: pause of 1 pool, 3 spare MachineSets" in planned.output
    most = []
    here.calling.after = lambda _request: most.append(len(cluster.workers()))
    ended = cluster.upgrade()
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    assert max(most) == 6
    assert cluster.made() == SPARE
    cluster.is_upgraded()


def test_the_gate_is_asked_again_behind_a_spare_worker_that_is_taken_first(here: World, tmp_path: Path) -> None:
    cluster = WithSpareWorkers(here)
    gate = tmp_path / "gate.yml"
    gate.write_text(
        "- name: Count\n"
        "  ansible.builtin.set_fact:\n"
        '    own_times: "{{ own_times | default(0) | int + 1 }}"\n'
        "- name: See that the database is whole\n"
        "  ansible.builtin.fail:\n"
        "    msg: One copy has moved to the spare worker.\n"
        "  when: own_times | int > 1\n"
    )
    taken = dict[str, str]()

    def look(_request: Request) -> None:
        taken.update(cluster.workers())

    here.calling.after = look
    ended = cluster.upgrade(upgrade_workload_gate=str(gate))
    here.calling.after = lambda _request: None
    assert ended.code != 0
    assert "One copy has moved to the spare worker." in ended.output
    new = sorted(name.rpartition("-")[0] for name, config in taken.items() if config == rendered("worker", "4.18.2"))
    assert new == ["workers-a", "workers-a-spare"]
    cluster.sets_are_gone()
    assert cluster.upgrade().code == 0
    cluster.is_upgraded()


def test_ansible_asks_again_for_the_rest_of_a_batch_and_the_record_has_all_acts(here: World, tmp_path: Path) -> None:
    cluster = WithSpareWorkers(here)
    gate = tmp_path / "gate.yml"
    gate.write_text("- name: Asked\n  ansible.builtin.assert:\n    that: true\n")
    ended = cluster.upgrade(upgrade_workload_gate=str(gate))
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    # Once for each of four batches, and again after two of the three spare workers.
    assert ended.output.count(": Asked]") == 6
    pool = [each for each in cluster.record()["events"] if each["about"] == "MachineConfigPool worker"]
    assert {each["kind"]: each["times"] for each in pool} == {"changed": 6, "put_back": 6}


@pytest.mark.parametrize("most", [2, "50%"])
def test_spare_workers_are_taken_together_with_others_too(here: World, most: int | str) -> None:
    two = replace(MACHINED, pools=(pool("master"), Pool("worker", max_unavailable=most)))
    cluster = WithSpareWorkers(here, replace(two, machine_sets=tuple(replace(each, replicas=2) for each in SETS)))
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert cluster.openshift.observer.breaches == []
    assert cluster.sets() == [each.name for each in SETS]
    assert set(cluster.workers().values()) == {rendered("worker", "4.18.2")}
    assert len(cluster.workers()) == 6


@pytest.mark.parametrize("number", one_in(6, range(1, 50, 2)))
def test_a_run_that_is_killed_behind_an_act_goes_on_and_leaves_no_spare_worker(here: World, number: int) -> None:
    cluster = WithSpareWorkers(here, replace(MACHINED, machine_sets=SETS[:2]))
    given = cluster.agreed()
    killed = here.killed_behind(number, given, PLAYBOOK)
    if killed is not None:
        assert killed.code == 0, killed.output
    cluster.openshift.clock.advance(120)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
    assert cluster.made() == SPARE[:2]


def test_sets_that_a_killed_run_has_not_made_are_made_by_the_next_one(here: World) -> None:
    cluster, number = WithSpareWorkers(here), 1
    given = cluster.agreed()
    while not cluster.spare():
        assert here.killed_behind(number, given, PLAYBOOK) is None
        cluster.openshift.clock.advance(120)
        number += 1
    assert cluster.spare() == SPARE[:1]
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert cluster.made() == SPARE
    cluster.is_upgraded()


def test_passes_keep_the_spare_workers_until_the_end(here: World) -> None:
    cluster = WithSpareWorkers(here)
    given = cluster.agreed(upgrade_wait=False)
    list(here.passes(PLAYBOOK, given, 80))
    cluster.is_upgraded()
    assert cluster.made() == SPARE


def test_a_machine_that_never_boots_ends_the_upgrade(here: World) -> None:
    cluster = WithSpareWorkers(here)
    cluster.openshift.faults.machines_never_boot("workers-b-spare")
    ended = cluster.upgrade(upgrade_steps=[{"name": "capacity", "timeout": 1200}])
    assert ended.code != 0
    assert "has no Kubernetes node yet (Provisioning)" in ended.output
    assert "MachineSet" in ended.output
    assert history(cluster.openshift)[0] == ("4.18.1", "Completed")
    cluster.is_as_before()
    assert "stays: 3 spare" not in ended.output


def test_a_machine_that_never_boots_is_gone_on_without(here: World) -> None:
    cluster = WithSpareWorkers(here)
    cluster.openshift.faults.machines_never_boot("workers-b-spare")
    ended = cluster.upgrade(upgrade_capacity_policy="continue")
    assert ended.code == 0, ended.output
    assert "The upgrade continues without additional capacity." in ended.output
    cluster.is_upgraded()


def test_after_its_window_a_pass_removes_the_spare_workers_of_those_before_it_and_ends_the_upgrade(here: World) -> None:
    cluster = WithSpareWorkers(here)
    cluster.openshift.faults.machines_never_boot("workers-b-spare")
    given = cluster.agreed(upgrade_wait=False, upgrade_at=timestamp(cluster.openshift.clock.now()), upgrade_window=20)
    waits = here.play(PLAYBOOK, given)
    assert waits.code == 0, waits.output
    assert cluster.spare() == SPARE
    cluster.openshift.clock.advance(1800)
    ended = here.play(PLAYBOOK, given)
    assert (ended.code != 0, codes(ended)) == (True, ["window_over"]), ended.output
    # A single pass does not wait for the machines of the MachineSets that it deletes.
    cluster.openshift.clock.advance(1200)
    cluster.is_as_before()
    assert cluster.record()["phase"] == "Failed", ended.output
    assert history(cluster.openshift)[0] == ("4.18.1", "Completed")
    before = len(cluster.openshift.observer.writes)
    again = here.play(PLAYBOOK, given)
    assert codes(again) == ["window_over"]
    assert len(cluster.openshift.observer.writes) == before


def test_a_run_whose_window_ends_while_it_takes_its_steps_does_not_commence_the_update(here: World) -> None:
    cluster = WithSpareWorkers(here)
    cluster.openshift.faults.machines_never_boot("workers-b-spare")
    at = timestamp(cluster.openshift.clock.now())
    ended = cluster.upgrade(upgrade_at=at, upgrade_window=20, upgrade_capacity_policy="continue")
    assert (ended.code != 0, codes(ended)) == (True, ["window_over"]), ended.output
    cluster.is_as_before()
    assert history(cluster.openshift)[0] == ("4.18.1", "Completed")


def test_an_upgrade_that_fails_leaves_no_spare_worker_and_makes_none_again(here: World, tmp_path: Path) -> None:
    cluster = WithSpareWorkers(here)
    gate = tmp_path / "gate.yml"
    gate.write_text(
        "- name: See that the database is whole\n"
        "  ansible.builtin.fail:\n"
        "    msg: One copy is away.\n"
        "  when: upgrade_batch.members[0].startswith('workers-b')\n"
    )
    ended = cluster.upgrade(upgrade_workload_gate=str(gate))
    assert ended.code != 0
    assert "One copy is away." in ended.output
    cluster.sets_are_gone()
    assert cluster.paused() == ["worker"]
    again = cluster.upgrade()
    assert again.code == 0, again.output
    cluster.is_upgraded()
    assert cluster.made() == SPARE


def test_settle_removes_what_a_killed_run_has_left(here: World) -> None:
    cluster = WithSpareWorkers(here)
    given, number = cluster.agreed(), 1
    while len(cluster.spare()) < 2:
        assert here.killed_behind(number, given, PLAYBOOK) is None
        cluster.openshift.clock.advance(120)
        number += 1
    settled = here.play(SETTLE, {**cluster.variables(), **SYSTEM})
    assert settled.code == 0, settled.output
    cluster.is_as_before()


def test_a_spare_worker_that_cannot_leave_is_explained_and_waited_for_by_the_next_run(here: World) -> None:
    cluster, blocked = WithSpareWorkers(here), list[str]()
    given = cluster.agreed(upgrade_member_timeout=1200)

    def block(request: Request) -> None:
        if request.method == "DELETE" and not blocked:
            name = next(name for name in cluster.workers() if name.startswith(SPARE[2]))
            cluster.openshift.faults.drain_blocked(name)
            blocked.append(name)

    here.calling.after = block
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert f"keeps pod search-on-{blocked[0]} there" in ended.output
    assert cluster.paused() == []
    assert cluster.spare() == []
    again = here.play(PLAYBOOK, given)
    assert again.code != 0
    assert f"keeps pod search-on-{blocked[0]} there" in again.output
    cluster.openshift.faults.drain_unblocked(blocked[0])
    last = here.play(PLAYBOOK, given)
    assert last.code == 0, last.output
    cluster.is_upgraded()


def test_check_mode_makes_no_spare_worker(here: World) -> None:
    cluster = WithSpareWorkers(here)
    ended = here.play(PLAYBOOK, cluster.agreed(), "--check")
    assert ended.code == 0, ended.output
    assert cluster.openshift.observer.writes == []


def test_an_upgrade_at_the_worst_pace_of_the_operators(here: World) -> None:
    cluster = WithSpareWorkers(here, habits=Habits())
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    cluster.is_upgraded()


def test_a_set_that_is_not_of_a_run_stays(here: World) -> None:
    cluster = WithSpareWorkers(here)
    store = cluster.openshift.resources
    body = cluster.openshift.machine_set("workers-a")
    labels = {"upgrade.stateful/spare-worker": "copied"}
    store.create(MACHINE_SETS, MACHINE_API, {"metadata": {"name": "copied", "labels": labels}, "spec": body["spec"]})
    cluster.openshift.clock.advance(600)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert "copied" in cluster.sets()
    assert cluster.spare() == []


def _without_sets(cluster: WithSpareWorkers) -> None:
    for each in SETS:
        cluster.openshift.write(MACHINE_SETS, each.name, {"replicas": 0}, namespace=MACHINE_API)


def _taken(cluster: WithSpareWorkers) -> None:
    spec = {**cluster.openshift.machine_set("workers-a")["spec"], "replicas": 0}
    cluster.openshift.resources.create(MACHINE_SETS, MACHINE_API, {"metadata": {"name": SPARE[0]}, "spec": spec})


def _unfit(cluster: WithSpareWorkers) -> None:
    cluster.openshift.faults.machines_never_boot("workers-d")
    spec = cluster.openshift.machine_set("workers-a")["spec"]
    cluster.openshift.resources.create(MACHINE_SETS, MACHINE_API, {"metadata": {"name": "workers-d"}, "spec": spec})


def _long(cluster: WithSpareWorkers) -> None:
    spec = cluster.openshift.machine_set("workers-a")["spec"]
    name = "w" * 60
    cluster.openshift.resources.create(MACHINE_SETS, MACHINE_API, {"metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_without_sets, "machine_sets_missing"),
        (_taken, "spare_set_name_taken"),
        (_unfit, "machine_set_unfit"),
        (_long, "spare_set_name_too_long"),
    ],
)
def test_spare_workers_that_cannot_be_made_are_refused_by_the_plan(
    here: World, change: Callable[[WithSpareWorkers], None], code: str
) -> None:
    cluster = WithSpareWorkers(here)
    change(cluster)
    cluster.openshift.clock.advance(900)
    variables = {**cluster.variables(), **SYSTEM}
    refused = here.play("stateful.upgrade.plan", variables)
    assert refused.code != 0
    assert codes(refused) == [code]
    remarked = here.play("stateful.upgrade.plan", {**variables, "upgrade_capacity_policy": "continue"})
    assert remarked.code == 0, remarked.output
    assert "No spare worker: " in remarked.output


def test_missing_rights_are_named_by_the_plan(here: World) -> None:
    cluster = CalledOpenShift(here, MACHINED)
    refused = here.play("stateful.upgrade.plan", {**cluster.variables(upgrade_extra_workers=True), **SYSTEM})
    assert refused.code != 0
    assert codes(refused) == ["kubernetes_rights"]
    assert "list/create/delete machinesets, list machines in namespace openshift-machine-api" in refused.output
