# SPDX-License-Identifier: GPL-3.0-or-later
"""The real definitions, served by the API server in memory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lab.errors import LabError
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.longhorn import definitions

NODES = "/apis/longhorn.io/v1beta2/namespaces/longhorn-system/nodes"


@pytest.fixture
def cluster() -> Kubernetes:
    found = Kubernetes(Clock())
    found.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "longhorn-system"}}])
    found.apply(definitions.definitions())
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
    assert definitions.parsed(text) == [{"metadata": {"labels": {"longhorn-manager": ""}}}]


def test_another_checksum_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STATEFUL_UPGRADE_CACHE", str(tmp_path))
    monkeypatch.setattr(definitions, "toolchain", lambda _wanted, _tell: Path("go"))
    answer = {"Sum": "h1:other=", "Dir": str(tmp_path)}

    def run(argv: list[str], **_options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(argv, 0, json.dumps(answer), "")

    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(LabError) as refused:
        definitions.ensure_fetched(lambda _line: None)
    assert "has the checksum h1:other= instead of" in str(refused.value)
    assert not definitions.path().exists()
    answer.clear()
    answer["Error"] = "no such host"
    with pytest.raises(LabError) as refused:
        definitions.ensure_fetched(lambda _line: None)
    assert str(refused.value).endswith("could not be fetched: no such host.")
