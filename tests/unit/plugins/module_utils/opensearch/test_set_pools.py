# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools behind StatefulSets: whether pods and members fit together."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod as parsed
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.state import Pod
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.set_pools import Seen, judge_membership
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import cluster, info


def at(name: str, address: str, **changes: Any) -> Pod:
    item = pod_json(name, f"uid-{name}", **changes)
    item["status"]["podIP"] = address
    return parsed(item)


def seen(members: dict[str, str], pods: list[Pod]) -> Seen:
    """A pool of two, and the members with their addresses."""
    state = cluster({name: {**info(name), "ip": ip} for name, ip in members.items()})
    return Seen((pool(replicas=2),), {"data": tuple(pods)}, state, tuple(pods))


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
        # Both differ: whether x is data-1 cannot be told, so nothing may be taken for being away.
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
