"""The options of a task that the variables of its run give."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.plugin_utils.run_options import (
    ALL,
    NONE,
    SHARED,
    as_list,
    given_options,
    own_options,
    variables_of,
)
from ansible_collections.stateful.upgrade.plugins.plugin_utils.variables import table

from tests.pages.module_tasks import contract_of

MODULES = sorted({each.partition(".")[0] for one in table().values() for each in one.option_of or ()})


def given(variables: dict[str, Any], module: str, level: str = ALL, **arguments: Any) -> dict[str, Any]:
    return given_options(module, contract_of(module).argument_spec, arguments, level, variables.get)


def test_a_variable_gives_the_option_of_its_name_or_the_one_that_the_table_names() -> None:
    variables = {"upgrade_namespace": "search", "upgrade_restart_way": "agent", "upgrade_hand_over": False}
    found = given(variables, "process_restart")
    assert {name: found[name] for name in ("namespace", "way", "hand_over")} == {
        "namespace": "search",
        "way": "agent",
        "hand_over": False,
    }
    assert given(variables, "cluster_health_gate")["hands_over"] is False


def test_a_variable_that_the_table_does_not_know_gives_the_option_of_its_name() -> None:
    variables = {"upgrade_house": "house.json", "upgrade_batch": {"members": ["1"]}}
    assert own_options(["house", "batch"], variables.get) == {"house": "house.json"}


def test_an_option_that_the_task_sets_stays() -> None:
    assert "wait" not in given({"upgrade_wait": False}, "shard_allocation", wait=True)
    assert given({"upgrade_wait": False}, "shard_allocation")["wait"] is False


def test_a_variable_without_a_value_gives_nothing() -> None:
    variables: dict[str, Any] = {
        "upgrade_take_over": None,
        "upgrade_image": "",
        "upgrade_opensearch": {},
        "upgrade_lock": {},
    }
    assert not given(variables, "upgrade_plan").keys() & {"take_over", "image", "opensearch", "lock"}


def test_a_variable_with_another_default_than_its_option_gives_its_own() -> None:
    assert given({}, "shard_allocation")["recoveries"] == 10
    assert given({"upgrade_recoveries": 0}, "shard_allocation")["recoveries"] == 0
    assert given({}, "cluster_health_gate")["hands_over"] is True


def test_the_limit_of_a_task_depends_on_its_options() -> None:
    variables = {"upgrade_gate_timeout": 1, "upgrade_member_timeout": 2}
    assert given(variables, "cluster_health_gate", moment="after_upgrade")["wait_timeout"] == 1
    assert given(variables, "cluster_health_gate", moment="joined")["wait_timeout"] == 2
    assert "wait_timeout" not in given(variables, "cluster_health_gate", moment="joined", wait_timeout=3)


def test_a_task_of_the_user_takes_what_all_tasks_share_and_only_if_it_asks() -> None:
    variables = {"upgrade_namespace": "search", "upgrade_wait": False, "upgrade_lock": {"run": "night"}}
    assert given(variables, "shard_allocation", SHARED) == {"lock": {"run": "night"}}
    assert given(variables, "cluster_health_gate", SHARED) == {"namespace": "search", "lock": {"run": "night"}}
    assert given(variables, "cluster_health_gate", NONE) == {}


def test_the_options_of_a_connection_may_have_variables_of_their_own() -> None:
    variables = {"upgrade_opensearch_hosts": "https://a:9200", "upgrade_opensearch_proxy": ""}
    assert given(variables, "pool_order", SHARED)["opensearch"] == {"hosts": ["https://a:9200"]}


def test_a_text_with_commas_is_a_list() -> None:
    assert given({"upgrade_members": "a, b"}, "upgrade_plan")["members"] == ["a", "b"]
    assert given({"upgrade_label_selector": "a=b,c=d"}, "upgrade_plan")["label_selector"] == "a=b,c=d"
    assert as_list("a, b", {"type": "list", "elements": "str"}) == ["a", "b"]
    assert as_list("a, b", {"type": "str"}) == "a, b"
    assert as_list("", {"type": "list", "elements": "str"}) == []


def test_plain_hosts_are_in_no_namespace_and_their_lock_is_in_the_cluster() -> None:
    variables = {"upgrade_groups": ["hot"], "upgrade_namespace": "search"}
    found = given(variables, "upgrade_lock")
    assert "namespace" not in found
    assert found["kept_in"] == "opensearch"
    assert given(variables, "upgrade_lock", kept_in="kubernetes").get("kept_in") is None


@pytest.mark.parametrize("module", MODULES)
def test_what_the_table_names_is_there(module: str) -> None:
    spec = contract_of(module).argument_spec
    named = {
        option or one.name.removeprefix("upgrade_")
        for one in table().values()
        for name, _dot, option in (each.partition(".") for each in one.option_of or ())
        if name == module
    }
    assert named <= variables_of(module, frozenset(spec), shared=False).keys()
