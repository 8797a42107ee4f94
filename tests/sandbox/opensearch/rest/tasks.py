"""`_tasks`, `_reindex` and its like, `_cluster/pending_tasks`, `_recovery` and `_cluster/reroute`."""

from __future__ import annotations

import fnmatch
from typing import Any

from tests.sandbox.opensearch.errors import ServerError, illegal, no_index
from tests.sandbox.opensearch.rest.indices import find
from tests.sandbox.opensearch.rest.looks import SIZE, chosen, failure
from tests.sandbox.opensearch.rest.routes import ACKNOWLEDGED, NAMING, PATIENCE, Call, Route, answered
from tests.sandbox.opensearch.tasks import Running
from tests.sandbox.web import Answer

REINDEX = "indices:data/write/reindex"


def _is_wanted(action: str, patterns: str) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(action, each) for each in patterns.split(","))


def _by_node(call: Call, tasks: list[Running]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    now = call.state.clock.now()
    for task in tasks:
        node, detailed = task.member, call.flag("detailed")
        body = task.body(now)
        if not detailed:
            del body["description"]
        entry = found.setdefault(
            node.id,
            {
                "name": node.name,
                "transport_address": f"{node.spec.address}:9300",
                "host": node.spec.address,
                "ip": f"{node.spec.address}:9300",
                "roles": sorted(node.spec.roles),
                "attributes": node.attributes,
                "tasks": {},
            },
        )
        entry["tasks"][task.id] = body
    return found


def _list(call: Call) -> Answer:
    nodes = list(call.state.nodes.values()) if call.member.in_memory else [call.member]
    nodes = chosen(call.state, call.text("nodes")) if call.text("nodes") else nodes
    silent = [failure(node) for node in nodes if not node.alive]
    tasks = [task for task in call.cluster.tasks.of(nodes) if _is_wanted(task.action, call.text("actions"))]
    return answered({**({"node_failures": silent} if silent else {}), "nodes": _by_node(call, tasks)})


def _of_id(call: Call) -> Running | None:
    nodes = list(call.state.nodes.values())
    return next((task for task in call.cluster.tasks.of(nodes) if task.id == call.parts["id"]), None)


def _one(call: Call) -> Answer:
    task = _of_id(call)
    if task is None:
        identity = call.parts["id"]
        reason = f"task [{identity}] isn't running and hasn't stored its results"
        raise ServerError(404, "resource_not_found_exception", reason)
    return answered({"completed": False, "task": task.body(call.state.clock.now())})


def _cancel(call: Call) -> Answer:
    task = _of_id(call)
    if task is None:
        return answered({"nodes": {}})
    call.cluster.tasks.end(task.id)
    return answered({"nodes": _by_node(call, [task])})


def _reindex(call: Call) -> Answer:
    """It lasts as long as the requests per second make it; nothing is copied."""
    body = call.needed_body
    source, dest = body["source"]["index"], body["dest"]["index"]
    if source not in call.state.indices:
        raise no_index(source)
    rate = call.text("requests_per_second", "-1")
    seconds = 0.5 if rate == "-1" else 20 / float(rate)
    if call.flag("wait_for_completion", default=True):
        return answered({"took": 1, "timed_out": False, "total": 0, "created": 0, "failures": []})
    task = call.cluster.tasks.begin(call.member, REINDEX, f"reindex from [{source}] to [{dest}]", seconds)
    return answered({"task": task.id})


def _pending(_call: Call) -> Answer:
    return answered({"tasks": []})


def _recovery(call: Call) -> Answer:
    """The recoveries under way, each as one that has still everything to copy."""
    found: dict[str, Any] = {}
    for index in find(call):
        shards = []
        for copy in index.copies:
            if copy.state not in {"INITIALIZING", "RELOCATING"}:
                continue
            kind = "PEER" if not copy.primary or copy.target else "EMPTY_STORE" if copy.new else "EXISTING_STORE"
            size = {"total_in_bytes": SIZE, "reused_in_bytes": 0, "recovered_in_bytes": 0, "percent": "0.0%"}
            shards.append(
                {
                    "id": copy.shard,
                    "type": kind,
                    "stage": "INDEX",
                    "primary": copy.primary,
                    "index": {"size": size, "files": {"total": 1, "reused": 0, "recovered": 0, "percent": "0.0%"}},
                    "translog": {"recovered": 0, "total": 0, "percent": "100.0%", "total_on_start": 0},
                }
            )
        if shards:
            found[index.name] = {"shards": shards}
    return answered(found)


def _reroute(call: Call) -> Answer:
    for command in call.body.get("commands", []):
        ((kind, what),) = command.items()
        if kind != "cancel":
            raise illegal(f"[{kind}] is no command of this sandbox")
        nodes = chosen(call.state, str(what["node"]))
        if not nodes:
            raise illegal(f"failed to resolve [{what['node']}], no matching nodes")
        index = call.state.indices.get(what["index"])
        if index is None:
            raise no_index(what["index"], "")
        copies = [copy for copy in index.shards[int(what["shard"])] if copy.node == nodes[0].id]
        if not copies or (copies[0].primary and not what.get("allow_primary")):
            place = f"[cancel_allocation] can't cancel [{index.name}][{what['shard']}] on node"
            raise illegal(f"{place} [{nodes[0].name}], failed to find it on node or it is primary")
        call.cluster.allocation.cancel(copies[0])
    if call.flag("retry_failed"):
        call.cluster.allocation.retry()
    call.cluster.allocation.publish()
    return answered({**ACKNOWLEDGED, "state": {"cluster_uuid": call.state.uuid, "version": call.state.version}})


_ACTIONS = frozenset({"actions", "detailed", "nodes", "group_by", "timeout", "wait_for_completion", "parent_task_id"})
_COPYING = PATIENCE | {"requests_per_second", "wait_for_completion", "refresh", "slices", "scroll", "max_docs"}
_REROUTE = PATIENCE | {"retry_failed", "explain", "dry_run", "metric"}
ROUTES = (
    Route(("GET",), "/_tasks", _list, _ACTIONS, manager=False),
    Route(("GET",), "/_tasks/{id}", _one, frozenset({"timeout", "wait_for_completion"}), manager=False),
    Route(("POST",), "/_tasks/{id}/_cancel", _cancel, frozenset({"nodes", "actions"}), manager=False),
    Route(("POST",), "/_reindex", _reindex, _COPYING),
    Route(("GET",), "/_cluster/pending_tasks", _pending, PATIENCE | {"local"}),
    Route(("GET",), "/_recovery", _recovery, NAMING | {"active_only", "detailed"}, manager=False),
    Route(("GET",), "/{index}/_recovery", _recovery, NAMING | {"active_only", "detailed"}, manager=False),
    Route(("POST",), "/_cluster/reroute", _reroute, _REROUTE),
)
