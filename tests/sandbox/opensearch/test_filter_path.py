"""`filter_path`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.opensearch.filter_path import filtered

BODY = {
    "nodes": {"x": {"name": "a", "os": {"name": "linux"}}, "y": {"name": "b", "roles": ["data"]}},
    "shards": [{"state": "STARTED", "node": "x"}, {"state": "UNASSIGNED", "node": None}],
    "version": 7,
}


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        ("version", {"version": 7}),
        ("nothing", {}),
        ("nodes.*.name", {"nodes": {"x": {"name": "a"}, "y": {"name": "b"}}}),
        ("nodes.x", {"nodes": {"x": BODY["nodes"]["x"]}}),  # type: ignore[index]
        ("nodes.*.roles,version", {"nodes": {"y": {"roles": ["data"]}}, "version": 7}),
        ("shards.node", {"shards": [{"node": "x"}, {"node": None}]}),
        ("**.name", {"nodes": {"x": {"name": "a", "os": {"name": "linux"}}, "y": {"name": "b"}}}),
        ("ver*", {"version": 7}),
        ("-nodes,-version", {"shards": BODY["shards"]}),
        ("nodes,-nodes.*.os,-**.roles", {"nodes": {"x": {"name": "a"}, "y": {"name": "b"}}}),
        ("", BODY),
    ],
)
def test_the_wanted_parts_are_left(paths: str, wanted: Any) -> None:
    assert filtered(BODY, paths) == wanted
