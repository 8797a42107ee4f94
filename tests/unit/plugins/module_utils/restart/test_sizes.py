"""Pools that gain and lose members: the key before the pod, and no member goes that holds a shard or is needed."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.sizes import judge_empty, judge_sizes
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.size import Size, judge_last, sizes_in
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    copy,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.restart.world import NAMES, Killed, World

Json = dict[str, Any]
POOL = objects.pool()


@dataclass
class Sized(World):
    """The pool of three, whose third member holds no shard, under a StatefulSet that can be given another size."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.servers.state = state_answer(
            NAMES, [copy("i", "data-0", primary=True), copy("i", "data-1")], elected="data-0"
        )
        self.servers.nodes = {identity(each): info(each) for each in NAMES}

    def get(self, path: str) -> Json:
        return self.sets[path.rpartition("/")[2]]

    def patch(self, path: str, body: Any, kind: str, dry_run: bool = False) -> Json:
        if "spec" not in body:
            return super().patch(path, body, kind, dry_run)
        found = self.get(path)
        metadata = found["metadata"]
        assert body["metadata"] == {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}

        def resize() -> None:
            self.version += 1
            metadata["resourceVersion"] = str(self.version)
            found["spec"]["replicas"] = body["spec"]["replicas"]
            self.on_tick.append(self._deleted)

        if not dry_run:
            self.make(resize)
        return found

    def _deleted(self) -> None:
        (name,) = self.pods.keys() - {f"data-{ordinal}" for ordinal in range(self.sets["data"]["spec"]["replicas"])}
        del self.pods[name]
        self.on_tick.append(lambda: self._left(name))

    def _left(self, name: str) -> None:
        del self.servers.state["nodes"][identity(name)]
        del self.servers.nodes[identity(name)]

    def remove(self, name: str = "data-2", **params: Any) -> Json:
        return self.restart(name, state="removed", **params)


@pytest.fixture
def there() -> Sized:
    return Sized()


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def actions(result: Json) -> list[str]:
    return [member["action"] for member in result["members"]]


def test_a_member_goes_once_with_its_pod_and_the_pool_has_one_fewer(there: Sized) -> None:
    result = there.remove()
    assert (codes(result), actions(result), result["changed"]) == ([], ["removed"], True)
    assert (sorted(there.pods), there.sets["data"]["spec"]["replicas"]) == (["data-0", "data-1"], 2)
    again = there.remove(expected=["data-0", "data-1"])
    assert (codes(again), actions(again), again["changed"], there.acts) == ([], ["removed"], False, 1)


@pytest.mark.parametrize("kill_at", range(2))
def test_a_run_that_is_killed_removes_no_other(there: Sized, kill_at: int) -> None:
    there.kill_at = kill_at
    with contextlib.suppress(Killed):
        there.remove()
    there.kill_at = None
    assert codes(there.remove()) == []
    assert sorted(there.pods) == ["data-0", "data-1"]


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("times", [1, 99])
def test_an_answer_that_is_lost_is_followed_by_a_look_while_the_proof_holds(
    there: Sized, times: int, made: bool
) -> None:
    patch, left = there.patch, [1] * times

    def losing(path: str, body: Any, kind: str, dry_run: bool = False) -> Json:
        if left:
            left.pop()
            if made:
                patch(path, body, kind, dry_run)
            raise Unreachable.because("kubernetes_unreachable", "The answer is lost.", "It passes.")
        return patch(path, body, kind, dry_run)

    there.patch = losing  # type: ignore[method-assign]
    asked, proofs = there.servers.get, list[float]()

    def looked(path: str, *given: Any, **more: Any) -> Any:
        proofs.append(there.time)
        return asked(path, *given, **more)

    there.servers.get = looked  # type: ignore[method-assign]
    result = there.remove()
    # One that was made is seen, and before one that is made later the proof is made again.
    assert (codes(result), sorted(there.pods)) == ([], ["data-0", "data-1"])
    assert result["members"][0]["action"] == "removed"
    assert all(later - before <= 6.0 for before, later in pairwise(proofs))


