"""Copies on members where allocation awareness does not want them: could they come back?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.awareness import (
    ATTRIBUTES,
    judge_awareness,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ROUTING, Settings
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    copy,
    index_metadata,
    info,
)

COPIES = [copy("logs", "a", primary=True), copy("logs", "b")]


def judged(
    zones: Mapping[str, str], copies: list[dict[str, Any]] | None = None, forced: str = "", **index: Any
) -> list[tuple[State, str]]:
    servers = {
        name: {**info(name), "attributes": {"zone": zone} if zone else {}} for name, zone in sorted(zones.items())
    }
    given: dict[str, Any] = {"indices": {"logs": index_metadata(**index)}} if index else {}
    state = cluster(servers, COPIES if copies is None else copies, **given)
    settings = {ATTRIBUTES: "zone", **({f"{ROUTING}awareness.force.zone.values": forced} if forced else {})}
    assert judge_awareness(state, Settings({}, {}), "abc").passed
    assert judge_awareness(state, Settings(settings, {}), "abc", ["logs"]).passed
    reasons = judge_awareness(state, Settings(settings, {}), "abc").reasons
    assert all(each.code == "members_excluded" and "logs[0]" in each.message for each in reasons)
    return [(each.state, each.message.partition("may not be on ")[2].partition(" (")[0]) for each in reasons]


@pytest.mark.parametrize(
    ("zones", "named"),
    [
        ({"a": "x", "b": "y"}, ""),
        ({"a": "x", "b": "x"}, ""),
        ({"a": "x", "b": "x", "c": "y"}, "a, b"),
        ({"a": "x", "b": ""}, "b"),
        ({"a": "", "b": ""}, "a, b"),
        ({"a": "x", "b": "y", "c": ""}, ""),
    ],
)
def test_copies_that_awareness_would_not_let_back_are_named(zones: dict[str, str], named: str) -> None:
    assert judged(zones) == [(State.REFUSED, named)] * bool(named)


def test_values_that_are_forced_count_although_no_member_has_them() -> None:
    assert judged({"a": "x", "b": "x"}, forced="x,y") == [(State.REFUSED, "a, b")]


def test_replicas_that_follow_the_members_and_lone_copies_have_other_rules() -> None:
    zones = {"a": "", "b": ""}
    assert judged(zones, number_of_replicas="1", auto_expand_replicas="0-all") == []
    assert judged(zones, [copy("logs", "a", primary=True)]) == []


def test_copies_that_move_are_waited_for() -> None:
    moving = [copy("logs", "a", primary=True), copy("logs", "b", "RELOCATING", to="c")]
    assert judged({"a": "x", "b": "", "c": "y"}, moving) == []
    other = [*COPIES, copy("k", "a", "RELOCATING", primary=True, to="c")]
    assert judged({"a": "x", "b": "", "c": "y"}, other) == [(State.WAITING, "b")]
