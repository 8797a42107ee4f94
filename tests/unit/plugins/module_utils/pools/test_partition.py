"""A pool that keeps its RollingUpdate and is rolled by lowering its partition."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod as parsed
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod, StatefulSet
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.judge import judge_strategy
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.partition import (
    judge_one_at_a_time,
    judge_own_partition,
    judge_rolling,
    lowered_for,
    lowering,
    rolled_by_partition,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pool_changes import (
    carried_undo,
    changes_to,
    patch_back,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool

IMAGE, NEW = "opensearch:2.19.6", "opensearch:3.8.0"


def rolling(partition: int) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}


def undo(strategy_set: str = "RollingUpdate", partition: int = 0) -> dict[str, str]:
    set_to = rolling(3) if strategy_set == "RollingUpdate" else {"type": strategy_set}
    content = {"run": "night", "at": "t", "changes": [change(rolling(partition), set_to)]}
    return {UNDO: json.dumps(content, separators=(",", ":"))}


def change(was: dict[str, Any], set_to: dict[str, Any]) -> dict[str, Any]:
    return {"path": ["spec", "updateStrategy"], "was": was, "set_to": set_to}


def held(partition: int, **spec: Any) -> StatefulSet:
    """A pool of three whose partition a run controls."""
    return pool(updateStrategy=rolling(partition), annotations=undo(), **spec)


def pods(*outdated: str) -> dict[str, Pod]:
    names = ("data-0", "data-1", "data-2")
    return {
        name: parsed(pod_json(name, name, revision="data-old" if name in outdated else "data-new")) for name in names
    }


def test_with_the_image_the_partition_goes_above_every_pod_and_the_undo_says_what_it_was() -> None:
    patch = changes_to(pool(updateStrategy=rolling(0)), "server", NEW, "RollingUpdate", Writer("night", "t"))
    assert patch is not None
    assert patch["spec"]["updateStrategy"] == rolling(3)
    assert json.loads(patch["metadata"]["annotations"][UNDO])["changes"] == [change(rolling(0), rolling(3))]


def test_a_lowered_partition_is_left_where_it_is_until_the_image_changes_again() -> None:
    assert changes_to(held(1), "server", IMAGE, "RollingUpdate", Writer("night", "t")) is None
    patch = changes_to(held(1), "server", NEW, "RollingUpdate", Writer("night", "t"))
    assert patch is not None
    assert patch["spec"]["updateStrategy"] == rolling(3)
    assert "annotations" not in patch["metadata"]


def test_another_strategy_keeps_what_it_was_at_first() -> None:
    patch = changes_to(held(1), "server", IMAGE, "OnDelete", Writer("later", "t"))
    assert patch is not None
    assert patch["spec"]["updateStrategy"] == {"type": "OnDelete", "rollingUpdate": None}
    assert json.loads(patch["metadata"]["annotations"][UNDO])["changes"] == [change(rolling(0), {"type": "OnDelete"})]


def test_the_way_back_is_exact_wherever_the_partition_is() -> None:
    for partition in (0, 2, 3):
        seen = held(partition)
        found = carried_undo(seen)
        assert found is not None
        assert patch_back(seen, found)["spec"] == {"updateStrategy": rolling(0)}


@pytest.mark.parametrize(
    ("partition", "first", "going", "lowered"),
    [(3, 0, ["data-2"], 2), (2, 0, ["data-1"], 1), (2, 0, ["data-2"], 2), (3, 0, [], 3), (3, 5, ["data-7"], 2)],
)
def test_the_partition_is_lowered_to_the_place_of_what_goes(
    partition: int, first: int, going: list[str], lowered: int
) -> None:
    seen = held(partition, ordinals={"start": first})
    wanted = lowered_for(seen, going)
    assert wanted.partition == lowered
    assert (wanted is seen) == (lowered == partition)
    if wanted is not seen:
        assert lowering(seen, wanted) == {
            "metadata": {"resourceVersion": seen.resource_version},
            "spec": {"updateStrategy": rolling(lowered)},
        }


def test_a_partition_of_somebody_else_is_never_touched() -> None:
    for seen in (pool(updateStrategy=rolling(3)), pool(updateStrategy={"type": "OnDelete"}, annotations=undo())):
        assert not rolled_by_partition(seen)
        assert lowered_for(seen, ["data-2"]) is seen
    assert judge_one_at_a_time(pool(updateStrategy=rolling(0)), ["data-1", "data-2"]).passed


def test_nothing_goes_that_is_not_in_the_batch() -> None:
    everything = pods("data-0", "data-1", "data-2")
    high = lowered_for(held(3), ["data-2"])
    assert judge_strategy(high, everything, ["data-2"]).passed
    # Lowering it to data-1 would let data-2 through as well.
    low = lowered_for(held(3), ["data-1"])
    (reason,) = judge_strategy(low, everything, ["data-1"]).reasons
    assert reason.code == "strategy_rolls_by_itself"
    assert "data-2" in reason.message
    assert judge_strategy(low, pods("data-0", "data-1"), ["data-1"]).passed


def test_two_of_a_pool_never_go_through_at_once() -> None:
    assert judge_one_at_a_time(held(3), ["data-2"]).passed
    (reason,) = judge_one_at_a_time(held(3), ["data-1", "data-2"]).reasons
    assert reason.code == "partition_one_at_a_time"


@pytest.mark.parametrize(
    ("seen", "outdated", "states"),
    [
        (pool(updateStrategy=rolling(0)), ["data-1"], ["refused"]),
        (pool(updateStrategy=rolling(2)), ["data-1"], []),
        (pool(updateStrategy=rolling(0)), [], []),
        (pool(), ["data-1"], []),
        # A pod that a run has let through is gone soon; one that it holds back stays.
        (held(1), ["data-0", "data-1"], ["waiting"]),
        (held(2), ["data-0", "data-1"], []),
        # Someone has put the partition back that a run had raised.
        (held(0), ["data-0", "data-1"], ["refused"]),
    ],
)
def test_a_pool_that_its_own_controller_rolls_is_told(
    seen: StatefulSet, outdated: list[str], states: list[str]
) -> None:
    reasons = judge_rolling(seen, pods(*outdated)).reasons
    assert [(reason.code, reason.state.value) for reason in reasons] == [
        ("strategy_rolls_by_itself", state) for state in states
    ]
    assert all(("kubectl patch" in reason.remedy) is (reason.state.value == "refused") for reason in reasons)


@pytest.mark.parametrize(
    ("found", "by_partition", "said"),
    [
        (pool(), False, None),
        (pool(updateStrategy=rolling(0)), False, None),
        (pool(updateStrategy={"type": "RollingUpdate"}), True, None),
        (
            pool(updateStrategy=rolling(2)),
            False,
            "When its turn comes, its strategy becomes OnDelete. RollingUpdate with",
        ),
        (
            pool(updateStrategy=rolling(2)),
            True,
            "When its turn comes, its partition becomes 3 and is lowered member by",
        ),
        # The partition there is the run's own, also above the pods; that of the user is in the undo.
        (pool(updateStrategy=rolling(3), annotations=undo()), True, None),
        (pool(annotations=undo("OnDelete", partition=2)), False, "When its turn comes, its strategy becomes OnDelete."),
        (pool(updateStrategy=rolling(1), annotations=undo(partition=2)), True, "partition 2 is put back once"),
        # Someone has changed it since: the undo is void.
        (pool(updateStrategy=rolling(2), annotations=undo("OnDelete")), False, "StatefulSet data has partition 2"),
    ],
)
def test_a_partition_of_the_users_own_is_told(found: StatefulSet, by_partition: bool, said: str | None) -> None:
    verdict = judge_own_partition(found, by_partition=by_partition)
    assert verdict.state is State.PASSED
    assert [reason.code for reason in verdict.reasons] == ([] if said is None else ["partition_replaced"])
    assert all("partition 2" in reason.message and str(said) in reason.sentence() for reason in verdict.reasons)


def test_where_the_undo_cannot_be_read_the_plan_says_so() -> None:
    verdict = judge_own_partition(pool(annotations={UNDO: "no json"}), by_partition=False)
    assert [reason.code for reason in verdict.deciding()] == ["undo_not_readable"]
