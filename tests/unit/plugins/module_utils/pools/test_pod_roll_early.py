"""Rolling a batch until it has joined: its pods need not be Ready, but they must be the new ones."""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    REFUSED,
    WAITING,
    World,
    actions,
    turn,
)


class NeverReady(World):
    """Pods come back and do not get Ready."""

    def back(self, name: str, ready: bool = True) -> None:
        super().back(name, ready=False)


def test_joined_is_enough_where_it_is_asked_for() -> None:
    world, asked = NeverReady(), list[Collection[str]]()

    def early(names: Collection[str]) -> bool:
        asked.append(names)
        return len(asked) > 1

    outcome = turn(world, "data-2", joined=REFUSED, early=early)
    assert outcome.verdict.passed
    assert actions(outcome) == [("delete_pod", "data-2")]
    assert asked == [["data-2"], ["data-2"]]
    (member,) = outcome.more["members"]
    assert member["total_seconds"] is not None


def test_the_cluster_is_not_asked_before_the_new_pod_has_started() -> None:
    world, pods = World(), list[str]()

    def early(_names: Collection[str]) -> bool:
        pods.append(world.pods["data-2"]["metadata"]["uid"])
        return True

    assert turn(world, "data-2", early=early).verdict.passed
    assert pods == ["data-2-new"]


def test_a_pod_that_neither_joins_nor_gets_ready_is_waited_for() -> None:
    outcome = turn(NeverReady(), "data-2", early=lambda _names: False)
    assert outcome.verdict.state is State.REFUSED
    assert {reason.code for reason in outcome.verdict.reasons} >= {"timed_out"}


def test_without_the_question_it_must_be_ready() -> None:
    assert turn(NeverReady(), "data-2").verdict.state is State.REFUSED
    assert turn(World(), "data-2", joined=WAITING, params={"wait": False}).verdict.state is State.WAITING
