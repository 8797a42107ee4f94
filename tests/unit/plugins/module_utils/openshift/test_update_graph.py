"""The reading of an answer of the Cincinnati protocol, as the cluster version operator reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.reading import Unreadable
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.update_graph import (
    NOT_EVALUATED,
    graph_in,
)

from tests.sandbox.openshift.asking import GRAPH, NEXT
from tests.sandbox.openshift.update_service import graph_answer
from tests.sandbox.web import Request

NODES = [{"version": version, "payload": f"image:{version}"} for version in ("4.18.1", "4.18.2", "4.19.0")]
RISKY = {"edges": [{"from": "4.18.1", "to": "4.19.0"}], "risks": [{"name": "SlowPods", "message": "m", "url": "u"}]}


def answer(**other: Any) -> str:
    return json.dumps({"nodes": NODES, "edges": [[0, 1], [0, 2]], **other})


def test_edges_are_places_in_the_list_of_nodes() -> None:
    found = graph_in(NEXT, answer())
    assert found.edges == {("4.18.1", "4.18.2"), ("4.18.1", "4.19.0")}
    assert {each: update.image for each, update in found.updates("4.18.1").items()} == {
        "4.18.2": "image:4.18.2",
        "4.19.0": "image:4.19.0",
    }
    assert found.updates("4.18.2") == {}


def test_a_conditional_edge_is_no_plain_one_and_none_if_it_is_there_twice() -> None:
    found = graph_in(NEXT, answer(conditionalEdges=[RISKY])).updates("4.18.1")
    assert [each.name for each in found["4.19.0"].risks] == ["SlowPods"]
    assert found["4.19.0"].recommended is NOT_EVALUATED
    assert "4.19.0" not in graph_in(NEXT, answer(conditionalEdges=[RISKY, RISKY])).updates("4.18.1")


@pytest.mark.parametrize(
    "other",
    [
        {"edges": [[0, 3]]},
        {"edges": [[0, -1]]},
        {"edges": [[0]]},
        {"edges": [[True, 1]]},
        {"edges": None},
        {"nodes": None},
        {"nodes": [{"version": "4.18.1"}]},
        {"conditionalEdges": [{**RISKY, "edges": [{"from": "4.18.1", "to": "4.20.0"}]}]},
        {"conditionalEdges": [{**RISKY, "risks": []}]},
        {"conditionalEdges": [{**RISKY, "risks": [{}]}]},
    ],
)
def test_anything_else_is_no_graph(other: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        graph_in(NEXT, answer(**other))


def test_the_answer_of_the_service_is_read_whole() -> None:
    request = Request("GET", "/graph", {"channel": NEXT}, None, {"Accept": "application/json"})
    found = graph_in(NEXT, graph_answer(GRAPH, request).text)
    assert [*found.images] == ["4.18.2", "4.18.3", "4.19.0"]
    assert {*found.updates("4.18.2")} == {"4.18.3", "4.19.0"}
