"""The record of a chain of upgrades, in which several batches have the same members."""

from __future__ import annotations

from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.run.pace import earlier_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import batches_of
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import (
    batch_changed,
    begun,
    started_again,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_reading import parse_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.size import record_text

from tests.unit.plugins.module_utils.run.records import batch_of, record_of

HEADS, WORKERS = ("m-0", "m-1"), ("w-0",)
MIDDLE, LAST = "3.7.0", "3.8.0"


def planned(name: str, members: tuple[str, ...], version: str = "") -> dict[str, Any]:
    own = {"target_version": version} if version else {}
    pool = "heads" if members == HEADS else "workers"
    return {"name": name, "pools": [pool], "members": list(members), "cures": False, **own}


WHOLE = (planned("b-01", HEADS, MIDDLE), planned("b-02", HEADS), planned("b-03", WORKERS))
REST = (planned("b-01", HEADS), planned("b-02", WORKERS))


def plan(*batches: dict[str, Any]) -> dict[str, Any]:
    pools = [{"name": "heads", "members": [*HEADS]}, {"name": "workers", "members": [*WORKERS]}]
    own = {"cluster_uuid": "uuid", "target_version": LAST, "digest": "p1", "deployed_version": "3.6.0"}
    before = dict.fromkeys((*HEADS, *WORKERS), "3.6.0")
    return {**own, "batches": [*batches], "pools": pools, "members": [*before], "left": [], "before": before}


def test_a_batch_of_a_version_on_the_way_leaves_its_members_to_be_upgraded() -> None:
    first = begun(None, plan(*WHOLE), "night", "ops", "t0")
    under_way = batch_changed(first, "b-01", "upgrading", "t1", [], [])
    done = batch_changed(under_way, "b-01", "done", "t2", [], [])
    assert done is not None
    assert [(each.status, each.left) for each in done.pools] == [("upgrading", HEADS), ("pending", WORKERS)]
    last = batch_changed(batch_changed(done, "b-02", "upgrading", "t3", [], []), "b-02", "done", "t4", [], [])
    assert last is not None
    assert [(each.status, each.left) for each in last.pools] == [("upgraded", ()), ("pending", WORKERS)]
    assert [each.target_version for each in last.batches] == [MIDDLE, "", ""]


def test_one_that_is_done_is_kept_and_is_no_try_of_the_next_one() -> None:
    earlier = (
        batch_of(*HEADS, name="b-01", state="done", started="t1", ended="t2", run="night", target_version=MIDDLE),
        batch_of(*HEADS, name="b-02", state="failed", started="t3", ended="t4", run="night"),
        batch_of(*WORKERS, name="b-03"),
    )
    kept, *again = batches_of(plan(*REST), earlier, "t5")
    assert (kept.name, kept.state, kept.target_version) == ("b-01 (run 1)", "done", MIDDLE)
    assert [(each.name, len(each.tries)) for each in again] == [("b-01", 1), ("b-02", 0)]
    record = record_of(*earlier)
    assert earlier_of([record], LAST, plan(*REST)) == {"started": record.started, "done": 1}


def test_one_that_a_killed_run_left_under_way_is_taken_again_or_done() -> None:
    begun_by_killed = batch_of(*HEADS, name="b-01", state="upgrading", started="t1", run="night", target_version=MIDDLE)
    again = batches_of(plan(*WHOLE), (begun_by_killed,), "t5")
    assert [len(each.tries) for each in again] == [1, 0, 0]
    kept = batches_of(plan(*REST), (begun_by_killed,), "t5")[0]
    assert (kept.state, kept.target_version) == ("done", MIDDLE)


def test_one_that_was_never_begun_and_is_not_planned_any_more_goes() -> None:
    pending = batch_of(*WORKERS, name="b-02", target_version=MIDDLE)
    assert [each.name for each in batches_of(plan(*REST), (pending,), "t5")] == ["b-01", "b-02"]


def test_a_record_that_is_started_again_knows_what_is_left() -> None:
    done = [{"name": "b-01", "started": "t1", "ended": "t2"}]
    again = started_again({**plan(*WHOLE), "done": done}, "night", "ops", "t3")
    assert again.phase is Phase.UPGRADING
    assert [each.left for each in again.pools] == [HEADS, WORKERS]


def test_the_version_of_a_batch_is_written_and_read_again() -> None:
    record = record_of(batch_of("m-0", target_version=MIDDLE, tries=(batch_of("m-0", target_version=MIDDLE),)))
    assert parse_record(record_text(record, 10_000), "here") == record
    assert "target_version" not in record_text(record_of(batch_of("m-0")), 10_000).partition('"batches"')[2]
