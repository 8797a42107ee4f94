"""Rolling a batch: what is asked before a deletion, what is deleted, and what is reported when it goes wrong.

The world here is scripted; what real StatefulSets do is tested on a real control plane.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import cast

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Conflict, Refusal, Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pod_roll import Questions, roll
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes import objects
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


def test_exactly_the_pods_observed_are_deleted_and_followed() -> None:
    world = World()
    outcome = turn(world, "data-2", "data-1")
    assert outcome.verdict.passed
    assert outcome.changed
    assert world.deleted == [("data-2", "data-2-old"), ("data-1", "data-1-old")]
    assert actions(outcome) == [("delete_pod", "data-2"), ("delete_pod", "data-1")]
    assert [each["action"] for each in outcome.more["members"]] == ["replaced", "replaced"]


def test_the_phases_add_up() -> None:
    member = turn(World(), "data-2", joined=Asked(WAITING, WAITING, PASSED)).more["members"][0]
    phases = ("stop", "schedule", "image", "start", "join")
    assert member["join_seconds"] == 2
    assert member["total_seconds"] == sum(member[f"{phase}_seconds"] for phase in phases)


def test_members_already_there_are_left_alone_without_a_proof() -> None:
    world, proof, joined = World(outdated=()), Asked(REFUSED), Asked(PASSED)
    outcome = turn(world, "data-2", proof=proof, joined=joined)
    assert outcome.verdict.passed
    assert not outcome.changed
    assert (world.deleted, proof.times, joined.times) == ([], 0, 1)
    assert outcome.more["members"][0]["action"] == "kept"


def test_a_pod_on_its_way_is_followed_and_not_deleted() -> None:
    world = World(outdated=())
    world.back("data-2", ready=False)
    world.on_tick = [lambda: None, lambda: world.back("data-2")]
    outcome = turn(world, "data-2", proof=REFUSED)
    assert outcome.verdict.passed
    assert not outcome.changed
    assert outcome.more["members"][0]["action"] == "followed"


def test_a_broken_pod_of_an_older_revision_is_replaced() -> None:
    world = World()
    stuck = [objects.waiting("ImagePullBackOff")]
    world.pods["data-2"] = objects.pod_json("data-2", "stuck", revision="data-bad", ready=False, containers=stuck)
    assert turn(world, "data-2").verdict.passed
    assert world.deleted == [("data-2", "stuck")]


@pytest.mark.parametrize("wait", [True, False])
def test_without_a_proof_nothing_is_deleted(wait: bool) -> None:
    world = World()
    outcome = turn(world, "data-2", proof=REFUSED, params={"wait": wait})
    assert outcome.verdict.state is State.REFUSED
    assert (world.deleted, outcome.changed) == ([], False)
    assert outcome.more["members"][0]["action"] == "untouched"


def test_a_proof_that_time_gives_is_waited_for_and_asked_again() -> None:
    world, proof = World(), Asked(WAITING, WAITING, PASSED)
    assert turn(world, "data-2", proof=proof).verdict.passed
    assert proof.times == 3


@pytest.mark.parametrize(("in_vain", "timeout", "seconds"), [(True, 15, 0), (False, 15, 15), (True, None, 60)])
def test_a_proof_that_is_waited_for_in_vain_is_handed_back_at_once_to_whoever_asked_for_that(
    in_vain: bool, timeout: int | None, seconds: float
) -> None:
    world = World()
    outcome = turn(world, "data-2", proof=WAITING, in_vain=lambda: in_vain, params={"proof_timeout": timeout})
    handed_back = State.WAITING if timeout else State.REFUSED
    assert (outcome.verdict.state, world.time, world.deleted) == (handed_back, seconds, [])


def test_one_pass_does_what_can_be_done_now() -> None:
    world = World()
    outcome = turn(world, "data-2", proof=WAITING, params={"wait": False})
    assert outcome.verdict.state is State.WAITING
    assert world.deleted == []
    outcome = turn(world, "data-2", params={"wait": False})
    assert outcome.verdict.state is State.WAITING
    assert outcome.changed
    assert outcome.next


def test_check_mode_deletes_nothing_and_tells_what_it_would() -> None:
    world = World()
    outcome = turn(world, "data-2", check_mode=True)
    assert outcome.verdict.passed
    assert outcome.changed
    assert world.deleted == []
    assert actions(outcome) == [("delete_pod", "data-2")]
    assert outcome.after is not None
    assert outcome.after["pods"] == {"data-2": "data-new"}
    assert turn(world, "data-2", check_mode=True, proof=REFUSED).verdict.state is State.REFUSED


@pytest.mark.parametrize(
    ("pool", "batch", "code"),
    [
        ({"updateStrategy": {"type": "RollingUpdate"}}, "data-2", "strategy_rolls_by_itself"),
        (
            {"ownerReferences": [{"kind": "K", "name": "n", "apiVersion": "v", "controller": True}]},
            "data-2",
            "pool_owned",
        ),
        ({}, "data-9", "member_unknown"),
    ],
)
def test_what_forbids_a_deletion_is_found_before_the_proof(pool: Json, batch: str, code: str) -> None:
    world, proof = World(**pool), Asked(PASSED)
    outcome = turn(world, batch, proof=proof)
    assert [reason.code for reason in outcome.verdict.deciding()] == [code]
    assert (world.deleted, proof.times) == ([], 0)


def test_a_revision_not_yet_observed_is_waited_for() -> None:
    world = World(outdated=(), observedGeneration=1)

    def observed() -> None:
        world.pool["status"]["observedGeneration"] = 2
        for pod in world.pods.values():
            pod["metadata"]["labels"]["controller-revision-hash"] = "data-old"

    world.on_tick = [observed]
    assert turn(world, "data-2").verdict.passed
    assert world.deleted == [("data-2", "data-2-old")]


def test_a_pod_replaced_by_something_else_in_this_moment_is_followed() -> None:
    world = World()
    world.failures["delete data-2"] = Conflict(refused("kubernetes_conflict", "Another UID.", ""))
    world.on_tick = [lambda: None, lambda: world.back("data-2")]
    outcome = turn(world, "data-2")
    assert outcome.verdict.passed
    assert not outcome.changed
    assert actions(outcome) == []


def test_a_refusal_in_the_middle_still_tells_what_was_done() -> None:
    world = World()
    world.failures["delete data-1"] = Refusal(refused("kubernetes_rights", "Not allowed.", ""))
    outcome = turn(world, "data-2", "data-1")
    assert outcome.verdict.state is State.REFUSED
    assert outcome.changed
    assert actions(outcome) == [("delete_pod", "data-2")]


def test_an_orphaned_task_deletes_nothing() -> None:
    world = World()
    with pytest.raises(Refusal):
        turn(world, "data-2", parents=(f"{os.getppid() + 1}",))
    assert world.deleted == []


def test_the_first_member_of_a_batch_tells_how_soon_the_one_before_was_green() -> None:
    said = list[str]()
    turn(World(), "data-2", "data-1", voice=Lines(said.append), params={"green_seconds": 13})
    assert [line for line in said if "goes down" in line] == [
        "data-2 goes down, green within 13 s of the batch before",
        "data-1 goes down",
    ]
    turn(World(), "data-2", voice=Lines(said.append), params={"green_seconds": None})
    assert "data-2 goes down" in said


def test_an_api_server_that_is_away_for_a_moment_is_waited_for() -> None:
    world, said = World(), list[str]()
    away = Unreachable(refused("kubernetes_unreachable", "The API is away.", ""))

    def joined(_names: Collection[str], _deleted: Collection[str]) -> Verdict:
        return PASSED

    def proof() -> Verdict:
        world.failures["get"] = away
        world.on_tick += [lambda: None, world.failures.clear]
        return PASSED

    task = Task(params={"wait": True, "wait_timeout": 60, "wait_sleep": 1.0}, clock=world, voice=Lines(said.append))
    outcome = roll(
        task,
        cast(KubernetesClient, world),
        "search",
        ["data"],
        ["data-2"],
        Questions(lambda _pools, _there, _deleted: proof(), joined),
    )
    assert outcome.verdict.passed
    assert any("The API is away." in line for line in said)


def test_an_api_server_that_is_away_from_the_start_is_waited_for_then_refused() -> None:
    world = World()
    world.failures["get"] = Unreachable(refused("kubernetes_unreachable", "The API is away.", ""))
    with pytest.raises(Refusal) as caught:
        turn(world, "data-2")
    assert [reason.code for reason in caught.value.verdict.reasons] == ["kubernetes_unreachable", "timed_out"]


def test_a_deadline_names_the_member_and_the_cause_and_brings_evidence() -> None:
    world = World(outdated=())
    world.back("data-2", ready=False)
    world.pods["data-2"]["status"]["containerStatuses"] = [objects.running(ready=False)]
    outcome = turn(world, "data-2")
    assert outcome.verdict.state is State.REFUSED
    assert [reason.code for reason in outcome.verdict.deciding()] == ["pod_not_ready", "timed_out"]
    assert "data-2" in outcome.verdict.reasons[0].message
    assert "got 503" in outcome.verdict.reasons[0].message
    member = outcome.more["members"][0]
    assert member["log"] == ["last words of data-2"]
    assert "got 503" in member["events"][0]


def test_a_member_whose_pool_is_scaled_down_while_it_is_away_is_not_waited_for() -> None:
    world = World()

    def scaled() -> None:
        world.gone("data-2")
        world.pool["spec"]["replicas"] = 2
        world.on_tick = []

    delete = world.delete

    def deleted(path: str, uid: str) -> bool:
        done = delete(path, uid)
        world.on_tick = [scaled]
        return done

    world.delete = deleted  # type: ignore[method-assign]
    outcome = turn(world, "data-2")
    assert [(each.code, each.state) for each in outcome.verdict.reasons] == [("member_unknown", State.REFUSED)]
    assert actions(outcome) == [("delete_pod", "data-2")]
    assert world.time < 5


def test_an_image_that_cannot_be_pulled_is_given_a_minute() -> None:
    world = World()

    def stuck() -> None:
        failing = [objects.waiting("ImagePullBackOff", "not found")]
        world.pods["data-2"] = objects.pod_json("data-2", "new", ready=False, containers=failing)

    real = world.delete

    def delete(path: str, uid: str) -> bool:
        real(path, uid)
        world.on_tick = [lambda: world.gone("data-2"), stuck]
        return True

    world.delete = delete  # type: ignore[method-assign]
    outcome = turn(world, "data-2", params={"wait_timeout": 600})
    assert [reason.code for reason in outcome.verdict.deciding()] == ["image_not_pulled"]
    assert 60 < world.time < 90


def test_pods_of_another_set_with_the_same_labels_are_not_touched() -> None:
    world = World()
    for name in NAMES:
        world.pods[name]["metadata"]["ownerReferences"][0]["uid"] = "another-uid"
    outcome = turn(world, "data-2", params={"wait": False})
    assert world.deleted == []
    assert [reason.code for reason in outcome.verdict.reasons] == ["pod_owned_by_another"] * 3


def test_members_of_two_pools_are_proven_once_and_go_one_right_after_the_other() -> None:
    world, proof = World(), Asked(PASSED)
    world.add("web")
    outcome = turn(world, "data-2", "web-1", proof=proof, pools=["data", "web", "data"])
    assert outcome.verdict.passed
    assert proof.times == 1
    assert world.deleted == [("data-2", "data-2-old"), ("web-1", "web-1-old")]
    assert [(each["name"], each["pool"], each["action"]) for each in outcome.more["members"]] == [
        ("data-2", "data", "replaced"),
        ("web-1", "web", "replaced"),
    ]
    assert outcome.before == {"revision": "data-new, web-new", "pods": {"data-2": "data-old", "web-1": "web-old"}}
    assert outcome.after == {"revision": "data-new, web-new", "pods": {"data-2": "data-new", "web-1": "web-new"}}
    assert turn(world, "data-2", "web-1", pools=["data", "web"]).changed is False


@pytest.mark.parametrize(
    ("web", "batch", "pools", "code"),
    [
        (
            {"updateStrategy": {"type": "RollingUpdate"}},
            ["data-2", "web-1"],
            ["data", "web"],
            "strategy_rolls_by_itself",
        ),
        ({"observedGeneration": 1}, ["data-2", "web-1"], ["data", "web"], "revision_not_observed"),
        (
            {"ownerReferences": [{"kind": "K", "name": "n", "apiVersion": "v", "controller": True}]},
            ["data-2", "web-1"],
            ["data", "web"],
            "pool_owned",
        ),
        ({}, ["data-2", "web-2"], ["data", "web"], "member_unknown"),
        ({}, ["data-2", "web-1"], ["data"], "member_unknown"),
    ],
)
def test_what_forbids_a_deletion_in_one_pool_forbids_it_in_all(
    web: Json, batch: list[str], pools: list[str], code: str
) -> None:
    world, proof = World(), Asked(PASSED)
    world.add("web", **web)
    outcome = turn(world, *batch, proof=proof, pools=pools, params={"wait": False})
    assert [reason.code for reason in outcome.verdict.deciding()] == [code]
    assert (world.deleted, proof.times) == ([], 0)


def test_a_pod_of_another_pool_that_is_down_outside_the_batch_is_waited_for() -> None:
    world = World()
    world.add("web")
    world.pods["web-0"] = objects.pod_json("web-0", "w", revision="web-old", ready=False)
    outcome = turn(world, "data-2", "web-1", pools=["data", "web"], params={"wait": False})
    assert [reason.code for reason in outcome.verdict.deciding()] == ["other_pod_not_ready"]
    assert world.deleted == []


def test_nothing_goes_before_the_controller_would_make_it_again_at_once() -> None:
    """It waits for minReadySeconds of the pod that came back last, so the next one would be away for as long."""
    world = World(outdated=("data-2",), podManagementPolicy="OrderedReady", minReadySeconds=300)
    world.pool["status"]["availableReplicas"] = 2
    outcome = turn(world, "data-2", params={"wait": False})
    assert [reason.code for reason in outcome.verdict.deciding()] == ["pods_not_available"]
    assert world.deleted == []
    world.pool["status"]["availableReplicas"] = 3
    assert turn(world, "data-2").verdict.passed
    assert [name for name, _uid in world.deleted] == ["data-2"]


def test_a_proof_that_does_not_hold_in_time_is_handed_back_with_nothing_done() -> None:
    world = World()
    waits = Verdict((waiting("last_started_copy", "data-2 holds the last started copy of new[0]."),))
    outcome = turn(world, "data-2", proof=waits, params={"wait_timeout": 600, "proof_timeout": 15})
    assert outcome.verdict == waits
    assert (world.deleted, outcome.changed) == ([], False)
    assert world.now() < 20
    # It is over if less time is left anyway.
    late = turn(world, "data-2", proof=waits, params={"wait_timeout": 10, "proof_timeout": 15})
    assert late.verdict.state is State.REFUSED
    # Once members are down there is nothing to be handed back.
    stuck = turn(world, "data-2", joined=waits, params={"wait_timeout": 60, "proof_timeout": 15})
    assert stuck.verdict.state is State.REFUSED
    assert [name for name, _uid in world.deleted] == ["data-2"]


@pytest.mark.parametrize(("strategy", "held"), [("RollingUpdate", True), ("OnDelete", False)])
def test_a_pool_that_was_made_again_meanwhile_is_named_with_what_holds_it(strategy: str, held: bool) -> None:
    world = World()

    def made_again() -> None:
        world.pool["metadata"]["uid"] = "another-uid"
        world.pool["spec"]["updateStrategy"] = {"type": strategy}

    world.on_tick = [made_again]
    outcome = turn(world, "data-2", joined=WAITING)
    (reason,) = outcome.verdict.deciding()
    assert reason.code == "pool_made_again"
    assert "its UID was data-uid and is another-uid" in reason.message
    assert ("kubectl patch statefulset data -n search" in reason.remedy) is held
    assert outcome.changed
