"""Restarts on plain hosts: the members that are due, and the note of them in the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.on_hosts import (
    NOTE,
    Configuration,
    Noted,
    conditions_on_hosts,
    configurations_in,
    due_on_hosts,
    judge_together,
    noted_in,
    process_of,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import cluster, identity

SECRET = "s3cr3t"


def settings(note: str | None) -> Settings:
    """Settings with this note."""
    return Settings({} if note is None else {NOTE: note}, {})


def restarted(state: ClusterState, name: str) -> ClusterState:
    """The state after the process of a member was restarted."""
    key = identity(name)
    return replace(state, members={**state.members, key: replace(state.members[key], ephemeral_id=f"new-{name}")})


def test_a_member_is_due_until_it_runs_another_process_than_the_noted_one() -> None:
    state = cluster("abc")
    note = Noted({name: process_of(state, name) for name in "abcd"})
    assert note.processes["d"] == ""
    read = noted_in(settings(note.text("uuid")), "uuid")
    assert read == note
    assert due_on_hosts("abcd", read, (), state) == {*"abcd"}
    later = restarted(restarted(state, "a"), "b")
    assert due_on_hosts("abcd", read, (), later) == {*"cd"}
    done = restarted(later, "c")
    # Nothing is left of it but the note, so no member is restarted a second time.
    assert due_on_hosts("abc", read, (), done) == set()
    assert due_on_hosts("abc", None, (), done) == {*"abc"}


def test_a_member_that_was_away_and_has_come_back_is_done() -> None:
    assert Noted({"a": ""}).left(cluster("a"), "ab") == set()
    assert Noted({"b": ""}).left(cluster("a"), "ab") == {"b"}


def test_a_member_whose_host_was_removed_since_is_not_left() -> None:
    state = cluster("ab")
    note = Noted({"a": process_of(state, "a"), "d": "1"})
    assert note.left(state, "abd") == {*"ad"}
    assert note.left(state, "ab") == {"a"}
    # A run that is limited to other members leaves the one that runs on.
    assert note.left(state, "b") == {"a"}


def test_with_configurations_those_are_due_that_differ_or_were_left() -> None:
    state = cluster("abc")
    given = configurations_in(
        {"a": {"present": "x: 1", "wanted": "x: 1"}, "b": {"present": "", "wanted": "x: 1"}, "c": {}}
    )
    assert [each.member for each in given] == ["a", "b"]
    assert due_on_hosts("abc", None, given, state) == {"b"}
    assert due_on_hosts("abc", Noted({"a": process_of(state, "a")}), given, state) == {*"ab"}


def test_a_note_of_another_cluster_is_none_and_one_that_cannot_be_read_is_refused() -> None:
    note = Noted({"a": "1"}).text("uuid")
    assert noted_in(settings(None), "uuid") is None
    assert noted_in(settings(note), "another") is None
    for broken in ("{", "[]", '{"cluster": "uuid"}', '{"cluster": "uuid", "processes": {"a": 1}}'):
        with pytest.raises(Refusal) as refused:
            noted_in(settings(broken), "uuid")
        assert refused.value.verdict.reasons[0].code == "restart_note_unreadable"


def test_consent_covers_the_wanted_configurations_and_stays_while_they_are_placed() -> None:
    one = Configuration("a", "x: 1", "x: 2")
    assert conditions_on_hosts([one]) == conditions_on_hosts([replace(one, present="x: 2")])
    assert conditions_on_hosts([one]) != conditions_on_hosts([replace(one, wanted="x: 3")])
    assert conditions_on_hosts([]) == ("restart of all on hosts",)


def test_a_port_needs_no_pod_on_a_host_and_what_all_agree_on_is_refused() -> None:
    port = Configuration("a", "", "http.port: 9200").changes()
    assert [each.way.value for each in port.changes] == ["rolling"]
    assert judge_together(port).passed
    together = judge_together(Configuration("a", "", "cluster.name: other").changes())
    assert [reason.code for reason in together.reasons] == ["restart_together_on_hosts"]


def test_a_broken_file_can_be_replaced_and_cannot_be_placed() -> None:
    assert Configuration("a", "x: 1\nx: 2", "x: 1").changes().named() == ("x",)
    with pytest.raises(Refusal) as refused:
        Configuration("a", "x: 1", f"x: {SECRET}\nx: {SECRET}").changes()
    assert SECRET not in str(refused.value)


def test_no_text_of_a_configuration_has_its_content() -> None:
    assert SECRET not in repr(Configuration("a", SECRET, SECRET))
