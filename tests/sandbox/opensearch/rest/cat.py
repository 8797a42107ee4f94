"""The tables of `_cat`, as texts or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.sandbox.opensearch.allocation import store_of
from tests.sandbox.opensearch.health import health
from tests.sandbox.opensearch.rest.indices import find
from tests.sandbox.opensearch.rest.routes import NAMING, Call, Route, answered
from tests.sandbox.web import Answer

Row = Mapping[str, Any]
RIGHT = frozenset({"docs", "store"})
"""Columns that are written to the right."""


def _table(call: Call, columns: Sequence[str], rows: Sequence[Row]) -> Answer:
    wanted = call.text("h").split(",") if call.text("h") else list(columns)
    if call.text("format") == "json":
        return answered([{name: row.get(name) for name in wanted} for row in rows])
    texts = [[str(row.get(name) if row.get(name) is not None else "") for name in wanted] for row in rows]
    lines = [wanted, *texts] if call.flag("v") else texts
    widths = [max((len(line[number]) for line in lines), default=0) for number in range(len(wanted))]
    shown = [" ".join(_cell(name, text, width) for name, text, width in zip(wanted, line, widths, strict=True))
             for line in lines]  # fmt: skip
    return Answer(200, "".join(f"{line.rstrip()}\n" for line in shown), {"Content-Type": "text/plain; charset=UTF-8"})


def _cell(name: str, text: str, width: int) -> str:
    return text.rjust(width) if name in RIGHT else text.ljust(width)


def _manager(call: Call) -> Answer:
    found = call.state.manager
    assert found is not None
    row = {"id": found.id, "host": found.spec.address, "ip": found.spec.address, "node": found.name}
    return _table(call, ("id", "host", "ip", "node"), [row])


def _rows(call: Call) -> Iterator[Row]:
    nodes = call.state.nodes
    for index in find(call):
        for copy in index.copies:
            node, store = nodes.get(copy.node or ""), store_of(call.state, copy)
            name = node.name if node else None
            if node and copy.target:
                target = nodes[copy.target]
                name = f"{node.name} -> {target.spec.address} {target.id} {target.name}"
            yield {
                "index": index.name,
                "shard": str(copy.shard),
                "prirep": "p" if copy.primary else "r",
                "state": copy.state,
                "docs": str(len(store.documents)) if store and copy.started else None,
                "store": "208b" if store and copy.started else None,
                "ip": node.spec.address if node else None,
                "node": name,
                "unassigned.reason": copy.why.reason if copy.why else None,
            }


def _shards(call: Call) -> Answer:
    return _table(call, ("index", "shard", "prirep", "state", "docs", "store", "ip", "node"), list(_rows(call)))


def _nodes(call: Call) -> Answer:
    rows = [
        {
            "ip": node.spec.address,
            "node.role": "".join(sorted(role[0] for role in node.spec.roles)) or "-",
            "node.roles": ",".join(sorted(node.spec.roles)) or "-",
            "cluster_manager": "*" if node.id == call.state.elected else "-",
            "version": str(node.version),
            "name": node.name,
        }
        for node in call.state.nodes.values()
    ]
    return _table(call, ("ip", "node.role", "node.roles", "cluster_manager", "name"), rows)


def _health(call: Call) -> Answer:
    found = health(call.state, "", "cluster")
    row = {"cluster": found["cluster_name"], "status": found["status"], "node.total": str(found["number_of_nodes"])}
    return _table(call, ("cluster", "status", "node.total"), [row])


def _segments(call: Call) -> Answer:
    """No replica lags: what is written is in all copies that serve."""
    return _table(call, ("shardId", "target_node", "target_host", "checkpoints_behind"), [])


_HOW = NAMING | {"h", "v", "s", "help", "local", "bytes", "time", "master_timeout", "cluster_manager_timeout"}
ROUTES = (
    Route(("GET",), "/_cat/cluster_manager", _manager, _HOW),
    Route(("GET",), "/_cat/master", _manager, _HOW),
    Route(("GET",), "/_cat/shards", _shards, _HOW),
    Route(("GET",), "/_cat/shards/{index}", _shards, _HOW),
    Route(("GET",), "/_cat/nodes", _nodes, _HOW),
    Route(("GET",), "/_cat/segment_replication", _segments, _HOW),
    Route(("GET",), "/_cat/health", _health, _HOW),
)
