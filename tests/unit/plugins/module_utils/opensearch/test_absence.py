"""The health of the cluster while members are away: it is seen in a look that is made anyway."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.absence import Absence, worst_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.routing import health_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

HELD, ELSEWHERE, LOST = copy("i", "a", primary=True), copy("i", "c"), copy("i", None)


def away(*copies: Json) -> Servers:
    """Three members, of which b is away."""
    client = Servers(state=state_answer("abc", list(copies), elected="a"))
    del client.state["nodes"][identity("b")]
    return client


def test_the_first_look_sees_the_health_and_costs_no_request_more() -> None:
    client: Any = away(HELD, LOST)
    absence = Absence(client)
    assert [sorted(absence.look(["a", "b"])) for _look in range(2)] == [["a"], ["a"]]
    assert absence.as_result() == {"health_away": "yellow"}
    asked = [path.partition("?")[0] for _method, path in client.asked]
    paths = ["/_cluster/state/nodes,routing_table", "/_nodes/_all/_none", "/_cluster/state/nodes", "/_nodes/_all/_none"]
    assert asked == paths


def test_while_all_of_them_are_away_no_member_is_asked() -> None:
    client: Any = away(HELD, LOST)
    assert Absence(client, health=False).look(["b"]) == {}
    assert [path.partition("?")[0] for _method, path in client.asked] == ["/_cluster/state/nodes"]


def test_a_look_without_health_asks_for_none() -> None:
    client: Any = away(HELD, LOST)
    absence = Absence(client, health=False)
    absence.look(["a"])
    assert absence.as_result() == {}
    assert "routing_table" not in client.asked[0][1]


@pytest.mark.parametrize(
    ("copies", "health"),
    [
        ([HELD, ELSEWHERE], "green"),
        ([HELD, LOST], "yellow"),
        ([{**HELD, "state": "RELOCATING"}, {**ELSEWHERE, "state": "INITIALIZING"}], "yellow"),
        ([{**LOST, "primary": True}, LOST], "red"),
        ([{**LOST, "primary": True, "unassigned_info": {"reason": "INDEX_CREATED"}}], "yellow"),
        ([{**HELD, "state": "SLEEPING"}, LOST], ""),
    ],
)
def test_the_health_is_that_of_the_copies(copies: list[Json], health: str) -> None:
    assert health_of({"indices": {"i": {"shards": {"0": copies}}, "j": {"shards": {"0": [HELD]}}}}) == health


@pytest.mark.parametrize("strange", [None, 7, [], {"indices": 7}, {"indices": {"i": {}}}])
def test_a_table_that_cannot_be_read_says_nothing(strange: Any) -> None:
    assert health_of(strange) == ""


def test_of_several_parts_the_worst_health_counts() -> None:
    assert worst_of([{"health_away": "green"}, {}, {"health_away": "red"}, {"health_away": "yellow"}]) == {
        "health_away": "red"
    }
    assert worst_of([{}, {}]) == {}
