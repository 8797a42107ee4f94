"""The playbooks that serve upgrades of machines: their plans, single passes, and all that is for every upgrade."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet import cluster_upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.fleet_record import FleetPlan
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.folder import Folder
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.process import PlaybookCommand
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.process import Played as FleetPlayed
from ansible_collections.stateful.upgrade.plugins.module_utils.fleet.waves import Wave

from tests.runs import direct, executor
from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, SERVED, UNDO, Machines, machines, serve
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import FROM, TO, codes, cordoned, is_upgraded, upgraded
from tests.runs.turns import Killed
from tests.runs.world import Driver, World, world
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, is_ready
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import PLAN, STATUS, Played, digest_in

PAUSE, RESUME, ABORT = "stateful.upgrade.pause", "stateful.upgrade.resume", "stateful.upgrade.abort"
SETTLE, REPORT = "stateful.upgrade.settle", "stateful.upgrade.report"


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


def test_the_playbook_plan_shows_the_plan_that_a_run_carries_out(found: Machines) -> None:
    given = found.variables(TO, user=USER)
    shown = found.here.play(PLAN, {**given, **SERVED}, *found.arguments)
    assert shown.code == 0, shown.output
    # The plan knows the leader of etcd, which only the machines can say.
    assert "the last of the control plane, since its member of etcd leads" in shown.output
    assert not [path for method, path in found.here.acts() if not path.startswith("/hosts/")]
    assert not any(each.commands.upgrades for each in found.machines.values())
    ended = found.here.play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(shown)}, *found.arguments)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_the_playbook_plan_names_a_machine_that_cannot_be_reached(found: Machines) -> None:
    found.doors["cp-1"].close()
    shown = found.here.play(PLAN, {**found.variables(TO, user=USER), **SERVED}, *found.arguments)
    assert shown.code != 0
    assert "hosts that cannot be reached or seen: h-cp-1" in shown.message


class Passes:
    """Single passes with one consent, in each of which memory gets short once."""

    def __init__(self, found: Machines) -> None:
        self.found, self.made, self._back = found, 0, set[str]()
        variables = {**found.variables(TO, user=USER), "upgrade_wait": False}
        digest = digest_in(found.here.play(PLAYBOOK, variables, *found.arguments, CHECK))
        self.given = {**variables, "upgrade_confirm": digest}
        found.here.calling.after = self._look

    def _look(self, _request: Request) -> None:
        """Memory is short on a Kubernetes node from each time on that a machine is back, while that pass lasts."""
        for name in self.found.machines.keys() - self._back:
            node = self.found.cluster.node(name)
            upgraded = node["status"]["nodeInfo"]["kubeletVersion"] == f"v{TO}"
            if upgraded and is_ready(node) and not node["spec"].get("unschedulable"):
                self._back.add(name)
                self.set_pressure("True")

    def set_pressure(self, status: str) -> None:
        """Let a Kubernetes node lack memory, or not any more."""

        def change(item: Json) -> None:
            kept = [each for each in item["status"]["conditions"] if each["type"] != "MemoryPressure"]
            item["status"]["conditions"] = [*kept, {"type": "MemoryPressure", "status": status}]

        written = Writing(manager="kubelet", subresource="status")
        self.found.here.sandbox.kubernetes.server.resources.change(NODES, "", "worker-3", change, written)

    def play(self) -> Played:
        """The next one."""
        ended = self.found.here.play(PLAYBOOK, self.given, *self.found.arguments)
        self.made += 1
        self.set_pressure("False")
        self.found.here.later(300)
        return ended


def test_passes_that_never_wait_upgrade_the_machines(found: Machines) -> None:
    """Each pass ends without failure, and leaves no machine cordoned; the batches that it has started are upgraded."""
    passes, waited = Passes(found), 0
    while passes.made < 12:
        ended = passes.play()
        assert ended.code == 0, ended.output
        assert cordoned(found) == [], ended.output
        if '"upgrade_state": "done"' in ended.output:
            break
        waited += 1
        assert '"upgrade_state": "waiting"' in ended.output
        assert "no machine is left cordoned except those named here" in ended.output
        assert "Kubernetes node worker-3 is under memory pressure." in ended.output
    assert waited == 6
    is_upgraded(found)


def test_a_paused_upgrade_does_nothing_before_it_is_resumed(found: Machines) -> None:
    passes = Passes(found)
    assert passes.play().code == 0
    before = {name: len(each.commands.ran) for name, each in found.machines.items()}
    paused = serve(found, PAUSE, USER, upgrade_pause_reason="a disk is replaced")
    assert paused.code == 0, paused.output
    held = passes.play()
    assert held.code == 0, held.output
    assert "a disk is replaced" in held.output
    assert not any(
        " upgrade " in one for name, each in found.machines.items() for one in each.commands.ran[before[name] :]
    )
    assert "a disk is replaced" in serve(found, STATUS, USER).output
    assert serve(found, RESUME, USER).code == 0
    assert passes.play().code == 0
    assert "2 of 6 done" in serve(found, STATUS, USER).output


def test_the_report_tells_what_was_done_and_where_it_stopped(found: Machines, tmp_path: Path) -> None:
    gate = tmp_path / "gate.yml"
    gate.write_text("- ansible.builtin.fail: {msg: not now}\n  when: \"'worker-1' in upgrade_batch.members\"\n")
    assert upgraded(found, upgrade_workload_gate=str(gate)).code != 0
    path = tmp_path / "report.json"
    reported = serve(found, REPORT, USER, upgrade_report_path=str(path))
    assert reported.code == 0, reported.output
    report = json.loads(path.read_text())
    assert "not now" in json.dumps(report)
    assert "cp-1" in json.dumps(report)
    status = serve(found, STATUS, USER)
    assert status.code == 0, status.output
    assert "3 of 6 done" in status.output


def killed_in_a_drain(found: Machines) -> None:
    """A run that is killed after its first cordon."""
    before = found.here.calling.after

    def kill(request: Request) -> None:
        before(request)
        if cordoned(found):
            raise Killed

    found.here.calling.after = kill
    with pytest.raises(Killed):
        upgraded(found)
    found.here.calling.after = before
    found.here.later(900)
    assert cordoned(found)


@pytest.mark.parametrize("playbook", [SETTLE, ABORT])
def test_the_cordon_of_a_killed_run_is_put_back_without_a_run(found: Machines, playbook: str) -> None:
    killed_in_a_drain(found)
    ended = serve(found, playbook, USER)
    assert ended.code == 0, ended.output
    assert cordoned(found) == []
    if playbook == ABORT:
        refused = upgraded(found, upgrade_allow_quorum_loss=True)
        assert codes(refused) == ["aborted_on_request"], refused.output
        assert serve(found, RESUME, USER).code == 0
    again = upgraded(found)
    assert again.code == 0, again.output
    is_upgraded(found)


def test_a_cordon_that_cannot_be_put_back_holds_no_other_one_up(found: Machines) -> None:
    killed_in_a_drain(found)
    (ours,) = cordoned(found)
    for name in found.machines.keys() - {ours}:

        def edit(item: Json) -> None:
            item["metadata"].setdefault("annotations", {})[UNDO] = "edited"

        found.here.sandbox.kubernetes.server.resources.change(NODES, "", name, edit, Writing("person"))
    ended = serve(found, SETTLE, USER)
    assert ended.code != 0
    assert f"The annotation {UNDO} of Node " in ended.output
    assert cordoned(found) == []


def test_a_fleet_plans_and_upgrades_a_cluster_of_machines(
    found: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its playbook is played in this process, in place of one of its own."""

    def play(command: PlaybookCommand, _log: Path, _hear: Any) -> FleetPlayed:
        inventory = [word for each in command.inventory for word in ("-i", each)]
        name = f"stateful.upgrade.{command.playbook}"
        ended = found.here.play(name, command.variables, *inventory, *command.arguments)
        said = re.search(r"RUN: (\{.*\})$", ended.output, re.M)
        return FleetPlayed(ended.code, json.loads(said[1]) if said else {}, ended.message)

    monkeypatch.setattr(cluster_upgrade, "play", play)
    folder, (_option, inventory) = Folder(tmp_path / "fleet"), found.arguments
    own = {"cluster": "eu", "path": str(folder.path), "playbook": "machines", "inventory": [inventory]}
    given = {**own, "variables": found.variables(TO, user=USER)}
    planned = cluster_upgrade.run(Task(cluster_upgrade.CONTRACT.arguments({**given, "state": "planned"})))
    assert planned.more["cluster"]["state"] == "planned", planned.more
    assert "6 machines, 6 batches" in planned.more["cluster"]["plan"]
    folder.write(FleetPlan((Wave("wave 1", ("eu",)),), 0))
    folder.put(folder.plans(["eu"])["eu"])
    ended = cluster_upgrade.run(Task(cluster_upgrade.CONTRACT.arguments(given)))
    assert ended.more["cluster"]["state"] == "done", ended.more
    is_upgraded(found)


