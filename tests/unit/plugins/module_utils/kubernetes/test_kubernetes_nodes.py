"""Kubernetes nodes that are unfit are named, each with its fault."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import kubernetes_nodes

from tests.sandbox.kubernetes.in_process import InProcess
from tests.unit.plugins.module_utils.run.stores import Passing

Json = dict[str, Any]
EARLY, BEGUN, LATE = (f"2026-12-01T{hour}:00:00Z" for hour in (10, 11, 12))


class Room:
    """A cluster with Kubernetes nodes, and runs of the module on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.api = InProcess()
        monkeypatch.setattr(kubernetes_nodes, "connect", lambda _options: self.api.client())

    def node(self, name: str, **spec: Any) -> None:
        metadata = {"name": name, "labels": {"kubernetes.io/os": "linux"}}
        self.api.put_there(f"/api/v1/nodes/{name}", {"metadata": metadata, "spec": spec})

    def look(self, **given: Any) -> Json:
        params = kubernetes_nodes.CONTRACT.arguments({}, **{"names": ["a", "b", "c", "d"], **given})
        return perform(kubernetes_nodes.run, Task(params=params, clock=Passing()))


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(monkeypatch)


def taint(key: str, since: str = "") -> Json:
    added = {"timeAdded": since} if since else {}
    return {"key": f"node.kubernetes.io/{key}", "effect": "NoSchedule", **added}


def said(result: Json) -> list[str]:
    return [each["message"] for each in result["verdict"]["reasons"]]


def test_each_trouble_is_named_and_a_taint_of_somebody_else_is_none(room: Room) -> None:
    room.node("a", unschedulable=True)
    room.node("b", taints=[taint("disk-pressure"), taint("unreachable"), {"key": "gpu", "effect": "NoSchedule"}])
    room.node("c", unschedulable=True, taints=[taint("unschedulable", LATE)])
    room.node("d")
    result = room.look(wait=False)
    assert said(result) == [
        "Kubernetes node a is cordoned.",
        "Kubernetes node b is under disk pressure.",
        "Kubernetes node b is unreachable.",
        "Kubernetes node c is cordoned.",
    ]
    assert (result["verdict"]["state"], result["unfit"]) == ("waiting", ["a", "b", "c"])


def test_only_nodes_that_are_named_count_and_one_that_is_gone_does_not(room: Room) -> None:
    room.node("a")
    room.node("b", unschedulable=True)
    assert room.look(names=["a", "gone"], wait=False)["verdict"]["state"] == "passed"
    assert room.look(names=["gone"], wait=False)["verdict"]["state"] == "passed"
    assert room.look(names=["a", "b"], wait=False)["unfit"] == ["b"]


def test_the_same_trouble_as_at_the_baseline_stops_nothing(room: Room) -> None:
    room.node("a", taints=[taint("unschedulable", EARLY)])
    assert room.look(baseline=BEGUN)["verdict"]["state"] == "passed"
    room.node("b", taints=[taint("unschedulable", LATE)])
    room.node("c", taints=[taint("memory-pressure")])
    result = room.look(baseline=BEGUN, wait=False)
    assert [each["code"] for each in result["verdict"]["reasons"]] == [
        "kubernetes_node_unfit_before",
        "kubernetes_node_unfit",
        "kubernetes_node_unfit",
    ]


@pytest.mark.parametrize("baseline", ["soon", "2026-12-01", "2026-12-01T10:00:00"])
def test_a_baseline_that_is_no_moment_is_refused(room: Room, baseline: str) -> None:
    room.node("a")
    assert "is not a time with its offset from UTC" in room.look(baseline=baseline)["msg"]


def test_a_node_that_is_not_uncordoned_in_time_is_refused(room: Room) -> None:
    room.node("a", unschedulable=True)
    assert "Uncordon it" in room.look(wait_timeout=20)["msg"]
