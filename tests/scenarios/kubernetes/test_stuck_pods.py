"""Pods that do not come back for reasons that only a real control plane gives, and their fix."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod_path
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from kubernetes import client

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import MISSING, NEW, OLD, TIMEOUT, Room, codes, member
from tests.scenarios.kubernetes.stuck import until_stuck


@pytest.mark.soak
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


def test_a_quota_that_is_used_up(room: Room) -> None:
    room.up()
    room.set_image()
    with full_quota(room):
        with pytest.raises(Refusal, match="exceeded quota"):
            room.pull(NEW)
        before = room.uids()
        assert codes(room.roll(member(0))) == ["member_not_admitted"]
        assert room.uids() == before
        room.admin.delete(pod_path(room.namespace, member(0)), before[member(0)])
        until_stuck(room, member(0), "pod_not_recreated", says="exceeded quota")
    fixed = room.roll(member(0))
    assert fixed.verdict.passed, fixed.verdict


def refuses_pods(room: Room) -> bool:
    """Whether admission goes by the quota, which it hears of later than who reads it."""
    pod = {"metadata": {"generateName": "trial-"}, "spec": {"containers": [{"name": "trial", "image": OLD}]}}
    with room.platform.client() as api:
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