def test_a_wrong_connection_to_the_management_cluster_is_named_before_anything_changes(found: Machines) -> None:
    kubeconfig = str(found.here.sandbox.kubeconfig("admin"))
    refused = found.upgraded(TO, user=USER, upgrade_management={"kubeconfig": kubeconfig, "context": "elsewhere"})
    assert (refused.code, codes(refused)) == (2, ["kubernetes_configuration"])
    assert "it has no context elsewhere; there is " in refused.message
    assert cordoned(found) == []


@pytest.mark.parametrize("driver", [direct.play, executor.play])
def test_the_cause_of_a_step_that_fails_before_the_drain_is_that_of_the_run(driver: Driver) -> None:
    # Variables of that task have templates that only its role can fill in.
    with world(driver) as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        found.machines["cp-1"].commands.fails["crictl pull"] = "connection refused by the registry"
        refused = upgraded(found, upgrade_allow_quorum_loss=True)
        assert "connection refused by the registry. Make them reachable" in refused.message, refused.output
        assert (refused.code, cordoned(found)) == (2, [])


def test_a_wrong_value_for_a_later_step_of_the_role_is_refused_with_the_plan() -> None:
    with world(executor.play) as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        wrong = {"member_kubeadm_timeout": "abc", "member_kubeadm_snapshots": "many"}
        given = found.variables(TO, USER, upgrade_allow_quorum_loss=True, **wrong)
        refused = here.play(PLAYBOOK, given, *found.arguments, CHECK)
        assert refused.code == 2
        for name in wrong:
            assert name in refused.message, refused.output
