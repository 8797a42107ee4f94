"""The verdict of a gate at each of its moments."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.admission import MODE
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.checks import MOMENTS
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.gates import BACKLOG
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.index_names import EVERY
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.throttling import LIMITS
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.explanation import Explanation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.index_filters import IndexFilters
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.managed_indices import (
    Managed,
    ManagedIndex,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    EXCLUDE,
    UNDO,
    Settings,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    READ_ONLY,
    RECOVERING,
    Json,
    coordination,
    copy,
    identity,
    index_metadata,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.gate_case import (
    ALL,
    ENABLE,
    UPGRADED,
    WHOLE,
    Said,
    case,
)

OFF_B = {"i": IndexFilters(exclude={"_name": "b"})}


def left_restricted(
    set_to: str = "primaries", now: str | None = "primaries", was: str | None = None, excluded: str | None = None
) -> Settings:
    """Settings in which an interrupted run has restricted allocation."""
    undo = Undo(
        Writer("night", "2026-11-21T00:00:00Z"), (Change(("persistent", ENABLE), was, set_to),), {"cluster": "uuid"}
    )
    others = {EXCLUDE: excluded} if excluded else {}
    return Settings({UNDO: undo.text(), **({ENABLE: now} if now else {}), **others}, {})


@pytest.mark.parametrize(
    ("moment", "excluded", "expected"),
    [
        ("before_upgrade", ("c",), set()),
        ("before_upgrade", ("b",), {("voting_exclusions", State.REFUSED)}),
        ("before_upgrade", (), {("voting_exclusions", State.REFUSED)}),
    ],
)
def test_before_the_upgrade_what_an_interrupted_run_excluded_counts_as_put_back(
    moment: str, excluded: tuple[str, ...], expected: Said
) -> None:
    undo = Undo(Writer("night", "2026-11-21T00:00:00Z"), (), {"cluster": "uuid", "voting_exclusions": list(excluded)})
    voting = coordination("b", exclusions="c")
    assert case(settings=Settings({UNDO: undo.text()}, {}), parts={"voting": voting}).said(moment) == expected


LOST = [copy("i", "a", primary=True), copy("i", None), copy("j", "a", primary=True), copy("j", None)]
"""The copies that are left when b and c are away."""
NO_PLACE = tuple(Explanation(name, 0, False, "no", {identity("a"): frozenset({"same_shard"})}) for name in "ij")
BY_ENABLE = tuple(
    Explanation(name, 0, False, "no", {identity(member): frozenset({"enable"}) for member in ALL}) for name in "ij"
)


@pytest.mark.parametrize(
    ("moment", "changes"),
    [
        ("before_upgrade", {}),
        ("before_batch", {"batch": "b"}),
        ("after_batch", {"batch": "b", "versions": {"b": "3.8.0"}}),
        ("after_upgrade", {"versions": UPGRADED}),
    ],
)
def test_a_healthy_cluster_passes_every_gate_without_a_word(moment: str, changes: Json) -> None:
    assert case(**changes).judged(moment) == Verdict()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"parts": {"blocks": READ_ONLY}}, ("cluster_block", State.REFUSED)),
        ({"parts": {"blocks": RECOVERING}}, ("cluster_block", State.WAITING)),
        ({"health": {"timed_out": True, "pending_tasks": 3}}, ("tasks_pending", State.WAITING)),
        (
            {"status": "green", "health": {"timed_out": True, "pending_tasks": BACKLOG + 1}},
            ("tasks_pending", State.WAITING),
        ),
    ],
)
def test_what_stops_every_gate(moment: str, changes: Json, expected: tuple[str, State]) -> None:
    versions = UPGRADED if moment.startswith("after") else {}
    assert case(batch="b", versions=versions, **changes).said(moment) == {expected}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"versions": {"c": "2.18.0"}}, {("wire_incompatible", State.REFUSED)}),
        ({"versions": {"c": "3.9.0"}}, {("downgrade", State.REFUSED)}),
        ({"versions": {"c": "2.18.0"}, "members": "ab"}, set()),
        ({"versions": {"c": "2.18.0"}, "target": None}, set()),
        (
            {"parts": {"indices": {"old": index_metadata(135249827) | {"state": "close"}}}},
            {("index_too_old", State.REFUSED)},
        ),
        ({"parts": {"voting": coordination(ALL, exclusions="c")}}, {("voting_exclusions", State.REFUSED)}),
        ({"present": "ab", "copies": WHOLE[:2]}, {("member_missing", State.WAITING)}),
        ({"present": "ab", "copies": WHOLE[:2], "batch": "c"}, set()),
        (
            {"settings": Settings({MODE: "mixed"}, {}), "attributes": {"remote_store.segment.repository": "s"}},
            {("remote_store_migration", State.REFUSED), ("remote_store_format", State.REFUSED)},
        ),
        ({"settings": Settings({MODE: "mixed"}, {})}, set()),
        ({"settings": Settings({ENABLE: "none"}, {})}, {("allocation_disabled", State.REFUSED)}),
        ({"settings": Settings({ENABLE: "none"}, {ENABLE: "all"})}, set()),
        ({"settings": Settings({ENABLE: "all"}, {ENABLE: "primaries"})}, {("allocation_disabled", State.REFUSED)}),
        ({"settings": Settings({ENABLE: "ALL"}, {})}, set()),
        ({"settings": Settings({ENABLE: "all"}, {})}, set()),
        ({"copies": [*WHOLE, copy("k", "a", "INITIALIZING")], "status": "yellow"}, set()),
        (
            {"copies": [*WHOLE, copy("k", "a", primary=True), copy("k", None)], "status": "yellow"}
            | {"explanations": (Explanation("k", 0, False, "no", {identity("b"): frozenset({"filter"})}),)},
            {("unassigned", State.REFUSED)},
        ),
    ],
)
def test_before_the_upgrade(changes: Json, expected: Said) -> None:
    assert case(**changes).said("before_upgrade") == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (left_restricted(), set()),
        (left_restricted(now="none"), {("allocation_disabled", State.REFUSED)}),
        (left_restricted(now=None), {("unassigned", State.REFUSED)}),
        (left_restricted(was="none"), {("allocation_disabled", State.REFUSED)}),
    ],
    ids=["ours", "changed by another", "put back by hand", "was disabled before"],
)
def test_a_run_that_was_killed_can_be_run_again(settings: Settings, expected: Said) -> None:
    """Its batch is back, but the replicas are not: it is the run's own restriction that keeps them away."""
    killed = case(copies=LOST, status="yellow", explanations=BY_ENABLE, settings=settings)
    assert killed.said("before_upgrade") == expected


