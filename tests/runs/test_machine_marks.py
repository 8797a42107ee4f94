"""Marks at the Machines of a management cluster: set before work starts, and taken off again whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import CHECK, PLAYBOOK, Tenant
from tests.runs.owned_machines import CLUSTERS, MARK, SKIP, UNDO, OwnedMachines, management, owned
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, OWNER, TO, Tasks, abort_it, codes
from tests.sandbox.kubernetes.kinds import ROLES
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

DONE, WAITING = ("True", "UpToDate"), ("Unknown", "Waiting")
AT_WORK, FAILED = ("Unknown", "ExternalUpgradeInProgress"), ("False", "ExternalUpgradeFailed")


def acts(*often: int) -> list[Any]:
    """The numbers of the acts of a run; those that are tried rarely are left to `make soak`."""
    return [each if each in often else pytest.param(each, marks=pytest.mark.soak) for each in range(2, 80)]


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster whose upgrades UpgradeTasks request, and its Machines."""
    with owned() as made:
        yield made


def test_each_machine_is_marked_and_held_while_it_is_worked_on(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    given, seen = tasks.agreed(**management(tasks)), list[str]()
    assert machines.marked() == {}, "a plan changes nothing"

    def look(request: Request) -> None:
        if request.method == "PATCH" and "/api/v1/nodes/" in request.path:
            node = request.path.rpartition("/")[2]
            assert machines.condition(node) == AT_WORK
            assert machines.notes(node)[MARK] == "upgrades/next"
            marked = machines.marked()
            assert [name for name, notes in marked.items() if SKIP in notes] == [node], "before anything is done there"
            assert all(UNDO in notes for notes in marked.values())
            others = {each for name, each in machines.conditions().items() if name in EVERY and name != node}
            assert others <= {DONE, WAITING}
            seen.append(node)

    tasks.here.calling.after = look
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert sorted({*seen}) == sorted(EVERY)
    assert machines.marked() == {}
    assert machines.conditions() == {**dict.fromkeys(EVERY, DONE), "worker-2": None}


def settled(tasks: Tasks) -> Played:
    """The playbook settle."""
    given = tasks.found.variables(TO, USER, **management(tasks), upgrade_system="stateful.upgrade.machines")
    return tasks.here.play("stateful.upgrade.settle", given, *tasks.found.arguments)


def killed(tasks: Tasks, given: dict[str, Any], number: int) -> bool:
    """Whether a run was killed after its act of this number; else it has ended well."""
    with tasks.here.killing_behind(number):
        try:
            ended = tasks.play(given)
        except Killed:
            return True
    assert ended.code == 0, ended.output
    return False


@pytest.mark.parametrize("number", acts(5, 10, 12, 15))
def test_killed_behind_any_act_and_run_again_nothing_is_left(both: tuple[Tasks, OwnedMachines], number: int) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    given = tasks.agreed(**management(tasks))
    if killed(tasks, given, number):
        tasks.here.later(900)
        ended = tasks.play(given)
        assert ended.code == 0, ended.output
    assert machines.marked() == {}
    assert machines.conditions() == {**dict.fromkeys(EVERY, DONE), "worker-2": None}


@pytest.mark.parametrize("number", acts(6, 16, 21))
def test_killed_behind_any_act_of_a_plain_run_settle_leaves_no_mark(
    both: tuple[Tasks, OwnedMachines], number: int
) -> None:
    tasks, machines = both
    given = tasks.found.variables(TO, USER, **management(tasks))
    planned = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    if killed(tasks, {**given, "upgrade_confirm": digest_in(planned)}, number):
        tasks.here.later(900)
        assert settled(tasks).code == 0
        again = settled(tasks)
        assert again.code == 0
    assert machines.marked() == {}
    assert {*machines.conditions().values()} <= {DONE, None}


def test_a_machine_that_has_failed_is_held_until_it_is_back_or_a_person_lets_it_go(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    kubelet = tasks.found.machines["worker-1"].kubelet
    kubelet.never_ready = True
    failed = tasks.play(tasks.agreed(**management(tasks), upgrade_member_timeout=120))
    assert failed.code != 0
    assert "keeps its annotation cluster.x-k8s.io/skip-remediation" in failed.output
    assert machines.conditions() == {**dict.fromkeys(EVERY, DONE), "worker-1": FAILED, "worker-2": None}
    assert [*machines.marked()] == ["worker-1"]
    assert machines.marked()["worker-1"][MARK] == "upgrades/next"
    assert settled(tasks).code == 0
    assert machines.condition("worker-1") == FAILED
    assert SKIP in machines.notes("worker-1"), "it is not Ready"
    machines.annotate("worker-1", SKIP, None)
    assert machines.condition("worker-1") == FAILED, "a MachineHealthCheck may replace it now"
    kubelet.never_ready = False
    kubelet.restart(TO)
    tasks.here.later(60)
    ended = tasks.play(tasks.agreed(**management(tasks)))
    assert ended.code == 0, ended.output
    assert machines.marked() == {}
    assert machines.condition("worker-1") == DONE, "seed 6003: it came to the target after the run that stopped there"


def test_a_machine_that_failed_before_its_drain_says_so_and_serves(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    for name in ("cp-1", "cp-2", "cp-3"):
        tasks.found.machines[name].commands.upgrade_fails = "[ERROR ImagePull]: it is not found"
    failed = tasks.play(tasks.agreed(**management(tasks)))
    assert failed.code != 0
    (name,) = [name for name, each in machines.conditions().items() if each == ("Unknown", "ExternalUpgradeFailed")]
    (condition,) = [
        each for each in machines.machine(name)["status"]["conditions"] if each["type"] == "MachineUpToDate"
    ]
    assert "ImagePull" in condition["message"]
    assert {node: [*notes] for node, notes in machines.marked().items()} == {name: [MARK, UNDO]}, "nothing holds it"
    assert settled(tasks).code == 0
    assert machines.marked() == {}
    assert {*machines.conditions().values()} == {None}


def test_a_task_that_is_aborted_takes_off_its_own_marks_alone(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    given = tasks.agreed(**management(tasks))
    machines.annotate("worker-2", MARK, "upgrades/other")

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/cp-2"):
            tasks.here.calling.after = lambda _request: None
            abort_it(tasks)

    tasks.here.calling.after = stop
    ended = tasks.play(given)
    assert ended.code != 0
    assert machines.marked() == {"worker-2": {MARK: "upgrades/other"}}
    assert {*machines.conditions().values()} <= {DONE, None}


def test_a_machine_that_another_task_has_marked_is_refused_by_name(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request("other", machines=("worker-2",), controlPlaneRef={**OWNER, "name": "other"})
    tasks.request(machines=EVERY)
    machines.annotate("worker-1", MARK, "upgrades/other")
    refused = tasks.here.play(PLAYBOOK, tasks.variables(**management(tasks)), *tasks.found.arguments, CHECK)
    assert codes(refused) == ["machine_marked"]
    assert "Machine clusters/m-worker-1 is marked by UpgradeTask upgrades/other" in refused.output
    abort_it(tasks, "other")
    ended = tasks.play(tasks.agreed(**management(tasks)))
    assert ended.code == 0, ended.output
    assert machines.condition("worker-1") == DONE


def test_a_hold_that_a_person_has_set_stays(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    machines.annotate("worker-1", SKIP, "")
    ended = tasks.play(tasks.agreed(**management(tasks)))
    assert ended.code == 0, ended.output
    assert machines.marked() == {"worker-1": {SKIP: ""}}


def test_machines_are_not_touched_without_the_rights_or_the_management_cluster(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    planned = tasks.here.play(PLAYBOOK, tasks.variables(), *tasks.found.arguments, CHECK)
    assert planned.code == 0
    assert "a MachineHealthCheck may replace one during its upgrade" in planned.output
    machines.resources.delete(ROLES, CLUSTERS, "stateful-upgrade-machines")
    refused = tasks.here.play(PLAYBOOK, tasks.variables(**management(tasks)), *tasks.found.arguments, CHECK)
    assert codes(refused) == ["kubernetes_rights"]
    assert "patch machines/status" in refused.output
    assert machines.marked() == {}


def test_other_conditions_stay_whoever_writes_them_at_the_same_time(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    tasks.request(machines=EVERY)
    given, count = tasks.agreed(**management(tasks)), 0

    def rewrite(request: Request) -> None:
        nonlocal count
        if request.method == "GET" and request.path.endswith("/machines/m-cp-1"):
            count += 1
            if count % 2:
                machines.change("cp-1", lambda item: item["status"].update(observedGeneration=count), "status")

    tasks.here.calling.after = rewrite
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert count > 4
    assert machines.condition("cp-1") == DONE


def test_a_machine_is_held_until_the_databases_that_were_on_it_are_whole() -> None:
    with owned(workers=4) as (tasks, machines):
        is_held_until_whole(tasks, machines)


def is_held_until_whole(tasks: Tasks, machines: OwnedMachines) -> None:
    """Fails unless the machine is held for as long as copies are away that were on it."""
    tenant = Tenant(tasks.found)
    worker = min(tenant.places().values())
    tasks.request(machines=(*EVERY[:3], worker))
    given = tasks.agreed(**management(tasks), upgrade_workloads=[tenant.workload()])
    missing, ends = list[int](), list[int]()

    def copies_away() -> int:
        indices = tenant.servers.state.indices.values()
        return sum(not copy.started for index in indices for copies in index.shards.values() for copy in copies)

    def look(_request: Request) -> None:
        held = SKIP in machines.notes(worker)
        if held:
            missing.append(copies_away())
        elif missing and not ends:
            ends.append(copies_away())

    tasks.here.calling.after = look
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    assert max(missing) > 0, "copies were away while it was held"
    assert ends == [0]
    assert machines.condition(worker) == DONE
    assert machines.marked() == {}
