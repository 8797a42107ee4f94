"""The policy: its defaults are the safe ones, and each fault is one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from extensions.cluster_api.cluster_api_extension.discovery import discovered
from extensions.cluster_api.cluster_api_extension.policy import Policy, PolicyError, policy_of
from tests.unit.cluster_api.manifests import POLICY_FILE


def test_an_empty_policy_is_the_default_and_the_manifest_has_the_default() -> None:
    assert policy_of(None) == policy_of({}) == Policy()
    assert policy_of(yaml.safe_load(POLICY_FILE)) == Policy()


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ([], "the policy is no mapping"),
        ({"field": {}}, "the policy has the unknown key field"),
        ({"in_place": "yes"}, "in_place is 'yes': write true or false"),
        ({"uncovered": "recreate"}, "uncovered is 'recreate': write replace or hold"),
        ({"fields": {"machine": "spec.version"}}, "fields.machine is no list of texts"),
        ({"fields": {"machine": ["status"]}}, "fields: 'status' is no path of a field"),
        ({"budget": {"attempts": 0}}, "budget.attempts is 0: write a whole number above 0"),
        ({"budget": {"attempts": True}}, "budget.attempts is True: write a whole number above 0"),
        ({"gate": {"hooks": ["BeforeLunch"]}}, "gate.hooks has BeforeLunch: take hooks of BeforeClusterUpgrade"),
        ({"gate": {"clusters": ["a/b", "prod"]}}, "gate.clusters has prod: write namespace/name, or a pattern of it"),
        (
            {"gate": {"clusters": ["prod*"]}},
            "gate.clusters has prod*: write namespace/name, or a pattern of it such as",
        ),
        ({"gate": {"clusters": ["a/b "]}}, "gate.clusters has a/b : write namespace/name"),
        ({"gate": {"clusters": ["a/"]}}, "gate.clusters has a/: write namespace/name"),
        ({"gate": {"clusters": ["/b", "a/b/c"]}}, "gate.clusters has /b, a/b/c: write namespace/name"),
        ({"gate": {"clusters": ["Prod/*"]}}, "gate.clusters has Prod/*: write namespace/name"),
        ({"gate": {"clusters": [""]}}, "gate.clusters has an empty text: write namespace/name"),
        (
            {"gate": {"hooks": ["BeforeWorkersUpgrade"], "clusters": []}},
            "gate.clusters is empty, so no cluster would be",
        ),
        ({"gate": {"url": "http://gate"}}, "gate.url is no address: write one that starts with https://"),
        (
            {"external": {"upgrade_tasks": True}},
            "external has the unknown key upgrade_tasks: take keys of upgrade_task",
        ),
        ({"external": {"upgrade_task": "on"}}, "external.upgrade_task is 'on': write true or false"),
        ({"external": {"upgrade_tasks_kept": 0}}, "external.upgrade_tasks_kept is 0: write a whole number above 0"),
        ({"external": {"upgrader": {"name": "a"}}}, "external.upgrader is that of an UpgradeTask: write external."),
        ({"external": {"upgrade_task": True, "upgrader": {"kind": "A"}}}, "external.upgrader has no name: write that"),
        ({"external": {"upgrade_task": True, "upgrader": {"name": 1}}}, "external.upgrader.name is no text"),
    ],
)
def test_a_fault_names_the_key_and_the_remedy(written: Any, sentence: str) -> None:
    with pytest.raises(PolicyError) as raised:
        policy_of(written)
    assert str(raised.value).startswith(sentence)


def test_the_clusters_of_a_gate_are_patterns_of_namespace_and_name() -> None:
    rule = policy_of({"gate": {"hooks": ["BeforeWorkersUpgrade"], "clusters": ["prod*/*", "shop/[!t]*"]}}).gate
    asked = {
        each for each in ("prod-1/db", "shop/prod", "shop/test", "dev/prod") if rule.asks("BeforeWorkersUpgrade", each)
    }
    assert asked == {"prod-1/db", "shop/prod"}


def hooks(written: Any) -> list[str]:
    return [each["requestHook"]["hook"] for each in discovered(policy_of(written))["handlers"]]


def test_discovery_names_the_hooks_in_use_alone() -> None:
    assert hooks({}) == ["CanUpdateMachine", "CanUpdateMachineSet", "UpdateMachine"]
    assert hooks({"in_place": False, "gate": {"hooks": ["BeforeWorkersUpgrade"]}}) == ["BeforeWorkersUpgrade"]
    handler = discovered(Policy())["handlers"][0]
    assert handler == {
        "name": "canupdatemachine",
        "requestHook": {"apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1", "hook": "CanUpdateMachine"},
        "timeoutSeconds": 10,
        "failurePolicy": "Fail",
    }
