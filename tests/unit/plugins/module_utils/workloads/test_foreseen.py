"""The databases that a plan finds on the Kubernetes nodes of its batches."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.workloads import going_down

CONSENTS: dict[str, Any] = {"allow_single_copy": [], "allow_quorum_loss": False, "allow_red_indices": []}
WORKLOAD = {"system": "opensearch", "namespace": "search", "opensearch": {}, **CONSENTS}
WAITS = {"wait": True, "wait_timeout": 60, "wait_sleep": 1.0}


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({}, "No member is on a Kubernetes node of a batch, so none is asked."),
        ({"w-0": "ab"}, "2 members are on the Kubernetes nodes of one batch, and are asked before it."),
        ({"w-0": "a", "w-1": "b"}, "2 members are on the Kubernetes nodes of 2 batches, and are asked before each."),
    ],
)
def test_the_plan_says_how_many_members_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, places: Mapping[str, str], said: str
) -> None:
    def there(task: Task) -> Any:
        (node,) = task.params["kubernetes_nodes"]
        return SimpleNamespace(batch={*places.get(node, ())})

    def passes(*_given: Any) -> Verdict:
        return Verdict()

    monkeypatch.setattr(health_gate, "members_on", there)
    monkeypatch.setattr(going_down, "connect", lambda *_given: None)
    monkeypatch.setattr(going_down, "observe", lambda _client: None)
    monkeypatch.setattr(going_down, "judge_consent", passes)
    monkeypatch.setattr(going_down, "judge_batch", passes)
    task = Task({"workloads": [WORKLOAD], "kubernetes": {}, "lock": None, **WAITS})
    verdict = going_down.foreseen(task, {"batch 1": ["w-0"], "batch 2": ["w-1"]}).verdict
    assert [each.message.partition(": ")[2] for each in verdict.reasons] == [said]
