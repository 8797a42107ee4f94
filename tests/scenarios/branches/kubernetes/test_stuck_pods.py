# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that do not come back: the cause is named, nothing else is taken down, and once cured the work goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import kubernetes_node_is_ready, pod_path
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pool_changes import UNDO
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.replacement import SLOW
from kubernetes import client

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import MISSING, NEW, OLD, TIMEOUT, Room, codes, member

SOON = SLOW + 5
"""Seconds after which a roll says what it is at, and is asked again; events and logs are looked for after `SLOW`."""


def until_stuck(room: Room, name: str, wanted: str, says: str = "", **options: Any) -> Outcome:
    """The outcome for a member that does not come back, once it has come so far that `wanted` is the reason."""
    seen: list[str] = []

    def stuck() -> Outcome | None:
        outcome = room.roll(name, wait_timeout=SOON, **options)
        first = next(iter(outcome.verdict.deciding()), None)
        assert first is not None, f"{name} came back: {outcome.verdict}"
        seen[:] = [f"{first.code}: {first.message}"]
        return outcome if first.code == wanted and says in first.message else None

    try:
        return until(f"{wanted} to be said of {name}", stuck, TIMEOUT)
    finally:
        print(*seen)


def test_an_image_that_cannot_be_pulled_and_its_cure(room: Room) -> None:
    room.up(policy="OrderedReady")
    room.set_image(MISSING)
    stuck = room.roll(member(2), wait_timeout=150, wait_sleep=1)
    assert codes(stuck) == ["image_not_pulled"]
    again = room.roll(member(2), wait_timeout=30)
    assert not again.changed
    assert codes(again)[0] == "image_not_pulled"
    assert "timed_out" not in codes(again)

    room.set_image(NEW)
    undo = json.loads(room.json()["metadata"]["annotations"][UNDO])
    assert undo["image"]["was"] == OLD
    cured = room.roll(member(2))
    assert cured.verdict.passed, cured.verdict
    assert cured.changed


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

    # As the sentence says it, the last way out.
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


def test_a_quota_that_is_used_up(room: Room) -> None:
    room.up()
    room.set_image()
    with full_quota(room):
        with pytest.raises(Refusal, match="exceeded quota"):
            room.pull(NEW)
        until_stuck(room, member(0), "pod_not_recreated", says="exceeded quota")
    cured = room.roll(member(0))
    assert cured.verdict.passed, cured.verdict


def refuses_pods(room: Room) -> bool:
    """Whether admission goes by the quota, which it hears of later than who reads it."""
    pod = {"metadata": {"generateName": "trial-"}, "spec": {"containers": [{"name": "trial", "image": OLD}]}}
    with room.ground.client() as api:
        core: Any = client.CoreV1Api(api)
        try:
            core.create_namespaced_pod(room.namespace, pod, dry_run="All")
        except client.ApiException as error:
            return "exceeded quota" in str(error.body)
    return False


@contextmanager
def full_quota(room: Room) -> Iterator[None]:
    """A quota that leaves no room for another pod."""
    name = "full"
    path = f"/api/v1/namespaces/{room.namespace}/resourcequotas/{name}"
    about = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}}
    room.add({**about, "spec": {"hard": {"pods": "0"}}})
    until("the quota to hold", lambda: refuses_pods(room), TIMEOUT)
    try:
        yield
    finally:
        room.admin.delete(path, (room.admin.get(path) or {})["metadata"]["uid"])


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
        # The Role does not include Kubernetes nodes, so it is the event of the pod that tells.
        until_stuck(room, member(0), "kubernetes_node_down", says=f"{node} was lost at")
        until_stuck(room, member(0), "kubernetes_node_down", client=room.admin)
    finally:
        room.faults.mend_node(node)
        until(f"{node} to be Ready", lambda: kubernetes_node_is_ready(room.admin, node), TIMEOUT)
    cured = room.roll(member(0))
    assert cured.verdict.passed, cured.verdict
