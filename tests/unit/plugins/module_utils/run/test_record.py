"""The record of an upgrade over all the runs that it takes."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import (
    BATCH_STATES,
    STATUSES,
    BatchRecord,
    PoolRecord,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import (
    KEPT,
    EventKind,
    RecordedEvent,
    one_sentence,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    Record,
    batch_changed,
    begun,
    ended,
    noted,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.waits import green_after
from hypothesis import given
from hypothesis import strategies as st

Json = dict[str, Any]
NEW, OLD = "3.8.0", "2.19.6"
pytestmark = pytest.mark.usefixtures("uncollected")
TEXTS = st.text(max_size=8)
ITEMS = st.lists(st.dictionaries(TEXTS, st.none() | st.integers() | TEXTS, max_size=2), max_size=2).map(tuple)
TRIES = st.builds(
    BatchRecord,
    name=TEXTS,
    pools=st.lists(TEXTS, max_size=2).map(tuple),
    members=st.lists(TEXTS, max_size=2).map(tuple),
    state=st.sampled_from(BATCH_STATES),
    took=ITEMS,
    waited=ITEMS,
    cures=st.booleans(),
    outdated=st.lists(TEXTS, max_size=2).map(tuple),
    health=TEXTS,
    health_away=TEXTS,
    started=TEXTS,
    ended=TEXTS | st.just("2026-11-21T02:00:00Z"),
    went=TEXTS,
    green_seconds=st.none() | st.floats(0, 1e300),
)
BATCHES = st.builds(replace, TRIES, tries=st.lists(TRIES, max_size=2).map(tuple))
POOLS = st.builds(PoolRecord, name=TEXTS, status=st.sampled_from(STATUSES), left=st.lists(TEXTS, max_size=2).map(tuple))
EVENTS = st.builds(
    RecordedEvent, TEXTS, TEXTS, TEXTS, TEXTS, kind=st.sampled_from(EventKind).map(str), about=TEXTS, by=TEXTS
)
RECORDS = st.builds(
    Record,
    cluster=TEXTS,
    target_version=TEXTS,
    digest=TEXTS,
    run=TEXTS,
    who=TEXTS,
    phase=st.sampled_from(Phase),
    reason=TEXTS,
    started=TEXTS,
    updated=TEXTS,
    batches=st.lists(BATCHES, max_size=3).map(tuple),
    events=st.lists(EVENTS, max_size=3).map(tuple),
    pools=st.lists(POOLS, max_size=2).map(tuple),
    outside=st.lists(TEXTS, max_size=2).map(tuple),
    deployed_version=TEXTS,
    waited=ITEMS,
)


def plan(*going: str, members: str = "abc", cluster: str = "uuid", target: str = NEW) -> Json:
    """The result of pool_order for a cluster whose other members are on the target."""
    return {
        "cluster_uuid": cluster,
        "target_version": target,
        "digest": "p1",
        "before": {name: OLD if name in going else target for name in members},
        "deployed_version": OLD if going else target,
        "pools": [{"name": "data", "members": [*members]}],
        "members": [*members],
        "left": [],
        "batches": [
            {"name": f"batch-{number:02d}.{name}", "pools": ["data"], "members": [name], "cures": False}
            for number, name in enumerate(going, 1)
        ],
    }


def first(*going: str) -> Record:
    record = begun(None, plan(*going), "night", "ops@bastion", "t0")
    assert record is not None
    return record


def changed(record: Record | None, name: str, state: str, at: str = "t1", *took: Json) -> Record:
    after = batch_changed(record, name, state, at, took, [])
    assert after is not None
    return after


def states(record: Record | None) -> dict[str, str]:
    assert record is not None
    return {member: each.state for each in record.batches for member in each.members}


@given(RECORDS)
def test_what_is_written_is_read(record: Record) -> None:
    assert parse_record(json.dumps(asdict(record)), "here") == record
    assert parse_record(json.dumps(record.as_result()), "here") == record


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "7",
        "[]",
        "{}",
        '{"batches": 7, "history": []}',
        '{"batches": [], "history": []}',
        '{"batches": [{}], "history": []}',
        json.dumps({**asdict(first("a")), "events": [7]}),
        json.dumps({**asdict(first("a")), "updated": 7}),
        json.dumps({**asdict(first("a")), "phase": "gone"}),
        '{"a":' * 100_000,
        json.dumps(asdict(first("a"))).replace('"took": []', f'"took": [{{"a": {"[" * 60}{"]" * 60}}}]'),
    ],
)
def test_what_is_no_record_is_refused_and_named(text: str) -> None:
    with pytest.raises(Refusal, match="ConfigMap lock") as caught:
        parse_record(text, "ConfigMap lock")
    assert [reason.code for reason in caught.value.verdict.reasons] == ["record_not_readable"]


def test_a_record_with_fields_that_are_not_known_is_read_without_them() -> None:
    record = first("a")
    written = json.loads(json.dumps(asdict(record)))
    newer = {**written, "schema": 2, "conditions": [], "batches": [{**written["batches"][0], "proof": "kept"}]}
    newer["events"] = [{**entry, "reason": "begun"} for entry in written["events"]]
    newer["pools"] = [{**pool, "zone": "a"} for pool in written["pools"]]
    assert parse_record(json.dumps(newer), "here") == replace(record, schema=2)


def test_an_upgrade_begins_with_all_that_is_planned() -> None:
    record = first("c", "b", "a")
    assert (record.phase, record.run, record.who, record.started, record.digest) == (
        Phase.PENDING,
        "night",
        "ops@bastion",
        "t0",
        "p1",
    )
    assert states(record) == dict.fromkeys("cba", "pending")
    assert [entry.message for entry in record.history] == [f"begins: to {NEW}, 3 members, plan p1"]


@pytest.mark.parametrize("phase", [None, Phase.COMPLETED])
def test_where_nothing_is_to_do_nothing_is_noted(phase: Phase | None) -> None:
    previous = replace(first("a"), phase=phase) if phase else None
    assert begun(previous, plan(), "day", "dev", "t9") is None


def test_an_interrupted_upgrade_goes_on_where_it_came_to() -> None:
    killed = changed(first("c", "b", "a"), "batch-01.c", "done", "t1", {"total_seconds": 30})
    killed = changed(killed, "batch-02.b", "upgrading", "t2")
    record = begun(killed, plan("a"), "day", "dev@laptop", "t3")
    assert record is not None
    assert states(record) == {"c": "done", "b": "done", "a": "pending"}, "b has come back after the run was killed"
    assert next(each.ended for each in record.batches if each.name == "batch-02.b") == "t2", (
        "its run was last seen then"
    )
    assert record.batches[0].took == ({"total_seconds": 30},)
    assert (record.run, record.started, record.updated) == ("day", "t0", "t3")
    assert [entry.message for entry in record.history][-1] == f"continues: to {NEW}, 1 member, plan p1"


def test_a_member_that_is_still_to_do_is_planned_anew_and_once() -> None:
    killed = changed(first("c", "b"), "batch-01.c", "upgrading")
    record = begun(killed, plan("c", "b"), "day", "dev", "t3")
    assert states(record) == {"c": "pending", "b": "pending"}
    narrowed = begun(killed, {**plan("c", "b"), "batches": plan("b")["batches"]}, "day", "dev", "t3")
    assert states(narrowed) == {"c": "upgrading", "b": "pending"}


def test_an_interrupted_upgrade_with_nothing_left_is_ended_by_the_next_run() -> None:
    record = begun(changed(first("a"), "batch-01.a", "upgrading"), plan(), "day", "dev", "t3")
    assert states(record) == {"a": "done"}
    assert record is not None
    completed = ended(record, UpgradeEvent.COMPLETED, "", "t4")
    assert completed is not None
    assert (completed.phase, [entry.run for entry in completed.history]) == (Phase.COMPLETED, ["night", "day", "day"])


@pytest.mark.parametrize("other", [{"cluster": "another"}, {"target": "3.9.0"}])
def test_another_upgrade_begins_anew_and_keeps_the_history(other: Json) -> None:
    record = begun(changed(first("c", "b"), "batch-01.c", "done"), plan("a", **other), "day", "dev", "t3")
    assert states(record) == {"a": "pending"}
    assert record is not None
    assert record.started == "t3"
    assert [entry.run for entry in record.history] == ["night", "day"]


def test_a_completed_upgrade_is_not_gone_on_with() -> None:
    completed = ended(changed(first("a"), "batch-01.a", "done"), UpgradeEvent.COMPLETED, "", "t2")
    again = begun(completed, plan("b"), "day", "dev", "t3")
    assert states(again) == {"b": "pending"}
    assert again is not None
    assert again.history[-1].message.startswith("begins")


def test_a_batch_has_its_times() -> None:
    record = changed(first("a", "b"), "batch-01.a", "upgrading", "t1")
    assert [(each.state, each.run, each.started, each.ended) for each in record.batches] == [
        ("upgrading", "night", "t1", ""),
        ("pending", "", "", ""),
    ]
    record = changed(record, "batch-01.a", "done", "t2", {"name": "a"})
    batch = record.batches[0]
    assert (batch.state, batch.started, batch.ended, batch.took) == ("done", "t1", "t2", ({"name": "a"},))
    assert record.updated == "t2"


def test_a_batch_that_nobody_planned_is_not_noted() -> None:
    assert batch_changed(first("a"), "batch-07.z", "done", "t", [], []) is None
    assert batch_changed(None, "batch-01.a", "done", "t", [], []) is None


def test_a_pass_that_waits_is_gone_on_with() -> None:
    record = changed(changed(first("a", "b"), "batch-01.a", "upgrading", "t1"), "batch-01.a", "waiting", "t2")
    assert (record.batches[0].state, record.batches[0].started, record.batches[0].ended) == ("waiting", "t1", "")
    waiting = ended(record, UpgradeEvent.PAUSED, "Pod a is stopping.", "t3")
    assert waiting is not None
    assert (waiting.phase, waiting.reason) == (Phase.PAUSED, "Pod a is stopping.")
    following = begun(waiting, plan("b"), "day", "dev", "t4")
    assert states(following) == {"a": "done", "b": "pending"}
    assert following is not None
    assert (following.phase, following.reason, following.started) == (Phase.UPGRADING, "", record.started)
    assert following.history[-1].message.startswith("continues")


@pytest.mark.parametrize(
    ("event", "phase"),
    [
        (UpgradeEvent.COMPLETED, Phase.COMPLETED),
        (UpgradeEvent.STOPPED, Phase.UPGRADING),
        (UpgradeEvent.ABORTED, Phase.ABORTED),
        (UpgradeEvent.PAUSED, Phase.PAUSED),
    ],
)
def test_an_end_is_noted_with_its_reason(event: UpgradeEvent, phase: Phase) -> None:
    sentence = "Stopped at batch-01.a (Prove it): Shard 3 of 2.19.6 is lost."
    message = f"{sentence} Fix it."
    record = ended(first("a"), event, message, "t5")
    assert record is not None
    said = "" if event is UpgradeEvent.COMPLETED else sentence
    assert (record.phase, record.reason, record.updated) == (phase, said, "t5")
    assert record.history[-1] == RecordedEvent("t5", "night", phase.value, message, kind=event.value)
    assert ended(None, event, "", "t6") is None


@pytest.mark.parametrize("event", [UpgradeEvent.STOPPED, UpgradeEvent.ABORTED, UpgradeEvent.PAUSED])
def test_an_end_without_a_word_has_a_reason_too(event: UpgradeEvent) -> None:
    record = ended(first("a"), event, "", "t5")
    assert record is not None
    assert record.reason == f"The run gave no reason when it was {event.value}."


@pytest.mark.parametrize("event", UpgradeEvent)
def test_what_is_completed_does_not_end_again(event: UpgradeEvent) -> None:
    completed = ended(first("a"), UpgradeEvent.COMPLETED, "", "t5")
    assert ended(completed, event, "Because.", "t6") is None


def test_what_a_person_has_ended_is_not_completed_by_a_run_that_did_not_begin() -> None:
    aborted = ended(first("a"), UpgradeEvent.ABORTED, "Aborted on request.", "t5")
    assert ended(aborted, UpgradeEvent.ABORTED, "Aborted on request.", "t6") is None
    with pytest.raises(Refusal, match="An upgrade that is Aborted cannot be completed"):
        ended(aborted, UpgradeEvent.COMPLETED, "", "t6")


def test_a_batch_that_is_stopped_leaves_the_upgrade_under_way_with_its_reason() -> None:
    record = changed(first("a", "b"), "batch-01.a", "upgrading")
    assert (record.phase, record.reason) == (Phase.UPGRADING, "")
    stopped = batch_changed(record, "batch-01.a", "failed", "t2", [], [], "Member a is not back. Look at its log.")
    assert stopped is not None
    assert (stopped.phase, stopped.reason) == (Phase.UPGRADING, "Member a is not back.")
    assert changed(record, "batch-01.a", "failed").reason == "Batch batch-01.a was stopped."
    ended_so = ended(stopped, UpgradeEvent.STOPPED, "", "t3")
    assert ended_so is not None
    assert (ended_so.phase, ended_so.reason) == (Phase.UPGRADING, "Member a is not back.")
    again = begun(ended_so, plan("a", "b"), "day", "dev", "t4")
    assert again is not None
    assert (again.phase, again.reason) == (Phase.UPGRADING, "")


def test_no_batch_begins_in_an_upgrade_that_is_over() -> None:
    aborted = ended(first("a"), UpgradeEvent.ABORTED, "", "t5")
    with pytest.raises(Refusal, match="An upgrade that is Aborted cannot start a batch") as caught:
        batch_changed(aborted, "batch-01.a", "upgrading", "t6", [], [])
    assert [reason.code for reason in caught.value.verdict.reasons] == ["phase_impossible"]


@pytest.mark.parametrize(
    ("text", "first_of_it"),
    [
        ("", ""),
        ("One", "One"),
        (" It is 3.8.0. It was 2.19.6.", "It is 3.8.0."),
        ("Is it down? Look.", "Is it down?"),
        ("x" * 600 + ". Look.", "x" * 499 + "…"),
        ("Shards a.b, e.g. [0] wait.", "Shards a.b, e.g. [0] wait."),
    ],
)
def test_the_first_sentence_of_a_text(text: str, first_of_it: str) -> None:
    assert one_sentence(text) == first_of_it


def test_the_newest_of_a_long_history_are_kept() -> None:
    record = first("a")
    for number in range(KEPT + 5):
        record = noted(record, UpgradeEvent.STOPPED, str(number), "t")
    assert [entry.message for entry in record.history] == [str(number) for number in range(5, KEPT + 5)]


def replacing(*going: str, away: str = "") -> Json:
    """A plan that replaces members on the version that they run; one that is away says no cause."""
    facts = plan(*going)
    facts["before"].update({name: None if name == away else f"{NEW} (template changed)" for name in going})
    for each in facts["batches"]:
        each["outdated"] = [name for name in each["members"] if name != away]
    return facts


def test_members_that_are_replaced_on_their_version_are_noted_also_while_they_are_away() -> None:
    first = begun(None, replacing("c", "b", "a"), "evening", "ops", "t1")
    assert first is not None
    assert [each.outdated for each in first.batches] == [("c",), ("b",), ("a",)]
    assert [(pool.status, pool.left) for pool in first.pools] == [("pending", ("a", "b", "c"))]
    killed = batch_changed(first, "batch-01.c", "upgrading", "t2", (), ())
    again = begun(killed, replacing("c", "b", "a", away="c"), "night", "ops", "t3")
    assert again is not None
    assert [each.outdated for each in again.batches] == [("c",), ("b",), ("a",)]
    # A member that is away in another upgrade, or was to be upgraded, is none of them.
    other = begun(None, replacing("c", "b", away="c"), "night", "ops", "t3")
    assert other is not None
    assert [each.outdated for each in other.batches] == [(), ("b",)]


def test_how_soon_all_was_green_is_kept_beside_the_batch_that_was_done_last() -> None:
    record = begun(None, plan("a", "b", "c"), "r1", "ops", "t0")
    for at, batch in (("t1", "batch-01.a"), ("t2", "batch-02.b")):
        record = batch_changed(record, batch, "done", at, (), ())
    assert record is not None

    def kept(seconds: float | None, before: str) -> list[float | None]:
        return [each.green_seconds for each in green_after(record, seconds, before).batches]

    assert kept(13, "batch-03.c") == [None, 13, None]
    assert kept(13, "batch-02.b") == [13, None, None], "the batch itself is not the one before it"
    assert kept(13, "") == [None, 13, None]
    assert kept(None, "batch-03.c") == [None] * 3
    assert green_after(replace(record, run="r2"), 13, "") == replace(record, run="r2"), "a pause lies between two runs"


def test_a_check_that_one_run_has_left_out_stays_in_the_record() -> None:
    first = begun(None, {**plan("a", "b"), "skipped": ["tasks", "disk"]}, "evening", "ops", "t1")
    again = begun(first, {**plan("b"), "skipped": ["settings"]}, "night", "ops", "t2")
    assert first is not None
    assert again is not None
    assert (first.skipped, again.skipped) == (("disk", "tasks"), ("disk", "settings", "tasks"))


@pytest.mark.parametrize("event", [UpgradeEvent.ABORTED, UpgradeEvent.STOPPED, UpgradeEvent.PAUSED])
def test_the_end_of_the_work_stops_a_batch_that_a_killed_run_has_left(event: UpgradeEvent) -> None:
    left = changed(changed(first("b", "a"), "batch-01.b", "upgrading", "t1"), "batch-02.a", "waiting", "t2")
    over = ended(left, event, "Ended.", "t3")
    assert over is not None
    assert [(each.state, each.started, each.ended) for each in over.batches] == [
        ("failed", "t1", "t2"),
        ("waiting", "", ""),
    ]
