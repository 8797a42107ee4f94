"""Machines that something else upgrades, whose Machines and UpgradeTasks are in a management cluster of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import NAMESPACE
from tests.runs.owned_machines import CLUSTERS, MARK, SKIP, OwnedMachines, management, owned
from tests.runs.test_delegated_work import DELEGATED
from tests.runs.test_machine_marks import DONE
from tests.runs.test_upgrade_tasks_elsewhere import left, served, versions
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, FROM, TO, Tasks, Upgrader, abort_it
from tests.sandbox.kubernetes.kinds import ROLES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Request

Both = tuple[Tasks, OwnedMachines, Upgrader]
TWO = ("cp-1", "cp-2")
INVALID = {"failureReason": "ImageInvalid", "failureMessage": "the signature is missing"}
STOPPED = ("Unknown", "ExternalUpgradeFailed")
"""The condition of a Machine that was stopped before its drain, or on which something is still at work then."""


@pytest.fixture
def both() -> Iterator[Both]:
    """A cluster with an upgrader, and another one with its Machines and its UpgradeTasks."""
    with owned(separate=True) as (tasks, machines):
        yield tasks, machines, Upgrader(tasks.found)


def update(upgrader: Upgrader, name: str) -> Json:
    """A NodeUpdate, which is in the cluster that is upgraded, next to the record."""
    return upgrader.resources.get(upgrader.kind, NAMESPACE, name)


def agreed(tasks: Tasks, **more: Any) -> dict[str, Any]:
    return tasks.agreed(**DELEGATED, **management(tasks), **more)


def stopping_at(upgrader: Upgrader, step: str, *, killed: bool) -> list[str]:
    """At the first work of a step (`before` or `after`) the upgrader hangs, and the run is killed. The result names
    the work, once it has begun."""
    calling, begun = upgrader.found.here.calling, list[str]()

    def look(request: Request) -> None:
        asked = request.method == "POST" and request.path.endswith("/nodeupdates")
        name = str(request.body["metadata"]["name"]) if asked else ""
        if name.endswith(f"{step}-drain") and not begun:
            begun.append(name)
            upgrader.hangs = True
        upgrader.look(request)
        if begun and killed:
            calling.after = upgrader.look
            raise Killed

    calling.after = look
    return begun


def killed_at(tasks: Tasks, upgrader: Upgrader, step: str, given: dict[str, Any]) -> str:
    """A run that is killed while the work of a step is going on. The result names that work."""
    begun = stopping_at(upgrader, step, killed=True)
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.later(900)
    return begun[0]


def test_work_is_asked_for_in_the_cluster_that_is_upgraded_and_answered_in_the_other(both: Both) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=EVERY, template={"upgraderRef": {"kind": "Trident", "name": "os"}})
    assert tasks.resources.kinds.named("upgrade.stateful/v1alpha1", "NodeUpdate") is None, "the other one has none"
    given = agreed(tasks)
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    steps = [(f"{name}-{step}-drain", 1) for name in EVERY for step in ("before", "after")]
    assert sorted(upgrader.began) == sorted(steps)
    for name in EVERY:
        found, machine = update(upgrader, f"{name}-after-drain"), machines.machine(name)
        assert found["metadata"]["labels"] == {"upgrade.stateful/upgrade-task": "next"}
        assert found["spec"]["upgraderRef"] == {"kind": "Trident", "name": "os"}
        of_machine = {"namespace": CLUSTERS, "name": f"m-{name}", "uid": machine["metadata"]["uid"]}
        assert of_machine.items() <= found["spec"]["updatePlan"]["machineRef"].items()
    assert versions(tasks) == {**dict.fromkeys(EVERY, TO), "worker-2": FROM}
    assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(EVERY, "UpToDate"))
    assert machines.conditions() == {**dict.fromkeys(EVERY, DONE), "worker-2": None}
    assert (machines.marked(), left(tasks)) == ({}, [])
    assert tasks.play(given).code == 0
    assert len(upgrader.began) == len(steps), "nothing is left to do"


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_failure_is_named_at_the_machine_and_the_next_run_continues_there(both: Both, step: str) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=TWO)
    given = agreed(tasks)

    def failing(request: Request) -> None:
        asked = request.method == "POST" and request.path.endswith("/nodeupdates")
        if asked and request.body["metadata"]["name"].endswith(f"{step}-drain"):
            upgrader.fails = [INVALID]
        upgrader.look(request)

    tasks.here.calling.after = failing
    failed = tasks.play(given)
    assert failed.code != 0
    (name, _attempt), began = upgrader.began[-1], len(upgrader.began)
    assert f"ImageInvalid: the signature is missing. Fix the cause, delete NodeUpdate {name}" in failed.output
    machine = name.removesuffix(f"-{step}-drain")
    assert tasks.progress()[machine] == "ExternalUpgradeFailed"
    (said,) = [each for each in machines.machine(machine)["status"]["conditions"] if each["type"] == "MachineUpToDate"]
    assert (said["status"], said["reason"]) == ("False" if step == "after" else "Unknown", "ExternalUpgradeFailed")
    assert "ImageInvalid" in said["message"]
    assert (MARK in machines.notes(machine), left(tasks)) == (True, [])
    tasks.here.calling.after = upgrader.look
    assert tasks.play(given).code != 0, "a person has to look at it first"
    assert len(upgrader.began) == began
    upgrader.resources.delete(upgrader.kind, NAMESPACE, name)
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(TWO, "UpToDate"))
    assert (machines.marked(), left(tasks)) == ({}, [])


@pytest.mark.parametrize("step", ["before", "after"])
def test_an_abort_of_the_task_reaches_the_upgrader_in_the_other_cluster(both: Both, step: str) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=TWO)
    given, begun = agreed(tasks), stopping_at(upgrader, step, killed=False)
    look = tasks.here.calling.after

    def withdraw(request: Request) -> None:
        look(request)
        if begun and tasks.task()["spec"]["phase"] == "Ongoing":
            abort_it(tasks)

    tasks.here.calling.after = withdraw
    ended = tasks.play(given)
    assert ended.code != 0
    assert "The upgrade was aborted, and no work on machine cp-1 is in progress." in ended.output
    found = update(upgrader, begun[0])
    assert (found["spec"]["phase"], found["status"]["phase"]) == ("Abort", "Aborted")
    assert (tasks.phase(), tasks.progress(), machines.marked(), left(tasks)) == ("Abort", {}, {}, [])
    assert {*machines.conditions().values()} == {None}


@pytest.mark.parametrize("number", [pytest.param(each, marks=pytest.mark.soak) for each in range(5, 45, 5)])
def test_a_killed_run_starts_no_work_twice(both: Both, number: int) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=TWO)
    given = agreed(tasks)
    tasks.killed_and_run_again(given, number)
    assert len(upgrader.began) == len({*upgrader.began}), "no attempt twice"
    assert (tasks.phase(), machines.marked(), left(tasks)) == ("Complete", {}, [])


@pytest.mark.parametrize("step", ["before", "after"])
def test_settle_leaves_a_machine_as_it_is_while_its_work_goes_on_and_the_next_run_follows_it(
    both: Both, step: str
) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=TWO)
    given = agreed(tasks)
    name = killed_at(tasks, upgrader, step, given)
    machine, cordoned = name.removesuffix(f"-{step}-drain"), step == "after"
    settled = served(tasks, "settle", **management(tasks))
    assert settled.code == 0, settled.output
    stays = ", which stays cordoned" if cordoned else ""
    assert f"NodeUpdate {name} is still at work on machine {machine}{stays}." in settled.output
    assert update(upgrader, name)["spec"]["phase"] == "Ongoing"
    assert left(tasks) == ([machine] if cordoned else [])
    assert SKIP in machines.notes(machine), "nothing may replace it now"
    assert machines.condition(machine) == (("False", "ExternalUpgradeFailed") if cordoned else STOPPED)
    upgrader.finish(name)
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert {attempt for _name, attempt in upgrader.began} == {1}
    assert len(upgrader.began) == len({*upgrader.began})
    assert (tasks.phase(), machines.marked(), left(tasks)) == ("Complete", {}, [])


@pytest.mark.parametrize("step", ["before", "after"])
def test_the_playbook_abort_has_the_work_of_a_killed_run_come_to_its_end(both: Both, step: str) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=TWO)
    name = killed_at(tasks, upgrader, step, agreed(tasks))
    aborted = served(tasks, "abort", **management(tasks))
    assert aborted.code == 0, aborted.output
    found = update(upgrader, name)
    assert (found["spec"]["phase"], found["status"]["phase"]) == ("Abort", "Aborted")
    assert (tasks.phase(), left(tasks), machines.marked()) == ("Abort", [], {})


def test_work_that_does_not_end_keeps_its_machine_cordoned_however_the_run_ends(both: Both) -> None:
    tasks, machines, upgrader = both
    tasks.request(machines=TWO)
    given, begun = agreed(tasks, member_delegated_timeout=60), stopping_at(upgrader, "after", killed=False)
    upgrader.deaf = True
    failed = tasks.play(given)
    assert failed.code != 0
    machine = begun[0].removesuffix("-after-drain")
    said = f"NodeUpdate {begun[0]} has been aborted, and has not ended on machine {machine}, which stays cordoned."
    assert said in failed.output
    assert (left(tasks), [*machines.marked()]) == ([machine], [machine])
    aborted = served(tasks, "abort", **management(tasks))
    assert said in aborted.output
    assert left(tasks) == [machine]
    upgrader.tell(begun[0], phase="Aborted", observedAttempt=1)
    assert served(tasks, "settle", **management(tasks)).code == 0
    assert (left(tasks), machines.marked()) == ([], {})


def test_who_may_not_see_the_work_learns_that_it_was_not_seen(both: Both) -> None:
    tasks, _machines, upgrader = both
    tasks.request(machines=TWO)
    killed_at(tasks, upgrader, "after", agreed(tasks))

    def take(item: Any) -> None:
        for rule in item["rules"]:
            if "nodeupdates" in rule["resources"]:
                rule["verbs"].remove("list")

    upgrader.resources.change(ROLES, NAMESPACE, "stateful-upgrade-machines", take)
    settled = served(tasks, "settle", **management(tasks))
    assert settled.code == 0, settled.output
    assert "It was not seen whether another program is at work on a machine that is uncordoned." in settled.output
    assert left(tasks) == []
