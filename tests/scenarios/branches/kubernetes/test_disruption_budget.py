"""A PodDisruptionBudget as the real controller counts it: while it is spent nothing is deleted."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State

from tests.lab.waiting import until
from tests.scenarios.kubernetes.room import OLD, TIMEOUT, Room, codes, member

pytestmark = pytest.mark.real_servers

KEEP, STRAY = "keep", "beside"


def test_nothing_is_deleted_while_the_budget_is_spent(room: Room) -> None:
    """Next to the pool there is a pod that is not Ready, and the budget wants three of the four."""
    room.up()
    room.faults.never_ready(room.namespace, STRAY)
    probe = {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1}
    container = {"name": "server", "image": OLD, "readinessProbe": probe}
    room.add(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": STRAY}, "spec": {"containers": [container]}},
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": KEEP},
            "spec": {"minAvailable": 3, "selector": {}},
        },
    )
    until("the budget to be counted", lambda: allowed(room, pods=4) == 0, TIMEOUT)
    room.set_image()
    until(
        "a look after the controller has taken up the image",
        lambda: codes(look(room)) == ["disruption_budget"],
        TIMEOUT,
    )
    before = room.uids()
    outcome = look(room)
    assert (outcome.verdict.state, outcome.changed) == (State.WAITING, False)
    (reason,) = outcome.verdict.deciding()
    assert f"PodDisruptionBudget {KEEP} lets 0 more go (3 of 4 are healthy, 3 have to be)" in reason.message
    assert room.uids() == before

    room.faults.mend(room.namespace, STRAY)
    until("the budget to leave room", lambda: allowed(room, pods=4) == 1, TIMEOUT)
    rolled = room.roll(member(2))
    assert rolled.verdict.passed, rolled.verdict
    assert [name for name, uid in room.uids().items() if uid != before[name]] == [member(2)]


def look(room: Room) -> Outcome:
    """One look at whether the last member may go, by a task that does not wait."""
    return room.roll(member(2), wait=False)


def allowed(room: Room, pods: int) -> int | None:
    """The number of pods that may go as the controller has written it; None as long as it has not counted all."""
    path = f"/apis/policy/v1/namespaces/{room.namespace}/poddisruptionbudgets/{KEEP}"
    status = (room.admin.get(path) or {}).get("status", {})
    return status.get("disruptionsAllowed") if status.get("expectedPods") == pods else None
