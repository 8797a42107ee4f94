"""The options of tasks that put back, with a plan and without."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.of_run import Run
from ansible_collections.stateful.upgrade.plugins.plugin_utils.serving_playbooks import options_of_playbook
from ansible_collections.stateful.upgrade.plugins.plugin_utils.settling_of_run import (
    of_settling_state,
    options_to_settle,
    pools_to_settle,
)

PLAN = {"pools": [{"name": "data"}, {"name": "managers"}], "members": ["data-0"], "settings": {"a": "1"}}
STAYS = {"code": "setting_looks_left_over", "state": "passed", "message": "It stays.", "remedy": "Look."}


def options(module: str, arguments: dict[str, Any], **variables: Any) -> dict[str, Any]:
    return options_to_settle(module, arguments, variables.get, Run(variables.get, variables))


def served(module: str, arguments: dict[str, Any], **variables: Any) -> dict[str, Any]:
    return options_of_playbook(module, arguments, variables.get, Run(variables.get, variables))


def test_a_run_looks_again_at_what_it_has_changed() -> None:
    put_back = {"state": "restored"}
    assert options("shard_allocation", put_back, begin_plan=PLAN, upgrade_reset=["b"]) == {
        "before": {"a": "1"},
        "batch": ["data-0"],
        "reset": None,
        "keep_replicas": False,
    }
    waits = options("shard_allocation", put_back, begin_plan=PLAN, steps_waiting=[{"message": "It waits."}])
    assert waits["keep_replicas"] is True
    fails = options("shard_allocation", put_back, begin_plan=PLAN, roll_failure={"message": "It has failed."})
    assert fails["keep_replicas"] is True
    assert options("shard_allocation", put_back, upgrade_reset="b, c") == {
        "before": None,
        "batch": [],
        "reset": ["b", "c"],
        "keep_replicas": False,
    }
    assert options("shard_allocation", put_back)["reset"] == []
    assert options("shard_allocation", {**put_back, "part": "batch"}, begin_plan=PLAN) == {}
    assert options("shard_allocation", {"state": "restricted"}, begin_plan=PLAN) == {}


@pytest.mark.parametrize(
    ("wait", "expected"), [("", True), (True, True), ("true", True), ("false", False), (False, False)]
)
def test_a_run_waits_as_its_user_has_said_and_settling_always_waits(wait: Any, expected: bool) -> None:
    assert options("pool_image", {"state": "restored"}, begin_plan=PLAN, upgrade_wait=wait) == {"wait": expected}
    assert options("extra_machines", {"state": "absent"}, upgrade_wait=wait) == {"wait": True}


def test_a_failed_run_does_not_wait_again_when_it_puts_back() -> None:
    failed = {"message": "It has failed."}
    assert options("pool_image", {"state": "restored"}, begin_plan=PLAN, roll_failure=failed) == {"wait": False}


def test_the_pools_are_those_of_the_plan_or_those_that_are_named() -> None:
    def pools(**variables: Any) -> list[str]:
        return pools_to_settle(variables.get, Run(variables.get, variables))

    assert pools(begin_plan=PLAN, upgrade_pools="data") == ["data", "managers"]
    assert pools(upgrade_pools="data, warm") == ["data", "warm"]
    assert pools() == [""]
    assert pools(begin_plan=PLAN, upgrade_groups="search") == []
    assert options("process_restart", {"state": "completed"}, begin_plan=PLAN) == {"pools": ["data", "managers"]}


def test_only_settle_takes_a_lock_over_since_abort_has_stopped_its_holder() -> None:
    held = {"state": "held"}
    assert served("upgrade_lock", held, upgrade_take_over="run-1")["take_over"] == "run-1"
    assert served("upgrade_lock", held, upgrade_take_over="run-1", abort_stopped={})["take_over"] is None
    assert served("upgrade_lock", {"state": "released"}, upgrade_take_over="run-1")["take_over"] is None


@pytest.mark.parametrize(
    ("given", "aborted"), [({"begin_plan": PLAN}, False), ({}, False), ({"abort_stopped": {}}, True)]
)
def test_a_system_knows_whether_it_puts_back_after_an_abort(given: dict[str, Any], aborted: bool) -> None:
    found = of_settling_state({"state": "restored"}, given.get, Run(given.get, given))
    assert (found["aborted"], found["batch"]) == (aborted, ["data-0"] if "begin_plan" in given else [])
    assert "aborted" not in of_settling_state({"state": "proven"}, given.get, Run(given.get, given))


def test_each_playbook_gives_its_own_variables_to_the_record() -> None:
    given = {"upgrade_record_name": "search", "upgrade_approval": "canary", "upgrade_pause_reason": "a disk"}
    assert served("upgrade_record", {"state": "paused"}, **given) == {
        "record": "search",
        "approval": "canary",
        "summary": "a disk",
    }
    assert served("upgrade_record", {"state": "approved"}, **given)["summary"] is None
    assert served("upgrade_record", {"state": "batch"}, **given) == {}


CHECKED = "Checked only: nothing was changed. Without --check, what runs have left is put back (--diff shows it)."


@pytest.mark.parametrize(
    ("variables", "lines", "last_words"),
    [
        ({}, ["Nothing to put back."], ""),
        ({"abort_stopped": {"changed": True}}, ["Everything is put back."], ""),
        ({"abort_stopped": {"changed": True}, "ansible_check_mode": True}, [CHECKED], ""),
        ({"settle_allocation": {"verdict": {"reasons": [STAYS]}, "actions": []}}, ["It stays. Look."], ""),
        (
            {"settle_allocation": {"verdict": {"reasons": [STAYS]}, "actions": [{"action": "put_setting"}]}},
            ["It stays. Look.", "All else is put back."],
            "",
        ),
        ({"settle_allocation": {"failed": True, "msg": "It is away."}}, [], "It is away."),
    ],
)
def test_what_became_of_the_changes_is_said_and_a_failure_is_no_success(
    variables: dict[str, Any], lines: list[str], last_words: str
) -> None:
    said = served("tell", {}, **variables)
    assert (said["lines"], said["last_words"]) == (lines, last_words)
