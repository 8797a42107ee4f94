"""Pools behind StatefulSets: whether pods and members fit together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod as parsed
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.set_pools import (
    judge_membership,
    judge_rolls,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.look import MembersAndPods
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    info,
)


def at(name: str, address: str, **changes: Any) -> Pod:
    item = pod_json(name, f"uid-{name}", **changes)
    item["status"]["podIP"] = address
    return parsed(item)


def seen(members: dict[str, str], pods: list[Pod]) -> MembersAndPods:
    """A pool of two, and the members with their addresses."""
    state = cluster({name: {**info(name), "ip": ip} for name, ip in members.items()})
    return MembersAndPods((pool(replicas=2),), {"data": tuple(pods)}, state, tuple(pods))


TWO = {"data-0": "10.0.0.1", "data-1": "10.0.0.2"}


@pytest.mark.parametrize(
    ("members", "addresses", "codes"),
    [
        (TWO, ["10.0.0.1", "10.0.0.2"], []),
        (TWO, ["10.0.0.2", "10.0.0.1"], ["name_differs", "name_differs"]),
        ({"data-0": "10.0.0.1", "x": "10.0.0.2"}, ["10.0.0.1", "10.0.0.2"], ["name_differs", "members_outside"]),
        # Two of them on the network of one host.
        ({"data-0": "10.0.0.1", "data-1": "10.0.0.1"}, ["10.0.0.1", "10.0.0.1"], []),
        ({"data-1": "10.0.0.1"}, ["10.0.0.1", "10.0.0.1"], []),
        ({**TWO, "elsewhere": "10.0.0.9"}, ["10.0.0.1", "10.0.0.2"], ["members_outside"]),
        # Both differ: whether x is data-1 is unknown, so nothing may be taken for being away.
        (
            {"data-0": "10.0.0.1", "x": "192.0.2.2"},
            ["10.0.0.1", "10.0.0.2"],
            ["member_unrecognised", "members_outside"],
        ),
        ({}, ["10.0.0.1", "10.0.0.2"], []),
    ],
)
def test_pods_are_the_members_of_their_names(members: dict[str, str], addresses: list[str], codes: list[str]) -> None:
    pods = [at(f"data-{number}", address) for number, address in enumerate(addresses)]
    assert [reason.code for reason in judge_membership(seen(members, pods)).reasons] == codes


ROLLS: Json = {"updateStrategy": {"type": "RollingUpdate"}}
HELD: Json = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}}


def beside(own: Json, other: Json, *, is_of_cluster: bool = True, outdated: str = "old") -> MembersAndPods:
    """A pool that is planned for, and another one of the namespace, each with a pod of an outdated revision."""
    sets = pool("data", replicas=2, **own), pool("warm", replicas=2, **other)
    pods = {one.name: (at(f"{one.name}-0", f"10.0.0.{len(one.name)}", revision=outdated),) for one in sets}
    state = cluster({name: info(name) for name in ("data-0", *(["warm-0"] * is_of_cluster))})
    state = replace(state, members={key: replace(one, address="192.0.2.1") for key, one in state.members.items()})
    return MembersAndPods(sets[:1], pods, state, tuple(pod for found in pods.values() for pod in found), sets[1:])


@pytest.mark.parametrize(
    ("there", "named"),
    [
        (beside({}, {}), []),
        (beside(ROLLS, {}), ["data"]),
        # A pool of the cluster that no one plans for is rolled without any gate, too.
        (beside({}, ROLLS), ["warm"]),
        (beside(ROLLS, ROLLS), ["data", "warm"]),
        (beside({}, ROLLS, is_of_cluster=False), []),
        (beside(HELD, HELD), []),
        (beside(ROLLS, ROLLS, outdated="data-new"), ["warm"]),
    ],
)
def test_a_plan_is_refused_while_the_controller_of_any_pool_of_the_cluster_rolls_it(
    there: MembersAndPods, named: list[str]
) -> None:
    reasons = judge_rolls(there).reasons
    assert [(one.code, one.state) for one in reasons] == [("strategy_rolls_by_itself", State.REFUSED)] * len(named)
    for name, reason in zip(named, reasons, strict=True):
        assert f"{name}-0" in reason.message
        assert f"kubectl patch statefulset {name} -n search" in reason.remedy


def test_what_an_interrupted_run_has_let_through_by_its_partition_refuses_no_plan() -> None:
    strategy = ROLLS["updateStrategy"]
    change = {"path": ["spec", "updateStrategy"], "was": strategy, "set_to": strategy}
    undo = json.dumps({"run": "night", "at": "t", "changes": [change]})
    let_through = {**ROLLS, "annotations": {UNDO: undo}}
    assert judge_rolls(beside(let_through, let_through)).passed
    assert not judge_rolls(beside(let_through, ROLLS)).passed
