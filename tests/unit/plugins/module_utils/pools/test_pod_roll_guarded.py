"""Rolling a batch under the lock of its run: nothing is deleted without it, and no abort comes between."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_deletion import LOOK_TIME
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    PASSED,
    WAITING,
    Asked,
    World,
    actions,
    turn,
)

AWAY = Unreachable(refused("kubernetes_unreachable", "The API is away.", ""))


class Guard:
    """The lock of the run: lost from some act on, or with a request to stop from some second on."""

    def __init__(self, world: World, acts: int = 99, stop_at: float = 999, store_away: bool = False) -> None:
        self.world = world
        self.acts = acts
        self.stop_at = stop_at
        self.store_away = store_away
        self.stoppable_looks: list[bool] = []

    def before_look(self, _doing: str, stoppable: bool) -> None:
        self.stoppable_looks.append(stoppable)
        if stoppable and self.world.now() >= self.stop_at:
            raise refusal("stopped_by_request", "The run was asked to stop.", "")

    def before_act(self) -> None:
        if self.store_away:
            raise AWAY
        if not self.acts:
            raise refusal("lock_lost", "Run night no longer holds the lock.", "")
        self.acts -= 1


@pytest.mark.parametrize("acts", [0, 1, 2])
def test_the_lock_is_asked_for_before_each_deletion(acts: int) -> None:
    world = World()
    outcome = turn(world, "data-2", "data-1", guard=Guard(world, acts))
    assert [name for name, _uid in world.deleted] == ["data-2", "data-1"][:acts]
    assert outcome.verdict.passed is (acts == 2)
    assert outcome.changed is (acts > 0)
    assert actions(outcome) == [("delete_pod", name) for name in ("data-2", "data-1")[:acts]]


def test_a_request_to_stop_ends_the_wait_before_the_deletion() -> None:
    world = World()
    with pytest.raises(Refusal, match="asked to stop"):
        turn(world, "data-2", proof=WAITING, guard=Guard(world, stop_at=5))
    assert (world.deleted, world.now()) == ([], 5)


@pytest.mark.parametrize("stop_at", [0.5, 1.5, 2.5, 10])
def test_a_request_to_stop_never_comes_between_deletion_and_rejoining(stop_at: float) -> None:
    world = World()
    guard = Guard(world, stop_at=stop_at)
    outcome = turn(world, "data-2", joined=Asked(*[WAITING] * 20, PASSED), guard=guard)
    assert outcome.verdict.passed
    assert world.now() > stop_at
    assert guard.stoppable_looks[0] is True
    assert not any(guard.stoppable_looks[1:])


def test_a_lock_that_cannot_be_asked_for_deletes_nothing() -> None:
    world = World()
    outcome = turn(world, "data-2", guard=Guard(world, store_away=True))
    assert (outcome.verdict.state, outcome.changed) == (State.REFUSED, False)
    assert (world.deleted, actions(outcome)) == ([], [])


def test_a_deletion_that_was_refused_is_not_told_as_one() -> None:
    world = World()
    world.failures["delete data-2"] = Refusal(refused("kubernetes_rights", "Not allowed.", ""))
    outcome = turn(world, "data-2")
    assert (outcome.verdict.state, outcome.changed, actions(outcome)) == (State.REFUSED, False, [])
    assert outcome.more["members"][0]["action"] != "replaced"


@pytest.mark.parametrize(("wait", "state"), [(False, State.WAITING), (True, State.REFUSED)])
def test_a_deletion_whose_answer_is_lost_is_looked_for_by_the_next_pass(wait: bool, state: State) -> None:
    world = World()
    world.failures["delete data-2"] = AWAY
    outcome = turn(world, "data-2", params={"wait": wait})
    assert (outcome.verdict.state, outcome.changed) == (state, True)
    assert outcome.more["actions"][0]["answer"] == "lost"


def test_a_deletion_that_was_made_though_its_answer_was_lost_is_not_made_again() -> None:
    world = World()
    real = world.delete

    def delete(path: str, uid: str) -> bool:
        real(path, uid)
        raise AWAY

    world.delete = delete  # type: ignore[method-assign]
    outcome = turn(world, "data-2")
    assert (outcome.verdict.state, outcome.changed) == (State.PASSED, True)
    assert (world.deleted, actions(outcome)) == ([("data-2", "data-2-old")], [("delete_pod", "data-2")])
    assert outcome.more["members"][0]["action"] == "replaced"


@pytest.mark.parametrize(("away", "state"), [(2.0, State.PASSED), (8.0, State.REFUSED)])
def test_a_deletion_that_was_not_made_is_asked_for_again_while_the_proof_is_fresh(away: float, state: State) -> None:
    world = World()
    real = world.delete

    def delete(path: str, uid: str) -> bool:
        if world.time < away:
            raise AWAY
        return real(path, uid)

    world.delete = delete  # type: ignore[method-assign]
    assert turn(world, "data-2").verdict.state is state
    assert world.deleted == ([("data-2", "data-2-old")] if state is State.PASSED else [])


def test_a_deletion_is_not_asked_for_again_by_a_run_that_has_lost_its_lock() -> None:
    world = World()
    world.failures["delete data-2"] = AWAY
    outcome = turn(world, "data-2", guard=Guard(world, acts=1))
    assert [reason.code for reason in outcome.verdict.reasons] == ["lock_lost"]
    assert [each["answer"] for each in outcome.more["actions"]] == ["lost"]


def test_one_pass_leaves_an_api_that_went_away_after_the_deletion_to_the_next() -> None:
    world = World()
    real = world.delete

    def delete(path: str, uid: str) -> bool:
        world.failures["get"] = AWAY
        return real(path, uid)

    world.delete = delete  # type: ignore[method-assign]
    outcome = turn(world, "data-2", params={"wait": False})
    assert (outcome.verdict.state, outcome.changed) == (State.WAITING, True)
    assert outcome.next


class Late(Asked):
    """A server in the pods that answers the first question late, such as one whose manager is dead."""

    def __init__(self, world: World, seconds: float) -> None:
        super().__init__(PASSED)
        self.world, self.seconds = world, seconds

    def __call__(self) -> Verdict:
        self.world.time += self.seconds if not self.times else 0
        return super().__call__()


@pytest.mark.parametrize(("seconds", "looks"), [(LOOK_TIME - 1, 1), (LOOK_TIME, 2)])
def test_pods_that_were_seen_long_before_the_end_of_the_proof_are_looked_at_again(seconds: float, looks: int) -> None:
    # Found by seed 400474: a pod was evicted while the cluster took 20 s to answer.
    world = World(outdated=("data-2",))
    proof = Late(world, seconds)
    outcome = turn(world, "data-2", proof=proof)
    assert outcome.verdict.passed
    assert (proof.times, len(world.deleted)) == (looks, 1)


def test_looks_that_always_take_long_are_named() -> None:
    world = World(outdated=("data-2",))
    proof = Late(world, 60.0)
    outcome = turn(world, "data-2", proof=proof, params={"wait": False})
    assert world.deleted == []
    (reason,) = outcome.verdict.deciding()
    assert (reason.code, reason.state) == ("looks_take_long", State.WAITING)
    assert reason.message.startswith("It took 1 min to look at the pods")
