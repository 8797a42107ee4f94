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
from tests.sandbox.kubernetes.kinds import LIMIT_RANGES, PODS, QUOTAS, STATEFUL_SETS

Json = dict[str, Any]
PODS_MADE = r"/namespaces/search/pods$"


class Turning:
    """The clock of the servers, as a task waits by it."""

    def __init__(self, clock: Clock) -> None:
        self.now, self.sleep = clock.now, clock.advance


def with_pool(**of_template: Any) -> Kubernetes:
    """A pool without pods, whose template has these further fields."""
    there = Kubernetes(Clock())
    InProcess(there.server)
    pool = pool_json(replicas=0)
    pool["metadata"].pop("resourceVersion", None)
    spec = pool["spec"]["template"]["spec"]
    spec["containers"] += of_template.pop("containers", [])
    spec |= of_template
    there.server.resources.create(STATEFUL_SETS, "search", pool)
    return there


@pytest.fixture
def kubernetes() -> Kubernetes:
    return with_pool()


def pulled(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, warned: list[str] | None = None, **more: Any
) -> Json:
    api = InProcess(kubernetes.server, token=TOKENS["admin"])
    monkeypatch.setattr(image_pull, "connect", lambda _options: api.client())
    given = {name: option.get("default") for name, option in image_pull.CONTRACT.argument_spec.items()}
    own = {"namespace": "search", "pool": "data", "image": "opensearch:3.8.0", "kubernetes_nodes": "one", **more}
    warn = (lambda _line: None) if warned is None else warned.append
    return perform(image_pull.run, Task({**given, **own}, clock=Turning(kubernetes.clock), warn=warn))


def left_over(kubernetes: Kubernetes) -> list[str]:
    kubernetes.clock.advance(120)
    return [str(each["metadata"]["name"]) for each in kubernetes.server.store.list(PODS, "search")]


LOST = {"name": "permissions", "image": "registry.example.com/tools/shell:missing", "imagePullPolicy": "IfNotPresent"}


@pytest.mark.parametrize(
    "spec",
    [{"initContainers": [LOST]}, {"containers": [LOST]}, {"initContainers": [{**LOST, "restartPolicy": "Always"}]}],
)
def test_an_image_that_its_registry_lost_is_found_whatever_container_needs_it(
    monkeypatch: pytest.MonkeyPatch, spec: Json
) -> None:
    kubernetes = with_pool(**spec)
    reasons = pulled(kubernetes, monkeypatch, container="server")["verdict"]["reasons"]
    (reason,) = (each for each in reasons if each["state"] == "refused")
    assert reason["code"] == "image_not_pulled"
    assert "Image registry.example.com/tools/shell:missing cannot be pulled" in reason["message"]
    assert left_over(kubernetes) == []


def test_images_of_all_containers_that_are_there_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = {"name": "exporter", "image": "exporter:7"}
    kubernetes = with_pool(initContainers=[{**LOST, "image": "tools:1"}], containers=[beside])
    assert pulled(kubernetes, monkeypatch, container="server")["verdict"] == {"state": "passed", "reasons": []}
    assert left_over(kubernetes) == []


LEAST = {"type": "Container", "min": {"cpu": "100m", "memory": "99Mi"}, "maxLimitRequestRatio": {"cpu": "10"}}


def limit(kubernetes: Kubernetes, **limits: Any) -> None:
    body = {"metadata": {"name": "limits"}, "spec": {"limits": [{"type": "Container", **limits}]}}
    kubernetes.server.resources.create(LIMIT_RANGES, "search", body)


@pytest.mark.parametrize("limits", [LEAST, {"min": {"cpu": "50m"}}, {"maxLimitRequestRatio": {"memory": "1"}}])
def test_limits_that_the_members_keep_to_refuse_no_proof(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, limits: Json
) -> None:
    limit(kubernetes, **limits)
    assert pulled(kubernetes, monkeypatch)["verdict"] == {"state": "passed", "reasons": []}
    assert left_over(kubernetes) == []


def test_a_pod_may_ask_for_as_much_as_the_members(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    # A limit of its own is above this one; that of the members is what a container gets that asks for nothing.
    limit(kubernetes, max={"memory": "32Mi"}, min={"memory": "20Mi"})
    assert pulled(kubernetes, monkeypatch)["verdict"] == {"state": "passed", "reasons": []}


def test_a_namespace_without_room_for_the_proof_says_the_way_out(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = {"metadata": {"name": "full"}, "spec": {"hard": {"pods": "0"}}}
    kubernetes.server.resources.create(QUOTAS, "search", quota)
    kubernetes.clock.advance(1)
    (reason,) = pulled(kubernetes, monkeypatch)["verdict"]["reasons"]
    assert (reason["state"], reason["code"]) == ("refused", "image_not_proven")
    assert "exceeded quota: full" in reason["message"]
    assert "skip_checks: [images]" in reason["remedy"]


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


@pytest.mark.parametrize("fault", ["lost before it was made", "lost when it was made", "turned away"])
def test_a_removal_that_was_lost_is_made_again(
    kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "turned away":
        kubernetes.server.faults.answer(503, "DELETE", "/pods/", 2)
    else:
        kubernetes.server.faults.cut("DELETE", "/pods/", made=fault == "lost when it was made")
    result = pulled(kubernetes, monkeypatch)
    assert result["verdict"] == {"state": "passed", "reasons": []}
    assert left_over(kubernetes) == []


def test_a_removal_that_is_denied_names_the_pods(kubernetes: Kubernetes, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    kubernetes.server.faults.answer(403, "DELETE", "/pods/", 1)
    result = pulled(kubernetes, monkeypatch, warned)
    (left,) = left_over(kubernetes)
    assert result["verdict"] == {"state": "passed", "reasons": []}
    assert len(warned) == 1
    assert f"could not be removed ({left})" in warned[0]
