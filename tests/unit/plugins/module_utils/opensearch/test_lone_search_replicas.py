"""A search replica that is alone: what is said of it, and what helps."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.policy import Policy
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import judge_batch, judge_consent
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import cluster, copy


@pytest.mark.parametrize("allowed", [frozenset(), frozenset({"i"})], ids=["refused", "allowed"])
def test_a_lone_search_replica_is_named_as_such(allowed: frozenset[str]) -> None:
    """A replica would be none: the index has one, and searches do not go to it."""
    copies = [copy("i", "a", search_only=True), copy("i", "b", primary=True), copy("i", "c")]
    state = cluster("abc", copies)
    policy = Policy(allow_single_copy=allowed)
    for verdict in (judge_batch(state, ["a"], policy), judge_consent(state, ["a"], policy)):
        (reason,) = verdict.reasons
        assert (reason.code, reason.state is State.PASSED) == ("single_copy", bool(allowed))
        assert reason.message.startswith("The only search replica of i[0] is on a")
        assert ("number_of_search_replicas" in reason.remedy) is not bool(allowed)
