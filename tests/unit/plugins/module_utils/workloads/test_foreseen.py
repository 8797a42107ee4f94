"""The databases that a plan finds on the Kubernetes nodes of its batches."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part
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
    foreseen = Foreseen(monkeypatch, places)
    assert foreseen.of({"batch 1": ["w-0"], "batch 2": ["w-1"]}) == [said]
    assert foreseen.looks == 1


def test_a_member_that_may_be_away_with_several_others_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked at once, whatever the number of sets."""
    foreseen = Foreseen(monkeypatch, {"m-0": "a", "m-1": "b", "i-0": "c"})
    batch = ["m-0", "m-1", "i-0"]
    away = AwaySets([[Part(frozenset({"m-0", "m-1"}), 1), Part(frozenset({"i-0"}), 1)]])
    counted, once = foreseen.of({"batch 1": batch}, {"batch 1": away})
    assert counted == "3 members are on the Kubernetes nodes of one batch, and are asked before it."
    assert "those that may be away at once have to be spared together" in once
    assert foreseen.looks == 1


class Foreseen:
    """A plan whose database has members with these names of one letter on these Kubernetes nodes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, places: Mapping[str, str]) -> None:
        self.looks = 0

        def placed(_task: Task) -> Any:
            self.looks += 1
            return [SimpleNamespace(name=name, kubernetes_node=node) for node in places for name in places[node]]

        def passes(*_given: Any) -> Verdict:
            return Verdict()

        monkeypatch.setattr(health_gate, "placed_members", placed)
        monkeypatch.setattr(going_down, "connect", lambda *_given: None)
        monkeypatch.setattr(going_down, "observe", lambda _client: None)
        monkeypatch.setattr(going_down, "judge_consent", passes)
        monkeypatch.setattr(going_down, "judge_batch", passes)
        monkeypatch.setattr(going_down, "deciding_sets", lambda _state, _places, away: [away.names])

    def of(self, batches: Any, apart: Any = None) -> list[str]:
        """The messages of the plan, without the name of the database."""
        task = Task({"workloads": [WORKLOAD], "kubernetes": {}, "lock": None, **WAITS})
        reasons = going_down.foreseen(task, batches, apart).verdict.reasons
        return [each.message.partition(": ")[2] for each in reasons]


def test_no_remedy_names_an_option_that_a_run_on_kubernetes_nodes_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = refused("elected_manager_not_alone", "a is it.", "Run again with hand_over=false: it goes alone.")
    monkeypatch.setattr(health_gate, "run", lambda _task: Outcome(Verdict((reason,))))
    params = {"workloads": [WORKLOAD], "batch": ["w-0", "w-1"], "kubernetes": {}, "lock": {}, **WAITS}
    said = going_down.asked(Task(params=params), hands_over=False).verdict.reasons[0].remedy
    assert said == "Let fewer Kubernetes nodes go at once, or move manager-eligible members to others."
