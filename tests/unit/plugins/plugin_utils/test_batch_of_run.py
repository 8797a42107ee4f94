"""The parts of a batch, and the options of its tasks, from the variables of its host."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.order import GROUP
from ansible_collections.stateful.upgrade.plugins.plugin_utils.batch_of_run import (
    SOAK_MARGIN,
    BatchOfRun,
    batch_of_run,
    parts_of_host,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.hosts_of_batch import said_once

Json = dict[str, Any]
BATCH = {"name": "batch-01", "members": ["data-0"], "pools": ["data"], "reason": "", "proof": ""}


def host(localhost: Json | None = None, **more: Any) -> Json:
    """The variables of the host of a batch."""
    return {
        "inventory_hostname": "batch-01",
        "groups": {GROUP: ["batch-01"]},
        "hostvars": {"localhost": localhost or {}},
        "upgrade_batch": BATCH,
        "upgrade_system": "stateful.upgrade.opensearch",
        **more,
    }


def batch(localhost: Json | None = None, **more: Any) -> BatchOfRun:
    variables = host(localhost, **more)
    found = batch_of_run(variables, variables.get, clock=lambda: 100.0)
    assert found is not None
    return found


def parts(localhost: Json | None = None, **more: Any) -> list[str]:
    variables = host(localhost, **more)
    return parts_of_host(variables, variables.get)


def test_an_ordinary_batch_goes_down_and_comes_back() -> None:
    assert parts() == ["down.yml", "back.yml"]


PLAN: Json = {
    "members": ["data-0", "main-0"],
    "pools": [
        {"name": "data", "container": "search", "target_image": "i:2", "rolled_by": "OnDelete"},
        {"name": "main"},
    ],
}


def test_a_batch_knows_its_pools_and_each_pool_gives_its_image() -> None:
    found = batch({"begin_plan": PLAN}, opensearch_pool=PLAN["pools"][0])
    assert found.pools() == [PLAN["pools"][0]]
    assert found.options("pool_image", {"state": "present"}) == {
        **{"pool": "data", "container": "search", "image": "i:2", "strategy": "OnDelete"},
    }
    assert batch({"begin_plan": PLAN}, upgrade_batch={"name": "n1", "members": ["n1"]}).pools() == []


def test_a_gate_expects_all_members_of_the_plan_and_waits_for_none_in_check_mode() -> None:
    gate = ("cluster_health_gate", {"moment": "before_batch"})
    found = batch({"begin_plan": PLAN}).options(*gate)
    assert (found["batch"], found["expected"], found["wait"]) == (["data-0"], ["data-0", "main-0"], True)
    assert batch({"begin_plan": PLAN}, ansible_check_mode=True).options(*gate)["wait"] is False
    assert batch({"begin_plan": PLAN}, upgrade_wait="false").options(*gate)["wait"] is False


def test_a_member_that_is_cured_first_comes_back_as_its_pool_is() -> None:
    assert "target_version" not in batch().options("pod_ondelete_roll", {})
    cured = batch(upgrade_batch={**BATCH, "cures": True}).options("pod_ondelete_roll", {})
    assert cured["target_version"] is None


def test_only_the_shards_that_would_be_lost_leave_a_batch_that_comes_back() -> None:
    prepared = ("shard_allocation", {"state": "prepared"})
    assert batch(upgrade_batch={**BATCH, "drained": ["data-9"]}).options(*prepared)["drained"] == ["data-9"]
    assert batch(upgrade_batch={**BATCH, "by": "removal"}).options(*prepared)["drained"] == ["data-0"]
    assert batch().options(*prepared) == {"batch": ["data-0"]}


def test_a_check_shows_the_settings_of_the_whole_run_at_its_first_batch_only() -> None:
    prepared, later = ("shard_allocation", {"state": "prepared"}), {GROUP: ["batch-00", "batch-01"]}
    names = ("recoveries", "recovery_bytes", "node_left_delay")
    assert batch(ansible_check_mode=True).options(*prepared) == {"batch": ["data-0"]}
    assert batch(groups=later).options(*prepared) == {"batch": ["data-0"]}
    left_out = batch(groups=later, ansible_check_mode=True).options(*prepared)
    assert left_out == {"batch": ["data-0"], **dict.fromkeys(names)}


def test_the_users_own_tasks_and_the_soak_come_first() -> None:
    assert parts(upgrade_tasks_before="a.yml", upgrade_soak_time="60") == [
        *["own_tasks.yml", "soak.yml", "down.yml", "back.yml"],
    ]
    assert parts(upgrade_soak_batches="every") == ["soak.yml", "down.yml", "back.yml"]
    assert parts(upgrade_soak_batches="first") == ["down.yml", "back.yml"]
    assert parts(upgrade_tasks_before="a.yml", upgrade_soak_time="60", ansible_check_mode=True) == [
        *["down.yml", "back.yml"],
    ]


def test_the_variables_of_a_request_are_taken_first_and_its_soak_time_is_known_before() -> None:
    request = {"begin_request": {"variables": {"upgrade_soak_time": 60}}, "upgrade_soak_time": 60}
    assert parts(request) == ["requested.yml", "soak.yml", "down.yml", "back.yml"]
    assert batch(request).options("canary_soak", {}) == {"wait_timeout": 60 + SOAK_MARGIN}


def test_a_member_on_a_host_of_its_own_has_no_batch() -> None:
    member = host(inventory_hostname="data-0", upgrade_batch=None)
    assert parts_of_host(member, member.get) == ["hosts.yml"]
    places = {"data-0": "data-0"}
    with_hosts = host(upgrade_places=places, ansible_play_hosts=["batch-01", "data-0"])
    with_hosts["hostvars"]["data-0"] = {}
    assert parts_of_host(with_hosts, with_hosts.get) == ["hosts.yml"]


def test_a_single_pass_ends_at_a_batch_that_waits() -> None:
    waits = {"code": "shards_moving", "state": "waiting", "message": "Shards move.", "remedy": ""}
    result = {"failed": False, "verdict": {"state": "waiting", "reasons": [waits]}}
    here = batch(upgrade_wait=False, opensearch_roll_before=result)
    assert here.options("upgrade_record", {"state": "batch"})["batch_state"] == "waiting"
    assert batch(opensearch_roll_before=result).options("upgrade_record", {"state": "batch"})["batch_state"] == "done"
    failed = here.options("upgrade_record", {"state": "batch", "batch_state": "failed"})
    assert "waited" in failed


def test_a_gate_before_a_batch_may_divide_it_and_lets_upgraded_members_through() -> None:
    gate = batch().gate()
    assert (gate["split_after"], gate["skip_upgraded"]) == (60, True)
    assert not batch(upgrade_batch={**BATCH, "restarts": True}).gate()["skip_upgraded"]


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("cluster_health_gate", {"moment": "before_batch"}),
        ("pod_ondelete_roll", {"until": "joined"}),
        ("pod_ondelete_roll", {"until": "ready"}),
        ("process_restart", {"until": "joined"}),
    ],
)
def test_only_a_role_that_asks_for_it_divides_its_batches(module: str, arguments: Json) -> None:
    given = batch(upgrade_batch={**BATCH, "restarts": True}).options(module, arguments)
    assert not {"gate", "split_after", "skip_upgraded"} & given.keys()


def test_a_last_look_has_the_time_of_a_member_but_never_more_than_the_batch_has_left() -> None:
    def seconds(**variables: Any) -> int:
        found: int = batch(**variables).options("cluster_health_gate", {"moment": "before_stop"})["wait_timeout"]
        return found

    assert seconds() == 1800
    assert seconds(upgrade_member_timeout="60") == 60
    assert seconds(upgrade_batch_timeout=300) == 300


def test_a_process_of_before_is_no_member_that_has_joined() -> None:
    proof = {"before": {"processes": {"data-0": "p1"}}}
    joined = batch(opensearch_roll_proof=proof).options("cluster_health_gate", {"moment": "joined"})
    assert joined["former_processes"] == {"data-0": "p1"}


def test_a_task_of_the_user_that_has_failed_is_named() -> None:
    failed = {"ansible_failed_task": {"name": "Back up"}, "ansible_failed_result": {"msg": "Disk full."}}
    own = batch(roll_of_user=True, **failed).failure()
    said = "A task of upgrade_tasks_before has failed, so the batch was not begun: Disk full."
    assert (own["message"], own["codes"], own["batch"]) == (said, ["own_tasks_failed"], "batch-01")
    assert batch(**failed).failure()["message"] == "Disk full."


@pytest.mark.parametrize(
    ("on_host", "codes"),
    [
        (["stopped_by_request"], ["stopped_by_request"]),
        (["node_update_failed", "lock_lost"], ["lock_lost"]),
        (["node_update_failed"], []),
        (None, []),
    ],
)
def test_a_batch_whose_host_was_stopped_by_request_has_not_failed(on_host: list[str] | None, codes: list[str]) -> None:
    member = {"roll_failed": "Step: stopped"} | ({} if on_host is None else {"roll_failed_codes": on_host})
    given = host(
        upgrade_places={"data-0": "host-0"},
        ansible_play_hosts=["batch-01", "host-0"],
        ansible_failed_result={"msg": "host-0, Step: stopped."},
    )
    given["hostvars"]["host-0"] = member
    of_host = batch_of_run(given, given.get, clock=lambda: 100.0)
    assert of_host is not None
    assert (of_host.failure()["message"], of_host.failure()["codes"]) == ("host-0, Step: stopped.", codes)


OPENSHIFT = "stateful.upgrade.openshift"
PASSED: Json = {"verdict": {"state": "passed", "reasons": []}, "failed": False}


def test_the_rest_of_a_batch_is_asked_for_as_often_as_others_can_come_first() -> None:
    again = parts({"begin_plan": {"interruptions": 2}}, upgrade_system=OPENSHIFT)
    assert again == ["down.yml", "again.yml", "again.yml", "back.yml"]
    assert parts({"begin_plan": {"interruptions": 0}}) == ["down.yml", "back.yml"]


def test_results_that_are_replaced_for_the_rest_of_a_batch_are_kept() -> None:
    first = {**PASSED, "rest": ["worker-1", "worker-2"], "actions": [{"action": "restored", "target": "first"}]}
    second = {**PASSED, "rest": ["worker-2"], "actions": [{"action": "restored", "target": "second"}]}
    found = batch(upgrade_system=OPENSHIFT, openshift_roll_taken=first).so_far
    assert found.rest() == ["worker-1", "worker-2"]
    again = batch(upgrade_system=OPENSHIFT, roll_earlier=found.earlier(), openshift_roll_taken=second).so_far
    assert again.rest() == ["worker-2"]
    last = batch(upgrade_system=OPENSHIFT, roll_earlier=again.earlier(), openshift_roll_taken={**PASSED, "rest": []})
    assert last.so_far.rest() == []
    assert [each["target"] for each in last.so_far.record()["acts"]] == ["first", "second"]


def test_the_rest_of_a_batch_is_not_asked_for_while_it_waits() -> None:
    waits = {"code": "operator_unwell", "state": "waiting", "message": "An operator is not well.", "remedy": ""}
    fit = {"verdict": {"state": "waiting", "reasons": [waits]}, "failed": False}
    taken = {**PASSED, "rest": ["worker-1"]}
    held = batch(upgrade_system=OPENSHIFT, upgrade_wait=False, openshift_roll_fit=fit, openshift_roll_taken=taken)
    assert held.so_far.rest() == []


def test_a_cause_that_several_hosts_have_is_said_once() -> None:
    no_package = "See that the packages can be installed: no candidate for kubeadm=1.36.2"
    phrases = [f"cp-1, {no_package}.", "cp-2, Reach: timed out", f"cp-3, {no_package}.", "w-1 is away", "w-2 is away"]
    assert said_once(phrases) == (f"cp-1, cp-3, {no_package}. cp-2, Reach: timed out. w-1 is away. w-2 is away.")
    assert said_once([]) == ""
