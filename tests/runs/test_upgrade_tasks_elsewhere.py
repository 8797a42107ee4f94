"""UpgradeTasks in a management cluster that is another one than the cluster that is upgraded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import executor
from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import CLUSTERS, MARK, OwnedMachines, management, owned
from tests.runs.shipped import bound
from tests.runs.test_machine_marks import settled
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, FROM, TO, Tasks, abort_it, codes
from tests.sandbox.kubernetes.kinds import ROLES
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played

TASKS = "/upgradetasks"


class Foreign:
    """The requests for UpgradeTasks that come to the cluster that is upgraded, whose API does not know them."""

    def __init__(self, tasks: Tasks) -> None:
        self.asked: list[str] = []
        port: Any = tasks.here.sandbox.server_port
        before = port.handler

        def look(request: Request) -> Any:
            self.asked += [request.path] if TASKS in request.path else []
            return before(request)

        port.handler = look


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster, and another one with its Machines and its UpgradeTasks."""
    with owned(separate=True) as made:
        yield made


def versions(tasks: Tasks) -> dict[str, str]:
    return {name: each.kubelet.version for name, each in tasks.found.machines.items()}


def left(tasks: Tasks) -> list[str]:
    """The machines that are cordoned."""
    return [name for name in tasks.found.machines if tasks.found.cluster.node(name)["spec"].get("unschedulable")]


