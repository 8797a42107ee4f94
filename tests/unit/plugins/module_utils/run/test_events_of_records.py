"""The events of a record: those of one that was written before they were one list, and the risks that were accepted."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import COUNTED
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record, begun
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.approvals import Approval, Hold
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_record import (
    NEW,
    Json,
    first,
    plan,
    states,
)


def of_before(record: Record) -> Json:
    """A record in the form in which each kind of event had a list of its own."""
    written: Json = json.loads(json.dumps(asdict(record)))
    del written["events"]
    names = ("at", "run", "phase", "message", "more")
    return {**written, "history": [{name: getattr(each, name) for name in names} for each in record.history]}


def test_a_record_of_before_is_read() -> None:
    written = {name: value for name, value in asdict(first("a")).items() if name not in {"system", "schema"}}
    assert parse_record(json.dumps(written), "here") == first("a")


def test_the_lists_of_a_record_of_before_are_read_as_events() -> None:
    changes = {"target": "persistent a.b", "times": 2, "first": "t1", "last": "t2"}
    written = {
        **of_before(first("a", "b", "c")),
        "acts": [{**changes, "action": "set"}, {**changes, "action": "restored", "times": 1, "last": "t1"}],
        "hold": {"by": "me", "at": "t3", "reason": "a storm"},
        "approvals": [{"name": "canary", "by": "you", "at": "t4"}],
        "skipped": ["disk"],
        "notices": ["started-1a2b"],
        "health": "green",
    }
    record = parse_record(json.dumps(written), "here")
    assert [(each.at, each.run, each.phase, each.message) for each in record.history] == [
        ("t0", "night", "Pending", f"begins: to {NEW}, 3 members, plan p1")
    ]
    assert (record.hold, record.approvals) == (Hold("me", "t3", "a storm"), (Approval("canary", "you", "t4"),))
    assert (record.skipped, record.notices, record.health) == (("disk",), ("started-1a2b",), "green")
    assert [(each.said, each.by) for each in record.risks] == [("check disk skipped", "ops@bastion")]
    found = [(each.kind, each.about, each.times, each.last) for each in record.events if each.kind in COUNTED]
    assert found == [("changed", "persistent a.b", 2, "t2"), ("put_back", "persistent a.b", 1, "t1")]
    assert parse_record(json.dumps(record.as_result()), "here") == record


@pytest.mark.parametrize(
    ("word", "batch", "phase", "reason"),
    [
        ("rolling", "rolling", Phase.UPGRADING, ""),
        ("waiting", "waiting", Phase.PAUSED, "So it was."),
        ("completed", "done", Phase.COMPLETED, ""),
        ("stopped", "failed", Phase.UPGRADING, "So it was."),
        ("stopped", "done", Phase.FAILED, "So it was."),
        ("aborted", "pending", Phase.ABORTED, "So it was."),
    ],
)
def test_the_words_of_before_are_read(word: str, batch: str, phase: Phase, reason: str) -> None:
    written = of_before(first("a"))
    del written["reason"]
    written.update(phase=word, message="So it was.")
    written["batches"][0]["state"] = batch
    record = parse_record(json.dumps(written), "here")
    assert (record.phase, record.reason) == (phase, reason)
    assert states(record) == {"a": "upgrading" if batch == "rolling" else batch}


def test_an_accepted_risk_has_its_value_the_time_and_the_person() -> None:
    given = {"consents": {"allow_single_copy": "logs-*"}, "skipped": ["disk"]}
    record = begun(None, {**plan("a", "b"), **given}, "evening", "ops@bastion", "t1")
    record = begun(record, {**plan("b"), **given}, "night", "ops@bastion", "t2")
    request = {"source": "configmap/next", "digest": "d1"}
    wider = {**plan("b"), "consents": {"allow_single_copy": "*", "supersede": ""}, "request": request}
    record = begun(record, wider, "day", "root@job", "t3")
    assert record is not None
    assert [(each.said, each.by, each.at, each.run) for each in record.risks] == [
        ("risk accepted with allow_single_copy: logs-*", "ops@bastion", "t1", "evening"),
        ("check disk skipped", "ops@bastion", "t1", "evening"),
        ("risk accepted with allow_single_copy: *", "root@job, for the request configmap/next", "t3", "day"),
        ("risk accepted with supersede (upgrade_supersede)", "root@job, for the request configmap/next", "t3", "day"),
    ]
    assert record.consents == {"allow_single_copy": "*", "supersede": ""}
    assert [each.by for each in record.history] == ["ops@bastion", "ops@bastion", "root@job"], "consent to the plan"
    other = begun(record, plan("a", target="3.9.0"), "next", "ops@bastion", "t4")
    assert other is not None
    assert (other.risks, len(other.history)) == ((), 4)


def test_a_list_of_before_that_is_none_is_named() -> None:
    with pytest.raises(Refusal, match=r"history\.0 is 7"):
        parse_record(json.dumps({**of_before(first("a")), "history": [7]}), "here")
