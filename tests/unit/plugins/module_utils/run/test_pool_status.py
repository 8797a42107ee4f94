"""The progress of each pool, and the version that a whole cluster has run last, as the record keeps them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import PoolRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    Record,
    batch_changed,
    begun,
    ended,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record

Json = dict[str, Any]
NEW, OLD = "3.8.0", "2.19.6"


def batch(*members: str, pools: tuple[str, ...] = ("data",), cures: bool = False) -> Json:
    return {"name": f"batch.{members[0]}{'.fix' if cures else ''}", "pools": pools, "members": members, "cures": cures}


def plan(*batches: Json, upgraded: str = "", away: str = "", **more: Any) -> Json:
    """The result of pool_order for the pools `data` (a, b) and `managers` (m, n)."""
    before = {name: NEW if name in upgraded else None if name in away else OLD for name in "abmn"}
    return {
        "cluster_uuid": "uuid",
        "target_version": NEW,
        "deployed_version": min(version for version in before.values() if version),
        "digest": "p1",
        "before": before,
        "members": list("abmn"),
        "pools": [
            {"name": "data", "status": "pending", "members": ["a", "b"]},
            {"name": "managers", "status": "pending", "members": ["m", "n"]},
        ],
        "batches": list(batches),
        "left": [],
        **more,
    }


EACH = (batch("b"), batch("a"), batch("n", pools=("managers",)), batch("m", pools=("managers",)))


def begin(previous: Record | None, of: Json) -> Record:
    record = begun(previous, of, "night", "ops@bastion", "t0")
    assert record is not None
    return record


def came_to(record: Record, name: str, state: str) -> Record:
    after = batch_changed(record, name, state, "t1", [], [])
    assert after is not None
    return after


def finished(record: Record, event: UpgradeEvent = UpgradeEvent.COMPLETED) -> Record:
    after = ended(record, event, "", "t2")
    assert after is not None
    return after


def told(record: Record) -> dict[str, tuple[str, str]]:
    return {pool.name: (pool.status, "".join(pool.left)) for pool in record.pools}


def test_pools_advance_with_their_batches_and_the_version_at_the_end() -> None:
    record = begin(None, plan(*EACH))
    assert (told(record), record.deployed_version) == (
        {"data": ("pending", "ab"), "managers": ("pending", "mn")},
        OLD,
    )
    record = came_to(record, "batch.b", "upgrading")
    assert told(record)["data"] == ("upgrading", "ab")
    record = came_to(record, "batch.b", "done")
    assert told(record) == {"data": ("upgrading", "a"), "managers": ("pending", "mn")}
    for name in ("batch.a", "batch.n", "batch.m"):
        assert record.deployed_version == OLD
        record = came_to(came_to(record, name, "upgrading"), name, "done")
    assert told(record) == {"data": ("upgraded", ""), "managers": ("upgraded", "")}
    assert record.deployed_version == OLD, "the last gate has not been passed"
    assert finished(record).deployed_version == NEW


@pytest.mark.parametrize("state", ["failed", "waiting"])
def test_a_batch_that_is_not_done_leaves_its_members(state: str) -> None:
    record = came_to(came_to(begin(None, plan(*EACH)), "batch.b", "upgrading"), "batch.b", state)
    assert told(record)["data"] == ("upgrading", "ab")


def test_members_of_several_pools_share_a_batch() -> None:
    both = batch("a", "m", pools=("data", "managers"))
    record = came_to(begin(None, plan(both)), "batch.a", "upgrading")
    assert told(record) == {"data": ("upgrading", "ab"), "managers": ("upgrading", "mn")}
    assert told(came_to(record, "batch.a", "done")) == {"data": ("upgrading", "b"), "managers": ("upgrading", "n")}


def test_a_member_that_was_only_brought_back_is_still_to_be_upgraded() -> None:
    record = begin(None, plan(batch("b", cures=True), batch("b"), away="b"))
    record = came_to(came_to(record, "batch.b.fix", "upgrading"), "batch.b.fix", "done")
    assert told(record)["data"] == ("pending", "ab")
    assert told(came_to(record, "batch.b", "done"))["data"] == ("upgrading", "a")


def test_an_upgrade_that_goes_on_keeps_the_version_it_came_from() -> None:
    killed = came_to(begin(None, plan(*EACH)), "batch.b", "upgrading")
    # The last members of the old version are away, so that no member runs it.
    record = begin(killed, plan(batch("a"), upgraded="bmn", away="a"))
    assert (told(record)["data"], record.deployed_version) == (("upgrading", "a"), OLD)
    assert told(record)["managers"] == ("upgraded", "")


@pytest.mark.parametrize("event", [UpgradeEvent.STOPPED, UpgradeEvent.ABORTED, UpgradeEvent.PAUSED])
def test_a_run_that_did_not_complete_deploys_nothing(event: UpgradeEvent) -> None:
    done = came_to(begin(None, plan(batch("a"), upgraded="bmn")), "batch.a", "done")
    assert finished(done, event).deployed_version == OLD


def test_a_run_for_some_of_the_members_deploys_nothing() -> None:
    record = finished(came_to(begin(None, plan(batch("b"))), "batch.b", "done"))
    assert (record.phase, record.deployed_version) == (Phase.COMPLETED, OLD)
    assert told(record)["data"] == ("upgrading", "a")


def test_members_outside_the_pools_keep_the_version_and_pools_without_members_do_not() -> None:
    of = plan(batch("a"), upgraded="bmn", members=[*"abmnx"], left=["x", "emptied"])
    record = finished(came_to(begin(None, of), "batch.a", "done"))
    assert (record.outside, record.deployed_version) == (("x",), OLD)
    of = plan(batch("a"), upgraded="bmn", left=["emptied"])
    record = finished(came_to(begin(None, of), "batch.a", "done"))
    assert (record.outside, record.deployed_version) == ((), NEW)


def test_another_upgrade_begins_with_what_runs() -> None:
    earlier = finished(begin(None, plan(*EACH)), UpgradeEvent.STOPPED)
    record = begin(replace(earlier, target_version="3.6.0"), plan(*EACH, deployed_version="3.6.0"))
    assert record.deployed_version == "3.6.0"


def test_nobody_in_the_cluster_runs_a_version() -> None:
    assert begin(None, plan(*EACH, deployed_version=None)).deployed_version == ""


def test_a_record_of_before_is_read_and_gone_on_with() -> None:
    """One that was written when neither pools nor the deployed version were kept."""
    earlier = asdict(came_to(begin(None, plan(*EACH)), "batch.b", "upgrading"))
    for name in ("pools", "outside", "deployed_version"):
        del earlier[name]
    for each in earlier["batches"]:
        del each["cures"]
    read = parse_record(json.dumps(earlier), "here")
    assert (read.pools, read.outside, read.deployed_version) == ((), (), "")
    assert finished(came_to(read, "batch.b", "done")).deployed_version == "", "what is not known is not told"
    record = begin(read, plan(batch("a"), upgraded="b"))
    assert (told(record)["data"], record.deployed_version) == (("upgrading", "a"), OLD)


def test_a_status_is_one_of_three() -> None:
    kept = asdict(begin(None, plan(*EACH)))
    kept["pools"][0]["status"] = "gone"
    with pytest.raises(Exception, match=r"pools.*status"):
        parse_record(json.dumps(kept), "here")
    assert parse_record(json.dumps({**kept, "pools": []}), "here").pools == ()
    assert PoolRecord("data", "pending").left == ()
