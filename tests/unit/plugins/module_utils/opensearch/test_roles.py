"""Roles that some member has to serve while a batch is away: in the proof, and in the plan of a whole cluster."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import Cutting, batches_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.named_pools import pools_named
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import order_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.proof import placement_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_batch
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    info,
)

Roles = tuple[str, ...]
COORDINATES: Roles = ()
LONE, TOGETHER = ("role_unserved", State.PASSED), ("role_in_batch", State.REFUSED)


def state_of(**roles: Roles) -> ClusterState:
    """Members with these roles, and an elected manager `m`."""
    members = {name: info(name, roles=own) for name, own in roles.items()}
    return cluster({"m": info("m", roles=["cluster_manager"]), **members}, voting=coordination("m"))


@pytest.mark.parametrize(
    ("a", "b", "batch", "expected"),
    [
        (("ingest",), ("ingest",), "ab", [TOGETHER]),
        (("ingest",), ("ingest",), "a", []),
        (("ingest",), ("ingest", "data"), "a", []),
        (("ingest",), ("data",), "a", [LONE]),
        (("ml", "ingest"), ("ml",), "ab", [LONE, TOGETHER]),
        (("search",), ("warm",), "ab", [LONE, LONE]),
        (("custom",), ("custom",), "ab", [TOGETHER]),
        (("data",), ("data",), "ab", []),
        (COORDINATES, COORDINATES, "ab", [TOGETHER]),
        (COORDINATES, ("remote_cluster_client",), "ab", [TOGETHER]),
        (COORDINATES, ("remote_cluster_client", "data"), "ab", [LONE]),
        (COORDINATES, ("ingest",), "a", [LONE]),
    ],
)
def test_of_several_that_serve_a_role_one_stays(
    a: Roles, b: Roles, batch: str, expected: list[tuple[str, State]]
) -> None:
    verdict = judge_batch(state_of(a=a, b=b), batch, Policy())
    assert [(reason.code, reason.state) for reason in verdict.reasons] == expected


def test_the_sentences_name_role_and_members() -> None:
    both = judge_batch(state_of(a=("ml",), b=("ml",)), "ab", Policy())
    assert [reason.message for reason in both.reasons] == ["Every member with the role ml is in the batch: a, b."]
    alone = judge_batch(state_of(a=COORDINATES), "a", Policy())
    assert [reason.message for reason in alone.reasons] == [
        "While a is away, the cluster has no member that only coordinates."
    ]


@pytest.mark.parametrize("role", ["ingest", "ml", "search", "warm", None])
@pytest.mark.parametrize("away", ["", "c"])
def test_members_of_different_pools_that_serve_one_role_do_not_all_go_at_once(role: str | None, away: str) -> None:
    """One that is away comes back first, and serves again as its pool does: it counts as staying, and as going."""
    own = (role,) if role else COORDINATES
    there = {name: own for name in "abcd" if name not in away}
    state = state_of(**there)
    groups = {"first": ["a", "c"], "second": ["b"], "third": ["d"], "managers": ["m"]}
    pools = order_pools(pools_named(groups, state, "zone"))
    target, cutting = Version(2, 19, 7), Cutting("disjoint")
    batches = [
        batch for batch in batches_of(pools, target, (), cutting, placement_of(state, pools)) if not batch.brings_back
    ]
    steps = [set(batch.members) & set("abcd") for batch in batches]
    assert set().union(*steps) == set("abcd")
    assert not any(set("abcd") <= step for step in steps)
    whole = state_of(**dict.fromkeys("abcd", own))
    assert all(judge_batch(whole, step, Policy()).passed for step in steps)