def test_a_removal_whose_act_is_never_answered_ends_with_the_time_limit(there: Sized) -> None:
    def losing(*_given: Any, **_more: Any) -> Json:
        raise Unreachable.because("kubernetes_unreachable", "The answer is lost.", "It passes.")

    there.patch = losing  # type: ignore[method-assign]
    assert codes(there.remove(wait_timeout=30)) == ["kubernetes_unreachable"]
    assert (30 <= there.time < 40, sorted(there.pods)) == (True, sorted(NAMES))


def test_a_member_that_holds_a_shard_stays(there: Sized) -> None:
    there.servers.state = state_answer(
        NAMES, [copy("i", "data-0", primary=True), copy("i", "data-2")], elected="data-0"
    )
    result = there.remove()
    assert codes(result) == ["removal_holds_shards"]
    assert (there.acts, sorted(there.pods)) == (0, sorted(NAMES))


def test_another_member_than_the_last_one_stays(there: Sized) -> None:
    there.servers.state = state_answer(
        NAMES, [copy("i", "data-0", primary=True), copy("i", "data-2")], elected="data-0"
    )
    result = there.remove("data-1")
    assert codes(result) == ["removal_of_another"]
    assert there.acts == 0


def test_nothing_is_removed_while_another_member_is_missing(there: Sized) -> None:
    there._left("data-1")
    result = there.remove(wait=False)
    assert (result["verdict"]["state"], there.acts) == ("waiting", 0)


def test_a_pod_that_does_not_end_is_named(there: Sized) -> None:
    there.sets["data"]["spec"]["replicas"] = 2
    result = there.remove()
    assert codes(result) == ["removal_unfinished", "timed_out"]


def test_check_mode_tells_the_act_and_does_not_wait(there: Sized) -> None:
    result = there.remove(check=True)
    assert ([act["action"] for act in result["actions"]], there.acts) == (["resized"], 0)


def test_sizes_are_the_highest_ordinals() -> None:
    (grown,) = sizes_in([POOL], {"data": 5, "other": 1})
    assert (grown.added, grown.removed) == (("data-3", "data-4"), ())
    (shrunk,) = sizes_in([POOL], {"data": 1})
    assert (shrunk.added, shrunk.removed) == ((), ("data-2", "data-1"))
    assert sizes_in([POOL], {"data": 3}) == ()


def test_three_members_that_can_be_elected_stay() -> None:
    four = [f"data-{ordinal}" for ordinal in range(4)]
    pool = objects.pool(replicas=4)
    state = cluster(four, [], elected="data-0")
    assert judge_sizes([Size(pool, 3)], state, together=False).passed
    verdict = judge_sizes([Size(pool, 2)], state, together=False)
    assert [reason.code for reason in verdict.reasons] == ["removal_leaves_few_managers"]
    assert "Without data-2, data-3, 2 members" in verdict.reasons[0].message


def test_one_that_can_be_elected_stays_beside_those_that_only_vote() -> None:
    pool = objects.pool(replicas=4)
    voters = {f"data-{n}": info(f"data-{n}", roles=("master", *(["voting_only"] if n < 3 else []))) for n in range(4)}
    verdict = judge_sizes([Size(pool, 3)], cluster(voters, [], elected="data-3"), together=False)
    assert [reason.code for reason in verdict.reasons] == ["removal_leaves_few_managers"]
    assert verdict.reasons[0].message.startswith("Without data-3 no member that can be elected is left")


@pytest.mark.parametrize(("together", "others"), [(True, ()), (False, ("data-0",))])
def test_a_size_is_changed_in_a_run_of_its_own(together: bool, others: tuple[str, ...]) -> None:
    verdict = judge_sizes([Size(POOL, 5)], cluster(NAMES, []), together=together, others=others)
    assert [reason.code for reason in verdict.reasons] == ["size_in_own_run"]


def test_a_pool_keeps_a_member() -> None:
    verdict = judge_sizes([Size(POOL, 0)], cluster([*NAMES, "m-0", "m-1", "m-2"], []), together=False)
    assert [reason.code for reason in verdict.reasons] == ["pool_too_small"]


def test_who_is_empty_and_who_is_last() -> None:
    state = cluster(NAMES, [copy("i", "data-0", primary=True)])
    assert judge_empty(state, ["data-1", "data-2"]).passed
    assert not judge_empty(state, ["data-0"]).passed
    assert judge_last(POOL, "data-2").passed
    assert not judge_last(POOL, "data-1").passed
