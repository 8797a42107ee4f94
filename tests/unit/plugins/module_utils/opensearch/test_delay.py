# SPDX-License-Identifier: GPL-3.0-or-later
"""The cases in which the servers can be made to wait for a member instead of restricting allocation."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.delay import choose, seconds_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    copy,
    identity,
    index_metadata,
    info,
    state_answer,
)


def cluster(versions: str, own: str | None = None, replicas: str = "1") -> ClusterState:
    settings: dict[str, Any] = {"unassigned": {"node_left": {"delayed_timeout": own}}} if own else {}
    nodes = {identity(name): info(name, version) for name, version in zip("abc", versions.split(), strict=False)}
    indices = {"logs": index_metadata(number_of_replicas=replicas, **settings)}
    return parse_state(nodes, state_answer("abc", [copy("logs", "a", primary=True)], elected="a", indices=indices))


@pytest.mark.parametrize(
    ("state", "only", "delays", "codes"),
    [
        (cluster("3.8.0 3.8.0 3.9.0"), False, True, []),
        (cluster("3.8.0 3.8.0 3.9.0"), True, True, []),
        (cluster("3.8.0 3.7.0 3.9.0"), False, False, []),
        (cluster("3.8.0 3.7.0 3.9.0"), True, False, ["delay_unknown"]),
        (cluster("3.8.0 3.8.0 3.8.0", "30s"), False, False, ["delay_shorter"]),
        (cluster("3.8.0 3.8.0 3.8.0", "30s"), True, True, ["delay_shorter"]),
        (cluster("3.8.0 3.8.0 3.8.0", "30s", replicas="0"), False, True, []),
        (cluster("3.8.0 3.8.0 3.8.0", "2h"), False, True, []),
        (cluster("3.8.0 3.8.0 3.8.0", "soon"), False, False, ["delay_shorter"]),
    ],
)
def test_the_delay_is_chosen_where_it_holds_for_all(
    state: ClusterState, only: bool, delays: bool, codes: list[str]
) -> None:
    chosen, said = choose(state, "1h", only=only)
    assert (chosen, [reason.code for reason in said.reasons]) == (delays, codes)
    assert said.passed is ("delay_unknown" not in codes)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("-1", 0), ("0ms", 0), ("90s", 90), ("1.5h", 5400), ("1D", 86400), ("500ms", 0.5)]
)
def test_times_of_the_servers(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10", "1 hour", "h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(Refusal) as caught:
        choose(cluster("3.8.0 3.8.0 3.8.0"), text, only=False)
    assert [reason.code for reason in caught.value.verdict.reasons] == ["delay_unreadable"]