def test_a_task_next_to_its_machines_is_carried_out_and_answered_there(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    foreign = Foreign(tasks)
    tasks.request(machines=EVERY)
    given, phases = tasks.agreed(**management(tasks)), list[str]()

    def look(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith(f"{TASKS}/next/status"):
            phases.append(tasks.phase())
        if request.method == "PATCH" and "/api/v1/nodes/" in request.path:
            assert machines.notes(request.path.rpartition("/")[2])[MARK] == f"{CLUSTERS}/next"

    tasks.here.calling.after = look
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert versions(tasks) == {**dict.fromkeys(EVERY, TO), "worker-2": FROM}
    assert list(dict.fromkeys(each for each in phases if each)) == ["Ongoing", "Complete"]
    assert tasks.progress() == dict.fromkeys(EVERY, "UpToDate")
    assert (tasks.condition("Accepted")["status"], machines.marked()) == ("True", {})
    assert foreign.asked == []


def delete_it(tasks: Tasks) -> None:
    tasks.resources.delete(tasks.kind, CLUSTERS, "next")


@pytest.mark.parametrize("end", [abort_it, delete_it])
def test_a_task_that_is_aborted_or_deleted_there_ends_its_run(both: tuple[Tasks, OwnedMachines], end: Any) -> None:
    tasks, machines = both
    foreign = Foreign(tasks)
    tasks.request(machines=EVERY)
    given = tasks.agreed(**management(tasks))
    tasks.at_the_first_machine(end)
    ended = tasks.play(given)
    assert ended.code != 0
    assert "stopped_by_request" in codes(ended), ended.output
    where = f"The request in UpgradeTask next in namespace {CLUSTERS} of the management cluster (upgrade_management)"
    assert f"{where} was aborted or deleted" in ended.output
    assert FROM in {versions(tasks)[name] for name in EVERY}
    assert (left(tasks), machines.marked(), foreign.asked) == ([], {}, [])
    if end is abort_it:
        assert (tasks.phase(), tasks.progress()) == ("Abort", {})


def test_without_the_right_there_the_task_is_refused_by_name(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)

    def take(item: Any) -> None:
        for rule in item["rules"]:
            if "upgradetasks" in rule["resources"]:
                rule["verbs"].remove("get")

    tasks.resources.change(ROLES, CLUSTERS, "stateful-upgrade-machines", take)
    refused = tasks.play(tasks.variables(**management(tasks)))
    assert codes(refused) == ["kubernetes_rights"], refused.output
    where = f"get upgradetasks/next in namespace {CLUSTERS} at {tasks.management['host']}."
    assert f"{USER} is not allowed to {where}" in refused.output
    assert (versions(tasks), machines.marked()) == (dict.fromkeys(tasks.found.machines, FROM), {})


REQUESTS = "requests"


def apart(tasks: Tasks) -> None:
    """Have tasks in another namespace than their Machines, in which the user has no rights yet."""
    tasks.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": REQUESTS}}])
    tasks.namespace = REQUESTS


def test_a_task_in_another_namespace_than_its_machines_takes_the_shipped_rights_there(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, machines = both
    apart(tasks)
    tasks.request(machines=EVERY)
    refused = tasks.play(tasks.variables(**management(tasks)))
    assert codes(refused) == ["kubernetes_rights"], refused.output
    assert f"{USER} is not allowed to get upgradetasks/next in namespace {REQUESTS}" in refused.output
    tasks.apply(bound("machines/files/management_role.yml", REQUESTS))
    tasks.here.later(5)
    tasks.request("last")
    tasks.here.driver = executor.play  # It shows warnings.
    ended = tasks.play(tasks.agreed("last", **management(tasks)))
    assert ended.code == 0, ended.output
    assert "was not written" not in ended.output
    assert (tasks.phase(), tasks.phase("last")) == ("Abort", "Complete"), "the earlier one of its owner is aborted"
    assert tasks.progress("last") == dict.fromkeys(EVERY, "UpToDate")
    assert machines.marked() == {}


def test_a_task_that_is_aborted_in_another_namespace_ends_its_run(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    apart(tasks)
    tasks.apply(bound("machines/files/management_role.yml", REQUESTS))
    tasks.request(machines=EVERY)
    given = tasks.agreed(**management(tasks))
    tasks.at_the_first_machine(abort_it)
    ended = tasks.play(given)
    assert "stopped_by_request" in codes(ended), ended.output
    assert (tasks.phase(), tasks.progress(), machines.marked()) == ("Abort", {}, {})


def planned(tasks: Tasks, given: dict[str, Any]) -> Played:
    return tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)


def test_a_task_is_looked_for_in_one_place_which_a_refusal_names(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    tasks.request(machines=EVERY)
    gone = planned(tasks, tasks.variables("gone", **management(tasks)))
    assert codes(gone) == ["request_missing"]
    said = f"There is no request in UpgradeTask gone in namespace {CLUSTERS} of the management cluster"
    assert f"{said} (upgrade_management)." in gone.output
    foreign = Foreign(tasks)
    assert planned(tasks, tasks.variables()).code != 0
    assert [*{*foreign.asked}] == [f"/apis/upgrade.stateful/v1alpha1/namespaces/{CLUSTERS}/upgradetasks/next"]


def test_a_mark_of_a_task_there_counts_until_that_task_has_ended(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request("other", machines=("worker-2",), controlPlaneRef={**tasks.owner, "name": "other"})
    tasks.request(machines=EVERY)
    machines.annotate("worker-1", MARK, f"{CLUSTERS}/other")
    given = tasks.variables(**management(tasks))
    assert codes(planned(tasks, given)) == ["machine_marked"]
    abort_it(tasks, "other")
    assert planned(tasks, given).code == 0


NUMBERS = [pytest.param(each, marks=() if each in (6, 15) else pytest.mark.soak) for each in range(3, 60, 3)]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_killed_run_and_the_next_one_answer_one_task_there(both: tuple[Tasks, OwnedMachines], number: int) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    given = tasks.agreed(**management(tasks))
    tasks.killed_and_run_again(given, number)
    assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(EVERY, "UpToDate"))
    assert machines.marked() == {}


def served(tasks: Tasks, name: str, **more: Any) -> Played:
    """A playbook that serves the run, which knows nothing of the request but its record."""
    given = tasks.found.variables(TO, USER, upgrade_system="stateful.upgrade.machines", **more)
    return tasks.here.play(f"stateful.upgrade.{name}", given, *tasks.found.arguments)


def killed_at_work(tasks: Tasks) -> None:
    """A run that is killed in its first drain."""

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/cp-1"):
            raise Killed

    tasks.request(machines=EVERY)
    given = tasks.agreed(**management(tasks))
    tasks.here.calling.after = stop
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.calling.after = lambda _request: None
    assert tasks.phase() == "Ongoing"
    tasks.here.later(900)


def test_the_playbook_abort_answers_the_task_there(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    killed_at_work(tasks)
    assert settled(tasks).code == 0
    assert machines.marked() == {}
    aborted = served(tasks, "abort", **management(tasks))
    assert aborted.code == 0, aborted.output
    assert (tasks.phase(), left(tasks)) == ("Abort", [])


@pytest.mark.parametrize("connected", [True, False])
def test_the_playbook_status_shows_the_upgrade_with_the_variables_of_its_run(
    both: tuple[Tasks, OwnedMachines], connected: bool
) -> None:
    tasks, _machines = both
    killed_at_work(tasks)
    shown = served(tasks, "status", **(management(tasks) if connected else {}))
    assert shown.code == 0, shown.output
    assert "machine cp-2: MachineUpToDate True, UpToDate" in shown.output
    assert "2 of 4 done" in shown.output
    assert "was interrupted" in shown.output


def test_a_playbook_without_the_connection_says_that_the_task_was_not_answered(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, _machines = both
    killed_at_work(tasks)
    tasks.here.driver = executor.play  # It shows warnings.
    aborted = served(tasks, "abort")
    assert aborted.code == 0, aborted.output
    assert tasks.phase() == "Ongoing"
    assert f"The status of upgradetask/{CLUSTERS}/next was not written." in aborted.output
