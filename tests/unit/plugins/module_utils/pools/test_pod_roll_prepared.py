"""Rolling a batch: what is done between the proof and the deletion, and taken back where the proof does not hold."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    PASSED,
    REFUSED,
    WAITING,
    Asked,
    World,
    turn,
)


class Preparing:
    """The preparations before the pods go, one at each call; they are noted with the pods that were deleted by then."""

    def __init__(self, world: World, *, times: int = 1) -> None:
        self.world, self.times = world, times
        self.asked: list[list[str]] = []

    def __call__(self, going: Collection[str]) -> bool:
        assert self.world.deleted == []
        self.asked.append(sorted(going))
        return len(self.asked) <= self.times


@pytest.mark.parametrize("times", [0, 1, 2])
def test_what_is_done_before_comes_after_the_proof_which_is_then_made_again(times: int) -> None:
    world, proof = World(outdated=("data-2", "data-1")), Asked(WAITING, PASSED)
    prepare = Preparing(world, times=times)
    assert turn(world, "data-2", "data-1", "data-0", proof=proof, prepare=prepare).verdict.passed
    assert prepare.asked == [["data-1", "data-2"]] * (times + 1)
    assert proof.times == 2 + times
    assert len(world.deleted) == 2


@pytest.mark.parametrize(("begins", "passes"), [(0, False), (1, True), (3, True)])
def test_what_was_prepared_is_taken_back_where_the_proof_does_not_hold_and_it_is_begun_again_if_that_helps(
    begins: int, passes: bool
) -> None:
    world, asked, prepared = World(), list[Verdict](), list[bool]()

    def prepare(_going: Collection[str]) -> bool:
        prepared.append(not prepared)
        return prepared[-1]

    def again(verdict: Verdict) -> bool:
        assert prepared.pop()
        asked.append(verdict)
        return len(asked) <= begins

    proof = Asked(*[PASSED, WAITING] * max(begins, 1), PASSED)
    outcome = turn(world, "data-2", proof=proof, prepare=prepare, again=again, params={"proof_timeout": 0})
    assert outcome.verdict.passed is passes
    assert asked == [WAITING] * max(begins, 1)
    assert len(world.deleted) == passes


@pytest.mark.parametrize("wait", [True, False])
def test_where_the_proof_does_not_hold_any_more_after_that_nothing_is_deleted(wait: bool) -> None:
    world = World()
    params = {"wait": wait, "proof_timeout": 15}
    outcome = turn(world, "data-2", proof=Asked(PASSED, WAITING), prepare=Preparing(world), params=params)
    assert (outcome.verdict.state, world.deleted) == (State.WAITING, [])


def test_nothing_is_done_before_where_nothing_goes() -> None:
    world = World(outdated=())
    prepare = Preparing(world)
    assert turn(world, "data-2", prepare=prepare).verdict.passed
    for check_mode in (False, True):
        turn(World(), "data-2", proof=REFUSED, prepare=prepare, check_mode=check_mode)
    assert prepare.asked == []


def test_check_mode_asks_for_all_that_would_be_done_before() -> None:
    world = World()
    prepare = Preparing(world, times=2)
    assert turn(world, "data-2", prepare=prepare, check_mode=True).verdict.passed
    assert prepare.asked == [["data-2"]] * 3
