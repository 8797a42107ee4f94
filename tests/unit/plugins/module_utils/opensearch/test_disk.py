"""Disks against watermarks in all the ways in which they can be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.disk import judge_disks, judge_losses
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.disk import (
    Disks,
    MemberDisk,
    parse_disks,
    parse_watermark,
    parse_watermarks,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    WATERMARKS,
    Json,
    cluster,
    disk,
    identity,
    info,
    nested,
)

GIB = 1024**3


def answer(**scopes: Json) -> Json:
    """The settings of the disk by scope; the defaults are those of the server."""
    return {"defaults": nested(WATERMARKS), **{scope: nested(disk) for scope, disk in scopes.items()}}


@pytest.mark.parametrize(
    ("text", "available", "exceeded"),
    [
        ("85%", 15, False),
        ("85%", 14, True),
        ("0.85", 15, False),
        ("0.85", 14, True),
        ("14gb", 14, False),
        ("14.5g", 14, True),
        ("15360mb", 14, True),
        ("0b", 0, False),
        ("100%", 0, False),
    ],
)
def test_a_watermark_is_a_share_in_use_or_bytes_that_stay_free(text: str, available: int, exceeded: bool) -> None:
    assert parse_watermark(text).exceeded(MemberDisk("a", 100 * GIB, available * GIB)) is exceeded


@pytest.mark.parametrize("text", ["", "full", "85 percent", "%", "mb"])
def test_a_watermark_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse_watermark(text)


@pytest.mark.parametrize(
    ("scopes", "members", "expected"),
    [
        ({}, 3, {"low": "85%", "high": "90%", "flood_stage": "95%"}),
        (
            {"persistent": {"watermark": {"low": "70%"}}, "transient": {"watermark": {"low": "60%", "high": "1gb"}}},
            3,
            {"low": "60%", "high": "1gb", "flood_stage": "95%"},
        ),
        ({"persistent": {"threshold_enabled": "false"}}, 3, None),
        ({"persistent": {"threshold_enabled": "false"}, "transient": {"threshold_enabled": "true"}}, 3, {}),
        ({}, 1, None),
        ({"persistent": {"watermark": {"enable_for_single_data_node": "true"}}}, 1, {}),
    ],
)
def test_the_watermarks_in_force(scopes: Json, members: int, expected: dict[str, str] | None) -> None:
    found = parse_watermarks(answer(**scopes), members)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert {level: found[level].text for level in expected} == expected


BOUNDED = {"low.max_headroom": "200GB", "high.max_headroom": "150GB", "flood_stage.max_headroom": "100GB"}
"""The defaults of Elasticsearch from 8.5 on, next to those of the watermarks."""


@pytest.mark.parametrize(
    ("scopes", "available", "level"),
    [
        ({}, 201, None),
        ({}, 199, "low"),
        ({}, 149, "high"),
        ({}, 99, "flood_stage"),
        ({"persistent": {"low": "85%"}}, 201, "low"),
        ({"persistent": {"low": "85%", "low.max_headroom": "300GB"}}, 301, None),
        ({"persistent": {"low": {"max_headroom": "300GB"}}}, 299, "low"),
        ({"persistent": {"low": {"max_headroom": "300GB"}}, "transient": {"low": "80%"}}, 301, None),
        ({"persistent": {"flood_stage": {"frozen": "97%"}}}, 201, None),
        ({"transient": {"low": {"max_headroom": "-1"}}}, 201, "low"),
    ],
)
def test_a_share_of_a_large_disk_asks_for_no_more_free_bytes_than_its_headroom(
    scopes: Json, available: int, level: str | None
) -> None:
    """The disk has 8 TiB: its share of 15% would be 1.2 TiB."""
    shares = {"low": "85%", "high": "90%", "flood_stage": "95%"}
    defaults = {"threshold_enabled": "true", "watermark": {**shares, **BOUNDED}}
    given = {scope: nested({"watermark": marks}) for scope, marks in scopes.items()}
    marks = parse_watermarks({"defaults": nested(defaults), **given}, 3)
    large = MemberDisk("a", 8192 * GIB, available * GIB)
    reasons = judge_disks(Disks((large,), marks)).reasons
    assert [f"watermark.{level}." in reason.remedy for reason in reasons] == ([True] if level else [])
    assert marks is not None
    assert bool(marks["low"].room(large)) is (level is None)


def test_an_answer_without_watermarks_is_none() -> None:
    with pytest.raises(Unreadable, match="flood_stage is missing"):
        parse_watermarks({"persistent": nested({"threshold_enabled": "true"})}, 3)


def test_the_fullest_path_of_each_data_member() -> None:
    nodes: dict[str, Any] = {identity(name): disk(name, 50) for name in "ab"}
    nodes[identity("a")]["fs"]["data"].append({"total_in_bytes": 10, "available_in_bytes": 1})
    nodes[identity("w")] = disk("w", 99, ["warm"])
    nodes[identity("f")] = disk("f", 91, ["data_frozen"])
    nodes[identity("t")] = disk("t", 60, ["data_hot"])
    found = parse_disks({"nodes": nodes})
    assert {each.member: round(100 * each.used) for each in found} == {"a": 90, "b": 50, "t": 60}


def test_each_member_is_named_under_the_worst_watermark_that_it_is_above() -> None:
    disks = tuple(
        MemberDisk(name, 100 * GIB, (100 - used) * GIB)
        for name, used in zip("abcde", (85, 86, 89, 91, 96), strict=True)
    )
    reasons = judge_disks(Disks(disks, parse_watermarks(answer(), 5))).reasons
    assert [reason.state for reason in reasons] == [State.REFUSED] * 3
    flood, high, low = (reason.message for reason in reasons)
    assert "flood stage" in flood
    assert "(95%), where writes to their indices are blocked: e (96.0% used, 4 GiB free)." in flood
    assert "(90%), where shards are moved away from them: d (91.0% used" in high
    assert "files they have kept: b (86.0% used, 14 GiB free), c (89.0% used" in low
    assert "a (" not in low
    assert "watermark.low" in reasons[2].remedy
    assert not judge_disks(Disks(disks, None)).reasons
    assert not judge_disks(Disks()).reasons


def losses(
    zones: dict[str, str],
    used: dict[str, int],
    roles: dict[str, list[str]] | None = None,
    batches: Sequence[str] = (),
    zone: str = "zone",
) -> list[str]:
    """The remarks on disks of 100 GiB with so many in use."""
    own = roles or {}
    members = {
        name: {**info(name), "attributes": {zone: zones[name]} if name in zones else {}}
        | ({"roles": own[name]} if name in own else {})
        for name in used
    }
    disks = Disks(
        tuple(MemberDisk(name, 100 * GIB, (100 - share) * GIB) for name, share in used.items()),
        parse_watermarks(answer(), 5),
    )
    reasons = judge_losses(disks, cluster(members), batches, zone).reasons
    assert all((reason.state, reason.code) == (State.PASSED, "disk_after_loss") for reason in reasons)
    return [reason.message for reason in reasons]


def test_the_worst_loss_of_a_member_and_of_a_zone_is_told_in_figures() -> None:
    (member, zone) = losses({"a": "x", "b": "x", "c": "y", "d": "y"}, {"a": 40, "b": 42, "c": 60, "d": 30})
    assert "If b never came back" in member
    assert "the other 3" in member
    assert "disk of c would be about 74% full" in member
    assert "(now 60%)." in member
    assert "If zone x never came back" in zone
    assert "disk of c would be about 101% full" in zone
    assert "above the flood stage (95%)" in zone


def test_shards_stay_in_their_tier_and_a_lone_member_has_no_other() -> None:
    tiers = {"a": ["data_hot"], "b": ["data_hot"], "c": ["data_warm"]}
    (member,) = losses({}, {"a": 30, "b": 20, "c": 80}, tiers)
    assert "If b never came back" in member or "If a never came back" in member
    assert "about 50% full" in member
    assert losses({}, {"a": 90}) == []
    assert not judge_losses(
        Disks((MemberDisk("a", 1, 1), MemberDisk("b", 1, 1)), None), cluster({"a": info("a")})
    ).reasons


def test_the_loss_of_a_batch_is_told_with_the_bytes_that_find_no_place() -> None:
    used = {"a": 70, "b": 60, "c": 50, "d": 40}
    (_member, batch) = losses({}, used, batches=["d", "ab", "cd"])
    assert "If batch 2 (a, b) never came back" in batch
    assert "the other 2, the disk of c would be about 115% full" in batch
    # 130 GiB are lost, and c and d have 35 and 45 GiB left below 85 %.
    assert "Of its 130 GiB, about 50 GiB would find no place below the low watermark (85%)." in batch
    assert len(losses({}, used, batches=["a", "b"])) == 1, "a batch of one is a member"
    assert len(losses({}, used, batches=["abcd"])) == 1, "nobody is left to take the shards"


def test_a_batch_that_is_a_zone_is_told_once_by_the_attribute_of_the_user() -> None:
    zones = {"a": "x", "b": "x", "c": "y", "d": "y"}
    told = losses(zones, dict.fromkeys("abcd", 20), batches=["ab", "cd"], zone="rack")
    assert len(told) == 2
    assert told[1].startswith("If zone x never came back")
    assert "find no place" not in " ".join(told)


@pytest.mark.parametrize(("mark", "room"), [("85%", 25), ("40gb", 0), ("10gb", 30), ("50%", 0)])
def test_the_room_below_a_watermark(mark: str, room: int) -> None:
    assert parse_watermark(mark).room(MemberDisk("a", 100 * GIB, 40 * GIB)) == room * GIB
