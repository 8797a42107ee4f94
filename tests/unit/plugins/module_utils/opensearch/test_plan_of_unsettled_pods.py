"""Plans made while pods go, are not Ready, are not their set's, or members do not answer."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import both_sides
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool_json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import (
    OLD,
    PODS,
    SETS,
    Room,
    message,
    order_of,
    said,
)


def test_a_pod_that_cannot_be_read_is_named_and_holds_the_plan_up_only_where_it_may_be_a_member(room: Room) -> None:
    def unread(name: str) -> None:
        room.api.objects[f"{PODS}/{name}"]["status"]["conditions"] = [{"type": "Ready", "status": "Perhaps"}]

    room.pod("web-0", None, owner="uid-of-another")
    unread("web-0")
    result = room.plan()
    assert said(result) == [("pod_unread", "passed")]
    assert message(result, "pod_unread").startswith("Pod web-0 cannot be read")
    unread("data-1")
    assert ("kubernetes_not_understood", "refused") in said(room.plan())
    # A set that is named matters, whether its pods are members or not.
    room.add("spare", 1)
    room.out("spare-0")
    room.pod("data-1", OLD)
    unread("spare-0")
    assert ("kubernetes_not_understood", "refused") not in said(room.plan())
    assert ("kubernetes_not_understood", "refused") in said(room.plan(pools=["data", "managers", "clients", "spare"]))


def test_a_member_whose_pod_is_not_ready_is_taken_first(room: Room) -> None:
    room.pod("data-0", OLD, ready=False)
    result = room.plan()
    assert said(result) == []
    assert order_of(result)[:2] == ["data-0", "data-1"]
    # One that is away and is brought back is upgraded in its turn, with others where it may.
    for name in ("managers-1", "data-0"):
        room.pod(name, OLD)
    room.pod("managers-1", None, ready=False)
    batches = room.plan(batching="disjoint")["batches"]
    assert [(batch["members"], batch["cures"]) for batch in batches[:1]] == [(["managers-1"], True)]
    assert any("managers-1" in batch["members"] and len(batch["members"]) > 1 for batch in batches[1:])


def test_a_pod_that_is_a_member_of_another_name_is_refused(room: Room) -> None:
    room.versions["stray"] = room.versions.pop("clients-0")
    room.addresses["stray"] = room.addresses["clients-0"]
    result = room.plan()
    assert ("name_differs", "refused") in said(result)
    assert message(result, "name_differs").startswith("Pod clients-0 is the member stray of")


def test_a_member_whose_pod_goes_is_waited_for_before_anything_is_planned(room: Room) -> None:
    """It is of no pool of this upgrade, and in the cluster until it has stopped."""
    room.pod("other-0", OLD, terminating=True)
    room.clock.on_tick = [lambda: None, lambda: room.pod("other-0", OLD)]
    result = room.plan("2.19.7")
    assert said(result) == [("members_outside", "passed"), ("left_behind", "passed")]
    assert (room.clock.now(), result["waited"][0]["code"]) == (2.0, "member_leaving")


def test_a_member_whose_pod_never_ends_refuses_the_plan_by_its_name(room: Room) -> None:
    room.pod("data-1", OLD, terminating=True)
    result = room.plan()
    assert said(result)[:2] == [("member_leaving", "refused"), ("timed_out", "refused")]
    assert message(result, "member_leaving").startswith("Pod data-1 is being deleted")
    assert order_of(result)
    assert room.clock.now() == 120.0


def test_a_member_that_goes_for_its_new_revision_is_under_way_and_the_plan_waits_for_nobody(room: Room) -> None:
    """A run that goes on follows what a run before it has deleted, for as long as a member may take."""
    room.pod("data-1", OLD, terminating=True, revision="data-old")
    result = room.plan(wait=False)
    assert ("member_leaving", "passed") in said(result)
    assert {state for _code, state in said(result)} == {"passed"}
    assert room.clock.now() == 0.0


def test_a_member_in_a_pod_of_another_controller_is_refused_by_its_name(room: Room) -> None:
    room.pod("data-1", OLD, owner="uid-of-another")
    result = room.plan()
    assert ("pod_owned_by_another", "refused") in said(result)
    # One that is no member may be of whatever it is.
    room.pod("data-1", OLD)
    room.api.put_there(f"{SETS}/queue", pool_json("queue", replicas=1))
    room.pod("queue-0", None, owner="uid-of-another")
    assert "pod_owned_by_another" not in dict(said(room.plan()))


def test_a_set_that_was_deleted_without_its_pods_is_told_as_that(room: Room) -> None:
    del room.api.objects[f"{SETS}/clients"]
    room.api.objects[f"{PODS}/clients-0"]["metadata"]["ownerReferences"] = []
    result = room.plan(pools=["data", "managers", "clients", "client"])
    assert said(result) == [("pool_missing", "refused"), ("pool_unknown", "refused")]
    assert "pods of it are still there: clients-0 (without a controller)" in message(result, "pool_missing")


def give(room: Room, pod: str, **owner: str) -> None:
    """The pod has this controller; without one, none."""
    owners = [{"apiVersion": "apps/v1", "uid": "u", "controller": True, **owner}] if owner else []
    room.api.objects[f"{PODS}/{pod}"]["metadata"]["ownerReferences"] = owners


def test_members_of_another_kind_of_controller_are_named_with_it(room: Room) -> None:
    for name, replicas in (("data", 2), ("managers", 3), ("clients", 1)):
        del room.api.objects[f"{SETS}/{name}"]
        for number in range(replicas):
            give(room, f"{name}-{number}", apiVersion="apps.kruise.io/v1beta1", kind="StatefulSet", name=name)
    give(room, "clients-0")
    result = room.plan()
    assert said(result) == [("controller_unsupported", "refused")]
    named = message(result, "controller_unsupported")
    assert "data-0, data-1 (StatefulSet data of apps.kruise.io/v1beta1)" in named
    assert "clients-0 (no controller)" in named
    assert said(room.plan(pools=["data"])) == [("controller_unsupported", "refused")]


def test_a_member_of_a_deployment_is_named_in_the_plan_of_the_others(room: Room) -> None:
    del room.api.objects[f"{SETS}/clients"]
    give(room, "clients-0", kind="ReplicaSet", name="clients-5d8f7")
    result = room.plan()
    assert ("members_outside", "passed") in said(result)
    assert "clients-0 (ReplicaSet clients-5d8f7)" in message(result, "members_outside")


def test_a_pool_that_keeps_no_data_may_hold_the_only_copy_in_a_pod_that_is_no_member(room: Room) -> None:
    room.copies = ({**copy("lone", None, primary=True), "unassigned_info": {"reason": "NODE_LEFT"}},)
    room.out("data-1")
    assert said(room.plan()) == []
    room.add("data", 2, volume={"emptyDir": {}})
    room.out("data-1")
    assert said(room.plan()) == [("ephemeral_last_copy", "refused")]
    assert said(room.plan(members=["data-0"])) == []
    assert said(room.plan(allow_red_indices=["lone"])) == []


def test_planning_waits_until_every_member_has_said_where_its_data_is(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Json] = [{"data-0": ()}, dict.fromkeys(room.versions, ())]
    monkeypatch.setattr(both_sides, "observe_data_paths", lambda _client: answers.pop(0))
    result = room.plan()
    assert (said(result), result["waited"][0]["code"]) == ([], "opensearch_incomplete")


@pytest.mark.parametrize(("shown", "times"), [({}, 1), ({"batches": []}, 0)])
def test_rights_are_asked_for_once_and_not_again_for_a_plan_that_was_shown(
    shown: Json, times: int, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    answers: list[Json] = [{"data-0": ()}] * 3 + [dict.fromkeys(room.versions, ())]
    monkeypatch.setattr(both_sides, "observe_data_paths", lambda _client: answers.pop(0))

    def rights(_client: object, namespace: str, _needed: object) -> Verdict:
        asked.append(namespace)
        return Verdict()

    monkeypatch.setattr(both_sides, "missing_rights", rights)
    assert said(room.plan(shown=shown)) == []
    assert asked == ["search"] * times


def test_pods_that_are_ready_as_soon_as_they_run_are_told(room: Room) -> None:
    room.add("clients", 1, container={"readinessProbe": None})
    assert said(room.plan()) == [("no_readiness_probe", "passed")]
    assert said(room.plan(members=["data-0"])) == []
