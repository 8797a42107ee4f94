"""Rolling a batch until it has joined: its pods need not be Ready, but they must be the new ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import (
    NAMES,
    PASSED,
    REFUSED,
    WAITING,
    Asked,
    Json,
    World,
    actions,
    turn,
)


class Counting(World):
    """It counts the requests for pools and pods."""

    def __init__(self, outdated: tuple[str, ...] = NAMES) -> None:
        super().__init__(outdated)
        self.pool_at: list[float] = []
        self.pods_at: list[float] = []

    def get(self, path: str) -> Json | None:
        self.pool_at.append(self.time)
        return super().get(path)

    def list(self, path: str, label_selector: str | None = None, field_selector: str | None = None) -> Any:
        if path.endswith("/pods") and label_selector:
            self.pods_at.append(self.time)
        return super().list(path, label_selector, field_selector)


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


def test_a_pool_is_read_again_when_other_pods_are_there_and_once_a_second() -> None:
    world = Counting()
    quick = {"wait_sleep": 0.25}
    assert turn(world, "data-2", joined=Asked(*[WAITING] * 8, PASSED), params=quick).verdict.passed
    assert world.pods_at == [0.25 * look for look in range(12)]
    assert world.pool_at == [0.25, 0.5, 1.5, 2.5]


def test_a_batch_that_only_comes_back_is_not_looked_at_twice_at_first() -> None:
    world = Counting(outdated=())
    world.back("data-2", ready=False)
    world.on_tick = [lambda: world.back("data-2")]
    assert turn(world, "data-2", params={"wait_sleep": 0.25}).verdict.passed
    assert (world.pool_at, world.pods_at) == ([], [0.25])


def test_an_image_that_is_changed_while_a_member_is_away_is_seen_within_a_second() -> None:
    world = NeverReady()

    def changed() -> None:
        world.pool["spec"]["template"]["spec"]["containers"][0]["image"] = "other:1"

    params = {"wait_sleep": 0.25}
    early = [changed]

    def asked(_names: Collection[str]) -> bool:
        if early:
            early.pop()()
        return False

    outcome = turn(world, "data-2", early=asked, params=params)
    assert [reason.code for reason in outcome.verdict.reasons] == ["image_put_back"]
    assert world.time <= 0.75 + 1
