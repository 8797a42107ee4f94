"""Pools made from names: their kinds, what is refused, and the whole plan without Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import pool_order
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge import named_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    copy,
    info,
)

MANAGER, DATA = ("cluster_manager",), ("data",)
ROLES: Mapping[str, Sequence[str]] = {"d-0": DATA, "d-1": DATA, "b-0": (*MANAGER, *DATA), "m-0": MANAGER}
GROUPS = {"data": ["d-0", "d-1"], "both": ["b-0"], "managers": ["m-0"]}
DATA_MEMBERS = ("d-0", "d-1")
VERSIONS = dict.fromkeys(ROLES, "2.19.6")


def state_of(versions: Mapping[str, str], elected: str = "m-0") -> ClusterState:
    members = {name: info(name, version, ROLES.get(name, DATA)) for name, version in versions.items()}
    copies = [copy("logs", name if name in members else None, primary=name == "d-0") for name in DATA_MEMBERS]
    return cluster(members, copies, elected=elected)


def without(*names: str) -> dict[str, str]:
    return {name: version for name, version in VERSIONS.items() if name not in names}


@pytest.mark.parametrize(
    ("groups", "versions", "expected"),
    [
        (GROUPS, VERSIONS, []),
        (GROUPS, without("d-1"), []),
        (GROUPS, {**VERSIONS, "x": "2.19.6"}, ["members_outside"]),
        (GROUPS, {**without("d-1"), "x": "2.19.6"}, ["name_differs"]),
        (GROUPS, {**without("d-0", "d-1"), "x": "2.19.6"}, ["name_differs", "name_differs"]),
        ({"data": ["other"]}, VERSIONS, ["no_pools"]),
        ({**GROUPS, "spare": []}, VERSIONS, ["group_without_hosts"]),
        ({**GROUPS, "again": ["d-0"]}, VERSIONS, ["member_named_twice"]),
        ({**GROUPS, "data": ["d-0", "d-0", "d-1"]}, VERSIONS, ["member_named_twice"]),
        ({}, VERSIONS, ["no_pools"]),
    ],
)
def test_names_that_do_not_fit_are_told(
    groups: dict[str, list[str]], versions: dict[str, str], expected: list[str]
) -> None:
    assert [reason.code for reason in named_pools.judge_groups(groups, state_of(versions)).reasons] == expected


def test_a_group_of_all_members_becomes_a_pool_for_each_kind() -> None:
    everything = {"search": sorted(ROLES)}
    (pool,) = named_pools.pools_named(everything, state_of(without("d-1")), "zone")
    parts = {part.name: [member.name for member in part.members] for part in named_pools.by_kind(pool)}
    assert parts == {
        "search/1": ["d-0"],
        "search/2": ["b-0"],
        "search/3": ["m-0", "d-1"],  # it is away, and brought back first wherever it is
    }
    (alike,) = named_pools.pools_named({"data": ["d-0", "d-1"]}, state_of(VERSIONS), "zone")
    assert [part.name for part in named_pools.by_kind(alike)] == ["data"]


@dataclass
class Planner:
    """Plans on a state instead of a cluster; Kubernetes must not be asked."""

    state: ClusterState = field(default_factory=lambda: state_of(VERSIONS))

    def plan(self, **params: Any) -> dict[str, Any]:
        spec = pool_order.CONTRACT.argument_spec
        given = {name: option.get("default") for name, option in spec.items()}
        return perform(pool_order.run, Task({**given, "target_version": "3.8.0", "opensearch": {}, **params}))


@pytest.fixture
def planner(monkeypatch: pytest.MonkeyPatch) -> Planner:
    made = Planner()
    monkeypatch.setattr(pool_order, "connect", lambda *_options: None)
    monkeypatch.setattr(pool_order, "observe", lambda _client: made.state)
    monkeypatch.setattr(pool_order, "see", lambda _task: pytest.fail("Kubernetes was asked"))
    return made


def order_of(result: Mapping[str, Any]) -> list[str]:
    return [name for batch in result["batches"] for name in batch["members"]]


def test_the_plan_knows_the_order_of_kinds_and_no_image(planner: Planner) -> None:
    result = planner.plan(groups=GROUPS, allow_quorum_loss=True)
    assert result["verdict"]["state"] == "passed"
    assert order_of(result) == ["d-1", "d-0", "b-0", "m-0"]
    assert result["pools"][0] == {
        "name": "data",
        "status": "pending",
        "kind": "data without manager",
        "members": ["d-0", "d-1"],
    }
    assert order_of(planner.plan(groups={"search": sorted(ROLES)}, allow_quorum_loss=True)) == order_of(result)


def test_the_digest_stays_while_the_plan_is_carried_out(planner: Planner) -> None:
    hosts = {"search": sorted(ROLES)}
    first = planner.plan(groups=hosts, allow_quorum_loss=True)["digest"]
    planner.state = state_of({**without("d-0"), "d-1": "3.8.0"})
    broken = planner.plan(groups=hosts, allow_quorum_loss=True)
    assert (broken["digest"], broken["broken"], order_of(broken)) == (first, ["d-0"], ["d-0", "b-0", "m-0"])
    fewer = planner.plan(groups={"search": sorted(without("d-1"))}, allow_quorum_loss=True)
    assert fewer["digest"] != first


def of_managers(count: int, voters: Sequence[str]) -> tuple[dict[str, list[str]], ClusterState]:
    """As many data members as managers, of whom some vote and the first is elected: groups, and the cluster."""
    groups = {"data": [f"d-{n}" for n in range(count)], "managers": [f"m-{n}" for n in range(count)]}
    members = {name: info(name, roles=DATA) for name in groups["data"]}
    members |= {name: info(name, roles=MANAGER) for name in groups["managers"]}
    copies = [copy("logs", name, primary=name == "d-0") for name in groups["data"]]
    return groups, cluster(members, copies, elected="m-0", voting=coordination(voters))


@pytest.mark.parametrize(
    ("params", "state", "codes"),
    [
        ({}, "passed", ["only_voter_hands_over"]),
        ({"hand_over": False}, "refused", ["no_majority"]),
        ({"hand_over": False, "allow_quorum_loss": True}, "passed", ["no_majority"]),
    ],
)
def test_two_managers_on_hosts_need_no_consent_where_one_hands_over(
    planner: Planner, params: Mapping[str, Any], state: str, codes: list[str]
) -> None:
    hosts, planner.state = of_managers(2, ["m-0"])
    result = planner.plan(groups=hosts, **params)
    assert (result["verdict"]["state"], [each["code"] for each in result["verdict"]["reasons"]]) == (state, codes)
    assert result["batches"][-1]["reason"].endswith("hands over first") is params.get("hand_over", True)
    assert (result["digest"] == planner.plan(groups=hosts)["digest"]) is (not params)


@pytest.mark.parametrize(
    ("params", "last"), [({}, [["d-1", "m-1"], ["d-0", "m-0"]]), ({"hand_over": False}, [["d-0"], ["m-0"]])]
)
def test_on_hosts_an_elected_manager_that_hands_over_shares_the_last_batch(
    planner: Planner, params: Mapping[str, Any], last: list[list[str]]
) -> None:
    hosts, planner.state = of_managers(3, ["m-0", "m-1", "m-2"])
    result = planner.plan(groups=hosts, batching="disjoint", max_unavailable="1", **params)
    assert [batch["members"] for batch in result["batches"]][-2:] == last


@pytest.mark.parametrize("given", [{}, {"namespace": "search", "groups": GROUPS}])
def test_either_a_namespace_or_groups_are_given(planner: Planner, given: dict[str, Any]) -> None:
    result = planner.plan(**given)
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["namespace_or_groups"]


@pytest.mark.parametrize("names", [None, "d-0", 5, {"d-0": None}, ["d-0", None], [["d-0"]]])
def test_a_group_without_a_list_of_names_is_refused_in_one_sentence(planner: Planner, names: Any) -> None:
    result = planner.plan(groups={"data": names})
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["groups_unreadable"]
    assert "Group data of groups has" in result["msg"]
