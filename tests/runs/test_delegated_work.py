"""Machines that something else upgrades, as NodeUpdates ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import NAMESPACE
from tests.runs.owned_machines import CLUSTERS, management, owned
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, FROM, TO, Tasks, Upgrader, abort_it, requesting
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.web import Request

DELEGATED = {"upgrade_member_role": "stateful.upgrade.member_delegated"}


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    """A cluster whose upgrades UpgradeTasks request."""
    with requesting() as made:
        yield made


def test_machines_are_upgraded_by_something_else_each_step_once(tasks: Tasks) -> None:
    """No machine can be reached by the controller, which needs no connection to any of them."""
    for door in tasks.found.doors.values():
        door.close()
    tasks.request(machines=EVERY, template={"upgraderRef": {"kind": "Trident", "name": "os"}})
    upgrader = Upgrader(tasks.found)
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
    upgrader = Upgrader(tasks.found)
    passing = {"failureClass": "Transient", "failureReason": "Busy", "failureMessage": "the host is busy"}
    upgrader.fails = [passing, {"failureReason": "ImageInvalid", "failureMessage": "the signature is missing"}]
    failed = tasks.play(tasks.agreed(**DELEGATED))
    assert failed.code != 0
    assert "ImageInvalid: the signature is missing. Fix the cause, delete NodeUpdate cp-1-before-drain" in failed.output
    assert upgrader.began == [("cp-1-before-drain", 1), ("cp-1-before-drain", 2)]
    assert tasks.progress() == {"cp-1": "ExternalUpgradeFailed"}


def test_nothing_is_begun_where_the_api_does_not_know_the_object(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1",))
    failed = tasks.play(tasks.agreed(**DELEGATED))
    assert failed.code != 0
    assert "does not know NodeUpdate" in failed.output


def test_work_whose_time_is_over_is_aborted_and_comes_to_its_end(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1",))
    upgrader = Upgrader(tasks.found)
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


def test_an_upgrader_that_says_nothing_of_aborted_work_is_waited_for_as_long_again(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1",))
    upgrader = Upgrader(tasks.found)
    upgrader.hangs = upgrader.deaf = True
    failed = tasks.play(tasks.agreed(**DELEGATED, member_delegated_timeout=60))
    assert failed.code != 0
    assert tasks.resources.get(upgrader.kind, NAMESPACE, "cp-1-before-drain")["spec"]["phase"] == "Abort"
    assert "or that has never begun it, delete NodeUpdate cp-1-before-drain" in failed.output


def test_an_abort_reaches_the_upgrader_and_waits_for_its_end(tasks: Tasks) -> None:
    tasks.request(machines=("cp-1", "cp-2"))
    upgrader = Upgrader(tasks.found)
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
    assert (tasks.phase(), tasks.progress()) == ("Abort", {})


@pytest.mark.parametrize("number", [pytest.param(each, marks=pytest.mark.soak) for each in range(4, 40, 5)])
def test_a_killed_run_starts_no_work_twice(tasks: Tasks, number: int) -> None:
    tasks.request(machines=("cp-1", "worker-1", "cp-2", "cp-3"))
    upgrader = Upgrader(tasks.found)
    given = tasks.agreed(**DELEGATED)
    tasks.here.calling.after = upgrader.look
    tasks.killed_and_run_again(given, number)
    assert len(upgrader.began) == len({*upgrader.began}), "no attempt twice"
    assert {attempt for _name, attempt in upgrader.began} == {1}


def test_work_that_goes_on_is_finished_before_a_canary_is_begun(tasks: Tasks) -> None:
    tasks.request(machines=(*EVERY, "worker-2"))
    upgrader = Upgrader(tasks.found)
    given = tasks.agreed(**DELEGATED)

    def stop(request: Request) -> None:
        upgrader.hangs = "worker" in str(request.body)
        upgrader.look(request)
        if any(name.startswith("worker") for name, _attempt in upgrader.began):
            raise Killed

    tasks.here.calling.after = stop
    with pytest.raises(Killed):
        tasks.play(given)
    tasks.here.later(900)
    first = upgrader.began[-1][0].removesuffix("-before-drain")
    (other,) = {"worker-1", "worker-2"} - {first}
    canary = {"upgrade.stateful/canary": "true"}
    tasks.resources.change(NODES, "", other, lambda node: node["metadata"].setdefault("annotations", {}).update(canary))
    tasks.here.calling.after = upgrader.look
    upgrader.hangs = False
    tasks.found.cluster.shared.clock.later(120, lambda: upgrader.finish(f"{first}-before-drain"))
    ended = tasks.play(given)
    assert ended.code == 0, ended.output
    steps = [f"{name}-{step}-drain" for name in (first, other) for step in ("before", "after")]
    assert [name for name, _attempt in upgrader.began if name.startswith("worker")] == steps


def plan_of(tasks: Tasks, upgrader: Upgrader, name: str) -> Json:
    return dict(tasks.resources.get(upgrader.kind, NAMESPACE, name)["spec"]["updatePlan"])


SIZE = {"kind": "SandboxMachine", "spec": {"size": "m"}}


def test_the_plan_of_a_machine_is_made_once_from_what_is_there() -> None:
    with owned() as (tasks, machines):
        wanted = {"version": f"v{TO}", "infraMachine": {**SIZE, "spec": {"size": "l"}}}
        tasks.request(machines=("cp-1",), newMachineSpec=wanted, template={"covers": ["infraMachine.spec.*"]})
        upgrader = Upgrader(tasks.found)
        failure = {"failureClass": "Transient", "failureReason": "Busy"}
        upgrader.fails = [failure]
        ended = tasks.play(tasks.agreed(**DELEGATED, **management(tasks)))
        assert ended.code == 0, ended.output
        assert upgrader.began[:2] == [("cp-1-before-drain", 1), ("cp-1-before-drain", 2)]
        plan = plan_of(tasks, upgrader, "cp-1-before-drain")
        assert (plan["fields"], plan["kubelet"]) == (["version", "infraMachine.spec.size"], f"v{FROM}")
        uid = machines.machine("cp-1")["metadata"]["uid"]
        assert plan["machineRef"] == {"namespace": CLUSTERS, "name": "m-cp-1", "uid": uid, "version": f"v{FROM}"}
        named = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "SandboxMachine"}
        assert plan["infraMachineRef"] == {**named, "namespace": CLUSTERS, "name": "m-cp-1"}


@pytest.mark.parametrize("connected", [True, False])
def test_a_machine_that_needs_no_update_gets_no_work_although_objects_are_wanted(connected: bool) -> None:
    with owned() as (tasks, _machines):
        given = management(tasks) if connected else {}
        spec = {"version": f"v{FROM}", "infraMachine": SIZE}
        required = [{**each, **({} if connected else {"machineSpec": spec})} for each in tasks.named("cp-1")]
        tasks.request(machinesRequireUpgrade=required, newMachineSpec={**spec, "version": f"v{TO}"})
        upgrader = Upgrader(tasks.found)

        def stop(request: Request) -> None:
            upgrader.look(request)
            if any(name == "cp-1-after-drain" for name, _attempt in upgrader.began):
                raise Killed

        tasks.here.calling.after = stop
        agreed = tasks.agreed(**DELEGATED, **given)
        with pytest.raises(Killed):
            tasks.play(agreed)
        tasks.here.calling.after = upgrader.look
        tasks.here.later(900)
        tasks.resources.delete(upgrader.kind, NAMESPACE, "cp-1-before-drain")
        again = len(upgrader.began)
        ended = tasks.play(tasks.agreed(**DELEGATED, **given))
        assert ended.code == 0, ended.output
        assert "cp-1-before-drain" not in [name for name, _attempt in upgrader.began[again:]]