@pytest.mark.parametrize(
    ("settings", "more", "expected"),
    [
        (Settings({EXCLUDE: "b"}, {}), {}, {("members_excluded", State.REFUSED)}),
        (Settings({LIMITS[0]: "0"}, {}), {}, {("recoveries_disabled", State.REFUSED)}),
        (Settings({}, {}), {"filters": OFF_B}, {("replicas_filtered", State.REFUSED)}),
        # A run that was killed has restricted allocation, so copies may move once that is put back.
        (left_restricted(excluded="b"), {"filters": OFF_B}, set()),
        (Settings({EXCLUDE: "b"}, {}), {"filters": OFF_B, "policy": Policy(allow_red_indices=("i", "j"))}, set()),
    ],
)
def test_filters_that_keep_replicas_away_stop_before_the_upgrade(
    settings: Settings, more: Json, expected: Said
) -> None:
    assert case(settings=settings, **more).said("before_upgrade") == expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (ManagedIndex("i", "shrink", "wait_for_shrink_step"), {("index_action_running", State.WAITING)}),
        (
            ManagedIndex("i", "shrink", failed=True),
            {("index_action_failed", State.PASSED), ("replicas_filtered", State.REFUSED)},
        ),
        (ManagedIndex("i", "allocation"), {("replicas_filtered", State.REFUSED)}),
    ],
)
def test_the_filter_of_a_shrink_is_not_left_behind(index: ManagedIndex, expected: Said) -> None:
    """The plugin keeps the index on one member for that time, so that its replicas stay elsewhere."""
    filters = {"i": IndexFilters(require={"_name": "a"})}
    managed = Managed((index,), read=1, total=1, asked=True)
    assert case(filters=filters, managed=managed).said("before_upgrade") == expected


@pytest.mark.parametrize("moment", ["before_upgrade", "before_batch"])
def test_a_member_that_is_away_is_not_judged_by_the_shards_it_left(moment: str) -> None:
    """A real server says `no`, and not `allocation_delayed`, at the very time at which the last other member goes."""
    away = case(present="a", copies=LOST, status="yellow", explanations=NO_PLACE)
    assert away.said(moment) - {("no_majority", State.WAITING)} == {("member_missing", State.WAITING)}


def test_of_several_broken_members_each_is_cured_by_itself() -> None:
    broken = case(present="a", copies=LOST, status="yellow", explanations=NO_PLACE)
    broken.batch = "bc"
    assert broken.said("before_upgrade") == set()
    broken.batch = "b"
    assert broken.said("before_batch") == set()
    cured = case(present="ab", versions={"b": "3.8.0"}, copies=WHOLE[:2], batch="b", status="yellow")
    assert cured.said("after_batch") == {("member_missing", State.PASSED)}
    cured.batch = "c"
    assert cured.said("before_batch") == set()
    assert cured.said("after_upgrade") >= {("not_joined", State.WAITING)}


