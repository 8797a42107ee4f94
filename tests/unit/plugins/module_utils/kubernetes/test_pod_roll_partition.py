"""A pool that keeps its RollingUpdate: its controller replaces what a lowered partition lets through."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_roll import Questions, roll
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    NAMES,
    PASSED,
    REFUSED,
    Asked,
    World,
    turn,
)

Json = dict[str, Any]
AWAY = Unreachable(refused("kubernetes_unreachable", "The API is away.", ""))
CHANGED = Conflict(refused("kubernetes_conflict", "It changed.", ""))
HELD = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}
CHANGE = {"path": ["spec", "updateStrategy"], "was": {"type": "RollingUpdate"}, "set_to": HELD}
OURS = {UNDO: json.dumps({"run": "night", "at": "t", "changes": [CHANGE]})}


class Rolled(World):
    """A run controls its partition; `lost` says of each patch whether it is made, and never answered."""

    def __init__(self, *lost: bool) -> None:
        super().__init__(NAMES, updateStrategy=dict(HELD), annotations=OURS)
        self.lost = list(lost)
        self.patches = 0

    @property
    def partition(self) -> int:
        """The partition as it is now."""
        return int(self.pool["spec"]["updateStrategy"]["rollingUpdate"]["partition"])

    def patch(self, path: str, body: Json) -> Json:
        """Lower the partition, upon which the controller deletes the pod."""
        assert path.endswith("/statefulsets/data")
        self.patches += 1
        metadata = self.pool["metadata"]
        if body["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise CHANGED
        if not self.lost or self.lost[0]:
            self.pool["spec"]["updateStrategy"] = body["spec"]["updateStrategy"]
            metadata["resourceVersion"] += "0"
            self.delete("/pods/data-2", "data-2-old")
        if self.lost:
            self.lost.pop(0)
            raise AWAY
        return self.pool


@pytest.mark.parametrize(
    ("lost", "proofs", "answers"),
    [
        ((), 1, [None]),
        ((True,), 1, ["lost"]),
        # A request that was not made is proven and sent once more.
        ((False,), 2, ["lost", None]),
        ((False, True), 2, ["lost", "lost"]),
    ],
)
def test_a_lowering_whose_answer_is_lost_is_looked_for(
    lost: tuple[bool, ...], proofs: int, answers: list[str | None]
) -> None:
    world, proof = Rolled(*lost), Asked(PASSED)
    outcome = turn(world, "data-2", proof=proof)
    assert (outcome.verdict.state, outcome.changed, world.partition) == (State.PASSED, True, 2)
    assert (world.deleted, proof.times) == ([("data-2", "data-2-old")], proofs)
    found = outcome.more["actions"]
    assert [(each["action"], each.get("answer")) for each in found] == [("lower_partition", each) for each in answers]
    assert outcome.more["members"][0]["action"] == "replaced"


def test_a_member_that_was_let_through_is_back_only_as_another_process() -> None:
    """The cluster lists a process that was cut off for a while after its successor is Ready. The proof that is made
    again for the other pool may see that successor already, so the process before it is that of the first proof."""
    world = Rolled()
    world.add("warm", updateStrategy=dict(HELD), annotations=OURS)
    real, proofs, asked = world.patch, list[list[str]](), list[list[str]]()

    def patch(path: str, body: Json) -> Json:
        if path.endswith("/statefulsets/data"):
            return real(path, body)
        if len(proofs) == 1:
            raise CHANGED
        pool = world.pools["warm"]
        pool["spec"]["updateStrategy"] = body["spec"]["updateStrategy"]
        world.delete("/pods/warm-1", "warm-1-old")
        return pool

    def proof(_pools: object, _there: object, gone: Collection[str]) -> Verdict:
        proofs.append(sorted(gone))
        return PASSED

    def joined(_names: object, gone: Collection[str]) -> Verdict:
        asked.append(sorted(gone))
        return PASSED

    world.patch = patch  # type: ignore[method-assign]
    task = Task({"wait": True, "wait_timeout": 60, "wait_sleep": 1.0}, clock=world)
    client = cast(KubernetesClient, world)
    outcome = roll(task, client, "search", ["data", "warm"], ["data-2", "warm-1"], Questions(proof, joined))
    assert outcome.verdict.passed
    assert (proofs, asked[-1]) == ([[], ["data-2"]], ["data-2", "warm-1"])


def test_an_api_that_goes_away_with_the_answer_is_waited_for() -> None:
    world = Rolled(True)
    real = world.patch

    def patch(path: str, body: Json) -> Json:
        world.failures["get"] = AWAY
        world.on_tick += [lambda: None, world.failures.clear]
        return real(path, body)

    world.patch = patch  # type: ignore[method-assign]
    outcome = turn(world, "data-2")
    assert (outcome.verdict.state, world.patches) == (State.PASSED, 1)


@pytest.mark.parametrize(("away", "proofs", "deleted"), [(1, 1, ["data-2", "warm-0"]), (9, 2, ["data-2"])])
def test_a_proof_that_grew_old_while_the_api_was_away_is_made_again(away: int, proofs: int, deleted: list[str]) -> None:
    world, proof = Rolled(True), Asked(PASSED, REFUSED)
    world.add("warm")
    real = world.patch

    def patch(path: str, body: Json) -> Json:
        world.failures["get"] = AWAY
        world.on_tick += [*[lambda: None] * away, world.failures.clear]
        return real(path, body)

    world.patch = patch  # type: ignore[method-assign]
    outcome = turn(world, "data-2", "warm-0", proof=proof, pools=("data", "warm"))
    assert [name for name, _uid in world.deleted] == deleted
    assert proof.times == proofs
    assert outcome.verdict.passed == (proofs == 1)


def test_one_pass_leaves_it_to_the_next() -> None:
    world = Rolled(True)
    real = world.patch

    def patch(path: str, body: Json) -> Json:
        world.failures["get"] = AWAY
        return real(path, body)

    world.patch = patch  # type: ignore[method-assign]
    with pytest.raises(Unreachable):
        turn(world, "data-2", params={"wait": False})
