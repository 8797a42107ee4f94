"""Pods that are not their StatefulSet's any more: who has them, and what became of the set."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import NAMES, World, turn

Json = dict[str, Any]
ANOTHER: Json = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "name": "other",
    "uid": "other-uid",
    "controller": True,
}


def give(world: World, name: str, *owners: Json, **changes: Any) -> None:
    """The pod has these owners, and no other."""
    world.pods[name] = pod_json(name, f"{name}-old", **{"revision": "data-old", **changes})
    world.pods[name]["metadata"]["ownerReferences"] = list(owners)


@pytest.mark.parametrize("taken", ["data-2", "data-0"])
def test_nothing_goes_while_another_controls_a_pod_of_the_pool(taken: str) -> None:
    world = World()
    give(world, taken, ANOTHER)
    outcome = turn(world, "data-2")
    (reason,) = outcome.verdict.reasons
    assert (reason.code, reason.state, world.deleted) == ("pod_owned_by_another", State.REFUSED, [])
    assert reason.message.startswith(
        f"Pod {taken} is controlled by StatefulSet other (UID other-uid), and not by StatefulSet data"
    )


def test_a_pod_without_a_controller_is_waited_for_until_its_set_has_taken_it_over() -> None:
    """A set that is made again takes over what it finds within a short time; until then it has no pods."""
    world = World()
    for name in NAMES:
        give(world, name)
    world.on_tick = [lambda: None, *(lambda n=name: give(world, n, {**ANOTHER, "uid": "data-uid"}) for name in NAMES)]
    outcome = turn(world, "data-2")
    assert outcome.verdict.passed
    assert (world.deleted, world.now() > 3) == ([("data-2", "data-2-old")], True)


def test_a_pod_that_its_set_never_takes_over_is_named_at_the_end() -> None:
    world = World()
    give(world, "data-2", {**ANOTHER, "controller": False})
    outcome = turn(world, "data-2")
    assert [reason.code for reason in outcome.verdict.reasons] == ["pod_without_controller", "timed_out"]
    assert "Pod data-2 has no controller" in outcome.verdict.reasons[0].message


def test_a_pod_that_goes_with_its_former_controller_is_waited_for() -> None:
    world = World()
    give(world, "data-1", ANOTHER, terminating=True)
    (reason,) = turn(world, "data-2", params={"wait": False}).verdict.reasons
    assert (reason.code, reason.state) == ("pod_owned_by_another", State.WAITING)


def test_a_pod_that_another_takes_while_it_is_followed_is_not_told_as_gone() -> None:
    world = World()
    taken = {"revision": "data-new", "ready": False}
    world.on_tick = [lambda: world.gone("data-2"), lambda: give(world, "data-2", ANOTHER, **taken)]
    world.back = lambda name, ready=True: None  # type: ignore[method-assign]
    outcome = turn(world, "data-2")
    (reason,) = outcome.verdict.deciding()
    assert (reason.code, outcome.changed) == ("pod_owned_by_another", True)
    assert world.now() < 10


@pytest.mark.parametrize("followed", [False, True])
def test_a_set_that_was_deleted_is_missing_with_the_pods_that_it_left(followed: bool) -> None:
    world = World()

    def deleted() -> None:
        world.pools.clear()
        for name in ("data-0", "data-1"):
            give(world, name)
        give(world, "data-2", ANOTHER)
        give(world, "data-nodes-7", ANOTHER)

    if followed:
        world.on_tick = [deleted]
        (reason,) = turn(world, "data-2").verdict.reasons
    else:
        deleted()
        with pytest.raises(Refusal) as caught:
            turn(world, "data-2")
        (reason,) = caught.value.verdict.reasons
    assert reason.code == "pool_missing"
    assert reason.message == (
        "There is no StatefulSet data in namespace search, but pods of it are still there: data-0, data-1 (without a"
        " controller), data-2 (controlled by StatefulSet other)."
    )
    assert "with updateStrategy OnDelete" in reason.remedy


def test_a_set_that_never_was_is_told_as_before() -> None:
    world = World()
    with pytest.raises(Refusal) as caught:
        turn(world, "data-2", pools=["warm"])
    (reason,) = caught.value.verdict.reasons
    assert reason.message == "There is no StatefulSet warm in namespace search."


KRUISE: Json = {**ANOTHER, "apiVersion": "apps.kruise.io/v1beta1", "name": "data"}
DEPLOYED: Json = {**ANOTHER, "kind": "ReplicaSet", "name": "data-5d8f7"}


@pytest.mark.parametrize(
    ("owner", "pods", "says"),
    [
        (KRUISE, ("data-0", "data-1"), "data-0, data-1 (StatefulSet data of apps.kruise.io/v1beta1)"),
        (DEPLOYED, ("data-5d8f7-x2k4p",), "data-5d8f7-x2k4p (ReplicaSet data-5d8f7)"),
        ({**KRUISE, "kind": "CloneSet"}, ("data-b7k2p",), "data-b7k2p (CloneSet data of apps.kruise.io/v1beta1)"),
    ],
)
def test_pods_of_another_kind_of_controller_are_named_as_that(owner: Json, pods: tuple[str, ...], says: str) -> None:
    world = World()
    world.pools.clear()
    world.pods.clear()
    for name in pods:
        give(world, name, owner)
    with pytest.raises(Refusal) as caught:
        turn(world, "data-2")
    (reason,) = caught.value.verdict.reasons
    assert reason.code == "controller_unsupported"
    assert says in reason.message
    # A manifest that is applied again would be a second owner.
    assert "Make no StatefulSet of its name" in reason.remedy
    assert "manifest" not in reason.remedy
