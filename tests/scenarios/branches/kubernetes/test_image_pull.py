"""Proving on real Kubernetes nodes that an image can be pulled, with nothing left behind."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod_path
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pull_pod import POOL_LABEL

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import MISSING, NEW, OLD, TIMEOUT, Room, codes

pytestmark = pytest.mark.real_servers


def test_an_image_is_proven_where_the_members_run(room: Room) -> None:
    room.up()
    proven = room.pull(NEW)
    assert proven.verdict.passed, proven.verdict
    assert not proven.changed
    made = [each["kubernetes_node"] for each in proven.more["actions"] if each["action"] == "create_pod"]
    assert set(made) == {each.kubernetes_node for each in room.pods().values()}

    missing = room.pull(MISSING)
    assert missing.verdict.state is State.REFUSED
    assert codes(missing)[0] == "image_not_pulled"
    assert "timed_out" not in codes(missing)
    dry = room.pull(MISSING, check_mode=True)
    assert dry.verdict.reasons[0].code == "image_not_proven"
    assert room.pull(NEW, kubernetes_nodes="one").verdict.passed
    until("the end of all throw-away pods", lambda: not throw_away_pods(room), TIMEOUT)


def test_an_image_is_proven_in_steps(room: Room) -> None:
    room.up()
    begun = room.pull(OLD, wait=False)
    assert begun.verdict.state is not State.REFUSED
    assert begun.changed
    until("the proof", lambda: room.pull(OLD, wait=False).verdict.passed, TIMEOUT)
    until("the end of all throw-away pods", lambda: not throw_away_pods(room), TIMEOUT)


def throw_away_pods(room: Room) -> list[Any]:
    """The pods that the module has made and not yet removed."""
    return room.admin.list(pod_path(room.namespace), label_selector=POOL_LABEL)
