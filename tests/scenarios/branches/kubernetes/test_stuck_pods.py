"""Pods that do not come back: the cause is named, nothing else goes down, and the work continues once it is fixed."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import kubernetes_node_is_ready, pod_path

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import TIMEOUT, Room, codes, member
from tests.scenarios.kubernetes.stuck import until_stuck

pytestmark = pytest.mark.real_servers


def test_a_pod_that_is_never_ready(room: Room) -> None:
    room.up()
    room.set_image()
    room.faults.never_ready(room.namespace, member(1))
    stuck = until_stuck(room, member(1), "pod_not_ready")
    assert codes(stuck)[-1] == "timed_out"
    assert stuck.more["members"][0]["log"]

    uids = room.uids()
    room.faults.mend(room.namespace, member(1))
    again = room.roll(member(1))
    assert again.verdict.passed, again.verdict
    assert not again.changed
    assert room.uids() == uids


def test_a_pod_that_a_finalizer_of_the_users_own_keeps(room: Room) -> None:
    room.up()
    room.set_image()
    path, uids = pod_path(room.namespace, member(1)), room.uids()
    room.admin.patch(path, {"metadata": {"finalizers": ["example.com/guard"]}}, "merge")
    until_stuck(room, member(1), "pod_held_by_finalizer", says="its finalizer example.com/guard keeps")
    assert room.uids() == uids

    # As the sentence says, the last resort.
    room.admin.patch(path, {"metadata": {"finalizers": None}}, "merge")
    cured = room.roll(member(1))
    assert cured.verdict.passed, cured.verdict
    assert not cured.changed, "it was deleted once"
    assert {name for name, uid in room.uids().items() if uids[name] != uid} == {member(1)}


def test_a_container_that_crashes_again_and_again(room: Room) -> None:
    room.up()
    room.set_image()
    room.faults.crash_loop(room.namespace, member(1))
    assert codes(room.roll(member(1), wait_timeout=200, wait_sleep=1)) == ["container_crashes"]


def test_a_pod_that_fits_on_no_kubernetes_node(room: Room) -> None:
    room.up()
    room.set_image()
    room.change({"spec": {"template": {"spec": {"nodeSelector": {"disk": "none"}}}}})
    until_stuck(room, member(0), "pod_unschedulable")


def test_an_ordered_pool_waits_for_a_pod_of_lower_ordinal(room: Room) -> None:
    """OrderedReady: with pod 0 not Ready the controller does not make pod 2 again."""
    room.up(policy="OrderedReady")
    room.set_image()

    def proof() -> Verdict:
        room.faults.never_ready(room.namespace, member(0))
        until(f"{member(0)} to be not Ready", lambda: not room.settled(), TIMEOUT)
        return Verdict()

    stuck = until_stuck(room, member(2), "pod_blocked", proof=proof)
    assert member(0) in stuck.verdict.deciding()[0].message
    before = room.uids()
    held = room.roll(member(1), wait_timeout=2)
    assert codes(held)[0] == "other_pod_not_ready"
    assert room.uids() == before


def test_a_kubernetes_node_that_is_dead(room: Room) -> None:
    room.up()
    room.set_image()
    node = room.pods()[member(0)].kubernetes_node
    room.faults.node_dead(node)
    try:
        until(f"{node} to be not Ready", lambda: not kubernetes_node_is_ready(room.admin, node), TIMEOUT)
        # The Role does not include Kubernetes nodes, so the event of the pod shows it.
        until_stuck(room, member(0), "kubernetes_node_down", says=f"{node} was lost at")
        until_stuck(room, member(0), "kubernetes_node_down", client=room.admin)
    finally:
        room.faults.mend_node(node)
        until(f"{node} to be Ready", lambda: kubernetes_node_is_ready(room.admin, node), TIMEOUT)
    cured = room.roll(member(0))
    assert cured.verdict.passed, cured.verdict
