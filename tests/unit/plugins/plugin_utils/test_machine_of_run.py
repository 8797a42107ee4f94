"""The options that a task gets which delegates a step on the machine of its host."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.machine_of_run import options_of_machine

LOCK = {"name": "lock", "run": "night"}
HOSTS: dict[str, Any] = {
    "localhost": {"begin_plan": {"lock": LOCK}, "begin_request": {"source": "upgradetask:update"}},
    "batch-01": {"machines_roll_fit": {"kubeadm": {"w-1": "node"}}},
}
DELEGATED = {"state": "delegated", "step": "after_drain"}


def options(arguments: dict[str, Any], **given: Any) -> dict[str, Any]:
    variables = {"inventory_hostname": "host-1", "hostvars": HOSTS, "target_version": "1.36.1", **given}
    return options_of_machine("machine_upgrade", arguments, variables.get, variables)


def test_a_step_is_delegated_for_the_machine_of_the_host() -> None:
    found = options(DELEGATED, upgrade_member="w-1", upgrade_batch_host="batch-01", member_delegated_timeout=60)
    assert found == {
        "batch": ["w-1"],
        "course": "node",
        "target_version": "1.36.1",
        "lock": LOCK,
        "task_source": "upgradetask:update",
        "retries": None,
        "wait_timeout": 60,
    }


def test_the_version_of_a_batch_may_be_one_on_the_way() -> None:
    assert options(DELEGATED, upgrade_version="1.35.4")["target_version"] == "1.35.4"


def test_a_machine_is_prepared_before_its_batch_is_known() -> None:
    found = options({"state": "delegated", "step": "prepare"})
    assert (found["batch"], found["course"]) == (["host-1"], None)


@pytest.mark.parametrize("state", ["planned", "noted", None])
def test_other_tasks_get_none(state: str | None) -> None:
    assert options({"state": state}) == {}
