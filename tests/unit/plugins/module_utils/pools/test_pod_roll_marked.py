"""Pods of the wanted revision that are marked are replaced once; their last act comes right before the deletion."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    PASSED,
    REFUSED,
    Asked,
    World,
    actions,
    turn,
)

MARK = "example.com/restart"


class Marked(World):
    """A pool that is of one revision, with these pods marked."""

    def __init__(self, *names: str, **pool: object) -> None:
        super().__init__(outdated=(), **pool)
        for name in names:
            self.pods[name]["metadata"]["annotations"] = {MARK: "schedule-rolling"}


def has_mark(pod: Pod) -> bool:
    return bool(pod.annotations.get(MARK))


@pytest.mark.parametrize("strategy", ["OnDelete", "RollingUpdate"])
def test_a_marked_pod_is_replaced_once_and_the_others_stay(strategy: str) -> None:
    world = Marked("data-2", strategy=strategy)
    outcome = turn(world, "data-2", "data-1", marked=has_mark)
    assert outcome.verdict.passed
    assert world.deleted == [("data-2", "data-2-old")]
    assert [each["action"] for each in outcome.more["members"]] == ["replaced", "kept"]
    again = turn(world, "data-2", "data-1", marked=has_mark)
    assert not again.changed
    assert len(world.deleted) == 1


def test_without_the_question_a_mark_says_nothing() -> None:
    world = Marked("data-2")
    assert not turn(world, "data-2").changed
    assert not world.deleted


def test_a_marked_pod_stays_without_a_proof() -> None:
    world = Marked("data-2")
    assert turn(world, "data-2", marked=has_mark, proof=REFUSED).verdict.state.value == "refused"
    assert not world.deleted


def test_the_last_act_comes_after_the_proof_and_before_the_deletion_of_each_pod() -> None:
    world = Marked("data-1", "data-2")
    seen: list[tuple[str, int]] = []
    turn(world, "data-2", "data-1", marked=has_mark, before=lambda pod: seen.append((pod.name, len(world.deleted))))
    assert seen == [("data-2", 0), ("data-1", 1)]
    unproven: list[str] = []
    turn(Marked("data-1"), "data-1", marked=has_mark, proof=REFUSED, before=lambda pod: unproven.append(pod.name))
    assert not unproven


def test_where_the_last_act_is_refused_the_pod_stays() -> None:
    def refuse(pod: Pod) -> None:
        raise refusal("configuration_immutable", f"The Secret of {pod.name} cannot change.", "Make another.")

    world = Marked("data-2")
    outcome = turn(world, "data-2", marked=has_mark, before=refuse)
    assert [reason.code for reason in outcome.verdict.deciding()] == ["configuration_immutable"]
    assert not world.deleted
    assert actions(outcome) == []


def test_check_mode_tells_that_a_marked_pod_would_be_replaced_and_makes_no_last_act() -> None:
    acts: list[str] = []
    world = Marked("data-2")
    outcome = turn(world, "data-2", marked=has_mark, before=lambda pod: acts.append(pod.name), check_mode=True)
    assert outcome.changed
    assert actions(outcome) == [("delete_pod", "data-2")]
    assert not acts
    assert not world.deleted


@pytest.mark.parametrize(("seconds", "proofs"), [(1.0, 1), (20.0, 2)])
@pytest.mark.parametrize("holds", [True, False])
def test_the_proof_is_made_again_if_the_last_act_before_a_deletion_took_long(
    seconds: float, proofs: int, holds: bool
) -> None:
    """A write that the API server answers late leaves an old proof."""
    world, proof = Marked("data-2"), Asked(PASSED, PASSED if holds else REFUSED)

    def before(_pod: Pod) -> None:
        world.time += seconds

    outcome = turn(world, "data-2", marked=has_mark, proof=proof, before=before)
    assert proof.times == proofs
    assert (len(world.deleted), outcome.verdict.passed) == ((1, True) if holds or proofs == 1 else (0, False))
