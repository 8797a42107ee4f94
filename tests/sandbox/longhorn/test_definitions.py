"""The real definitions, served by the API server in memory."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.longhorn.definitions import LONGHORN, parsed

NODES = "/apis/longhorn.io/v1beta2/namespaces/longhorn-system/nodes"


@pytest.fixture
def cluster() -> Kubernetes:
    found = Kubernetes(Clock())
    found.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "longhorn-system"}}])
    found.apply(LONGHORN.definitions())
    found.clock.advance(0.1)
    return found


def ask(cluster: Kubernetes, method: str, path: str, body: Any = None) -> Any:
    return cluster.ask(method, path, body, {"fieldValidation": "Strict"})


def test_every_kind_of_the_module_is_served(cluster: Kubernetes) -> None:
    served = cluster.ask("GET", "/apis/longhorn.io/v1beta2").body["resources"]
    kinds = {each["kind"] for each in served}
    assert {"Volume", "Engine", "EngineFrontend", "Replica", "InstanceManager", "Node", "Setting", "Snapshot"} <= kinds
    assert "InstanceManagerUpgrade" not in kinds
    assert ask(cluster, "GET", NODES).body["items"] == []


def test_the_definition_is_the_judge_of_field_names_and_types(cluster: Kubernetes) -> None:
    node = {"apiVersion": "longhorn.io/v1beta2", "kind": "Node"}
    right = {**node, "metadata": {"name": "a"}, "spec": {"name": "a", "allowScheduling": True}}
    assert ask(cluster, "POST", NODES, right).status == 201
    misspelt = {**node, "metadata": {"name": "b"}, "spec": {"allowSchedule": True}}
    refused = ask(cluster, "POST", NODES, misspelt)
    assert (refused.status, "unknown field" in refused.body["message"]) == (400, True)
    mistyped = {**node, "metadata": {"name": "b"}, "spec": {"allowScheduling": "yes"}}
    assert ask(cluster, "POST", NODES, mistyped).status == 422


def test_the_one_expression_of_the_template_is_taken_out() -> None:
    text = 'metadata:\n  labels: {{- include "longhorn.labels" . | nindent 4 }}\n    longhorn-manager: ""\n---\n'
    assert parsed(text) == [{"metadata": {"labels": {"longhorn-manager": ""}}}]
