"""The playbooks on Longhorn in memory, as a user with exactly the shipped roles runs them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.judge.order import digest
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.look import image_of, look

from tests.lab.waiting import moment, until
from tests.playbook_processes.process import PlaybookProcess
from tests.sandbox.kubernetes.in_process import TOKEN
from tests.sandbox.listening import Listening
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, NODES_OF_THREE, SPREAD, Driver, outliving
from tests.unit.systems.playing import Playbooks

SYSTEM = "stateful.upgrade.longhorn"
FACTOR = 5.0
"""The seconds of Longhorn that pass in one real second."""
GATE = """
- name: See that the database is whole
  ansible.builtin.assert:
    that: upgrade_batch.members != ['n2']
    fail_msg: One copy is away.
"""
UNREACHABLE = """
- name: Ask the database
  stateful.upgrade.cluster_health_gate:
    opensearch: {hosts: ["http://127.0.0.1:9"]}
    moment: before_batch
    expected: [data-0, data-1]
    batch: [data-0]
    wait_timeout: 1
"""
LONGEST = 600
"""Seconds that a playbook may take on a busy machine."""


class Played(Playbooks):
    """The playbooks, and the Longhorn that they act on."""

    longest = LONGEST

    def __init__(self, driver: Driver, listening: Listening, environment: Mapping[str, str]) -> None:
        self.driver, self.listening = driver, listening
        url = listening.serve(driver.longhorn.kubernetes.server).url
        variables = {
            "target_version": "v1.12.0",
            "upgrade_namespace": NAMESPACE,
            "upgrade_kubernetes": {"host": url, "api_key": TOKEN},
            "upgrade_accept_unverified": ACCEPTED,
        }
        super().__init__({**environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}, variables)

    def digest(self) -> str:
        """The digest of the plan, as the playbook plan hands it on."""
        said = self.play("stateful.upgrade.plan", upgrade_system=SYSTEM)
        return said.partition('"upgrade_confirm": "')[2].partition('"')[0]

    def agreed(self, *nodes: str) -> str:
        """The digest of the same plan, without a playbook."""
        with self.listening.lock:
            seen = look(self.driver.api.client(), NAMESPACE)
            return digest(seen, image_of(seen), nodes, (*ACCEPTED, "outside"), False)

    def begun(self, **more: Any) -> PlaybookProcess:
        """A run that is at its first node, whose volume it cannot rebuild until the fault is mended."""
        with self.listening.lock:
            self.driver.longhorn.faults.rebuild_stuck("vol-1")
        process = self.start("stateful.upgrade.longhorn", upgrade_confirm=self.agreed(), **more)
        until("The first node runs the new image", lambda: self.seen("images")["n1"] == "v1.12.0", LONGEST)
        return process

    def killed(self) -> None:
        """A run that was killed at its first node and has left something there; the fault is mended."""
        process = self.begun()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert self.seen("leftovers")
        self.mend()

    def is_asked_to_stop(self) -> bool:
        """Whether someone has asked the run to stop."""
        with self.listening.lock:
            leases = [item for path, item in self.driver.api.objects.items() if "/leases/" in path]
            return any(item["metadata"].get("annotations", {}).get("upgrade.stateful/stop") for item in leases)

    def mend(self) -> None:
        """End all faults."""
        with self.listening.lock:
            self.driver.longhorn.faults.mend_all()

    def refuses_to_remove_snapshots(self) -> None:
        """Let no snapshot be removed any more."""
        with self.listening.lock:
            self.driver.api.server.faults.answer(403, "DELETE", "/snapshots/", times=1000)

    def seen(self, name: str) -> Any:
        """The answer of a method of the driver, while no server answers."""
        with self.listening.lock:
            return getattr(self.driver, name)()


@pytest.fixture
def played(ansible_environment: Mapping[str, str]) -> Iterator[Played]:
    driver = Driver(outliving(Volume("vol-1", SPREAD, "n1"), Volume("vol-2", SPREAD, "n2")))
    with Listening(driver.longhorn.clock, FACTOR) as listening:
        yield Played(driver, listening, ansible_environment)


def test_nodes_are_planned_switched_and_shown(played: Played) -> None:
    agreed = played.digest()
    said = played.play("stateful.upgrade.longhorn", upgrade_confirm=agreed)
    assert "(v2 data engine of Longhorn)   v1.11.2 → v1.12.0   3 Kubernetes nodes, 3 batches" in said
    assert "· 3 upgraded to v1.12.0 · everything put back · all volumes are whole · record " in said
    assert '"upgrade_state": "done"' in said
    assert played.seen("images") == dict.fromkeys(NODES_OF_THREE, "v1.12.0")
    assert played.seen("leftovers") == []
    assert played.driver.longhorn.observer.by_acts == []
    assert ": Completed, to v1.12.0" in played.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    again = played.play("stateful.upgrade.longhorn")
    assert "Nothing to do: every Kubernetes node runs v1.12.0." in again
    assert re.findall(r"changed=(\d+)", again) == ["0"]


def test_volumes_are_no_worse_after_each_batch_than_before_the_first_one(played: Played, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    played.play("stateful.upgrade.longhorn", upgrade_confirm=played.agreed(), upgrade_soak_batches="every")
    assert played.seen("images") == dict.fromkeys(NODES_OF_THREE, "v1.12.0")
    played.play("stateful.upgrade.report", upgrade_report_path=str(file), upgrade_system=SYSTEM)
    assert "after n3: degraded_volumes 0, before 0, no worse" in file.read_text(encoding="utf-8")
    assert f"| n3 | {OLD_IMAGE} | {NEW_IMAGE} |" in file.read_text(encoding="utf-8")


def test_a_switch_by_request_waits_for_its_start_and_is_noted_at_its_end(played: Played, tmp_path: Path) -> None:
    request, state = tmp_path / "switch.yml", tmp_path / "switch.yml.state.json"
    given: dict[str, Any] = {"upgrade_request": str(request), "upgrade_wait": False}
    asked = "type: longhorn\ntarget_version: v1.12.0\nupgrade_window: 60\n"
    request.write_text(asked.replace("longhorn", "opensearch") + "upgrade_workload_gate: gate.yml\n")
    said = " ".join(played.play("stateful.upgrade.longhorn", 2, **given).split())
    assert "carries out requests of the type longhorn." in said
    assert "upgrade_workload_gate in the request names a file of the controller" in said
    request.write_text(f"{asked}upgrade_at: {moment(7_260)}\n")
    said = played.play("stateful.upgrade.longhorn", **given)
    assert "The upgrade starts at " in said
    assert '"starts_later"' in said
    assert json.loads(state.read_text())["state"] == "waiting"
    assert "Pending, to v1.12.0, starts " in played.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    assert set(played.seen("images").values()) == {"v1.11.2"}
    request.write_text(f"{asked}upgrade_at: {moment(-5)}\n")
    agreed = played.agreed()
    said = played.play("stateful.upgrade.longhorn", **given | {"upgrade_wait": True}, upgrade_confirm=agreed)
    assert "upgraded to v1.12.0 · everything put back" in said
    assert json.loads(state.read_text())["state"] == "completed"


def test_a_killed_run_is_gone_on_with(played: Played) -> None:
    played.killed()
    assert "was interrupted" in played.play("stateful.upgrade.status", upgrade_system=SYSTEM)
    played.refuses_to_remove_snapshots()
    said = played.play("stateful.upgrade.longhorn", upgrade_confirm=played.agreed())
    assert "upgraded to v1.12.0 in 2 runs · everything put back" in said
    assert "Snapshots of the upgrade were not removed: upgrade-" in " ".join(said.split())
    # The first node runs the new image since the run that was killed.
    shown = " ".join(played.play("stateful.upgrade.status", upgrade_system=SYSTEM).split())
    assert shown.count(f"image {OLD_IMAGE} to {NEW_IMAGE}") == 3, shown
    assert played.seen("leftovers") == []
    assert played.driver.longhorn.observer.by_acts == []


def test_without_acceptance_nothing_is_touched(played: Played) -> None:
    said = played.play("stateful.upgrade.longhorn", 2, upgrade_accept_unverified=[])
    assert "it is not verified that I/O survives this on Longhorn 1.12" in " ".join(said.split())
    assert played.seen("leftovers") == []


def test_settle_brings_everything_back_that_a_killed_run_has_left(played: Played) -> None:
    played.killed()
    said = played.play("stateful.upgrade.settle", upgrade_system=SYSTEM)
    assert "are still there: upgrade-" in said
    assert "kubectl delete -n longhorn-system snapshots.longhorn.io -l upgrade.stateful/run=" in " ".join(said.split())
    assert played.seen("leftovers") == []
    assert played.driver.longhorn.observer.by_acts == []


def test_abort_lets_the_node_be_finished_and_begins_no_other(played: Played) -> None:
    run = played.begun()
    abort = played.start("stateful.upgrade.abort", upgrade_system=SYSTEM)
    until("The run is asked to stop", played.is_asked_to_stop, LONGEST)
    played.mend()
    assert (run.wait(LONGEST), abort.wait(LONGEST)) == (2, 0), abort.output
    assert "asked to stop" in run.output
    assert played.seen("images") == {"n1": "v1.12.0", "n2": "v1.11.2", "n3": "v1.11.2"}
    assert played.seen("leftovers") == []


def test_a_pass_ends_at_the_first_thing_that_waits_and_the_next_run_goes_on(played: Played) -> None:
    first: dict[str, Any] = {"upgrade_nodes": ["n1"], "upgrade_confirm": played.agreed("n1")}
    said = played.play("stateful.upgrade.longhorn", **first, upgrade_wait=False)
    assert '"upgrade_state": "waiting"' in said
    assert "The node that it has begun stays marked" in said
    assert "n1: upgrade.stateful/engine-switch" in played.seen("leftovers")
    assert "1 upgraded to v1.12.0 in 2 runs · everything put back" in played.play("stateful.upgrade.longhorn", **first)
    assert played.seen("leftovers") == []
    assert played.driver.longhorn.observer.by_acts == []


def test_a_gate_of_the_workloads_gets_no_options_of_the_run(played: Played, tmp_path: Path) -> None:
    """It asks another system, to which the version and the members of this upgrade mean nothing."""
    gate = tmp_path / "gate.yml"
    gate.write_text(UNREACHABLE, encoding="utf-8")
    said = played.play("stateful.upgrade.longhorn", 2, upgrade_confirm=played.agreed(), upgrade_workload_gate=str(gate))
    assert "http://127.0.0.1:9 cannot be reached" in " ".join(said.split()), said
    assert "is not a version" not in said


def test_a_gate_of_the_workloads_that_fails_ends_the_run_before_its_node(played: Played, tmp_path: Path) -> None:
    gate = tmp_path / "gate.yml"
    gate.write_text(GATE, encoding="utf-8")
    said = played.play("stateful.upgrade.longhorn", 2, upgrade_confirm=played.agreed(), upgrade_workload_gate=str(gate))
    assert "Stopped at node-02 (See that the database is whole): One copy is away." in " ".join(said.split())
    assert played.seen("images") == {"n1": "v1.12.0", "n2": "v1.11.2", "n3": "v1.11.2"}
    assert played.seen("leftovers") == []
    assert "node n1: initializing" in said
    assert "node n2" not in said.partition("Stopped at")[0], "nothing of it was begun"
