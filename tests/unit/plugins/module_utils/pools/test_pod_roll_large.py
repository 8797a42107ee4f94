"""Rolling a large batch: its deletions take so long that the proof becomes too old between them."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_roll import Questions, roll
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    NAMES,
    PASSED,
    REFUSED,
    WAITING,
    World,
)


class Slow(World):
    """Each deletion takes a while; what happens after one of them is up to the test."""

    seconds = 3.0

    def delete(self, path: str, uid: str) -> bool:
        self.time += self.seconds
        return super().delete(path, uid)


def proofs_of(world: World, *later: Verdict) -> tuple[Outcome, list[list[str]], list[list[str]]]:
    """One turn whose proof holds at first: with what was deleted at each proof, and of whom it was asked to be back."""
    deleted, joined, answers = list[list[str]](), list[list[str]](), [PASSED, *later]

    def proof(_pools: object, _there: object, gone: Collection[str]) -> Verdict:
        deleted.append(sorted(gone))
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def has_joined(names: Collection[str], _deleted: Collection[str]) -> Verdict:
        joined.append(sorted(names))
        return PASSED

    task = Task({"wait": True, "wait_timeout": 60, "wait_sleep": 1.0, "proof_timeout": 15}, clock=world)
    client = cast(KubernetesClient, world)
    outcome = roll(task, client, "search", ["data"], ["data-2", "data-1", "data-0"], Questions(proof, has_joined))
    return outcome, deleted, joined


@pytest.mark.parametrize(("seconds", "times"), [(0.1, 1), (3.0, 2), (6.0, 3)])
def test_a_proof_that_has_become_old_between_two_deletions_is_made_again(seconds: float, times: int) -> None:
    world = Slow()
    world.seconds = seconds
    outcome, deleted, joined = proofs_of(world, PASSED)
    assert outcome.verdict.passed
    assert len(deleted) == times
    assert [name for name, _uid in world.deleted] == ["data-2", "data-1", "data-0"]
    assert joined == [sorted(NAMES)]


@pytest.mark.parametrize("why", [WAITING, REFUSED])
def test_where_the_proof_does_not_hold_any_more_the_rest_stays_up_and_the_others_are_followed(why: Verdict) -> None:
    world = Slow()
    outcome, deleted, joined = proofs_of(world, why)
    assert deleted == [[], ["data-1", "data-2"]]
    assert [name for name, _uid in world.deleted] == ["data-2", "data-1"]
    assert joined == [["data-1", "data-2"]]
    assert outcome.verdict == why
    assert outcome.changed
    assert [each["action"] for each in outcome.more["members"]] == ["replaced", "replaced", "untouched"]


def test_where_no_answer_is_had_between_two_deletions_the_rest_stays_up() -> None:
    world = Slow()
    away = Unreachable(refused("kubernetes_unreachable", "The API is away.", ""))
    real = world.delete

    def delete(path: str, uid: str) -> bool:
        if len(world.deleted) == 1:
            world.failures["get"] = away
            world.on_tick.insert(0, world.failures.clear)
        return real(path, uid)

    world.delete = delete  # type: ignore[method-assign]
    outcome, _deleted, _joined = proofs_of(world, PASSED)
    assert [name for name, _uid in world.deleted] == ["data-2", "data-1"]
    assert outcome.verdict.state is State.WAITING
    assert [reason.code for reason in outcome.verdict.deciding()] == ["kubernetes_unreachable"]
