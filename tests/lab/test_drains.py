"""A drain of a Kubernetes node by this collection, at a real API server with its controllers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.act.draining import Draining
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.drain import drain
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient, connect

from tests.lab.lab import Lab
from tests.lab.namespace import Namespace, probe_set

NODE = "node-b1"


@pytest.fixture
def client(lab: Lab) -> Iterator[KubernetesClient]:
    """The client of the collection. The Kubernetes node is open again afterwards."""
    found = connect({"kubeconfig": str(lab.kubeconfig())})
    yield found
    Draining(_task(), found, "machine_upgrade").uncordon(NODE)


def _task(**given: Any) -> Task:
    params = {"wait": True, "wait_timeout": 60, "wait_sleep": 0.2, **given}
    return Task(params, voice=Lines(lambda _line: None), parents=())


def _drained(client: KubernetesClient, **given: Any) -> tuple[Outcome, list[str]]:
    task = _task(**given)
    outcome = drain(task, client, [NODE], "machine_upgrade")
    return outcome, [each["action"] for each in task.journal.as_result()]


def test_a_node_is_drained_as_its_budgets_allow_and_opened_again(
    client: KubernetesClient, namespace: Namespace
) -> None:
    namespace.apply(probe_set("data"))
    for number in range(3):
        namespace.until_ready(f"data-{number}")
    (name,) = [f"data-{number}" for number in range(3) if namespace.pod(f"data-{number}").spec.node_name == NODE]
    uid = namespace.pod(name).metadata.uid
    budget: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "data"}}
    selector = {"matchLabels": {"app": "data"}}
    namespace.apply({**budget, "spec": {"minAvailable": 3, "selector": selector}})
    kept, acts = _drained(client, wait_timeout=3)
    assert ([each.code for each in kept.verdict.reasons], acts) == (["drain_blocked", "timed_out"], ["changed"])
    assert f"PodDisruptionBudget {namespace.name}/data keeps {name} there since 20" in kept.verdict.reasons[0].message
    namespace.apply({**budget, "spec": {"minAvailable": 2, "selector": selector}})
    done, acts = _drained(client)
    assert (done.verdict.passed, acts) == (True, ["evicted"])
    again = namespace.pod(name)
    assert again is None or (again.metadata.uid != uid and not again.spec.node_name)
    Draining(_task(), client, "machine_upgrade").uncordon(NODE)
    namespace.until_ready(name, not_uid=uid)
