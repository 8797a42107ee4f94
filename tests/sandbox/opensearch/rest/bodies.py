"""The cluster state as it is answered, and its parts."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from tests.sandbox.opensearch.model import Copy, Index, Member, Unassigned
from tests.sandbox.opensearch.rest.parts import Part, Parts
from tests.sandbox.opensearch.rest.routes import Call
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.values import nested
from tests.sandbox.opensearch.versions import Version

METRICS = ("version", "cluster_manager_node", "blocks", "nodes", "metadata", "routing_table", "customs")
ALL = frozenset({*METRICS, "master_node"})


def state_body(call: Call) -> dict[str, Any]:
    """The parts of the state that are asked for; if they will be filtered, each index is a part of its own."""
    state = call.state
    wanted = set(call.parts.get("metrics", "_all").split(","))
    wanted = set(ALL) if "_all" in wanted else wanted
    found = _indices(call)
    body: dict[str, Any] = {"cluster_name": state.name, "cluster_uuid": state.uuid}
    if "version" in wanted:
        body |= {"version": state.version, "state_uuid": state.state_uuid}
    body |= {name: state.elected for name in ("master_node", "cluster_manager_node") if name in wanted}
    if not call.member.version.knows(Version(2, 0, 0)):
        body.pop("cluster_manager_node", None)
    if "blocks" in wanted:
        blocks = state.blocks()
        body["blocks"] = {"global": blocks} if blocks else {}
    if "nodes" in wanted:
        body["nodes"] = {node.id: node_body(node) for node in state.nodes.values()}
    if "metadata" in wanted:
        body["metadata"] = _metadata(call, found)
    if "routing_table" in wanted:
        there = found if state.recovered else []
        modern = call.member.version.knows(Version(3, 0, 0))
        body["routing_table"] = _in_parts(
            call, there, f"table {modern}", lambda index: _table(call, index, modern=modern)
        )
    if "customs" in wanted and state.snapshots:
        body["snapshots"] = {"snapshots": state.snapshots}
    return Parts(body)


def _in_parts(call: Call, there: list[Index], kind: str, make: Callable[[Index], Any]) -> dict[str, Any]:
    """`indices` with what is made of each."""
    paths = call.text("filter_path")
    if not paths or "-" in paths:
        return {"indices": {index.name: make(index) for index in there}}
    load = call.state.counted
    # A copy may stop being delayed without any change.
    lasting = {index.name: Part(index, kind, make, lasts=not load.waiting(index)) for index in there}
    return Parts(indices=Parts(lasting))


def _indices(call: Call) -> list[Index]:
    names = call.parts.get("index", "_all")
    return call.indices.find(names, unavailable=True, hidden=True)


def node_body(node: Member) -> dict[str, Any]:
    """A member in the cluster state."""
    own = {"name": node.name, "ephemeral_id": node.ephemeral_id, "transport_address": f"{node.spec.address}:9300"}
    if not node.version.elastic:
        return {**own, "attributes": node.attributes}
    of_version = {"version": str(node.version), "min_index_version": 7000099, "max_index_version": node.version.id}
    roles = {"external_id": node.name, "roles": sorted(node.roles)}
    return {**own, **roles, "attributes": node.attributes, **(of_version if node.version >= (8, 11, 0) else {})}


def _metadata(call: Call, found: list[Index]) -> dict[str, Any]:
    state = call.state
    there = found if state.recovered else []
    body = {
        "cluster_uuid": state.uuid,
        "cluster_uuid_committed": False,
        "cluster_coordination": {
            "term": state.term,
            "last_committed_config": sorted(state.committed),
            "last_accepted_config": sorted(state.accepted),
            "voting_config_exclusions": [{"node_id": each.id, "node_name": each.name} for each in state.exclusions],
        },
        "templates": {},
        **_in_parts(call, there, "metadata", lambda index: _index(call, index)),
        "index-graveyard": {"tombstones": []},
    }
    return Parts(body)


def _index(call: Call, index: Index) -> dict[str, Any]:
    return {
        "version": index.revision,
        "mapping_version": 1,
        "settings_version": 1,
        "aliases_version": 1,
        "routing_num_shards": 1024,
        "state": "open" if index.open else "close",
        "settings": nested(call.cluster.indices.settings_of(index)),
        "mappings": {},
        "aliases": [],
        "primary_terms": {str(shard): term for shard, term in index.terms.items()},
        "in_sync_allocations": {str(shard): sorted(ids) for shard, ids in index.in_sync.items()},
        "rollover_info": {},
        "system": False,
    }


def _table(call: Call, index: Index, *, modern: bool) -> dict[str, Any]:
    shards = {
        str(shard): [copy_body(call.state, copy, modern=modern) for copy in copies]
        for shard, copies in index.shards.items()
    }
    return {"shards": shards}


def copy_body(state: State, copy: Copy, *, modern: bool) -> dict[str, Any]:
    """A copy of the routing table; `modern`: as members from 3.0 on write it."""
    body: dict[str, Any] = {"state": copy.state, "primary": copy.primary}
    if modern:
        body["searchOnly"] = False
    body |= {"node": copy.node, "relocating_node": copy.target, "shard": copy.shard, "index": copy.index.name}
    if copy.state in {"UNASSIGNED", "INITIALIZING"}:
        kind = "PEER" if not copy.primary else "EMPTY_STORE" if copy.new else "EXISTING_STORE"
        more = {"bootstrap_new_history_uuid": False} if kind == "EXISTING_STORE" else {}
        body["recovery_source"] = {"type": kind, **more}
    if copy.allocation:
        target = {"relocation_id": copy.target_allocation} if copy.target_allocation else {}
        body["allocation_id"] = {"id": copy.allocation, **target}
    if copy.why is not None:
        body["unassigned_info"] = why_body(state, copy, copy.why)
    return body


def why_body(state: State, copy: Copy, why: Unassigned) -> dict[str, Any]:
    """The reason why a copy is, or was, on no member."""
    failed = {"failed_attempts": why.failed} if why.failed else {}
    details = {"details": why.details} if why.details else {}
    return {
        "reason": why.reason,
        "at": moment(why.at),
        **failed,
        "delayed": state.is_delayed(copy),
        **details,
        "allocation_status": status_of(copy),
    }


def status_of(copy: Copy) -> str:
    """The outcome of the last attempt to give a copy to a member."""
    return "no_valid_shard_copy" if copy.primary and not copy.new and copy.node is None else "no_attempt"


def moment(seconds: float) -> str:
    """A time as the servers write it."""
    at = datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
