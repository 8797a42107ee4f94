"""Runs that are killed while the agent of a machine is at work, and playbooks after them, which cannot ask it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import MARK, SKIP, OwnedMachines, management, owned
from tests.runs.test_machine_marks import DONE
from tests.runs.test_os_image_of_task import NEW
from tests.runs.test_upgrade_tasks_elsewhere import left, served
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import TO, Tasks
from tests.sandbox.kubeadm.agent import Agent
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import digest_in

GIVEN: dict[str, Any] = {
    "upgrade_member_role": "stateful.upgrade.member_os_image",
    "member_os_image_command": ["osagent"],
    "member_os_image_interval": 30,
    "member_os_image_image": NEW,
    "upgrade_only": ["cp-1", "cp-2"],
}
NOTE = "upgrade.stateful/operation"
STEPS = {"before": "BeforeDrain", "after": "AfterDrain"}
Both = tuple[Tasks, OwnedMachines]


@pytest.fixture
def both() -> Iterator[Both]:
    """A cluster, and another one with its Machines."""
    with owned(separate=True) as made:
        yield made


def notes(tasks: Tasks) -> dict[str, str]:
    """The operations that are noted, by Kubernetes node."""
    found = {name: tasks.found.cluster.node(name)["metadata"].get("annotations", {}) for name in tasks.found.machines}
    return {name: each[NOTE] for name, each in found.items() if NOTE in each}


def agreed(tasks: Tasks) -> dict[str, Any]:
    given = tasks.found.variables(TO, USER, **GIVEN, **management(tasks))
    planned = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    return {**given, "upgrade_confirm": digest_in(planned)}


def agents(tasks: Tasks) -> dict[str, Agent]:
    return {name: each.agent for name, each in tasks.found.machines.items()}


def at_work(tasks: Tasks, step: str) -> dict[str, str]:
    """The operations of a step that agents have begun, by machine."""
    found = {name: each.documents for name, each in agents(tasks).items()}
    of_step = {
        name: [each["operation"] for each in made if each["step"] == STEPS[step]] for name, made in found.items()
    }
    return {name: made[-1] for name, made in of_step.items() if made}


def killed_at(tasks: Tasks, step: str, *, hangs: bool = True) -> tuple[str, str]:
    """A run that is killed while the first agent works on a step. The result has its machine and its operation."""
    for each in agents(tasks).values():
        each.hangs = hangs and step == "before"

    def look(_request: Request) -> None:
        if hangs and step == "after":
            for each in agents(tasks).values():
                each.hangs = any(made["step"] == STEPS[step] for made in each.documents)
        if at_work(tasks, step):
            raise Killed

    tasks.here.calling.after = look
    given = agreed(tasks)
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.calling.after = lambda _request: None
    tasks.here.later(900)
    ((machine, operation),) = at_work(tasks, step).items()
    return machine, operation


@pytest.mark.parametrize("step", STEPS)
def test_a_machine_stays_as_it_is_until_a_run_has_read_the_end(both: Both, step: str) -> None:
    tasks, machines = both
    machine, operation = killed_at(tasks, step)
    assert notes(tasks) == {machine: operation}
    cordoned = [machine] if step == "after" else []
    for playbook in ("settle", "abort"):
        put_back = served(tasks, playbook, **management(tasks))
        assert put_back.code == 0, put_back.output
        said = (
            f"Machine {machine} stays cordoned, since the end of operation {operation} of its agent was not read."
            if cordoned
            else f"The end of operation {operation} of the agent on machine {machine} was not read"
        )
        assert said in put_back.output
        assert "Run the playbook again" in put_back.output
        assert (left(tasks), notes(tasks)) == (cordoned, {machine: operation})
        assert {MARK, SKIP} <= machines.notes(machine).keys(), "nothing may replace it now"
    for each in agents(tasks).values():
        each.hangs = False
    assert served(tasks, "resume").code == 0
    ended = tasks.play(agreed(tasks))
    assert ended.code == 0, ended.output
    assert (left(tasks), notes(tasks), machines.marked()) == ([], {}, {})
    assert at_work(tasks, step)[machine] == operation, "none is begun twice"
    assert machines.condition(machine) == DONE


@pytest.mark.parametrize("step", STEPS)
def test_a_run_after_the_end_of_the_operation_leaves_nothing(both: Both, step: str) -> None:
    tasks, machines = both
    machine, operation = killed_at(tasks, step, hangs=False)
    assert notes(tasks) == {machine: operation}
    settled = served(tasks, "settle", **management(tasks))
    assert f"the end of operation {operation}" in settled.output.lower(), "nothing has read it yet"
    ended = tasks.play(agreed(tasks))
    assert ended.code == 0, ended.output
    assert (left(tasks), notes(tasks), machines.marked()) == ([], {}, {})


def test_the_note_is_there_before_the_agent_gets_its_operation(both: Both) -> None:
    tasks, machines = both
    seen = set[str]()

    def look(_request: Request) -> None:
        for name, each in agents(tasks).items():
            if each.state == "Running":
                assert notes(tasks)[name] == each.documents[-1]["operation"]
                seen.add(f"{name} {each.documents[-1]['step']}")

    given = agreed(tasks)
    tasks.here.calling.after = look
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert len(seen) == 4
    assert (left(tasks), notes(tasks), machines.marked()) == ([], {}, {})


def test_a_person_who_has_seen_the_end_removes_the_note_and_settles(both: Both) -> None:
    tasks, machines = both
    machine, _operation = killed_at(tasks, "after", hangs=False)
    settled = served(tasks, "settle", **management(tasks))
    assert f"kubectl annotate node {machine} {NOTE}-, and settle." in settled.output

    def remove(item: Json) -> None:
        del item["metadata"]["annotations"][NOTE]

    machines.workload.change(NODES, "", machine, remove)
    settled = served(tasks, "settle", **management(tasks))
    assert settled.code == 0, settled.output
    assert (left(tasks), machines.marked()) == ([], {})
