"""The Kubernetes nodes that may be away at once while OpenShift updates the control plane."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.health import judge_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.order import (
    away_with_control_plane,
    turns,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import OpenShift

from tests.unit.plugins.module_utils.openshift.seen import NEW, node, openshift, pool, under_way
from tests.unit.plugins.module_utils.run.test_away_sets import listed

TARGET = Release.parse(NEW)
MASTERS = ("m-0", "m-1", "m-2")


def labelled(limits: dict[str, int] | None = None, **pools: tuple[str, ...]) -> OpenShift:
    """An OpenShift with these further pools, which go with the control plane; `limits` are their `maxUnavailable`."""
    seen, most = openshift(), limits or {}
    nodes = {name: node(name) for names in pools.values() for name in names}
    known = {**seen.pools, **{name: pool(name, required=True) for name in pools}}
    known = {name: replace(each, max_unavailable=most.get(name, 1)) for name, each in known.items()}
    return replace(seen, pools=known, nodes={**seen.nodes, **nodes}, members={**seen.members, **pools})


@pytest.mark.parametrize(
    ("seen", "away"),
    [
        (labelled(), "m-0, m-1, m-2"),
        (labelled({"master": 2}), "m-0 m-1, m-0 m-2, m-1 m-2"),
        (labelled(infra=("i-0", "i-1")), "i-0 m-0, i-0 m-1, i-0 m-2, i-1 m-0, i-1 m-1, i-1 m-2"),
        (labelled({"infra": 2}, infra=("i-0",)), "i-0 m-0, i-0 m-1, i-0 m-2"),
        (labelled({"arbiter": 2}, arbiter=("a-0", "a-1")), "a-0, a-1, m-0, m-1, m-2"),
        (labelled(arbiter=("a-0",), infra=("i-0",)), "a-0 i-0, i-0 m-0, i-0 m-1, i-0 m-2"),
    ],
)
def test_one_of_each_pool_may_be_away_at_once_but_no_arbiter_with_a_master(seen: OpenShift, away: str) -> None:
    found = {" ".join(sorted(each)) for each in listed(away_with_control_plane(seen))}
    assert ", ".join(sorted(found)) == away


def test_of_large_pools_each_number_that_goes_at_once_is_kept() -> None:
    """There are more than 10^12 sets of them."""
    names = tuple(f"i-{number:03}" for number in range(500))
    away = away_with_control_plane(labelled({"infra": 6}, infra=names[:400], logs=names[400:]))
    assert away.has(["m-0", *names[:6], names[400]])
    assert not away.has(names[:7])
    assert not away.has(["m-0", "m-1"])
    assert not away.has(names[400:402])


@pytest.mark.parametrize(
    ("most", "masters", "codes", "said"),
    [
        (1, MASTERS, [], "go one by one"),
        (0, MASTERS, [], "go one by one"),
        ("50%", MASTERS, [], "go one by one"),
        (2, MASTERS, ["pool_limit_of_control_plane"], "go 2 at a time"),
        (2, (*MASTERS, "m-3", "m-4"), [], "go 2 at a time"),
        (3, (*MASTERS, "m-3", "m-4"), ["pool_limit_of_control_plane"], "go 3 at a time"),
        (2, ("m-0",), [], "its only Kubernetes node"),
    ],
)
def test_as_many_masters_go_at_once_as_their_pool_lets_go(
    most: Any, masters: tuple[str, ...], codes: list[str], said: str
) -> None:
    seen = openshift()
    pools = {**seen.pools, "master": pool("master", required=True, max_unavailable=most)}
    nodes = {**seen.nodes, **{name: node(name) for name in masters}}
    seen = replace(seen, pools=pools, nodes=nodes, members={**seen.members, "master": masters})
    assert [each.code for each in judge_pools(seen, TARGET).reasons] == codes
    assert said in str(turns(seen, TARGET)[0].proof)
    assert not judge_pools(replace(seen, version=under_way("Completed")), TARGET).reasons


def test_of_two_masters_the_other_one_alone_has_etcd_unless_there_is_an_arbiter() -> None:
    """Two Kubernetes nodes with fencing, or with an arbiter."""
    two = replace(openshift(), members={**openshift().members, "master": ("m-0", "m-1")})
    assert "each time the other one alone has etcd, which needs fencing" in str(turns(two, TARGET)[0].proof)
    three = labelled(arbiter=("a-0",))
    three = replace(three, members={**three.members, "master": ("m-0", "m-1")})
    assert "so that etcd keeps its majority" in str(turns(three, TARGET)[0].proof)
