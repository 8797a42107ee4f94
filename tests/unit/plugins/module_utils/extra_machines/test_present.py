"""MachineDeployments get more machines, once, and are waited for."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.sandbox.kubernetes.kinds import DEFINITIONS
from tests.sandbox.machines.kinds import DELETE_FIRST
from tests.sandbox.machines.machines import MANAGEMENT
from tests.unit.plugins.module_utils.extra_machines.driving import Driver, Killed, Killing, acts, codes

Drive = Callable[..., Driver]
MOST = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"


def test_a_plan_judges_the_same_and_changes_nothing(drive: Drive) -> None:
    driver = drive(a=1, b=1)
    driver.machines.write("a", paused=True)
    before = driver.machines.deployment("b")
    refused = driver.task("a", "b", "none", state="planned")
    assert codes(refused) == ["machine_deployment_missing", "machine_deployment_paused"]
    assert refused["changed"] is False
    planned = driver.task("b", state="planned")
    assert (planned["verdict"]["state"], planned["changed"], planned["actions"]) == ("passed", False, [])
    assert planned["before"] == {"replicas": {"management/b": 1}}
    assert driver.machines.deployment("b") == before


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_one_more_machine_is_made_and_waited_for(drive: Drive, version: str) -> None:
    driver = drive(version)
    result = driver.task("workers", diff_mode=True)
    assert (result["verdict"]["state"], result["changed"], driver.replicas("workers")) == ("passed", True, 4)
    assert acts(result) == [("add_machines", "management/workers")]
    assert result["before"] == {"replicas": {"management/workers": 3}}
    assert result["diff"]["after"] == {"replicas": {"management/workers": 4}}
    assert json.loads(driver.undo("workers"))["changes"] == [{"path": ["spec", "replicas"], "was": 3, "set_to": 4}]
    assert driver.machines.deployment("workers")["status"]["readyReplicas"] == 4
    assert any(each["code"] == "machines_not_ready" for each in result["waited"])
    again = driver.task("workers")
    assert (again["changed"], again["actions"], driver.replicas("workers")) == (False, [], 4)


def test_several_get_as_many_as_is_asked_for(drive: Drive) -> None:
    driver = drive(a=1, b=2)
    result = driver.task({"name": "a", "extra": 2}, "b")
    assert (result["verdict"]["state"], driver.replicas("a"), driver.replicas("b")) == ("passed", 3, 3)


def test_a_deployment_that_is_named_twice_gets_machines_once(drive: Drive) -> None:
    driver = drive()
    assert driver.task("workers", "workers")["verdict"]["state"] == "passed"
    assert driver.replicas("workers") == 4


def test_no_machine_deployment_at_all_is_nothing_to_do(drive: Drive) -> None:
    driver = drive()
    for state in ("present", "absent"):
        assert driver.task(state=state)["changed"] is False
    assert driver.api.asked == []


def test_a_machine_that_does_not_come_is_named_with_its_phase(drive: Drive) -> None:
    driver = drive()
    driver.machines.controllers.never_boots = True
    result = driver.task("workers", wait_timeout=60)
    assert codes(result) == ["machines_not_ready", "timed_out"]
    assert (
        "MachineDeployment management/workers has 3 of 4 machines Ready; machine workers-4 is Provisioning:"
        " The provider makes the server." in result["msg"]
    )
    one = driver.task("workers", wait=False)
    assert (one["verdict"]["state"], codes(one), one["changed"]) == ("waiting", ["machines_not_ready"], False)


def test_check_mode_changes_nothing_and_waits_for_nothing(drive: Drive) -> None:
    driver = drive()
    before, now = driver.machines.deployment("workers"), driver.machines.clock.now()
    result = driver.task("workers", check_mode=True, diff_mode=True)
    assert (result["verdict"]["state"], result["changed"]) == ("passed", True)
    assert result["diff"]["after"] == {"replicas": {"management/workers": 4}}
    assert (driver.machines.deployment("workers"), driver.machines.clock.now()) == (before, now)


def test_all_that_stands_in_the_way_is_named_at_once_and_nothing_is_changed(drive: Drive) -> None:
    driver = drive(a=1, b=1, c=1, d=1, e=1)
    driver.machines.write("a", paused=True)
    driver.machines.annotate("b", "cluster.x-k8s.io/paused", "")
    driver.machines.annotate("c", MOST, "1")
    result = driver.task("a", "b", "c", "d", {"name": "e", "extra": 0})
    assert codes(result) == [
        "machine_deployment_paused",
        "machine_deployment_paused",
        "machines_above_maximum",
        "extra_not_positive",
    ]
    assert (result["changed"], driver.replicas("d"), driver.undo("d")) == (False, 1, "")
    missing = driver.task("nobody", "a", "none")
    assert codes(missing) == ["machine_deployment_missing", "machine_deployment_missing", "machine_deployment_paused"]


def test_the_highest_number_of_the_autoscaler_may_be_reached(drive: Drive) -> None:
    driver = drive()
    driver.machines.annotate("workers", MOST, "4")
    assert driver.task("workers")["verdict"]["state"] == "passed"


def test_a_deployment_that_is_being_deleted_is_refused(drive: Drive) -> None:
    driver = drive()
    machines = driver.machines
    place = (machines.version.deployments, MANAGEMENT, "workers")
    machines.resources.change(*place, lambda item: item["metadata"].update(finalizers=["a.example/b"]))
    machines.resources.delete(*place)
    assert codes(driver.task("workers")) == ["machine_deployment_going"]
    gone = driver.task("workers", state="absent")
    assert (codes(gone), gone["verdict"]["state"]) == (["machine_deployment_gone"], "passed")


def test_a_number_that_the_topology_sets_is_refused(drive: Drive) -> None:
    driver = drive()
    entry = {"manager": "capi-topology", "operation": "Apply", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
    machines = driver.machines
    item = machines.deployment("workers")
    item["metadata"]["managedFields"] = [entry]
    machines.resources.store.put(machines.version.deployments, item)
    assert codes(driver.task("workers")) == ["machines_set_by_topology"]


def test_a_cluster_without_cluster_api_is_told(drive: Drive) -> None:
    driver = drive()
    for name in ("machinedeployments", "machines"):
        driver.machines.resources.delete(DEFINITIONS, "", f"{name}.cluster.x-k8s.io")
    result = driver.task("workers")
    assert codes(result) == ["cluster_api_missing"]


def test_a_missing_right_is_told_before_anything_is_changed(drive: Drive) -> None:
    driver = drive()
    rule = {"apiGroups": ["cluster.x-k8s.io"], "resources": ["machinedeployments"], "verbs": ["get", "patch"]}
    driver.grant(MANAGEMENT, [rule])
    result = driver.task("workers")
    assert (codes(result), driver.replicas("workers")) == (["kubernetes_rights"], 3)
    assert "list/patch machines" in result["msg"]
    driver.grant(MANAGEMENT, [])
    assert codes(driver.task("workers", "others")) == ["kubernetes_rights"] * 2


def test_the_undo_of_another_run_is_adopted_and_never_raised_twice(drive: Drive) -> None:
    driver = drive()
    driver.task("workers")
    driver.run = "run-2"
    result = driver.task("workers")
    assert (acts(result), driver.replicas("workers")) == ([("adopt_machines", "management/workers")], 4)
    assert json.loads(driver.undo("workers"))["run"] == "run-2"
    assert driver.task("workers")["changed"] is False


def test_a_number_that_another_has_lowered_is_refused(drive: Drive) -> None:
    driver = drive()
    driver.task("workers")
    driver.machines.write("workers", replicas=3)
    result = driver.task("workers")
    assert (codes(result), result["changed"], driver.replicas("workers")) == (
        ["machines_changed_by_another"],
        False,
        3,
    )


def test_a_number_that_another_has_raised_is_enough(drive: Drive) -> None:
    driver = drive()
    driver.task("workers")
    driver.machines.write("workers", replicas=6)
    result = driver.task("workers")
    assert (codes(result), driver.replicas("workers")) == (["machines_changed_by_another"], 6)
    assert driver.machines.deployment("workers")["status"]["readyReplicas"] == 6


def test_somebody_who_is_faster_is_looked_at_again(drive: Drive) -> None:
    driver = drive()
    changed: list[str] = []

    def another(_request: object) -> None:
        if not changed:
            changed.append("once")
            driver.machines.write("workers", replicas=5)

    driver.api.before_act = another
    assert driver.task("workers")["verdict"]["state"] == "passed"
    assert driver.replicas("workers") == 6
    assert json.loads(driver.undo("workers"))["changes"][0]["was"] == 5


def test_an_undo_that_no_run_has_written_is_refused(drive: Drive) -> None:
    driver = drive()
    driver.machines.annotate("workers", "upgrade.stateful/undo", '{"run":"x","at":"","changes":[]}')
    for state in ("present", "absent"):
        assert codes(driver.task("workers", state=state)) == ["undo_not_readable"]
    assert driver.replicas("workers") == 3


@pytest.mark.parametrize("behind", [False, True])
def test_a_kill_at_the_act_is_gone_on_with(drive: Drive, behind: bool) -> None:
    driver = drive()
    if behind:
        driver.api.acts_left = 1
    else:
        driver.guard = Killing(0)
    with pytest.raises(Killed):
        driver.task("workers")
    driver.guard, driver.run = None, "run-2"
    driver.api.acts_left = 1_000_000
    assert driver.task("workers")["verdict"]["state"] == "passed"
    assert driver.replicas("workers") == 4


def test_a_lost_answer_is_a_change_and_raises_nothing_twice(drive: Drive) -> None:
    driver = drive()
    driver.api.lose_answers = 1
    result = driver.task("workers")
    assert (result["changed"], driver.replicas("workers")) == (True, 4)


def test_marks_of_a_run_that_was_taking_machines_away_are_taken_back(drive: Drive) -> None:
    driver = drive()
    driver.task("workers")
    driver.machines.annotate("workers", DELETE_FIRST, "upgrade.stateful", machine="workers-4")
    driver.machines.annotate("workers", DELETE_FIRST, "somebody", machine="workers-2")
    result = driver.task("workers")
    assert acts(result) == [("unmark_machine", "workers-4")]
    assert driver.marked("workers") == ["workers-2"]
