"""Copies wait for a member that has left as long as members of this cluster take to come back."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.node_left import delay_is_set
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    NODE_LEFT,
    Settings,
    is_known,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterMember
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import delay_after
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change


def member(version: str) -> ClusterMember:
    return ClusterMember(version, "e", version, "10.0.0.1", Version.parse(version), frozenset({"data"}))


NEW = [member("3.8.0"), member("3.9.1")]


@pytest.mark.parametrize(
    ("usual", "delay"),
    [(None, None), (0.0, None), (12.0, "60s"), (30.0, "60s"), (31.0, "120s"), (400.0, "840s"), (9000.0, "3600s")],
)
def test_it_is_twice_the_usual_absence_in_whole_minutes(usual: float | None, delay: str | None) -> None:
    assert delay_after(usual) == delay


@pytest.mark.parametrize(
    ("present", "is_set"),
    [(None, True), ("-1", True), ("1m", True), ("119s", True), ("120s", False), ("1h", False), ("soon", False)],
)
def test_only_a_longer_one_is_set(present: str | None, is_set: bool) -> None:
    settings = Settings({} if present is None else {NODE_LEFT: present}, {})
    assert delay_is_set("120s", settings, NEW, []) is is_set


def test_the_default_of_the_server_is_not_set_again() -> None:
    assert not delay_is_set("60s", Settings({}, {}), NEW, [])


@pytest.mark.parametrize("old", ["3.7.9", "2.19.6", "9.2.0"])
def test_a_member_that_does_not_know_it_keeps_it_from_being_set(old: str) -> None:
    assert not delay_is_set("120s", Settings({}, {}), [*NEW, member(old)], [])


def test_a_run_sets_it_once() -> None:
    assert not delay_is_set("120s", Settings({NODE_LEFT: "60s"}, {}), NEW, [NODE_LEFT])


def test_its_undo_is_one_that_a_run_writes() -> None:
    assert is_known(Change(("persistent", NODE_LEFT), "5m", "120s"))
    assert not is_known(Change(("persistent", NODE_LEFT), "5m", "forever"))
