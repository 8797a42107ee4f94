"""The pods that represent members, and the consequences for a batch of pods that go or that no member knows."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod as parsed
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pods import judge_pods
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.standing import (
    PodsOfMembers,
    judge_addresses,
    judge_leaving,
    judge_recognised,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import (
    pod_json,
    terminated,
    waiting,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import cluster, info

ENDED = {"ready": False, "containers": [terminated(137)]}


def members(**addresses: str) -> ClusterState:
    """A cluster of these members, by name with underscores in the place of dashes."""
    return cluster(
        {name.replace("_", "-"): {**info(name.replace("_", "-")), "ip": ip} for name, ip in addresses.items()}
    )


def at(name: str, address: str = "", **changes: Any) -> Pod:
    item = pod_json(name, f"uid-{name}", **changes)
    item["status"]["podIP"] = address
    return parsed(item)


@pytest.mark.parametrize(
    ("state", "pods", "expected"),
    [
        ({"a_0": "10.0.0.1"}, [("a-0", "10.0.0.1")], ["a-0"]),
        # Behind a translation of addresses the name is enough.
        ({"a_0": "192.0.2.1"}, [("a-0", "10.0.0.1")], ["a-0"]),
        ({"x": "10.0.0.1"}, [("a-0", "10.0.0.1")], ["x"]),
        ({"x": "192.0.2.1"}, [("a-0", "10.0.0.1")], [None]),
        # Two with each other's names.
        (
            {"a_0": "10.0.0.2", "a_1": "10.0.0.1"},
            [("a-0", "10.0.0.1"), ("a-1", "10.0.0.2")],
            ["a-1", "a-0"],
        ),
        # On the host's network, both up, and one of them down.
        ({"a_0": "10.0.0.1", "a_1": "10.0.0.1"}, [("a-0", "10.0.0.1"), ("a-1", "10.0.0.1")], ["a-0", "a-1"]),
        ({"a_1": "10.0.0.1"}, [("a-0", "10.0.0.1"), ("a-1", "10.0.0.1")], [None, "a-1"]),
        ({}, [("a-0", "")], [None]),
    ],
)
def test_a_pod_stands_for_the_member_of_its_name_or_the_one_at_its_address(
    state: dict[str, str], pods: list[tuple[str, str]], expected: list[str | None]
) -> None:
    seen = [at(*pod) for pod in pods]
    standing = PodsOfMembers(members(**state), seen)
    assert [found.name if found else None for found in map(standing.of, seen)] == expected


@pytest.mark.parametrize(
    ("state", "pods", "differ"),
    [
        ({"a_0": "192.0.2.1", "a_1": "192.0.2.2"}, [("a-0", "10.0.0.1"), ("a-1", "10.0.0.2")], True),
        # The address of another member is no sign of the same cluster.
        ({"a_0": "10.0.0.2", "a_1": "192.0.2.2"}, [("a-0", "10.0.0.1"), ("a-1", "10.0.0.2")], True),
        # One has just come back, or publishes another address.
        ({"a_0": "192.0.2.1", "a_1": "10.0.0.2"}, [("a-0", "10.0.0.1"), ("a-1", "10.0.0.2")], False),
        ({"a_0": "fd00::1"}, [("a-0", "10.0.0.1")], False),
        ({"x": "192.0.2.1"}, [("a-0", "10.0.0.1")], False),
        ({"a_0": "192.0.2.1"}, [("a-0", "")], False),
    ],
)
def test_pods_that_have_only_the_names_of_members_may_be_those_of_another_cluster(
    state: dict[str, str], pods: list[tuple[str, str]], differ: bool
) -> None:
    seen = [at(*pod) for pod in pods]
    verdict = judge_addresses(members(**state), seen, named=False)
    assert [reason.code for reason in verdict.reasons] == (["address_differs"] if differ else [])
    assert verdict.state is (State.REFUSED if differ else State.PASSED)
    # Pools that the user names are believed.
    assert judge_addresses(members(**state), seen, named=True).passed


def test_the_address_of_a_pod_that_has_ended_may_be_another_ones_by_now() -> None:
    seen = [at("a-0", "10.0.0.1", phase="Failed"), at("web-x", "10.0.0.1")]
    standing = PodsOfMembers(members(web="10.0.0.1"), seen)
    assert standing.of(seen[0]) is None
    assert standing.strangers() == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"terminating": True}, "is being deleted"),
        ({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}, "has ended (Evicted: The"),
        ({"phase": "Succeeded", "ready": False}, "has ended (Succeeded)"),
        (ENDED, "has no running container"),
        ({"ready": False, "containers": [waiting("ContainerCreating")]}, "has no running container"),
        ({"ready": False}, ""),
        ({}, ""),
    ],
)
def test_a_member_whose_pod_goes_does_not_count_as_staying_in_whatever_pool(changes: dict[str, Any], said: str) -> None:
    state = members(data_a_1="10.0.0.1", data_b_0="10.0.0.2")
    pods = [at("data-a-1", "10.0.0.1"), at("data-b-0", "10.0.0.2", owner="another-set", **changes)]
    verdict = judge_leaving(state, pods, ["data-a-1"])
    assert verdict.state is (State.WAITING if said else State.PASSED)
    assert [(reason.code, f"Pod data-b-0 {said}" in reason.message) for reason in verdict.reasons] == [
        ("member_leaving", True)
    ] * bool(said)


def test_pods_of_the_batch_and_of_no_member_may_go() -> None:
    state = members(a_0="10.0.0.1", a_1="10.0.0.2")
    pods = [at("a-0", "10.0.0.1", terminating=True), at("web-1", "10.0.0.9", terminating=True)]
    assert judge_leaving(state, pods, ["a-0"]).passed
    called = [at("pod-of-a-1", "10.0.0.2", terminating=True)]
    (reason,) = judge_leaving(state, called, ["a-0"]).reasons
    assert "Pod pod-of-a-1 with the member a-1 is being deleted" in reason.message


def test_a_batch_that_is_away_is_cured_whoever_else_goes() -> None:
    state = members(a_1="10.0.0.2")
    pods = [at("a-0", "10.0.0.1", ready=False), at("a-1", "10.0.0.2", terminating=True)]
    assert judge_pods(state, pods, ["a-0"]).passed
    assert judge_pods(state, pods, ["a-0", "a-1"]).passed
    assert judge_pods(members(a_0="10.0.0.1", a_1="10.0.0.2"), pods, ["a-0"]).state is State.WAITING


@pytest.mark.parametrize(
    ("state", "changes", "held"),
    [
        # The member is called otherwise, and answers at another address: as seen before, or for the first time.
        ({"x": "192.0.2.1", "a_1": "10.0.0.2"}, {}, True),
        ({"x": "192.0.2.1", "a_1": "10.0.0.2"}, {"ready": False}, False),
        ({"x": "192.0.2.1", "a_1": "10.0.0.2"}, {"terminating": True}, False),
        ({"a_1": "10.0.0.2"}, {}, False),
        ({"a_0": "192.0.2.1", "a_1": "10.0.0.2"}, {}, False),
        ({"x": "10.0.0.1", "a_1": "10.0.0.2"}, {}, False),
    ],
)
def test_a_ready_pod_that_no_member_knows_holds_its_batch_up_while_there_are_members_without_a_pod(
    state: dict[str, str], changes: dict[str, Any], held: bool
) -> None:
    """It may be out of the cluster for only a short time, so it is waited for. A plan is refused, and made again."""
    pods = [at("a-0", "10.0.0.1", **changes), at("a-1", "10.0.0.2")]
    verdict = judge_pods(members(**state), pods, ["a-0"])
    assert [(reason.code, reason.state) for reason in verdict.reasons] == [
        ("member_unrecognised", State.WAITING)
    ] * held
    if held:
        assert "they are Ready: a-0; and it has members that no pod stands for: x." in verdict.reasons[0].message
    planned = judge_recognised(members(**state), pods, pods)
    assert [reason.state for reason in planned.reasons] == [State.REFUSED] * held


def test_only_the_pods_asked_for_are_named_and_all_pods_can_stand_for_members() -> None:
    state = members(x="192.0.2.1", elsewhere="10.0.0.9")
    pods = [at("a-0", "10.0.0.1"), at("b-0", "10.0.0.2"), at("pod-of-elsewhere", "10.0.0.9")]
    (reason,) = judge_recognised(state, pods[:1], pods).reasons
    assert "b-0" not in reason.message
    assert "elsewhere" not in reason.message
