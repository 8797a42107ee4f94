"""Several UpgradeTasks at once, and one over several minor versions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import chosen, executor
from tests.runs.driver import BegunHere
from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, machines
from tests.runs.owned_machines import MARK, SKIP, OwnedMachines, management, owned
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, OWNER, Tasks, codes, requesting
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import LEASES
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import digest_in

CONTROLLERS = EVERY[:3]
WORKERS = ("worker-1", "worker-2")
FIRST, HOPS = "1.34.8", ("1.35.4", "1.36.1")


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster whose workers are of two MachineDeployments."""
    with owned() as (tasks, found):
        for name in WORKERS:
            found.make("MachineDeployment", f"of-{name}", found.deployment(f"of-{name}"))
            found.own(name, "MachineSet", f"set-{name}", f"of-{name}")
        yield tasks, found


def of_worker(tasks: Tasks, name: str) -> None:
    """Ask for the upgrade of a worker, for its own MachineDeployment."""
    reference = {"kind": "MachineDeployment", "name": f"of-{name}"}
    tasks.request(name, machines=(name,), controlPlaneRef=None, machineDeploymentRef=reference)


def test_two_tasks_of_different_owners_are_carried_out_one_after_the_other(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, found = both
    tasks.request("main", machines=CONTROLLERS)
    assert tasks.play(tasks.agreed("main", **management(tasks))).code == 0
    for name in WORKERS:
        of_worker(tasks, name)
    given = {name: tasks.agreed(name, **management(tasks)) for name in WORKERS}
    second: list[BegunHere] = []
    most = 0

    def begin(request: Request) -> None:
        nonlocal most
        most = max(most, sum(SKIP in found.notes(name) for name in WORKERS))
        for name in WORKERS:
            assert found.notes(name).get(MARK) in (None, f"{NAMESPACE}/{name}"), "each task marks its own Machine"
        if request.method == "PATCH" and request.path.endswith("/nodes/worker-1") and not second:
            assert tasks.phase("worker-1") == "Ongoing"
            run = (PLAYBOOK, given["worker-2"], *tasks.found.arguments)
            second.append(BegunHere(executor.a_run(), lambda _shown: chosen.play(*run)))

    tasks.here.calling.after = begin
    first = tasks.play(given["worker-1"])
    assert first.code == 0, first.output
    assert second[0].wait() == 0, second[0].output
    assert most == 1, "the second run waits for the first one"
    assert [tasks.phase(name) for name in ("main", *WORKERS)] == ["Complete"] * 3
    assert {tasks.task(name)["spec"]["phase"] for name in WORKERS} == {"Ongoing"}, "a task of another owner aborts none"
    assert tasks.progress("worker-1") == {"worker-1": "UpToDate"}
    assert tasks.progress("worker-2") == {"worker-2": "UpToDate"}
    assert found.marked() == {}


def test_a_killed_run_of_one_task_stays_what_it_was_while_another_is_carried_out(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, found = both
    tasks.request("main", machines=CONTROLLERS)
    assert tasks.play(tasks.agreed("main", **management(tasks))).code == 0
    for name in WORKERS:
        of_worker(tasks, name)
    given = tasks.agreed("worker-1", **management(tasks))

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/worker-1"):
            raise Killed

    tasks.here.calling.after = stop
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.calling.after = lambda _request: None
    tasks.here.later(900)
    other = tasks.play(tasks.agreed("worker-2", **management(tasks), upgrade_supersede=True))
    assert other.code == 0, other.output
    assert (tasks.phase("worker-1"), tasks.phase("worker-2")) == ("Ongoing", "Complete")
    assert tasks.task("worker-1")["spec"]["phase"] == "Ongoing"
    ended = tasks.play(tasks.agreed("worker-1", **management(tasks)))
    assert ended.code == 0, ended.output
    assert tasks.phase("worker-1") == "Complete"
    assert found.marked() == {}


OTHER = {**OWNER, "name": "other"}


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    """A cluster without Machines of Cluster API, whose owners are only names."""
    with requesting() as made:
        yield made


def begun_at_the_first_machine(tasks: Tasks, given: dict[str, Any]) -> list[BegunHere]:
    """A list that has a second run once the first one is at its first machine."""
    begun = list[BegunHere]()

    def begin(_tasks: Tasks) -> None:
        run = (PLAYBOOK, given, *tasks.found.arguments)
        begun.append(BegunHere(executor.a_run(), lambda _shown: chosen.play(*run)))

    tasks.at_the_first_machine(begin)
    return begun


def stops_asked(tasks: Tasks) -> list[str]:
    """The runs that others have asked to stop, as they come."""
    asked = list[str]()

    def look(change: Change) -> None:
        if change.kind.key == LEASES.key and "stop" in json.dumps(change.item["metadata"].get("annotations", {})):
            asked.append(change.item["spec"]["holderIdentity"])

    tasks.here.sandbox.kubernetes.server.resources.store.listeners.append(look)
    return asked


@pytest.mark.parametrize("replaces", [True, False])
def test_a_task_of_another_owner_waits_for_the_run_and_does_not_ask_it_to_stop(tasks: Tasks, replaces: bool) -> None:
    tasks.request("first", machines=EVERY)
    if replaces:
        # It was never started, and the next one of its owner takes its place.
        tasks.request("before", machines=EVERY, controlPlaneRef=OTHER)
    tasks.here.later(5)
    tasks.request("next", machines=(*EVERY, "worker-2"), controlPlaneRef=OTHER)
    given, asked = {name: tasks.agreed(name) for name in ("first", "next")}, stops_asked(tasks)
    second = begun_at_the_first_machine(tasks, given["next"])
    first = tasks.play(given["first"])
    assert first.code == 0, first.output
    assert (tasks.phase("first"), tasks.phase("next")) == ("Complete", "")
    assert second[0].wait() == 0, second[0].output
    assert tasks.phase("next") == "Complete"
    assert asked == []
    assert [name for name, each in tasks.found.machines.items() if each.kubelet.version == HOPS[-1]] == [
        *EVERY,
        "worker-2",
    ]
    assert not replaces or tasks.phase("before") == "Abort"


def test_a_task_of_the_same_owner_asks_the_run_to_stop_and_follows_it(tasks: Tasks) -> None:
    tasks.request("first", machines=EVERY)
    tasks.here.later(5)
    tasks.request("next", machines=(*EVERY, "worker-2"))
    given, asked = {name: tasks.agreed(name) for name in ("first", "next")}, stops_asked(tasks)
    second = begun_at_the_first_machine(tasks, given["next"])
    first = tasks.play(given["first"])
    assert first.code != 0
    assert "stopped_by_request" in codes(first), first.output
    assert second[0].wait() == 0, second[0].output
    assert [tasks.phase(name) for name in ("first", "next")] == ["Abort", "Complete"]
    assert {*asked} == {tasks.task("first")["status"]["run"]}


def in_chain(tasks: Tasks, **more: Any) -> dict[str, Any]:
    """The variables of a run of the task over all versions, with consent."""
    given = tasks.found.variables(
        HOPS[-1], USER, upgrade_request="upgradetask/next", upgrade_through=[*HOPS[:-1]], **more
    )
    del given["target_version"]
    planned = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    assert planned.code == 0, planned.output
    return {**given, "upgrade_confirm": digest_in(planned)}


@pytest.mark.parametrize(
    "number", [None, 12, *(pytest.param(each, marks=pytest.mark.soak) for each in range(6, 40, 3))]
)
def test_a_task_over_several_versions_is_done_with_the_last(number: int | None) -> None:
    with world() as here, machines(here, FIRST, HOPS, control_plane=1, workers=1, balanced=True) as found:
        tasks = Tasks(found)
        tasks.request(machines=("cp-1", "worker-1"))
        given, seen = in_chain(tasks, upgrade_allow_quorum_loss=True), set[str]()

        def look(request: Request) -> None:
            if request.method == "PATCH" and request.path.endswith("/upgradetasks/next/status"):
                for name, reason in tasks.progress().items():
                    version = found.machines[name].kubelet.version
                    assert reason != "UpToDate" or version == HOPS[-1], "a version on the way is not the end"
                    seen.add(version)

        here.calling.after = look
        if number is not None:
            with here.killing_behind(number), pytest.raises(Killed):
                tasks.play(given)
            here.later(900)
        ended = tasks.play(given)
        assert ended.code == 0, ended.output
        assert {each.kubelet.version for each in found.machines.values()} == {HOPS[-1]}
        assert HOPS[0] in seen
        assert (tasks.phase(), tasks.progress()) == ("Complete", dict.fromkeys(("cp-1", "worker-1"), "UpToDate"))
