"""Settings that carry their own undo: whatever was there is there again afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.changes import (
    plan_changes,
    removals,
    settings_body,
    split_ours,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    ENABLE,
    EXCLUDE,
    REBALANCE,
    RECOVERIES,
    RECOVERY_BYTES,
    UNDO,
    Settings,
    carried_undo,
    is_known,
    parse_settings,
    with_excluded,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import recorded
from hypothesis import given
from hypothesis import strategies as st

VALUES = {ENABLE: ["all", "primaries", "none"], REBALANCE: ["all", "none"], RECOVERIES: ["7", "10"]}
NAMES = list(VALUES)
SCOPE = st.fixed_dictionaries(
    {},
    optional={
        "cluster.metadata.owner": st.just("a"),
        **{name: st.sampled_from(values) for name, values in VALUES.items()},
    },
)
SETTINGS = st.builds(Settings, SCOPE, SCOPE)
WANTED = st.fixed_dictionaries(
    {ENABLE: st.sampled_from(["primaries", "none"])},
    optional={REBALANCE: st.just("none"), RECOVERIES: st.sampled_from(VALUES[RECOVERIES])},
)
UNDOS = st.builds(
    Undo,
    st.builds(Writer, st.text(max_size=5), st.text(max_size=5), st.just({})),
    st.lists(
        st.builds(
            Change,
            st.tuples(
                st.sampled_from(["persistent", "transient", "other"]),
                st.sampled_from([ENABLE, "cluster.metadata.owner"]),
            ),
            st.sampled_from([None, "all", "none", "7", 7, ["a"]]),
            st.sampled_from(["primaries", "none", "all", 7, None]),
        ),
        max_size=3,
    ).map(tuple),
    st.fixed_dictionaries({"cluster": st.text(max_size=5)}),
)
"""Undos of runs, and of others."""


def put(settings: Settings, body: Mapping[str, Mapping[str, Any]]) -> Settings:
    """The settings after `PUT _cluster/settings`: null takes away, everything else is set, in one step."""
    scopes = {"persistent": dict(settings.persistent), "transient": dict(settings.transient)}
    for scope, changes in json.loads(json.dumps(body)).items():
        for name, value in changes.items():
            if value is None:
                scopes[scope].pop(name, None)
            else:
                scopes[scope][name] = value
    return Settings(**scopes)


def undo_of(*changes: Change) -> Undo:
    return Undo(Writer("night", "2026-11-21T00:00:00Z"), changes, {"cluster": "uuid"})


@given(SETTINGS, WANTED)
def test_what_is_changed_is_in_force_and_is_put_back_exactly(settings: Settings, wanted: dict[str, Any]) -> None:
    changes = plan_changes(settings, wanted)
    changed = put(settings, settings_body(changes, undo_of(*changes), back=False))
    for name, value in wanted.items():
        assert changed.effective(name) == value
    carried = carried_undo(changed)
    assert carried == undo_of(*changes)
    ours, others = split_ours(carried, changed)
    assert (ours, others) == (changes, ())
    assert put(changed, settings_body(ours, None, back=True)) == settings


@given(SETTINGS, WANTED)
def test_nothing_is_changed_that_is_already_in_force(settings: Settings, wanted: dict[str, Any]) -> None:
    changes = plan_changes(settings, wanted)
    assert {change.name for change in changes} == {n for n in wanted if settings.effective(n) != wanted[n]}
    changed = put(settings, settings_body(changes, undo_of(*changes), back=False))
    assert plan_changes(changed, wanted) == ()


@given(SETTINGS, WANTED, st.sampled_from(["persistent", "transient"]), SCOPE)
def test_what_another_has_changed_meanwhile_is_left_to_it(
    settings: Settings, wanted: dict[str, Any], scope: str, foreign: dict[str, Any]
) -> None:
    changes = plan_changes(settings, wanted)
    changed = put(settings, settings_body(changes, undo_of(*changes), back=False))
    meddled = put(changed, {scope: foreign})
    ours, others = split_ours(undo_of(*changes), meddled)
    assert sorted([*ours, *others], key=changes.index) == list(changes)
    restored = put(meddled, settings_body(ours, None, back=True))
    assert carried_undo(restored) is None
    for name in {*NAMES, *foreign}:
        for place in ("persistent", "transient"):
            ours_there = any(c.path == (place, name) for c in ours)
            left_alone = meddled.scope(place).get(name)
            assert restored.scope(place).get(name) == (settings.scope(place).get(name) if ours_there else left_alone)
    assert all(meddled.at(change.path) != change.set_to for change in others)


@given(UNDOS, st.lists(st.text()))
def test_an_undo_is_read_as_it_was_written(undo: Undo, excluded: list[str]) -> None:
    undo = with_excluded(undo, excluded)
    read = carried_undo(Settings({UNDO: undo.text()}, {}))
    assert read is not None
    assert read.changes == tuple(change for change in undo.changes if is_known(change))
    assert read.foreign == tuple(change for change in undo.changes if not is_known(change))
    assert replace(read, changes=(), foreign=()) == replace(undo, changes=())
    assert carried_undo(Settings({UNDO: read.text()}, {})) == read


@pytest.mark.parametrize(
    ("setting", "was", "set_to", "known"),
    [
        (ENABLE, None, "primaries", True),
        (ENABLE, "ALL", "new_primaries", True),
        (ENABLE, "none", "all", False),
        (ENABLE, 7, "primaries", False),
        (ENABLE, "every", "primaries", False),
        (EXCLUDE, "x, y", "x,y,a", True),
        (EXCLUDE, ["x"], "x,a", True),
        (EXCLUDE, ["x\n"], "x,a", True),
        (EXCLUDE, ["x\ny"], "x,a", False),
        (EXCLUDE, [["x"]], "x,a", False),
        (EXCLUDE, {"x": 1}, "x,a", False),
        (ENABLE, ["all"], "primaries", False),
        (RECOVERIES, "4", "10", True),
        (RECOVERIES, " +4", "10", True),
        (RECOVERIES, None, "many", False),
        (RECOVERY_BYTES, "77mb", "200mb", True),
        (RECOVERY_BYTES, "77mb ", "200mb", True),
        (RECOVERY_BYTES, "0b", "1.5g", True),
        (RECOVERY_BYTES, "fast", "1g", False),
        (REBALANCE, "replicas", "none", True),
        (REBALANCE, "replicas", "all", False),
        ("cluster.routing.allocation.include._name", None, "x", False),
        ("cluster.routing.allocation.exclude._ip", "10.0.0.1, 10.0.0.2", "10.0.0.1,10.0.0.2,10.0.0.1,10.0.0.2", True),
        ("cluster.routing.allocation.exclude.zone", ["a"], "a,a", True),
        ("cluster.routing.allocation.exclude._ip", "10.0.0.1", "10.0.0.2", False),
        ("cluster.routing.allocation.exclude._ip", None, "", False),
        ("cluster.blocks.read_only", None, "true", False),
    ],
)
def test_only_what_a_run_changes_is_known(setting: str, was: Any, set_to: Any, known: bool) -> None:
    for scope in ("persistent", "transient"):
        assert is_known(Change((scope, setting), was, set_to)) is known
    assert not is_known(Change(("defaults", setting), was, set_to))


@pytest.mark.parametrize(
    ("persistent", "transient", "scope", "was"),
    [
        ({}, {}, "persistent", None),
        ({ENABLE: "all"}, {}, "persistent", "all"),
        ({}, {ENABLE: "all"}, "transient", "all"),
        ({ENABLE: "none"}, {ENABLE: "all"}, "transient", "all"),
        ({ENABLE: "primaries"}, {ENABLE: "all"}, "transient", "all"),
    ],
)
def test_the_change_goes_where_nothing_hides_it(
    persistent: dict[str, str], transient: dict[str, str], scope: str, was: str | None
) -> None:
    settings = Settings(persistent, transient)
    assert plan_changes(settings, {ENABLE: "primaries"}) == (Change((scope, ENABLE), was, "primaries"),)


def test_a_change_and_its_undo_are_one_request() -> None:
    undo = undo_of(Change(("transient", ENABLE), "all", "primaries"))
    assert settings_body(undo.changes, undo, back=False) == {
        "persistent": {UNDO: undo.text()},
        "transient": {ENABLE: "primaries"},
    }
    assert settings_body(undo.changes, None, back=True) == {"persistent": {UNDO: None}, "transient": {ENABLE: "all"}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "null",
        "7",
        "[]",
        "{}",
        '{"run": "r", "at": "t", "cluster": "c"}',
        '{"run": "r", "at": "t", "cluster": "c", "changes": 7}',
        '{"run": "r", "at": "t", "cluster": "c", "changes": [{"path": ["persistent", "s"]}]}',
        '{"run": "r", "at": "t", "cluster": "c", "changes": [{"path": [], "was": null, "set_to": "1"}]}',
        '{"run": "r", "at": "t", "cluster": "c", "changes": [{"path": ["a", 7], "was": null, "set_to": "1"}]}',
        '{"run": "r", "at": "t", "changes": []}',
        '{"run": "r", "at": "t", "cluster": "c", "changes": [], "voting_exclusions": "a"}',
        '{"run": "r", "at": "t", "cluster": "c", "changes": [], "voting_exclusions": [7]}',
        '{"run": 7, "at": "t", "cluster": "c", "changes": []}',
        ["a", "list"],
    ],
)
def test_an_undo_that_cannot_be_read_is_refused_and_not_replaced(text: Any) -> None:
    with pytest.raises(Refusal) as caught:
        carried_undo(Settings({UNDO: text}, {}))
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "undo_not_readable"
    assert UNDO in reason.message


def test_a_cluster_without_an_undo_carries_none() -> None:
    assert carried_undo(Settings({ENABLE: "none"}, {UNDO: "only persistent ones survive a restart"})) is None


def test_settings_of_real_servers() -> None:
    before = parse_settings(recorded("green-2.19.6")["settings"])
    assert before.transient == {"indices.recovery.max_bytes_per_sec": "77mb"}
    assert removals(before) == ()
    with pytest.raises(Unreadable, match="transient is missing"):
        parse_settings({"persistent": {}})


def test_archived_settings_go_with_every_change_or_the_server_would_refuse_it() -> None:
    """The cluster had `compatibility.override_main_response_version` on 2.19, which 3.8 does not know."""
    after = parse_settings(recorded("upgraded-3.8.0")["settings"])
    archived = "archived.compatibility.override_main_response_version"
    assert removals(after) == (Change(("persistent", archived), "false", None),)
    ours = (Change(("persistent", ENABLE), None, "primaries"),)
    body = settings_body(ours, None, back=True, removed=removals(after))
    assert body == {"persistent": {UNDO: None, ENABLE: None, archived: None}}
    assert put(after, body) == Settings({"cluster.blocks.create_index": "false"}, {})
