"""The gate before Kubernetes nodes go: the batch is the members that run on them when it passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.member_list import Listed

Places = Mapping[str, str]


def listed(places: Places) -> list[Listed]:
    """Members by name, with their Kubernetes nodes; an empty one is away."""
    return [
        Listed(name, "data", "a", "3.8.0" if node else "", ("data",), 1, elected=False, kubernetes_node=node)
        for name, node in places.items()
    ]


def without_pods(*names: str) -> list[Listed]:
    """Members of the cluster for which no pod stands."""
    return [Listed(name, "", "a", "3.8.0", ("data",), 1, elected=False, kubernetes_node="") for name in names]


class Asked:
    """The gate, whose proofs are noted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, places: Sequence[Places], verdict: Verdict) -> None:
        self.batches: list[tuple[list[str], list[str]]] = []
        looks = iter(places)
        monkeypatch.setattr(health_gate, "list_members", lambda _params: listed(next(looks)))

        def judged(task: Task) -> Outcome:
            self.batches.append((task.params["batch"], task.params["expected"]))
            return Outcome(verdict)

        monkeypatch.setattr(health_gate, "_judged", judged)

    def result(self, **given: Any) -> dict[str, Any]:
        """The result of the gate for Kubernetes node `one`."""
        spec = health_gate.CONTRACT.argument_spec
        defaults = {name: option.get("default") for name, option in spec.items()}
        own = {"moment": "before_batch", "kubernetes_nodes": ["one"], "namespace": "search"}
        return perform(health_gate.run, Task({**defaults, **own, **given}))


def test_the_batch_is_of_the_members_that_run_there_and_all_others_are_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = {"data-0": "one", "data-1": "two", "data-2": "", "data-3": "one"}
    asked = Asked(monkeypatch, [places, places], Verdict())
    assert asked.result(expected=["data-9"])["verdict"]["state"] == "passed"
    assert asked.batches == [(["data-0", "data-3"], ["data-0", "data-1", "data-2", "data-3", "data-9"])]


def test_a_member_that_has_come_meanwhile_is_asked_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = {"data-0": "one", "data-1": "two"}, {"data-0": "one", "data-1": "one"}
    asked = Asked(monkeypatch, [before, after, after], Verdict())
    asked.result()
    assert [batch for batch, _expected in asked.batches] == [["data-0"], ["data-0", "data-1"]]


def test_one_that_has_left_meanwhile_needs_no_further_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch, [{"data-0": "one", "data-1": "one"}, {"data-0": "one", "data-1": "two"}], Verdict())
    asked.result()
    assert len(asked.batches) == 1


def test_a_gate_that_waits_in_one_pass_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Verdict((waiting("shard_unassigned", "A shard is away.", ""),))
    asked = Asked(monkeypatch, [{"data-0": "one"}, {"data-0": "one", "data-1": "one"}], said)
    assert asked.result(wait=False)["verdict"]["state"] == "waiting"
    assert len(asked.batches) == 1


def test_without_a_namespace_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Asked(monkeypatch, [], Verdict()).result(namespace=None)
    assert [each["code"] for each in refused["verdict"]["reasons"]] == ["namespace_not_given"]


def test_members_of_which_none_has_a_pod_are_in_another_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace that is misspelt has no pods, and nothing would be proven for the members on the nodes."""
    asked = Asked(monkeypatch, [], Verdict())
    monkeypatch.setattr(health_gate, "list_members", lambda _params: without_pods("data-0", "data-1"))
    refused = asked.result()
    assert (refused["verdict"]["state"], asked.batches) == ("refused", [])
    assert [each["code"] for each in refused["verdict"]["reasons"]] == ["members_without_pods"]


@pytest.mark.parametrize(("wait", "state"), [(False, "waiting"), (True, "refused")])
def test_a_member_without_a_pod_is_waited_for_since_it_may_be_on_the_node(
    monkeypatch: pytest.MonkeyPatch, wait: bool, state: str
) -> None:
    asked = Asked(monkeypatch, [], Verdict())
    found = [*listed({"data-0": "two"}), *without_pods("data-1")]
    monkeypatch.setattr(health_gate, "list_members", lambda _params: found)
    result = asked.result(wait=wait, wait_timeout=0)
    assert (result["verdict"]["state"], asked.batches) == (state, [])
    assert result["verdict"]["reasons"][0]["code"] == "members_without_pods"
    found.pop()
    assert asked.result()["verdict"]["state"] == "passed"