@pytest.mark.parametrize(
    ("expands", "changes", "expected"),
    [
        ("0-1", {}, {("member_missing", State.WAITING), ("single_copy", State.WAITING)}),
        ("0-all", {}, {("member_missing", State.WAITING), ("single_copy", State.WAITING)}),
        ("0-0", {}, {("member_missing", State.WAITING), ("single_copy", State.REFUSED)}),
        ("false", {}, {("member_missing", State.WAITING), ("single_copy", State.REFUSED)}),
        # Consent is consent, whoever is away.
        (
            "0-1",
            {"policy": Policy(allow_single_copy=EVERY)},
            {("member_missing", State.WAITING), ("single_copy", State.PASSED)},
        ),
        # Every member is there, so that nothing brings a replica back.
        ("0-1", {"present": "abc"}, {("single_copy", State.REFUSED)}),
        # The one that is away goes with the batch, and comes back after it.
        ("0-1", {"batch": "ab"}, {("single_copy", State.REFUSED)}),
        ("0-1", {"batch": "b"}, set()),
    ],
)
def test_before_a_batch_a_replica_that_an_absent_member_brings_back_is_waited_for(
    expands: str, changes: Json, expected: Said
) -> None:
    """The servers have taken the replica away with the member, since it follows the number of members."""
    lone = [copy("logs", "a", primary=True)]
    parts = {"indices": {"logs": index_metadata(auto_expand_replicas=expands)}, "voting": coordination("c")}
    given: Json = {"present": "ac", "batch": "a", "copies": lone, "parts": parts, **changes}
    assert case(**given).said("before_batch") == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"batch": "a"}, set()),
        ({"batch": "bc"}, {("every_copy_in_batch", State.REFUSED), ("no_majority", State.REFUSED)}),
        (
            {"batch": "b", "copies": [copy("i", "b", primary=True)]},
            {("single_copy", State.REFUSED)},
        ),
        (
            {"batch": "b", "copies": [copy("i", "b", primary=True)], "policy": Policy(allow_single_copy=EVERY)},
            {("single_copy", State.PASSED)},
        ),
        (
            {"batch": "c", "copies": [*WHOLE, copy("k", "a", primary=True), copy("k", "b", "INITIALIZING")]},
            set(),
        ),
        (
            {"batch": "b", "copies": [*WHOLE, copy("k", "a", primary=True), copy("k", "b", "INITIALIZING")]},
            {("recovery_running", State.WAITING)},
        ),
        (
            {"batch": "c", "status": "red", "copies": [*WHOLE, copy("k", None, "UNASSIGNED", primary=True)]},
            {("primary_unassigned", State.WAITING)},
        ),
        ({"batch": "b", "status": "yellow"}, set()),
        ({"batch": "x"}, set()),
        ({"batch": "x", "members": "ab"}, {("member_unrecognised", State.REFUSED)}),
    ],
)
def test_before_a_batch(changes: Json, expected: Said) -> None:
    assert case(**changes).said("before_batch") == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"versions": {"b": "3.8.0"}}, set()),
        ({}, {("wrong_version", State.REFUSED)}),
        ({"target": None}, set()),
        ({"present": "ac", "copies": LOST, "status": "yellow"}, {("not_joined", State.WAITING)}),
        ({"present": "ab", "versions": {"b": "3.8.0"}, "copies": LOST}, {("member_missing", State.PASSED)}),
        (
            {"versions": {"b": "3.8.0"}, "copies": [*WHOLE, copy("k", "b", "INITIALIZING")]},
            {("recovering", State.WAITING)},
        ),
    ],
)
def test_after_a_batch(changes: Json, expected: Said) -> None:
    assert case(batch="b", **changes).said("after_batch") == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"versions": UPGRADED | {"c": "2.19.6"}}, {("wrong_version", State.REFUSED)}),
        ({"versions": UPGRADED | {"c": "2.19.6"}, "members": "ab"}, set()),
        ({"versions": UPGRADED, "present": "ab", "copies": LOST}, {("not_joined", State.WAITING)}),
        (
            {"versions": UPGRADED, "status": "red", "copies": [copy("i", None, primary=True)]},
            {("primary_unassigned", State.WAITING)},
        ),
    ],
)
def test_after_the_upgrade(changes: Json, expected: Said) -> None:
    assert case(**changes).said("after_upgrade") == expected


def test_yellow_that_the_next_batch_cures_lets_it_go_on() -> None:
    refusing = {identity("a"): frozenset({"node_version"}), identity("c"): frozenset({"node_version"})}
    explanation = Explanation("k", 0, False, "no", refusing | {identity("b"): frozenset({"same_shard"})})
    mixed = case(
        versions={"b": "3.8.0"},
        copies=[*WHOLE, copy("k", "b", primary=True), copy("k", None)],
        status="yellow",
        explanations=(explanation,),
    )
    mixed.batch = "b"
    assert mixed.said("after_batch") == {("yellow_until_upgraded", State.PASSED)}
    mixed.batch = "a"
    assert mixed.said("before_batch") == {("yellow_until_upgraded", State.PASSED)}
    assert mixed.said("before_upgrade") == {("yellow_until_upgraded", State.PASSED)}
    done = case(versions=UPGRADED, copies=mixed.copies, status="yellow", explanations=mixed.explanations)
    assert done.said("after_upgrade") == {("unassigned", State.REFUSED)}


def test_an_undo_that_cannot_be_read_stops_before_the_upgrade() -> None:
    with pytest.raises(Refusal) as caught:
        case(settings=Settings({UNDO: "?"}, {})).judged("before_upgrade")
    assert caught.value.verdict.reasons[0].code == "undo_not_readable"
