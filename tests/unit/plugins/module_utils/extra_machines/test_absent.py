"""MachineDeployments lose their extra machines again, and never one with a member."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import now_text
from ansible_collections.stateful.upgrade.plugins.module_utils.extra_machines.observe.look import ClusterApi

from tests.sandbox.kubernetes.kinds import LEASES, ROLES
from tests.sandbox.machines.kinds import DELETE_FIRST
from tests.sandbox.machines.machines import MANAGEMENT, SEARCH
from tests.unit.plugins.module_utils.extra_machines.driving import UNDO, Driver, Killed, Killing, acts, codes

Drive = Callable[..., Driver]
OURS = "upgrade.stateful"


@pytest.fixture
def raised(drive: Drive) -> Driver:
    """Three machines with a member each, and an extra one, `workers-4`."""
    driver = drive()
    for number in range(3):
        driver.machines.member(f"data-{number}", f"workers-{number + 1}")
    driver.task("workers")
    return driver


def lower(driver: Driver, **given: Any) -> dict[str, Any]:
    """One task that takes the extra machines away."""
    return driver.task("workers", state="absent", **given)


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_exactly_the_machine_without_a_member_goes(drive: Drive, version: str) -> None:
    driver = drive(version)
    driver.task("workers")
    for number, machine in enumerate(("1", "3", "4")):
        driver.machines.member(f"data-{number}", f"workers-{machine}")
    driver.machines.member("tool-0", "workers-2", owner="ReplicaSet")
    result = lower(driver, diff_mode=True)
    assert (result["verdict"]["state"], result["leaving"], driver.replicas("workers")) == ("passed", ["workers-2"], 3)
    assert acts(result) == [("mark_machine", "workers-2"), ("remove_machines", "management/workers")]
    assert result["diff"] == {
        "before": {"replicas": {"management/workers": 4}},
        "after": {"replicas": {"management/workers": 3}},
    }
    assert sorted(driver.machines.machines("workers")) == ["workers-1", "workers-3", "workers-4"]
    assert (driver.undo("workers"), driver.marked("workers")) == ("", [])
    assert any(each["code"] == "machines_leaving" for each in result["waited"])
    again = lower(driver)
    assert (again["changed"], again["actions"], again["leaving"]) == (False, [], [])


def test_a_machine_that_never_came_goes_first_then_the_newest(raised: Driver) -> None:
    driver = raised
    driver.task("workers", state="absent")
    driver.machines.controllers.never_boots = True
    driver.task({"name": "workers", "extra": 2}, wait=False)
    driver.machines.clock.advance(60)
    result = lower(driver)
    assert result["leaving"] == ["workers-5", "workers-6"]
    assert len(driver.machines.machines("workers")) == 3


def test_without_an_undo_nothing_is_lowered(drive: Drive) -> None:
    driver = drive()
    result = lower(driver)
    assert (result["verdict"]["state"], result["changed"], driver.replicas("workers")) == ("passed", False, 3)


def test_a_deployment_that_is_not_there_needs_nothing(drive: Drive) -> None:
    result = drive().task("nobody", state="absent")
    assert (codes(result), result["verdict"]["state"]) == (["machine_deployment_gone"], "passed")


def test_members_on_all_machines_keep_them_and_are_named(raised: Driver) -> None:
    driver = raised
    driver.machines.member("data-3", "workers-4")
    result = lower(driver)
    assert (codes(result), result["changed"], driver.replicas("workers")) == (["machines_hold_members"], False, 4)
    assert "workers-4 (node-workers-4: data-3)" in result["msg"]
    assert driver.marked("workers") == []
    driver.machines.gone("data-0")
    assert lower(driver)["leaving"] == ["workers-1"]


def test_a_member_that_lost_its_stateful_set_is_one(raised: Driver) -> None:
    driver = raised
    driver.machines.member("data-3", "workers-4", owner="", orphaned=True)
    assert codes(lower(driver)) == ["machines_hold_members"]


def test_a_member_without_a_node_is_waited_for(raised: Driver) -> None:
    driver = raised
    driver.machines.member("data-3", "")
    result = lower(driver, wait=False)
    assert (codes(result), result["changed"]) == (["members_without_node"], False)


def test_a_mark_of_somebody_else_on_a_machine_with_a_member_stops_it(raised: Driver) -> None:
    driver = raised
    driver.machines.annotate("workers", DELETE_FIRST, "yes", machine="workers-2")
    result = lower(driver)
    assert (codes(result), driver.replicas("workers")) == (["machines_hold_members"], 4)
    assert "Machine workers-2" in result["msg"]
    driver.machines.gone("data-1")
    assert lower(driver)["leaving"] == ["workers-2"]
    assert "workers-4" in driver.machines.machines("workers")


def test_a_member_that_comes_to_a_marked_machine_saves_it(raised: Driver) -> None:
    driver = raised
    driver.machines.gone("data-2")
    driver.machines.annotate("workers", DELETE_FIRST, OURS, machine="workers-4")
    driver.machines.member("data-2", "workers-4")
    result = lower(driver)
    assert acts(result)[:2] == [("unmark_machine", "workers-4"), ("mark_machine", "workers-3")]
    assert (result["leaving"], sorted(driver.machines.machines("workers"))) == (
        ["workers-3"],
        ["workers-1", "workers-2", "workers-4"],
    )
    assert driver.marked("workers") == []


def test_a_member_that_comes_while_machines_are_marked_is_seen(raised: Driver) -> None:
    driver = raised

    def scheduled(_request: object) -> None:
        driver.api.before_act = lambda _request: None
        driver.machines.gone("data-0")
        driver.machines.member("data-0", "workers-4")

    driver.api.before_act = scheduled
    assert lower(driver)["leaving"] == ["workers-1"]


def test_a_number_that_another_has_changed_is_left_and_the_undo_goes(raised: Driver) -> None:
    driver = raised
    driver.machines.annotate("workers", DELETE_FIRST, OURS, machine="workers-4")
    driver.machines.write("workers", replicas=6)
    driver.machines.clock.advance(60)
    result = lower(driver)
    assert (codes(result), result["verdict"]["state"]) == (["machines_changed_by_another"], "passed")
    assert (driver.replicas("workers"), driver.undo("workers"), driver.marked("workers")) == (6, "", [])
    assert codes(lower(driver)) == []


def test_a_rollout_has_to_end_first(raised: Driver) -> None:
    driver, controllers = raised, raised.machines.controllers
    controllers.rolls_out = True
    controllers.look_again((MANAGEMENT, "workers"))
    driver.machines.clock.advance(5)
    result = lower(driver, wait=False)
    assert (codes(result), result["changed"]) == (["machines_roll_out"], False)
    controllers.rolls_out = False
    controllers.look_again((MANAGEMENT, "workers"))
    assert lower(driver)["leaving"] == ["workers-4"]


def test_machines_of_two_machine_sets_are_waited_for(drive: Drive) -> None:
    driver = drive()
    driver.machines.controllers.machine_set = "set-2"
    driver.task("workers")
    assert codes(lower(driver, wait=False)) == ["machines_roll_out"]
    assert (driver.replicas("workers"), driver.marked("workers")) == (4, [])


def test_machines_that_are_not_there_yet_are_waited_for(drive: Drive) -> None:
    driver = drive()
    driver.task("workers", wait=False)
    result = lower(driver, wait=False)
    assert codes(result) == ["machines_unsettled"]
    assert lower(driver)["leaving"] == ["workers-4"]


def test_a_paused_deployment_is_waited_for(raised: Driver) -> None:
    driver = raised
    driver.machines.write("workers", paused=True)
    result = lower(driver, wait_timeout=10)
    assert (codes(result)[0], driver.replicas("workers")) == ("machine_deployment_paused", 4)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_deployment_of_a_paused_cluster_is_waited_for(drive: Drive, version: str) -> None:
    """Its marked machines would go once the pause ends, with the members that have come to them by then."""
    driver = drive(version)
    driver.task("workers")
    driver.machines.controllers.cluster_is_paused = True
    driver.machines.controllers.look_again((MANAGEMENT, "workers"))
    driver.machines.clock.advance(60)
    result = lower(driver, wait_timeout=10)
    assert (codes(result)[0], driver.replicas("workers")) == ("machine_deployment_paused", 4)
    assert driver.marked("workers") == []


OLD = "/apis/cluster.x-k8s.io/v1beta1/namespaces/management"


@pytest.mark.parametrize("paused", [True, False])
def test_before_cluster_api_1_9_only_the_cluster_says_that_it_is_paused(paused: bool) -> None:
    """Its controllers then write no condition, and leave everything of the Cluster alone (`annotations.IsPaused`)."""
    metadata = {"namespace": "management", "name": "workers", "uid": "u", "generation": 2}
    item: dict[str, Any] = {"metadata": metadata, "spec": {"clusterName": "search", "replicas": 3}, "status": {}}
    item["status"]["observedGeneration"] = 2
    asked: list[str] = []

    def get(path: str) -> dict[str, Any]:
        asked.append(path)
        return {"metadata": {}, "spec": {"paused": paused}} if path.endswith("/clusters/search") else item

    api = ClusterApi(cast("Any", SimpleNamespace(get=get)), "v1beta1")
    found = api.deployment("management", "workers")
    assert (found is not None and found.paused, asked[1:]) == (paused, [f"{OLD}/clusters/search"])
    # Since then the condition is there, and no further right is needed.
    item["status"]["v1beta2"] = {"conditions": [{"type": "Paused", "status": "False"}]}
    found = api.deployment("management", "workers")
    assert (found is not None and found.paused, len(asked)) == (False, 3)


def test_a_machine_that_somebody_deletes_counts_as_one_that_goes(raised: Driver) -> None:
    driver = raised
    driver.machines.controllers.delete(MANAGEMENT, "workers-1")
    result = lower(driver)
    assert (result["verdict"]["state"], result["leaving"]) == ("passed", [])
    assert sorted(driver.machines.machines("workers")) == ["workers-2", "workers-3", "workers-4"]


def test_check_mode_shows_both_acts_and_changes_nothing(raised: Driver) -> None:
    driver = raised
    before, machines = driver.machines.deployment("workers"), driver.machines.machines("workers")
    result = lower(driver, check_mode=True, diff_mode=True)
    assert [each[0] for each in acts(result)] == ["mark_machine", "remove_machines"]
    assert (result["changed"], result["leaving"]) == (True, ["workers-4"])
    assert result["diff"]["after"] == {"replicas": {"management/workers": 3}}
    assert (driver.machines.deployment("workers"), driver.machines.machines("workers")) == (before, machines)


def test_each_is_tried_even_if_another_is_refused(drive: Drive) -> None:
    driver = drive(a=1, b=1)
    driver.task("a", "b")
    for number, machine in enumerate(driver.machines.machines("a")):
        driver.machines.member(f"data-{number}", machine)
    result = driver.task("a", "b", state="absent")
    assert (codes(result)[0], driver.replicas("a"), driver.replicas("b")) == ("machines_hold_members", 2, 1)
    assert (result["verdict"]["state"], len(driver.machines.machines("b"))) == ("refused", 1)


def test_a_right_that_is_denied_for_a_while_stops_nothing(raised: Driver) -> None:
    driver = raised
    rules = driver.machines.resources.get(ROLES, MANAGEMENT, "extra")["rules"]
    driver.grant(MANAGEMENT, [])
    driver.machines.clock.later(30, lambda: driver.grant(MANAGEMENT, rules))
    assert lower(driver)["leaving"] == ["workers-4"]
    driver.grant(MANAGEMENT, [])
    result = lower(driver)
    assert (codes(result), result["verdict"]["state"]) == (["kubernetes_rights"], "refused")


def test_the_machines_of_a_run_that_lives_are_left(raised: Driver) -> None:
    driver = raised
    spec = {
        "holderIdentity": "run-1",
        "leaseDurationSeconds": 60,
        "acquireTime": now_text(),
        "renewTime": now_text(),
        "leaseTransitions": 0,
    }
    resources = driver.machines.resources
    resources.create(LEASES, SEARCH, {"metadata": {"name": "stateful-upgrade"}, "spec": spec})
    driver.run, driver.lock = "run-2", "another"

    def renews() -> None:
        driver.machines.clock.later(20, renews)
        driver.machines.resources.change(
            LEASES, SEARCH, "stateful-upgrade", lambda item: item["spec"].update(renewTime=now_text("microseconds"))
        )

    renews()
    result = lower(driver)
    assert (codes(result), driver.replicas("workers")) == (["locked"], 4)
    assert driver.marked("workers") == []


@pytest.mark.parametrize("act", [0, 1, 2])
@pytest.mark.parametrize("behind", [False, True])
def test_a_kill_at_each_act_is_gone_on_with(drive: Drive, act: int, behind: bool) -> None:
    driver = drive()
    for number in range(3):
        driver.machines.member(f"data-{number}", f"workers-{number + 1}")
    driver.task({"name": "workers", "extra": 2})
    if behind:
        driver.api.acts_left = act + 1
    else:
        driver.guard = Killing(act)
    with pytest.raises(Killed):
        lower(driver)
    driver.guard, driver.api.acts_left, driver.run = None, 1_000_000, "run-2"
    result = lower(driver)
    assert result["verdict"]["state"] == "passed"
    assert sorted(driver.machines.machines("workers")) == ["workers-1", "workers-2", "workers-3"]
    assert (driver.undo("workers"), driver.marked("workers"), driver.replicas("workers")) == ("", [], 3)


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_lost_answers_take_nothing_twice(raised: Driver, lost: int) -> None:
    raised.api.lose_answers = lost
    result = lower(raised)
    assert (result["changed"], raised.replicas("workers")) == (True, 3)
    assert sorted(raised.machines.machines("workers")) == ["workers-1", "workers-2", "workers-3"]


def test_a_mark_that_was_not_needed_is_taken_back_after_a_kill(raised: Driver) -> None:
    driver = raised
    driver.machines.annotate("workers", DELETE_FIRST, OURS, machine="workers-4")
    driver.machines.annotate("workers", UNDO, None)
    result = lower(driver)
    assert (acts(result), driver.marked("workers")) == ([("unmark_machine", "workers-4")], [])
    assert driver.replicas("workers") == 4
