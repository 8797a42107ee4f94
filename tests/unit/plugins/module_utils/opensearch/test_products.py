"""Elasticsearch, where it differs from OpenSearch: who its members are, who may join, who may be elected."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.admission import admits, judge_left
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.named_pools import pools_named
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.quorum import successors
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.products import (
    ELASTICSEARCH,
    OPENSEARCH,
    product_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    identity,
    index_metadata,
    info,
)

ROLES = {"m": ("master", "data"), "d": ("data",), "v": ("master", "voting_only"), "c": ()}
"""By the first letter of a member's name."""


def state_of(versions: Mapping[str, str], **indices: Json) -> ClusterState:
    members = {
        name: {**info(name, version, ROLES[name[0]]), "build_flavor": "default"} for name, version in versions.items()
    }
    voters = coordination(name for name in versions if name[0] in "mv")
    return cluster(members, voting=voters, indices=indices)


@pytest.mark.parametrize(
    ("oldest", "product", "field"),
    [
        ("1.3.20", OPENSEARCH, "master_node"),
        ("2.0.0", OPENSEARCH, "cluster_manager_node"),
        ("3.8.0", OPENSEARCH, "cluster_manager_node"),
        ("7.10.2", ELASTICSEARCH, "master_node"),
        ("8.19.4", ELASTICSEARCH, "master_node"),
        ("9.2.0", ELASTICSEARCH, "master_node"),
    ],
)
def test_the_field_of_the_elected_manager(oldest: str, product: object, field: str) -> None:
    version = Version.parse(oldest)
    assert product_of(version) is product
    assert product_of(version).elected_in(version) == field


@pytest.mark.parametrize(
    ("oldest", "path"),
    [("7.5.2", "_flush/synced"), ("7.6.0", "_flush"), ("8.19.4", "_flush"), ("1.3.20", "_flush"), ("3.8.0", "_flush")],
)
def test_the_flush_before_a_member_goes(oldest: str, path: str) -> None:
    version = Version.parse(oldest)
    assert product_of(version).flush_of(version) == path


def test_the_members_say_which_server_they_are() -> None:
    state = state_of({"m-0": "8.19.4"})
    assert (state.product, str(state.named("m-0").version)) == (ELASTICSEARCH, "8.19.4")  # type: ignore[union-attr]
    # Its own number shows it for a while; from 10 on only the field does.
    assert state_of({"m-0": "10.0.0"}).product is ELASTICSEARCH
    assert cluster({"m-0": info("m-0", "10.0.0")}).product is OPENSEARCH


@pytest.mark.parametrize(
    ("present", "version", "expected"),
    [
        (("8.18.0", "8.19.4"), "8.18.0", True),
        (("8.19.4", "8.19.4"), "8.18.0", False),  # OpenSearch would let it join
        (("8.19.4", "8.19.4"), "8.19.4", True),
        (("8.18.0", "8.18.0"), "8.19.4", True),
    ],
)
def test_a_member_older_than_all_others_may_not_join(present: tuple[str, str], version: str, expected: bool) -> None:
    state = state_of({f"m-{number}": each for number, each in enumerate(present)})
    assert admits(state, Version.parse(version)) is expected


def test_a_narrowed_plan_takes_consent_within_a_major_version_too() -> None:
    state = state_of({"m-0": "8.18.0", "d-0": "8.18.0", "c-0": "8.18.0"})
    pools = pools_named({"m": ["m-0"], "d": ["d-0"], "c": ["c-0"]}, state, "")
    (reason,) = judge_left(state, pools, ["m-0", "d-0"], Version.parse("8.19.4"), allowed=False).reasons
    assert (reason.code, reason.state) == ("left_behind", State.REFUSED)
    assert reason.message.endswith("Once stopped, it can no longer join.")
    (said,) = judge_left(state, pools, ["m-0", "d-0"], Version.parse("8.19.4"), allowed=True).reasons
    assert said.state is State.PASSED


def test_nobody_hands_over_to_a_member_that_only_votes() -> None:
    state = state_of({"m-0": "8.19.4", "m-1": "8.19.4", "v-0": "8.19.4"})
    assert state.elected == identity("m-0")
    assert successors(state, frozenset({identity("m-0")})) == {identity("m-1")}
    alone = state_of({"m-0": "8.19.4", "v-0": "8.19.4", "v-1": "8.19.4"})
    assert successors(alone, frozenset({identity("m-0")})) == frozenset()
    assert alone.named("v-0").serves == frozenset()  # type: ignore[union-attr]


@pytest.mark.parametrize(("verified", "expected"), [("true", True), ("false", False)])
def test_an_index_says_that_it_can_only_be_read(verified: str, expected: bool) -> None:
    metadata = {**index_metadata(7172999), "state": "close"}
    metadata["settings"]["index"]["verified_read_only"] = verified
    state = state_of({"m-0": "8.19.4"}, old=metadata)
    assert (str(state.indices["old"].created), state.indices["old"].verified) == ("7.17.29", expected)
