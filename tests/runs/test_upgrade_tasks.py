"""Upgrades of machines that an UpgradeTask requests: declined, answered, aborted, and followed by another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import NAMESPACE
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, FROM, OWNER, TO, Tasks, abort_it, codes, requesting
from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.web import Request


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    """A cluster whose upgrades UpgradeTasks request."""
    with requesting() as made:
        yield made


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
    assert codes(declined) == ["machine_differs"]
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


def delete_it(tasks: Tasks) -> None:
    tasks.resources.delete(tasks.kind, NAMESPACE, "next")


@pytest.mark.parametrize("end", [abort_it, delete_it])
def test_a_task_that_is_aborted_or_deleted_ends_its_run_behind_the_machine_at_hand(tasks: Tasks, end: Any) -> None:
    tasks.request(machines=EVERY)
    given = tasks.agreed()
    tasks.at_the_first_machine(end)
    ended = tasks.play(given)
    assert ended.code != 0
    assert "stopped_by_request" in codes(ended), ended.output
    assert "was aborted on request" in ended.output
    assert [name for name, each in tasks.found.machines.items() if each.kubelet.version == TO] != [*EVERY]
    assert not [name for name in tasks.found.machines if tasks.found.cluster.node(name)["spec"].get("unschedulable")]
    if end is abort_it:
        assert (tasks.phase(), tasks.progress()) == ("Abort", {})
        assert [each["type"] for each in tasks.task()["status"]["conditions"]] == ["Accepted"]


@pytest.mark.parametrize("end", [abort_it, delete_it])
@pytest.mark.parametrize("name", ["next", "again"])
def test_a_task_that_comes_after_an_aborted_one_is_carried_out(tasks: Tasks, end: Any, name: str) -> None:
    """Whoever makes a task requests the upgrade again, so that nothing has to be resumed."""
    tasks.request()
    given = tasks.agreed()
    tasks.at_the_first_machine(end)
    assert "was aborted on request" in tasks.play(given).output
    if name == "next" and end is abort_it:
        delete_it(tasks)
    tasks.request(name)
    again = tasks.agreed(name)
    ended = tasks.play(again)
    assert ended.code == 0, ended.output
    assert tasks.phase(name) == "Complete"
    assert set(tasks.progress(name).values()) == {"UpToDate"}


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
    given = tasks.agreed()
    tasks.killed_and_run_again(given, number)
    assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(EVERY, "UpToDate"))


def test_a_failure_is_told_at_the_machine(tasks: Tasks) -> None:
    tasks.request(machines=EVERY)

    for name in ("cp-1", "cp-2", "cp-3"):
        tasks.found.machines[name].commands.upgrade_fails = "[ERROR ImagePull]: it is not found"
    failed = tasks.play(tasks.agreed())
    assert failed.code != 0
    progress = tasks.progress()
    assert [*progress.values()].count("ExternalUpgradeFailed") == 1
    whole = tasks.condition("MachineUpToDate")
    assert whole["message"].startswith("Failed: cp-"), whole
    assert whole["status"] == "Unknown", "it serves as before"
    (cause,) = [
        each["conditions"][0]["message"]
        for each in tasks.task()["status"]["machines"]
        if each["conditions"][0]["reason"] == "ExternalUpgradeFailed"
    ]
    assert "ImagePull" in cause
