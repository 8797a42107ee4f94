"""ResourceQuotas over time: the controllers make what fits, and again what fits only later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.namespace import probe_set
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.kinds import EVENTS, PODS, QUOTAS

Json = dict[str, Any]
HERE = "here"
RUNNING = {"requests": {"cpu": "100m"}}


class Room:
    """A namespace with a pool of three, and a quota."""

    def __init__(self, **hard: str) -> None:
        self.kubernetes = Kubernetes(Clock())
        pool = probe_set("data")
        pool["metadata"]["namespace"] = HERE
        self.kubernetes.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HERE}}, pool])
        assert self.kubernetes.until(lambda: len(self.uids()) == 3)
        self.ask("POST", QUOTAS.path(HERE), {"metadata": {"name": "full"}, "spec": {"hard": hard}})
        assert self.used("pods") == "", "it does not hold before its controller has counted"
        assert self.kubernetes.until(lambda: self.used("pods") == "3")

    def ask(self, method: str, path: str, body: Any = None, **query: str) -> tuple[int, str]:
        answer = self.kubernetes.ask(method, path, body, query)
        return answer.status, str(answer.body.get("message", ""))

    def used(self, resource: str) -> str:
        quota = self.kubernetes.server.store.get(QUOTAS, HERE, "full")
        return str(quota["status"].get("used", {}).get(resource, "")) if quota else ""

    def uids(self) -> dict[str, str]:
        pods = self.kubernetes.server.store.each(PODS, HERE)
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in pods}

    def make(self, name: str, **spec: Any) -> tuple[int, str]:
        resources = spec.pop("resources", {})
        container = {"name": "a", "image": "a:1", "resources": resources}
        return self.ask(
            "POST", PODS.path(HERE), {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
        )


def test_what_is_let_in_counts_at_once_and_what_has_gone_is_taken_off_later() -> None:
    room = Room(pods="4")
    assert room.make("more")[0] == 201
    assert room.used("pods") == "4"
    code, said = room.make("most")
    assert (code, said) == (
        403,
        'pods "most" is forbidden: exceeded quota: full, requested: pods=1, used: pods=4, limited: pods=4',
    )
    before = room.uids()["data-2"]
    room.ask("DELETE", PODS.path(HERE, "data-2"), gracePeriodSeconds="0")
    events = room.kubernetes.server.store
    assert room.kubernetes.until(lambda: "FailedCreate" in {each["reason"] for each in events.each(EVENTS, HERE)}, 4)
    assert ("data-2" in room.uids(), room.used("pods")) == (False, "4")
    assert room.kubernetes.until(lambda: room.uids().get("data-2") not in {None, before}, 10)
    assert room.used("pods") == "4"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"scopes": ["BestEffort"]}, 403),
        ({"scopes": ["NotBestEffort"]}, 201),
        ({"scopes": ["NotTerminating", "BestEffort"]}, 403),
        ({"scopes": ["Terminating"]}, 201),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}}, 201),
        ({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]}}, 403),
    ],
)
def test_a_quota_with_scopes_counts_only_the_pods_in_all_of_them(spec: Json, code: int) -> None:
    room = Room(pods="9")
    quota = {"metadata": {"name": "scoped"}, "spec": {"hard": {"pods": "0"}, **spec}}
    room.ask("POST", QUOTAS.path(HERE), quota)
    room.kubernetes.clock.advance(1)
    assert room.make("more")[0] == code


def test_a_quota_for_requests_wants_them_said() -> None:
    room = Room(**{"pods": "9", "requests.cpu": "150m", "requests.storage": "1Gi"})
    assert room.make("silent") == (
        403,
        'pods "silent" is forbidden: failed quota: full: must specify requests.cpu for: a',
    )
    assert room.make("more", resources=RUNNING)[0] == 201
    assert room.used("requests.cpu") == "100m"
    code, said = room.make("most", resources=RUNNING)
    assert (code, "requested: requests.cpu=100m, used: requests.cpu=100m, limited: requests.cpu=150m" in said) == (
        403,
        True,
    )
