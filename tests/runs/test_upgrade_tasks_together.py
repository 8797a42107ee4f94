"""Several UpgradeTasks at once, and one over several minor versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import chosen, executor
from tests.runs.driver import BegunHere
from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, machines
from tests.runs.owned_machines import MARK, SKIP, OwnedMachines, management, owned
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, Tasks
from tests.runs.world import world
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
