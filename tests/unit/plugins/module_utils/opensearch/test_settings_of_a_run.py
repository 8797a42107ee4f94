"""The settings of a run and of its batches, in any order, with changes of others in between, and with lost answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act import allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.putting_back import restore
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.act.settings_change import OF_RUN
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import read_settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    ENABLE,
    EXCLUDE,
    UNDO,
    names_in,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from hypothesis import given
from hypothesis import strategies as st

RECOVERIES, RECOVERY_BYTES, REBALANCE, NODE_LEFT = OF_RUN
LIMITS = {"recoveries": 10, "recovery_bytes": "200mb", "rebalance": "none"}
OURS = {RECOVERIES: "10", RECOVERY_BYTES: "200mb", REBALANCE: "none"}
WORKS = {
    "prepared": allocation.prepare,
    "restricted": allocation.restrict,
    "drained": allocation.drain,
}
VALUES: Mapping[str, list[str]] = {
    ENABLE: ["all", "none"],
    RECOVERIES: ["4", "7"],
    RECOVERY_BYTES: ["77mb", "0b", "77mb "],
    REBALANCE: ["primaries", "all"],
}
"""Values that others set, which the tests themselves never set."""

Scopes = dict[str, dict[str, Any]]


def act(client: Any, state: str, **params: Any) -> Outcome:
    """One look of the module."""
    defaults = {name: option.get("default") for name, option in shard_allocation.CONTRACT.argument_spec.items()}
    own = LIMITS if state == "prepared" else {}
    task = Task(params={**defaults, "state": state, "lock": {"run": "night"}, "batch": ["a"], **own, **params})
    settings = read_settings(client)
    return WORKS.get(state, restore)(task, client, settings)


def scope_of(lists: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {}, optional={EXCLUDE: lists, **{name: st.sampled_from(values) for name, values in VALUES.items()}}
    )


USERS = st.fixed_dictionaries(
    {
        "persistent": scope_of(st.sampled_from(["", "x", "x, y", ["x", "y"], []])),
        "transient": scope_of(st.sampled_from(["y,x", "z", ["z"]])),
    }
)
SCOPE = st.sampled_from(["persistent", "transient"])
FOREIGN = st.one_of(
    *(st.tuples(SCOPE, st.just(name), st.none() | st.sampled_from(values)) for name, values in VALUES.items()),
    st.tuples(SCOPE, st.just(EXCLUDE), st.sampled_from(["+v", "+w", "-x", "-y", "q"])),
)
"""A setting that another sets or takes away; of the list: a name more, a name less, or another list."""
RUNS = st.tuples(
    st.sampled_from(
        [
            ("prepared", {}),
            ("restricted", {}),
            ("drained", {}),
            ("undrained", {}),
            ("restored", {"part": "batch"}),
            ("restored", {}),
        ]
    ),
    st.none() | st.integers(0, 7),
    st.booleans(),
)
"""One run of the module, that may lose its cluster after so many requests, before or after it was done."""


def meddle(settings: Scopes, foreign: tuple[str, str, str | None]) -> None:
    scope, name, value = foreign
    if name == EXCLUDE and value and value[0] in "+-":
        there = names_in(settings[scope].get(name))
        word = value[1:]
        if (word in there) == (value[0] == "+"):
            return
        there = [*there, word] if value[0] == "+" else [each for each in there if each != word]
        value = ",".join(there) or None
    if value is None:
        settings[scope].pop(name, None)
    else:
        settings[scope][name] = value


def plain(settings: Scopes) -> dict[tuple[str, str], Any]:
    """The settings to compare: of the list only its names, since it may have been written anew."""
    return {
        (scope, name): tuple(sorted(names_in(value))) if name == EXCLUDE else value
        for scope, values in settings.items()
        for name, value in values.items()
        if name != EXCLUDE or names_in(value)
    }


@given(USERS, st.lists(RUNS | FOREIGN, max_size=12))
def test_in_the_end_all_is_as_it_was_but_what_another_has_changed(users: Scopes, events: list[Any]) -> None:
    client, theirs = Servers(settings=deepcopy(users)), deepcopy(users)
    for event in events:
        if isinstance(event[0], str):
            meddle(client.settings, event)
            meddle(theirs, event)
            continue
        (state, params), client.cut_off, client.lost_answer = event
        client.asked.clear()
        with suppress(Refusal):
            act(client, state, **params)
    client.cut_off = None
    act(client, "restored")
    assert plain(client.settings) == plain(theirs)
    assert UNDO not in client.settings["persistent"]


LISTS = st.tuples(SCOPE, st.just(EXCLUDE), st.sampled_from(["+v", "+w", "-x", "-y", "q"]))


@given(st.sampled_from(["", "x", "x, y", None]), st.lists(LISTS, max_size=3), st.lists(LISTS, max_size=3))
def test_of_the_excluded_names_only_those_of_the_run_are_taken_out(
    was: str | None, during: list[tuple[str, str, str]], later: list[tuple[str, str, str]]
) -> None:
    client: Any = Servers(settings={"persistent": {} if was is None else {EXCLUDE: was}, "transient": {}})
    theirs = deepcopy(client.settings)
    for foreign, state in ((during, "drained"), (later, "undrained")):
        for event in foreign:
            meddle(client.settings, event)
            meddle(theirs, event)
        act(client, state)
    assert plain(client.settings) == plain(theirs)
    assert UNDO not in client.settings["persistent"]


@given(USERS, st.lists(RUNS, max_size=10))
def test_without_others_the_settings_are_the_same_to_the_letter(users: Scopes, runs: list[Any]) -> None:
    client = Servers(settings=deepcopy(users))
    for (state, params), client.cut_off, client.lost_answer in runs:
        client.asked.clear()
        with suppress(Refusal):
            act(client, state, **params)
        assert sum(method == "PUT" for method, _path in client.asked) <= 1
    client.cut_off = None
    act(client, "restored")
    assert client.settings == users


@given(USERS)
def test_what_is_set_for_the_run_outlives_its_batches(users: Scopes) -> None:
    users = {scope: {k: v for k, v in values.items() if k != ENABLE} for scope, values in users.items()}
    client = Servers(settings=deepcopy(users))
    act(client, "prepared")
    during = deepcopy(client.settings)
    for _batch in range(2):
        act(client, "drained")
        act(client, "restricted")
        assert act(client, "restored", part="batch").changed
        assert client.settings == during
        assert not act(client, "restored", part="batch").changed
        assert not act(client, "prepared").changed
    assert act(client, "restored").changed
    assert client.settings == users


def test_the_limits_and_their_undo_are_one_request_and_the_values_are_in_force() -> None:
    client = Servers(settings={"persistent": {RECOVERIES: "3"}, "transient": {REBALANCE: "all"}})
    act(client, "prepared")
    assert [method for method, path in client.asked if path == "/_cluster/settings"] == ["GET", "PUT"]
    undo = json.loads(client.settings["persistent"].pop(UNDO))
    assert client.settings == {
        "persistent": {RECOVERIES: "10", RECOVERY_BYTES: "200mb"},
        "transient": {REBALANCE: "none"},
    }
    assert {each["path"][1]: each["was"] for each in undo["changes"]} == {
        RECOVERIES: "3",
        RECOVERY_BYTES: None,
        REBALANCE: "all",
    }


def test_what_is_not_given_is_not_touched() -> None:
    client = Servers()
    assert not act(client, "prepared", recoveries=None, recovery_bytes=None, rebalance="unchanged").changed
    assert client.settings == {"persistent": {}, "transient": {}}


@pytest.mark.parametrize(
    ("present", "in_the_file", "asked", "then"),
    [
        (None, None, 10, "10"),
        ("4", None, 10, "10"),
        ("10", None, 10, "10"),
        ("16", None, 10, "16"),
        (None, "20", 10, None),
        (None, "5", 10, "10"),
        (None, None, 1, None),
        (None, None, 0, None),
    ],
)
def test_recoveries_are_raised_and_never_lowered(
    present: str | None, in_the_file: str | None, asked: int, then: str | None
) -> None:
    client = Servers()
    if in_the_file:
        limit = {"node_concurrent_recoveries": in_the_file}
        client.defaults = {"defaults": {"cluster": {"routing": {"allocation": limit}}}}
    if present:
        client.settings["transient"][RECOVERIES] = present
    act(client, "prepared", recoveries=asked, recovery_bytes=None, rebalance="unchanged")
    found = {**client.settings["persistent"], **client.settings["transient"]}
    assert found.get(RECOVERIES) == then
    act(client, "restored")
    assert client.settings == {"persistent": {}, "transient": {RECOVERIES: present} if present else {}}


def test_a_limit_that_another_has_changed_stays_theirs_and_the_run_goes_on() -> None:
    client = Servers()
    act(client, "prepared")
    client.settings["persistent"][RECOVERIES] = "2"
    again = act(client, "prepared")
    assert ([reason.code for reason in again.verdict.reasons], again.changed) == (["changed_by_another"], False)
    assert act(client, "restricted").changed
    act(client, "restored")
    assert client.settings == {"persistent": {RECOVERIES: "2"}, "transient": {}}


def test_a_list_that_is_an_array_is_put_back_as_one() -> None:
    was = {EXCLUDE: ["retired-0", "retired-1"], RECOVERY_BYTES: "77mb "}
    client = Servers(settings={"persistent": dict(was), "transient": {}})
    act(client, "prepared")
    act(client, "drained")
    assert client.settings["persistent"][EXCLUDE] == "retired-0,retired-1,a"
    client.settings["persistent"][EXCLUDE] = "retired-0,retired-1,a,retired-2"
    act(client, "undrained")
    assert client.settings["persistent"][EXCLUDE] == ["retired-0", "retired-1", "retired-2"]
    client.settings["persistent"][EXCLUDE] = was[EXCLUDE]
    act(client, "drained")
    act(client, "restored")
    assert client.settings == {"persistent": was, "transient": {}}


@pytest.mark.parametrize(
    ("state", "setting", "value"),
    [("drained", EXCLUDE, "old\tname"), ("prepared", RECOVERY_BYTES, "1e3kb"), ("prepared", REBALANCE, "of_late")],
)
def test_a_value_that_could_not_be_put_back_is_not_changed(state: str, setting: str, value: str) -> None:
    client = Servers(settings={"persistent": {}, "transient": {setting: value}})
    with pytest.raises(Refusal) as caught:
        act(client, state)
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "value_not_kept"
    assert f"The transient setting {setting} is {value!r}" in reason.message
    assert client.settings == {"persistent": {}, "transient": {setting: value}}


def test_the_undo_of_another_run_is_not_extended() -> None:
    client = Servers()
    act(client, "prepared")
    kept = deepcopy(client.settings)
    with pytest.raises(Refusal) as caught:
        act(client, "restricted", lock={"run": "another"})
    assert [reason.code for reason in caught.value.verdict.reasons] == ["undo_left"]
    assert client.settings == kept


def test_archived_settings_can_be_refused_instead_of_removed() -> None:
    client = Servers(settings={"persistent": {"archived.old": "1"}, "transient": {}})
    for state in ("prepared", "restricted", "drained"):
        with pytest.raises(Refusal, match=r"archived.old \(persistent\)") as caught:
            act(client, state, archived="refuse")
        assert [reason.code for reason in caught.value.verdict.reasons] == ["archived_settings"]
    assert client.settings == {"persistent": {"archived.old": "1"}, "transient": {}}
