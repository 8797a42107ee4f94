"""Upgrades of machines that an UpgradeTask requests: accepted or declined, answered, aborted and followed by another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.turns import Killed
from tests.runs.world import is_act, world
from tests.sandbox.kubeadm.process import Process
from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

FROM, TO = "1.35.4", "1.36.1"
FILES = Path(__file__).parents[2] / "roles" / "machines" / "files"
NAMES = ("cp-1", "cp-2", "worker-1")
OWNER = {"kind": "KubeadmControlPlane", "namespace": NAMESPACE, "name": "main"}
STATE = "upgrade.stateful/request-state"


def shipped_rights() -> list[Json]:
    """The shipped roles, bound to the user."""
    found: list[Json] = []
    for file, namespace in (("role", NAMESPACE), ("system_role", "kube-system"), ("cluster_role", "")):
        role = yaml.safe_load((FILES / f"{file}.yml").read_text(encoding="utf-8"))
        kind, name = role["kind"], role["metadata"]["name"]
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        binding = {"apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": metadata}
        binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}]
        found += [{**role, "metadata": metadata}, binding]
    return found


class Tasks:
    """A cluster whose upgrades UpgradeTasks request."""

    def __init__(self, found: Machines) -> None:
        self.found, self.here = found, found.here
        definition = yaml.safe_load((FILES / "upgrade_task.yml").read_text(encoding="utf-8"))
        self.here.sandbox.apply([*shipped_rights(), definition])
        self.resources = self.here.sandbox.kubernetes.server.resources
        kind = self.resources.kinds.named("upgrade.stateful/v1alpha1", "UpgradeTask")
        assert kind is not None
        self.kind: Kind = kind

    def request(self, name: str = "next", machines: tuple[str, ...] = NAMES, **spec: Any) -> None:
        """Ask for an upgrade, as a user does with strict validation."""
        own = {"controlPlaneRef": OWNER, "newMachineSpec": {"version": f"v{TO}"}}
        whole = {**own, "machinesRequireUpgrade": [{"name": each} for each in machines], **spec}
        body = {"apiVersion": "upgrade.stateful/v1alpha1", "kind": "UpgradeTask", "metadata": {"name": name}}
        self.resources.create(self.kind, NAMESPACE, {**body, "spec": whole}, Writing("kubectl", strict="Strict"))

    def task(self, name: str = "next") -> Json:
        """A task as it is now."""
        return self.resources.get(self.kind, NAMESPACE, name)

    def phase(self, name: str = "next") -> str:
        """The phase in its status; empty before there is one."""
        return str(self.task(name).get("status", {}).get("phase", ""))

    def condition(self, kind: str, name: str = "next") -> Json:
        """One of its conditions."""
        (found,) = [each for each in self.task(name)["status"]["conditions"] if each["type"] == kind]
        return dict(found)

    def progress(self, name: str = "next") -> dict[str, str]:
        """The reason of the condition of each machine."""
        machines = self.task(name).get("status", {}).get("machines", ())
        return {each["nodeName"]: each["conditions"][0]["reason"] for each in machines}

    def variables(self, name: str = "next", **more: Any) -> dict[str, Any]:
        """The variables of a run; the version is in the request."""
        given = self.found.variables(TO, USER, upgrade_request=f"upgradetask/{name}", **more)
        del given["target_version"]
        return given

    def agreed(self, name: str = "next", **more: Any) -> dict[str, Any]:
        """The same with consent to the present plan."""
        given = self.variables(name, **more)
        planned = self.here.play(PLAYBOOK, given, *self.found.arguments, CHECK)
        assert planned.code == 0, planned.output
        return {**given, "upgrade_confirm": digest_in(planned)}

    def play(self, given: dict[str, Any]) -> Played:
        """A run."""
        return self.here.play(PLAYBOOK, given, *self.found.arguments)


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    """Two machines of the control plane, and two workers."""
    with world() as here, machines(here, FROM, [TO], control_plane=3, workers=2) as found:
        yield Tasks(found)


def codes(played: Played) -> list[str]:
    """The codes of the reasons with which a playbook ended."""
    said = re.search(r'"upgrade_reasons": (\[[^\]]*\])', played.output)
    return list(json.loads(said[1])) if said else []


EVERY = ("cp-1", "cp-2", "cp-3", "worker-1")


def test_a_task_is_accepted_and_answered_machine_by_machine(tasks: Tasks) -> None:
    tasks.request(machines=EVERY)
    given, seen = tasks.agreed(), list[tuple[str, ...]]()
    assert "status" not in tasks.task(), "a plan changes nothing"

    def look(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/upgradetasks/next/status"):
            seen.append(tuple(tasks.progress().values()))

    tasks.here.calling.after = look
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    kept = {name: each.kubelet.version for name, each in tasks.found.machines.items()}
    assert kept == {**dict.fromkeys(EVERY, TO), "worker-2": FROM}
    assert (tasks.phase(), tasks.condition("Accepted")["status"]) == ("Complete", "True")
    assert tasks.progress() == dict.fromkeys(EVERY, "UpToDate")
    assert tasks.condition("MachineUpToDate")["message"] == "All 4 are up to date."
    working = [row.count("ExternalUpgradeInProgress") for row in seen]
    assert max(working) == 1, "one machine at a time"
    done = [row.count("UpToDate") for row in seen if row]
    assert done == sorted(done)
    assert {*done} == {0, 1, 2, 3, 4}


def test_a_task_is_declined_with_every_field_of_every_machine(tasks: Tasks) -> None:
    infra = {"kind": "MetalMachine", "spec": {"size": "m", "disk": 1}}
    here = {"version": f"v{FROM}", "infraMachine": infra}
    wanted = {"version": f"v{TO}", "infraMachine": {**infra, "spec": {"size": "l", "disk": 2}}}
    required = [{"name": each, "machineSpec": here} for each in EVERY]
    tasks.request(machinesRequireUpgrade=required, newMachineSpec=wanted)
    declined = tasks.play(tasks.variables())
    assert codes(declined) == ["request_invalid"]
    accepted = tasks.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "Declined")
    for name in EVERY:
        for field in ("infraMachine.spec.disk", "infraMachine.spec.size"):
            assert f"Machine {name} differs in {field}, which cannot" in declined.output
    assert tasks.phase() == ""
    tasks.request(
        "covered", machinesRequireUpgrade=required, newMachineSpec=wanted, template={"covers": ["infraMachine.**"]}
    )
    ended = tasks.play(tasks.agreed("covered"))
    assert ended.code == 0, ended.output


def test_a_task_with_a_field_that_is_unknown_is_not_taken(tasks: Tasks) -> None:
    with pytest.raises(Refused, match="covres"):
        tasks.request(template={"covres": []})
    with pytest.raises(Refused, match=r"spec\.phase"):
        tasks.request(phase="Complete")


def abort_it(tasks: Tasks, name: str = "next") -> None:
    tasks.resources.change(tasks.kind, NAMESPACE, name, lambda item: item["spec"].update(phase="Abort"))


def delete_it(tasks: Tasks) -> None:
    tasks.resources.delete(tasks.kind, NAMESPACE, "next")


@pytest.mark.parametrize("end", [abort_it, delete_it])
def test_a_task_that_is_aborted_or_deleted_ends_its_run_behind_the_machine_at_hand(tasks: Tasks, end: Any) -> None:
    tasks.request(machines=EVERY)
    given = tasks.agreed()

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/cp-1"):
            tasks.here.calling.after = lambda _request: None
            end(tasks)

    tasks.here.calling.after = stop
    ended = tasks.play(given)
    assert ended.code != 0
    assert "stopped_by_request" in codes(ended), ended.output
    assert "was aborted on request" in ended.output
    assert [name for name, each in tasks.found.machines.items() if each.kubelet.version == TO] != [*EVERY]
    assert not [name for name in tasks.found.machines if tasks.found.cluster.node(name)["spec"].get("unschedulable")]
    if end is abort_it:
        assert (tasks.phase(), tasks.progress()) == ("Abort", {})
        assert [each["type"] for each in tasks.task()["status"]["conditions"]] == ["Accepted"]


def test_a_new_task_of_the_same_owner_aborts_the_one_before_even_if_it_is_declined(tasks: Tasks) -> None:
    tasks.request("first", machines=EVERY)
    tasks.request("other", machines=EVERY, controlPlaneRef={**OWNER, "name": "other"})
    tasks.here.later(5)
    tasks.request("second", machines=("cp-1", "cp-1"))
    declined = tasks.play(tasks.variables("second"))
    assert codes(declined) == ["request_invalid"], declined.output
    assert (tasks.task("first")["spec"]["phase"], tasks.phase("first")) == ("Abort", "Abort")
    assert tasks.task("other")["spec"]["phase"] == "Ongoing"
    assert codes(tasks.play(tasks.variables("first"))) == ["request_missing"]


def test_a_new_task_takes_the_place_of_a_killed_run_of_the_one_before(tasks: Tasks) -> None:
    tasks.request("first", machines=EVERY)
    given = tasks.agreed("first")

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/cp-1"):
            raise Killed

    tasks.here.calling.after = stop
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.calling.after = lambda _request: None
    assert tasks.phase("first") == "Ongoing"
    tasks.here.later(900)
    tasks.request("second", machines=EVERY)
    ended = tasks.play(tasks.agreed("second"))
    assert ended.code == 0, ended.output
    assert (tasks.phase("first"), tasks.phase("second")) == ("Abort", "Complete")
    assert tasks.progress("second") == dict.fromkeys(EVERY, "UpToDate")


@pytest.mark.parametrize("number", [pytest.param(each, marks=pytest.mark.soak) for each in range(3, 60, 6)])
def test_a_killed_run_and_the_next_one_answer_one_task(tasks: Tasks, number: int) -> None:
    tasks.request(machines=EVERY)
    given, left = tasks.agreed(), number

    def count(request: Request) -> None:
        nonlocal left
        left -= is_act(request.method, request.path)
        if left == 0:
            raise Killed

    tasks.here.calling.after = count
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.calling.after = lambda _request: None
    tasks.here.later(900)
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(EVERY, "UpToDate"))


def test_a_failure_is_told_at_the_machine(tasks: Tasks) -> None:
    tasks.request(machines=EVERY)

    for name in ("cp-1", "cp-2", "cp-3"):
        tasks.found.machines[name].commands.fails["kubeadm upgrade"] = "[ERROR CoreDNSUnsupportedPlugins]"
    failed = tasks.play(tasks.agreed())
    assert failed.code != 0
    progress = tasks.progress()
    assert [*progress.values()].count("ExternalUpgradeInProgress") == 1
    message = tasks.condition("MachineUpToDate")["message"]
    assert message.startswith("In progress: cp-"), message


class Upgrader:
    """Something that upgrades machines as NodeUpdates ask for it. Each failure in `fails` is told once."""

    def __init__(self, tasks: Tasks) -> None:
        self.tasks, self.found = tasks, tasks.found
        tasks.here.sandbox.apply([yaml.safe_load((FILES / "node_update.yml").read_text(encoding="utf-8"))])
        kind = tasks.resources.kinds.named("upgrade.stateful/v1alpha1", "NodeUpdate")
        assert kind is not None
        self.kind: Kind = kind
        self.began: list[tuple[str, int]] = []
        self.fails: list[Json] = []
        self.hangs = False
        """It works, and comes to no end before it is aborted."""
        tasks.here.calling.after = self.look

    def look(self, request: Request) -> None:
        """Begin what is asked for, as a controller that watches."""
        if "/nodeupdates" in request.path and request.method in ("POST", "PATCH"):
            for item in self.tasks.resources.store.list(self.kind):
                self._begin(item)

    def _begin(self, item: Json) -> None:
        name, spec, status = item["metadata"]["name"], item["spec"], item.get("status", {})
        if spec["phase"] == "Abort" and status.get("phase") == "InProgress" and self.hangs:
            self._tell(name, phase="Aborted", observedAttempt=spec["attempt"])
        if spec["phase"] == "Abort" or status.get("observedAttempt") == spec["attempt"]:
            return
        self.began.append((name, spec["attempt"]))
        self._tell(name, phase="InProgress", observedAttempt=spec["attempt"])
        if self.hangs:
            return
        if self.fails:
            self._tell(name, phase="Failed", observedAttempt=spec["attempt"], **self.fails.pop(0))
            return
        machine = self.found.machines[spec["nodeName"]]
        machine.packages.install("kubeadm", TO, held_too=True)
        if spec["step"] == "BeforeDrain":
            argv = ["kubeadm", "upgrade", spec["kubeadm"], *(["-y", f"v{TO}"] if spec["kubeadm"] == "apply" else [])]
            process = Process(self.found.cluster.shared.clock, machine.commands.steps(argv, "", machine))
            self._wait(name, spec["attempt"], process)
        else:
            machine.packages.install("kubelet", TO, held_too=True)
            machine.kubelet.restart(machine.written.kubelet_configuration)
            self._tell(name, phase="Ready", observedAttempt=spec["attempt"])

    def _wait(self, name: str, attempt: int, process: Process) -> None:
        if process.ended is None:
            self.found.cluster.shared.clock.later(1.0, lambda: self._wait(name, attempt, process))
        else:
            self._tell(name, phase="Failed" if process.ended.rc else "Ready", observedAttempt=attempt)

    def _tell(self, name: str, **said: Any) -> None:
        writing = Writing("upgrader", strict="Strict", subresource="status")
        self.tasks.resources.change(self.kind, NAMESPACE, name, lambda item: item.update(status=said), writing)


DELEGATED = {"upgrade_member_role": "stateful.upgrade.member_delegated"}


def test_machines_are_upgraded_by_something_else_each_step_once(tasks: Tasks) -> None:
    tasks.request(machines=EVERY, template={"upgraderRef": {"kind": "Trident", "name": "os"}})
    upgrader = Upgrader(tasks)
    ended = tasks.play(tasks.agreed(**DELEGATED))
    assert ended.code == 0, ended.output
    assert sorted(upgrader.began) == sorted(
        (f"{name}-{step}-drain", 1) for name in EVERY for step in ("before", "after")
    )
    assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(EVERY, "UpToDate"))
    spec = tasks.resources.get(upgrader.kind, NAMESPACE, "worker-1-after-drain")["spec"]
    assert spec["upgraderRef"] == {"kind": "Trident", "name": "os"}
    assert not any(each.commands.ran and "kubelet" in each.commands.ran[0] for each in tasks.found.machines.values())


def test_passing_failures_are_retried_and_others_are_named_with_their_cause(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1",))
    upgrader = Upgrader(tasks)
    passing = {"failureClass": "Transient", "failureReason": "Busy", "failureMessage": "the host is busy"}
    upgrader.fails = [passing, {"failureReason": "ImageInvalid", "failureMessage": "the signature is missing"}]
    failed = tasks.play(tasks.agreed(**DELEGATED))
    assert failed.code != 0
    assert "ImageInvalid: the signature is missing. Fix the cause, delete NodeUpdate cp-1-before-drain" in failed.output
    assert upgrader.began == [("cp-1-before-drain", 1), ("cp-1-before-drain", 2)]
    assert tasks.progress() == {"cp-1": "ExternalUpgradeInProgress"}


def test_nothing_is_begun_where_the_api_does_not_know_the_object(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1",))
    failed = tasks.play(tasks.agreed(**DELEGATED))
    assert failed.code != 0
    assert "does not know NodeUpdate" in failed.output


def test_work_whose_time_is_over_is_aborted_and_comes_to_its_end(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1",))
    upgrader = Upgrader(tasks)
    upgrader.hangs = True
    given = tasks.agreed(**DELEGATED, member_delegated_timeout=60)
    failed = tasks.play(given)
    assert failed.code != 0
    assert "The work on machine cp-1 has failed: its time was over. Fix the cause, delete NodeUpdate" in failed.output
    update = tasks.resources.get(upgrader.kind, NAMESPACE, "cp-1-before-drain")
    assert (update["spec"]["phase"], update["status"]["phase"]) == ("Abort", "Aborted")
    assert upgrader.began == [("cp-1-before-drain", 1)]
    upgrader.hangs = False
    tasks.resources.delete(upgrader.kind, NAMESPACE, "cp-1-before-drain")
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert (tasks.phase(), tasks.progress()) == ("Complete", {"cp-1": "UpToDate"})


def test_an_abort_reaches_the_upgrader_and_waits_for_its_end(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1", "cp-2"))
    upgrader = Upgrader(tasks)
    upgrader.hangs = True
    given = tasks.agreed(**DELEGATED)
    began = upgrader.look

    def look(request: Request) -> None:
        began(request)
        if upgrader.began and tasks.task()["spec"]["phase"] == "Ongoing":
            abort_it(tasks)

    tasks.here.calling.after = look
    ended = tasks.play(given)
    assert ended.code != 0
    (name,) = [name for name, _attempt in upgrader.began]
    assert tasks.resources.get(upgrader.kind, NAMESPACE, name)["status"]["phase"] == "Aborted"
    assert "no work on machine" in ended.output
    assert (tasks.phase(), tasks.progress()) in [("Abort", {}), ("Ongoing", tasks.progress())]


@pytest.mark.parametrize("number", [pytest.param(each, marks=pytest.mark.soak) for each in range(4, 40, 5)])
def test_a_killed_run_starts_no_work_twice(tasks: Tasks, number: int) -> None:
    tasks.request(machines=("cp-1", "worker-1", "cp-2", "cp-3"))
    upgrader, left = Upgrader(tasks), number
    given = tasks.agreed(**DELEGATED)

    def count(request: Request) -> None:
        nonlocal left
        upgrader.look(request)
        left -= is_act(request.method, request.path)
        if left == 0:
            raise Killed

    tasks.here.calling.after = count
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.calling.after = upgrader.look
    tasks.here.later(900)
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert len(upgrader.began) == len({*upgrader.began}), "no attempt twice"
    assert {attempt for _name, attempt in upgrader.began} == {1}
