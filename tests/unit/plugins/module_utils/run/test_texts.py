"""The texts of a plan and of the end of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import remark
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.ending_text import Ending, ending_lines
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output.plan_text import (
    MOST_ROWS,
    RESTART,
    UPGRADE,
    Words,
    other_order,
    plan_lines,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.waits import waited_for
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

WORDS = Words(
    system="OpenSearch", changes=("update strategy of 1 pool", "3 cluster settings"), stays=("image of 1 pool",)
)
KEPT = "Every shard of the batch keeps a started copy elsewhere (8 of 8), 2 of 3 voting members stay"
CAUSE = "Stopped at batch-02 (Replace the batch): Pod data-1 has started and is not Ready yet. Read its log."
TOOK: list[dict[str, Any]] = [
    {"name": "data-0", "action": "replaced", "total_seconds": 9.96},
    {"name": "data-1", "action": "replaced", "total_seconds": None},
    {"name": "data-2", "action": "followed", "total_seconds": None},
    {"name": "data-3", "action": "untouched"},
    {"name": "data-4", "action": "kept", "total_seconds": None},
]


def batch(*members: str, special: str = "", proof: str = KEPT, **more: Any) -> dict[str, Any]:
    kind = "data with manager"
    return {"members": list(members), "kind": kind, "reason": kind + special, "proof": proof, **more}


def plan(*batches: dict[str, Any], **more: Any) -> dict[str, Any]:
    members = [member for one in batches for member in one["members"]]
    facts: dict[str, Any] = {
        "digest": "p1f2e3d4c5b6",
        "cluster_name": "search-prod",
        "target_version": "3.8.0",
        "before": dict.fromkeys(members, "2.19.6"),
        "batches": list(batches),
        "predicted_seconds": 60 * len(batches),
        "prediction": "measured",
        "left": [],
        "verdict": {"state": "passed", "reasons": []},
    }
    return {**facts, **more}


THREE = (batch("m-1"), batch("m-0"), batch("m-2", special="; the elected manager goes last, and hands over first"))


def test_a_plan_of_three_members() -> None:
    assert plan_lines(plan(*THREE), WORDS) == [
        "Plan p1f2e3d4c5b6   search-prod (OpenSearch)   2.19.6 → 3.8.0   3 members, 3 batches, about 3 min",
        "  1   m-1   data with manager   every shard of the batch keeps a started copy elsewhere (8 of 8), "
        "2 of 3 voting members stay",
        "  2   m-0   data with manager   the same",
        "  3   m-2   data with manager   the same; the elected manager goes last, and hands over first",
        "  changes and puts back: update strategy of 1 pool, 3 cluster settings     stays: image of 1 pool",
        "Plan: 3 to upgrade, 0 already on 3.8.0.",
    ]


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ([["m-1"], ["m-0"], ["m-2"]], ""),
        ([], ""),
        ([["gone"], ["m-1"], ["m-0"], ["m-2"]], ""),
        ([["m-1"], ["m-0"]], ""),
        ([["m-0"], ["m-1"], ["m-2"]], "m-1 goes first, which is not the order that was shown: its pod is not Ready."),
        ([["m-1"], ["m-2"], ["m-0"]], "m-0 goes in batch 2, which is not the order that was shown."),
    ],
)
def test_an_order_that_was_not_shown_is_told_in_one_line(shown: list[list[str]], said: str) -> None:
    batches = [batch("m-1", special="; its pod is not Ready"), batch("m-0"), batch("m-2")]
    assert other_order(shown, batches) == said


def test_a_prediction_without_any_measurement_is_called_a_guess() -> None:
    assert plan_lines(plan(*THREE, prediction="guessed"), WORDS)[0].endswith(
        "about 3 min (a guess: nothing was measured here yet)"
    )


def test_an_upgrade_that_goes_on_tells_the_numbers_of_the_whole() -> None:
    before = {"m-0": "2.19.6", "m-1": "3.8.0", "m-2": "2.19.6"}
    earlier = {"started": "2026-11-21T02:00:00Z", "done": 1}
    lines = plan_lines(plan(*THREE[1:], before=before, earlier=earlier), WORDS)
    assert lines[0].endswith("2 of 3 members, 2 batches, about 2 min")
    assert lines[1] == "  continues the upgrade that began at 2026-11-21T02:00:00Z: 1 of 3 batches done"
    assert lines[-1] == "Plan: 2 to upgrade, 1 already on 3.8.0."


def test_members_that_are_away_and_remarks_are_told() -> None:
    cured = batch("m-1", special="; not in the cluster, so it is brought back first", cures=True)
    remark = {"state": "passed", "code": "odd", "message": "Something is odd.", "remedy": "Look at it."}
    odd = {**remark, "state": "refused"}
    old = {"state": "refused", "code": "old", "message": "It is old.", "remedy": ""}
    facts = plan(cured, *THREE, before={"m-1": None, "m-0": "2.19.6", "m-2": "2.18.0"}, left=["x"])
    facts["verdict"] = {"state": "refused", "reasons": [remark, odd, remark, old, odd]}
    lines = plan_lines(facts, Words(notes=("Pool a keeps no data.",)))
    assert "2.18.0, 2.19.6 → 3.8.0" in lines[0]
    assert lines[1].endswith("; not in the cluster, so it is brought back first")
    assert lines[-5:] == [
        "  Note: Pool a keeps no data.",
        "  Note: Something is odd. Look at it.",
        "Plan: it cannot be carried out, for 2 reasons:",
        "  - Something is odd. Look at it.",
        "  - It is old.",
    ]
    facts["verdict"] = {"state": "passed", "reasons": [remark]}
    counts = "Plan: 3 to upgrade, 1 to fix first, 0 already on 3.8.0, 1 left out."
    assert plan_lines(facts, Words())[-1] == counts
    assert plan_lines({**facts, "batches": []}, Words()) == [
        "Nothing to do for the members that are planned for. Not on 3.8.0: x.",
        "  Note: Something is odd. Look at it.",
    ]


def test_members_that_are_replaced_on_their_version_are_counted_apart() -> None:
    changed = "3.8.0 (template changed)"
    before = {"m-0": changed, "m-1": changed, "m-2": "2.19.6", "m-3": "3.8.0", "m-4": changed}
    facts = plan(*THREE, before=before, outdated=["m-0", "m-1", "m-4"], left=["m-4"])
    lines = plan_lines(facts, WORDS)
    assert f"2.19.6, {changed} → 3.8.0   3 of 5 members" in lines[0]
    assert lines[-1] == "Plan: 1 to upgrade, 2 to replace (template changed), 1 already on 3.8.0, 1 left out."
    lines = plan_lines(plan(*THREE[:2], before={"m-0": changed, "m-1": changed}, outdated=["m-0", "m-1"]), WORDS)
    assert lines[-1] == "Plan: 2 to replace (template changed), 0 already on 3.8.0."
    assert plan_lines(plan(left=["a", "b"], outdated=["b"]), WORDS) == [
        "Nothing to do for the members that are planned for. Not on 3.8.0: a. Left on an older template: b."
    ]


def test_a_restart_tells_what_its_system_adds_and_counts_the_pods_that_are_replaced() -> None:
    told = ["node.attr.rack is set for pool data", "1 pod is replaced."]
    before = dict.fromkeys(("m-0", "m-1", "m-2"), "3.8.0 (to restart)")
    lines = plan_lines(plan(*THREE, before=before, replaced=["m-1"], details=told), Words(deed=RESTART))
    assert lines[1:3] == [f"  {line}" for line in told]
    assert lines[-1] == "Plan: 2 to restart, 1 to replace, 0 to leave alone."
    assert plan_lines(plan(details=told[:1]), Words(deed=RESTART)) == [
        "Nothing to do: no member is to be restarted.",
        "  node.attr.rack is set for pool data",
    ]
    many = plan_lines(plan(*THREE, before=before, details=told * 20), Words(deed=RESTART))
    assert many[21] == "  20 more lines like these are in the result"
    assert len(many) == 26


def test_members_that_come_and_go_are_counted_apart() -> None:
    grown = plan(added=["m-3"], before={"m-0": "3.8.0"}, asks_without_batches=True)
    lines = plan_lines(grown, Words(deed=RESTART))
    assert (lines[0][:4], lines[-1]) == ("Plan", "Plan: 0 to restart, 1 to add, 1 to leave alone.")
    going = THREE[0]["members"]
    shrunk = plan(THREE[0], before=dict.fromkeys((*going, "m-9"), "3.8.0"), removed=going)
    assert plan_lines(shrunk, Words(deed=RESTART))[-1] == "Plan: 1 to remove, 1 to leave alone."


def test_a_batch_of_many_members_and_a_plan_of_many_batches_stay_readable() -> None:
    batches = [batch(*(f"data-{number:04d}" for number in range(start, start + 8))) for start in range(0, 1000, 8)]
    lines = plan_lines(plan(*batches), WORDS)
    assert len(lines) <= 12
    assert lines[1].startswith("    1   data-0000, data-0001, data-0002, data-0003, data-0004 and 3 more   data with")
    assert lines[5] == "  5 to 122   944 members (data with manager), each with its own proof in the result"
    assert lines[6].startswith("  123   ")
    assert lines[-1] == "Plan: 1,000 to upgrade, 0 already on 3.8.0."
    assert len(plan_lines(plan(*batches[:MOST_ROWS]), WORDS)) == MOST_ROWS + 3


@pytest.mark.parametrize(
    ("left", "line"),
    [
        ([], "Nothing to do: every member runs 3.8.0."),
        (["a"], "Nothing to do for the members that are planned for. Not on 3.8.0: a."),
        (
            list("abcdefg"),
            "Nothing to do for the members that are planned for. Not on 3.8.0: a, b, c, d, e and 2 more.",
        ),
    ],
)
def test_a_plan_without_anything_to_do(left: list[str], line: str) -> None:
    assert plan_lines(plan(left=left), WORDS) == [line]


@pytest.mark.parametrize(("deed", "left"), [(UPGRADE, ["a"]), (UPGRADE, []), (RESTART, [])])
def test_a_refused_plan_without_a_batch_does_not_say_that_nothing_is_to_be_done(deed: str, left: list[str]) -> None:
    facts = plan(left=left, details=["a is set"])
    missing = {"state": "refused", "code": "x", "message": "There is no member b.", "remedy": "Correct it."}
    facts["verdict"] = {"state": "refused", "reasons": [missing]}
    assert plan_lines(facts, Words(deed=deed)) == [
        "Plan: it cannot be carried out, for 1 reason:",
        "  - There is no member b. Correct it.",
        "  a is set",
    ]


def done(name: str, run: str = "night", took: Sequence[dict[str, Any]] = (), **more: Any) -> BatchRecord:
    return batch_of(name, state="done", run=run, took=tuple(took), **more)


def record(*batches: BatchRecord, ended: str = "2026-11-21T02:03:46Z", **more: Any) -> Record:
    return record_of(*batches, phase=Phase.COMPLETED, updated=ended, **more)


def failed(*took: dict[str, Any]) -> Record:
    return record(batch_of(state="failed", run="night", took=took))


RECOVERS = {"code": "a", "message": "Shards of traffic-0 recover.", "seconds": 20.6}
UPGRADED = record(done("data-0", took=TOOK[:1], waited=(RECOVERS,)))


def ending(record: Record | None = UPGRADED, **more: Any) -> list[str]:
    facts = {
        "put_back": "Allocation is as it was before the run.",
        "found": "the cluster is green",
        "record_name": "stateful-upgrade-0a1b2c3d4e",
        **more,
    }
    return ending_lines(Ending("3.8.0", record=record, **facts), Words())


def test_the_end_is_one_line() -> None:
    assert ending() == [
        "Done in 3 min 46 s · 1 upgraded to 3.8.0 · everything put back · the cluster is green · "
        "longest wait 21 s: Shards of traffic-0 recover · record stateful-upgrade-0a1b2c3d4e"
    ]


def test_only_what_is_put_back_is_called_so() -> None:
    first, note = ending(remains=True, remarks=[remark("strategy_kept", "Pool a stays OnDelete.").as_result()])
    assert " · put back but for what the notes say · " in first
    assert note == "Note: Pool a stays OnDelete."


def test_without_a_record_the_end_tells_what_it_knows() -> None:
    assert ending(None, took=[{"name": "a", "action": "restarted", "total_seconds": 9}]) == [
        "Done · 1 upgraded to 3.8.0 · everything put back · the cluster is green"
    ]


def test_the_end_counts_replaced_members_apart() -> None:
    both = record(done("a", outdated=("a",)), done("b"), done("c", outdated=("c",)))
    assert " · 1 upgraded to 3.8.0, 2 replaced (template changed) · " in ending(both)[0]
    kept = [{"name": "a", "action": "kept", "total_seconds": None}]
    lines = ending(record(done("a", took=kept, outdated=("a",)), done("b", outdated=("b",))))
    assert " · 1 replaced (template changed) · " in lines[0]
    assert lines[1:] == ["  a   replaced by someone else"]
    took = [{"name": "a", "action": "replaced", "total_seconds": 9}]
    assert " · 1 replaced (template changed) · " in ending(None, took=took, outdated=["a"])[0]


def test_the_end_counts_members_that_were_removed_or_stopped_apart() -> None:
    took = [{"name": name, "action": name, "total_seconds": 9} for name in ("restarted", "removed", "stopped")]
    assert " · 1 upgraded to 3.8.0, 1 stopped, 1 removed · " in ending(None, took=took)[0]
    assert " · 1 removed · " in ending(None, took=took[1:2])[0]


def test_an_upgrade_of_several_runs_is_told_as_a_whole() -> None:
    went, kept = {"action": "replaced", "total_seconds": 5}, {"action": "kept", "total_seconds": None}
    batches = (
        done("a", "evening", [{"name": "a", **went}]),
        done("d", "evening"),
        done("b", took=[{"name": "b", **kept}]),
        done("c", took=[{"name": "c", **went}]),
    )
    lines = ending(record(*batches, ended="?"), record_name="")
    assert lines[0] == "Done · 3 upgraded to 3.8.0 in 2 runs · everything put back · the cluster is green"
    assert lines[1:] == ["  b   upgraded by someone else"]


def test_the_end_says_how_soon_all_was_whole_after_the_last_batch() -> None:
    first, last = done("a", ended="2026-11-21T02:01:00Z"), done("b", ended="2026-11-21T02:02:00Z")
    (line,) = ending(record(replace(last, green_seconds=13.0), replace(first, green_seconds=40.0)))
    assert " · the cluster is green within 13 s of the last batch · " in line


def test_the_longest_wait_is_the_first_one_of_the_report_wherever_it_was() -> None:
    gate = {"code": "b", "message": "2 shards of logs recover.", "seconds": 61.0}
    (line,) = ending(waited_for(UPGRADED, "the end", [gate]))
    assert " · longest wait 1 min 1 s: 2 shards of logs recover · " in line
    (line,) = ending(record(done("a", waited=({**RECOVERS, "seconds": 4.9},))))
    assert "longest wait" not in line


def test_a_member_that_is_down_is_told_so_and_the_cause_is_there() -> None:
    lines = ending(failures=[CAUSE], failed=True, record=failed(*TOOK))
    assert lines == [
        CAUSE,
        "Allocation is as it was before the run. Fix the cause and run the playbook again: finished members are left "
        "alone.",
        "  data-1   deleted, NOT back",
        "  data-2   NOT back",
        "  data-3   not touched",
        "  data-4   upgraded by someone else",
    ]


def test_what_could_not_be_put_back_is_told() -> None:
    lines = ending(failures=[CAUSE, "Left."], failed=True, not_put_back=True, record=failed())
    assert lines[:2] == [CAUSE, "Left."]
    assert lines[2].startswith("Not all could be put back.")


def test_a_whole_that_is_not_proven_is_not_called_done() -> None:
    again = "Fix the cause and run the playbook again."
    red = ["The cluster is red."]
    done = f"All batches of this run are done (everything put back). {again}"
    assert ending(failures=red) == [*red, done]
    assert "(put back but for what the notes say)" in ending(failures=red, remains=True)[1]
    assert ending(failures=red, waiting=[{"code": "a", "message": "A pod stops.", "remedy": ""}])[1] == again
    assert ending(failures=red, planned=False) == [*red, again]
    assert ending(failures=red, check_mode=True) == red


def test_without_a_record_the_cause_and_the_members_are_told_too() -> None:
    took = [{"name": "data-0", "action": "restarted", "total_seconds": 9}, {"name": "data-1", "action": "kept"}]
    lines = ending(failures=[CAUSE], failed=True, record=None, took=took)
    assert (lines[0], lines[2:]) == (CAUSE, ["  data-1   upgraded by someone else"])


def test_a_pass_that_waits_tells_for_what_and_each_thing_once() -> None:
    waits = [
        {"code": "stopping", "message": "Pod a is stopping.", "remedy": ""},
        {"code": "approval_missing", "message": "It waits for canary.", "remedy": "Approve it."},
    ]
    said = {"code": "odd", "message": "Something is odd.", "remedy": "Look."}
    lines = ending(waiting=waits, remarks=[*waits, said], record=failed())
    assert lines[0].startswith("This pass has ended")
    said_of = ["  Pod a is stopping.", "  It waits for canary. Approve it."]
    assert lines[1:] == [*said_of, "Note: Something is odd. Look."]


def test_an_aborted_run_names_no_cause_to_cure() -> None:
    for failed_at in (True, False):
        lines = ending(failures=[CAUSE], failed=failed_at, aborted=True, record=None)
        assert lines[1:] == ["Allocation is as it was before the run. Finished members stay as they are."]
    (_cause, said) = ending(failures=[CAUSE], aborted=True, not_put_back=True, record=None)
    assert "then run settle to put everything back" in said


def test_a_check_and_a_run_without_anything_to_do() -> None:
    assert ending(check_mode=True, record=None) == ["Checked only: nothing was changed."]
    assert ending(planned=False, record=failed(*TOOK)) == []
