"""Snapshots and long tasks: which of them a restart would spoil, and how they are named."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.background import (
    judge_snapshots,
    judge_snapshots_of,
    judge_tasks,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.disk import judge_disks
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.disk import (
    Disks,
    parse_disks,
    parse_watermarks,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import parse_snapshots
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.tasks import parse_tasks
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    identity,
    recorded,
    snapshot,
    task,
)


def nodes(**tasks: Json) -> Json:
    """The tasks of the members, one each."""
    return {"nodes": {identity(name): {"name": name, "tasks": {"x:7": each}} for name, each in tasks.items()}}


def test_long_tasks_are_named_with_member_and_what_they_do() -> None:
    found = parse_tasks(
        nodes(
            a=task("indices:data/write/reindex", "reindex from [logs] to [copy]"),
            b=task("indices:data/write/reindex", parent="x:7"),
            c=task("indices:admin/forcemerge[n]"),
            d=task("indices:data/write/bulk"),
        )
    )
    (reason,) = judge_tasks(found).reasons
    assert (reason.code, reason.state) == ("long_task", State.WAITING)
    assert reason.message == (
        f"A task that a restart would end runs on a (reindex, task {identity('a')}:7): reindex from [logs] to [copy]."
    )
    assert f"POST _tasks/{identity('a')}:7/_cancel" in reason.remedy


def test_a_snapshot_is_named_with_what_is_left() -> None:
    shards = [("logs", "INIT", "a"), ("old", "SUCCESS", "b"), ("late", "WAITING", "b"), ("bad", "FAILED", "c")]
    state = cluster("abc", snapshots=[snapshot("night", *shards), snapshot("done", ("old", "SUCCESS", "b"))])
    first, last = judge_snapshots(state).reasons
    assert first.message == "Snapshot nightly/night is being taken: late[0], logs[0] still to be written on a, b."
    assert last.message == "Snapshot nightly/done is being taken: it is being finished."
    assert "DELETE _snapshot/nightly/night." in first.remedy
    for name, waits in (("a", True), ("b", True), ("c", False)):
        assert bool(judge_snapshots_of(state, state.ids([name])).reasons) is waits
    (of_a,) = judge_snapshots_of(state, state.ids(["a"])).reasons
    assert of_a.message == (
        "Snapshot nightly/night is being taken from a member of the batch: logs[0] still to be written on a."
    )


def test_a_shard_that_waits_for_its_turn_has_no_member_yet() -> None:
    queued: Json = {"index": {"index_name": "i"}, "shard": 2, "state": "QUEUED"}
    (found,) = parse_snapshots({"snapshots": [{"repository": "r", "snapshot": "s", "shards": [queued]}]})
    assert found.unfinished == (("i", 2, None),)
    with pytest.raises(Unreadable, match="snapshot is missing"):
        parse_snapshots({"snapshots": [{"repository": "r"}]})


def test_the_answers_of_a_real_server() -> None:
    """Read from 2.19.6 while it wrote a snapshot, with a persistent low watermark of 1%."""
    answers = recorded("saving-2.19.6")
    (found,) = parse_snapshots(answers["snapshots"])
    assert found.name == "slow/one"
    assert found.unfinished == (("logs", 0, identity("a")), ("logs", 1, identity("b")), ("logs", 2, identity("c")))
    disks = parse_disks(answers["stats"])
    (reason,) = judge_disks(Disks(disks, parse_watermarks(answers["settings"], len(disks)))).reasons
    assert "low watermark" in reason.message
    assert "a (71.7% used, 71 GiB free)" in reason.message
