"""Kubernetes nodes that the machine config operator would take in place of those of a batch."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.out_of_turn import (
    judge_others,
    judge_turn,
    limit_of_batch,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.kinds import SPARE
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import OpenShift

from tests.unit.plugins.module_utils.openshift.seen import NEW, config, node, openshift, pool, under_way

ITS = config("worker", NEW)


def workers(*facts: dict[str, Any], **of_pool: Any) -> OpenShift:
    """The control plane is done, and the workers are as the facts say."""
    masters = {name: node(name, NEW) for name in ("m-0", "m-1", "m-2")}
    found = {f"w-{place}": node(f"w-{place}", **each) for place, each in enumerate(facts)}
    pools = {"master": pool("master", NEW), "worker": pool("worker", NEW, **of_pool)}
    return openshift(version=under_way("Completed"), pools=pools, nodes={**masters, **found})


DONE: dict[str, Any] = {"of": NEW}
AT_WORK: dict[str, Any] = {"desired": ITS}
AGAIN: dict[str, Any] = {"of": "4.18.2-first"}
IS_SPARE: dict[str, Any] = {"labels": {"role": "worker", SPARE: "w-0-spare"}}


@pytest.mark.parametrize(
    ("facts", "batch", "others"),
    [
        ([{}, {}, {}], ["w-0"], ""),
        ([{}, {}, {}], ["w-0", "w-1"], ""),
        ([DONE, {}, {}], ["w-1"], ""),
        ([{}, {}, {}], ["w-1"], "w-0"),
        ([AGAIN, {}, {}], ["w-1", "w-2"], "w-0"),
        ([IS_SPARE, {}, {}], ["w-1"], ""),
        ([{}, DONE, {}], ["w-1"], ""),
        ([{}, AT_WORK, {}], ["w-1"], ""),
    ],
)
def test_another_one_comes_first_in_the_order_of_the_operator(
    facts: list[dict[str, Any]], batch: list[str], others: str
) -> None:
    found = judge_turn(workers(*facts), batch).reasons
    assert [each.code for each in found] == (["out_of_turn"] if others else [])
    assert all(f"than that of Kubernetes nodes {others}, so" in each.message for each in found)


def test_only_the_last_one_of_the_batch_is_said_to_come_later() -> None:
    (reason,) = judge_turn(workers({}, {}, {}), ["w-0", "w-2"]).reasons
    assert (
        "of Kubernetes nodes w-1, so the machine config operator takes them before w-2 of the batch" in reason.message
    )


def test_another_one_was_taken_while_the_pool_is_open() -> None:
    seen = workers({}, AT_WORK, {})
    assert judge_turn(seen, ["w-0"]).passed
    (reason,) = judge_turn(seen, ["w-0"], opened=True).reasons
    # It may have been taken after the batch, and its configuration is that of the pool by now.
    assert reason.message == (
        "The machine config operator is at work on Kubernetes nodes w-1 of MachineConfigPool worker, which are not in"
        " the batch, and no gate was asked for that."
    )
    # A pool that a person has paused is not let go.
    assert judge_turn(workers({}, AT_WORK, {}, paused=True), ["w-0"], opened=True).passed


def test_a_batch_waits_for_others_that_the_operator_is_at_work_on() -> None:
    (reason,) = judge_others(workers({}, AT_WORK, {}), ["w-0"]).reasons
    assert reason.message == "Kubernetes node w-1, which is not in this batch, is taken by its daemon."
    assert judge_others(workers({}, AT_WORK, {}), ["w-1"]).passed
    assert judge_others(workers({}, {"desired": ITS, "state": "Degraded"}, {}), ["w-0"]).passed


@pytest.mark.parametrize(
    ("facts", "limit", "before", "most", "batch", "fitting"),
    [
        ([{}, {}, {}], 1, None, None, ["w-0"], None),
        ([{}, {}, {}], 3, None, None, ["w-0"], 1),
        ([{}, {}, {}], "70%", None, None, ["w-0"], 1),
        ([{}, {}, {}], 3, None, "2", ["w-0", "w-1"], 2),
        # Nothing else is left.
        ([DONE, DONE, {}], 3, None, None, ["w-2"], None),
        ([DONE, DONE, {}], 3, None, "2", ["w-2"], 2),
        # One of the batch is at work, or done.
        ([AT_WORK, {}, {}], 2, None, None, ["w-0", "w-1"], None),
        ([DONE, {}, {}], 2, None, None, ["w-0", "w-1"], 1),
        # Spare ones may be taken with it.
        ([{}, IS_SPARE, {}], 2, None, None, ["w-0"], None),
        ([{}, IS_SPARE, {}], 3, None, None, ["w-0"], 2),
        # A run has set the present one.
        ([{}, {}, {}], 1, 2, None, ["w-0", "w-1"], 2),
        ([{}, {}, {}], 1, 2, "1", ["w-0", "w-1"], None),
        ([{}, {}, {}], 1, 1, None, ["w-0", "w-1"], None),
        ([{}, {}, {}], 1, None, None, ["w-0", "w-1"], None),
    ],
)
def test_a_pool_is_let_go_for_no_more_than_the_batch(
    facts: list[dict[str, Any]],
    limit: int | str,
    before: int | None,
    most: str | None,
    batch: list[str],
    fitting: int | None,
) -> None:
    seen = workers(*facts, max_unavailable=limit, limit_before=before)
    assert limit_of_batch(seen, seen.pools["worker"], batch, most) == fitting
