# SPDX-License-Identifier: GPL-3.0-or-later
"""Throw-away pods on an API server that turns requests away."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.pools import image_pull
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool_json

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import PODS, STATEFUL_SETS

Json = dict[str, Any]
PODS_MADE = r"/namespaces/search/pods$"


class Turning:
    """The clock of the servers, as a task waits by it."""

    def __init__(self, clock: Clock) -> None:
        self.now, self.sleep = clock.now, clock.advance


@pytest.fixture
def kubernetes() -> Kubernetes:
    there = Kubernetes(Clock())
    InProcess(there.server)
    pool = pool_json(replicas=0)
    pool["metadata"].pop("resourceVersion", None)
    there.server.resources.create(STATEFUL_SETS, "search", pool)
    return there


def pulled(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Json:
    api = InProcess(kubernetes.server, token=TOKENS["admin"])
    monkeypatch.setattr(image_pull, "connect", lambda _options: api.client())
    given = {name: option.get("default") for name, option in image_pull.CONTRACT.argument_spec.items()}
    own = {"namespace": "search", "pool": "data", "image": "opensearch:3.8.0", "kubernetes_nodes": "one", **more}
    return perform(image_pull.run, Task({**given, **own}, clock=Turning(kubernetes.clock)))


def left_over(kubernetes: Kubernetes) -> list[str]:
    kubernetes.clock.advance(120)
    return [str(each["metadata"]["name"]) for each in kubernetes.server.store.list(PODS, "search")]


@pytest.mark.parametrize("times", [1, 4])
def test_a_pod_that_was_turned_away_is_made_again(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    kubernetes.server.faults.answer(503, "POST", PODS_MADE, times)
    result = pulled(kubernetes, monkeypatch)
    assert result["verdict"] == {"state": "passed", "reasons": []}
    assert [each["action"] for each in result["actions"]] == ["create_pod", "delete_pod"]
    assert left_over(kubernetes) == []


def test_a_pod_whose_answer_was_lost_is_found_again(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes.server.faults.cut("POST", PODS_MADE, made=True)
    result = pulled(kubernetes, monkeypatch)
    assert result["verdict"] == {"state": "passed", "reasons": []}
    assert left_over(kubernetes) == []


def test_one_pass_says_what_turned_it_away(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes.server.faults.answer(503, "POST", PODS_MADE)
    result = pulled(kubernetes, monkeypatch, wait=False)
    (reason,) = result["verdict"]["reasons"]
    assert (reason["state"], reason["code"]) == ("waiting", "kubernetes_unreachable")
    assert "503" in reason["message"]
    assert left_over(kubernetes) == []
