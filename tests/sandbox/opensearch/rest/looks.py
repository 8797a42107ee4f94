"""Looks at the cluster: the banner, health, state and members."""

from __future__ import annotations

import fnmatch
import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.sandbox.opensearch.errors import ServerError
from tests.sandbox.opensearch.health import STATUS, health
from tests.sandbox.opensearch.model import Member
from tests.sandbox.opensearch.rest.bodies import state_body
from tests.sandbox.opensearch.rest.parts import InParts
from tests.sandbox.opensearch.rest.routes import NAMING, PATIENCE, Call, Route, answered
from tests.sandbox.opensearch.state import State
from tests.sandbox.opensearch.values import flat, nested
from tests.sandbox.web import Answer, Pending

HOME = "/usr/share/opensearch"


def home_of(node: Member) -> str:
    """The folder of the installation."""
    return HOME.replace("opensearch", "elasticsearch") if node.version.elastic else HOME


def _banner(call: Call) -> Answer:
    version, state = call.member.version, call.state
    product = {"build_flavor": "default"} if version.elastic else {"distribution": "opensearch"}
    tagline = "You Know, for Search" if version.elastic else "The OpenSearch Project: https://opensearch.org/"
    body = {
        "name": call.member.name,
        "cluster_name": state.name,
        "cluster_uuid": state.uuid if call.member.in_memory else "_na_",
        "version": {
            **product,
            "number": str(version),
            "build_type": "unknown",
            "build_hash": build_of(call.member),
            "build_date": "2026-07-01T04:27:16.038403104Z",
            "build_snapshot": False,
            "lucene_version": version.lucene,
            "minimum_wire_compatibility_version": version.wire,
            "minimum_index_compatibility_version": version.oldest,
        },
        "tagline": tagline,
    }
    return answered(body)


def build_of(member: Member) -> str:
    """The hash of the build of a version."""
    return hashlib.sha1(str(member.version).encode(), usedforsecurity=False).hexdigest()


def _health(call: Call) -> Answer | Pending:
    """The health, at once or as soon as all that is waited for is so in one and the same state."""
    wanted = call.text("wait_for_status")
    if wanted and wanted.lower() not in STATUS:
        reason = f"No enum constant org.opensearch.cluster.health.ClusterHealthStatus.{wanted.upper()}"
        raise ServerError(400, "illegal_argument_exception", reason)

    def look() -> dict[str, Any]:
        return health(call.state, call.parts.get("index", ""), call.text("level", "cluster"))

    def is_so() -> bool:
        return call.state.manager is not None and _waited_for(call, look())

    def answer() -> Answer:
        found, so = look(), is_so()
        return answered({**found, "timed_out": not so}, 200 if so else 408)

    if call.flag("local") and not wanted:
        return answered(look())
    return answer() if is_so() else Pending(is_so, call.seconds("timeout", 30.0), answer)


def _waited_for(call: Call, found: dict[str, Any]) -> bool:
    wanted = call.text("wait_for_status").lower()
    active = call.text("wait_for_active_shards", "0")
    needs = found["active_shards"] + found["initializing_shards"] + found["unassigned_shards"]
    return (
        _all_there(call)
        and (not wanted or STATUS.index(found["status"]) <= STATUS.index(wanted))
        and (not call.flag("wait_for_no_relocating_shards") or not found["relocating_shards"])
        and (not call.flag("wait_for_no_initializing_shards") or not found["initializing_shards"])
        and found["active_shards"] >= (needs if active == "all" else int(active))
        and _so_many(call.text("wait_for_nodes"), found["number_of_nodes"])
    )


def _all_there(call: Call) -> bool:
    """Whether every index that is named is there."""
    names = call.parts.get("index", "")
    return all("*" in each or each in {"", "_all", *call.state.indices} for each in names.split(","))


def _so_many(wanted: str, there: int) -> bool:
    for sign, holds in (
        (">=", int.__ge__), ("<=", int.__le__), (">", int.__gt__), ("<", int.__lt__), ("", int.__eq__),
    ):  # fmt: skip
        if wanted and wanted.startswith(sign):
            return bool(holds(there, int(wanted.removeprefix(sign))))
    return True


def _state(call: Call) -> Answer:
    return InParts(200, state_body(call))


def chosen(state: State, names: str) -> list[Member]:
    """The members that a list of names, ids, or kinds such as data:true picks."""
    found: dict[str, Member] = {}
    for each in names.split(","):
        kind, _colon, value = each.partition(":")
        for node in state.nodes.values():
            by_role = (kind == "data" and node.holds_data) or kind.removesuffix(":") in node.spec.roles
            by_role = by_role or (kind in {"master", "cluster_manager"} and node.manages)
            own = {node.name, node.id, node.spec.address}
            named = each == "_all" or any(fnmatch.fnmatchcase(one, each) for one in own)
            elected = each in {"_master", "_cluster_manager"} and node.id == state.elected
            if named or elected or (value == "true" and by_role) or (value == "false" and not by_role):
                found[node.id] = node
    return list(found.values())


def _seen_by(call: Call, names: str) -> list[Member]:
    """The members that are meant, as the asked member knows them; one that has not joined knows itself alone."""
    if names == "_local" or not call.member.in_memory:
        return [call.member]
    return chosen(call.state, names)


def header(state: State, members: Iterable[Member]) -> dict[str, Any]:
    """`_nodes` of answers that each member gives for itself."""
    listed = list(members)
    failures = [failure(node) for node in listed if not node.alive]
    found = {"total": len(listed), "successful": len(listed) - len(failures), "failed": len(failures)}
    return {"_nodes": {**found, **({"failures": failures} if failures else {})}, "cluster_name": state.name}


def failure(node: Member) -> dict[str, Any]:
    """A member that does not answer."""
    place = f"[{node.name}][{node.spec.address}:9300]"
    cause = {"type": "node_not_connected_exception", "reason": f"{place} Node not connected"}
    reason = f"Failed node [{node.id}]"
    return {"type": "failed_node_exception", "reason": reason, "node_id": node.id, "caused_by": cause}


def about(node: Member) -> dict[str, Any]:
    """The fields that every member gives about itself."""
    address = node.spec.address
    return {
        "name": node.name,
        "transport_address": f"{address}:9300",
        "host": address,
        "ip": address,
        "version": str(node.version),
        **_build(node),
        "roles": sorted(node.roles),
        "attributes": node.attributes,
    }


def _build(node: Member) -> dict[str, Any]:
    """The build of a member; those of Elasticsearch say more of it."""
    if not node.version.elastic:
        return {"build_type": "unknown", "build_hash": build_of(node)}
    counts = {"transport_version": 8_841_000 + node.version.minor, "index_version": node.version.id}
    own = counts if node.version >= (8, 11, 0) else {}
    return {**own, "build_flavor": "default", "build_type": "zip", "build_hash": build_of(node)}


def _nodes(call: Call) -> Answer:
    first, second = call.parts.get("names"), call.parts.get("metrics")
    if first in {"_none", "settings", "http", "info", "plugins"} and second is None:
        first, second = "_all", first
    members = _seen_by(call, first or "_all")
    wanted = (second or "settings").split(",")
    found = {}
    for node in members:
        if node.alive:
            own = flat(file_of(call.state, node))
            shown = own if call.flag("flat_settings") else nested(own)
            more: dict[str, Any] = {"settings": shown} if "settings" in wanted else {}
            if "plugins" in wanted:
                more |= {"plugins": [plugin_of(node, each) for each in node.spec.plugins], "modules": []}
            found[node.id] = {**about(node), **more}
    return answered({**header(call.state, members), "nodes": found})


def plugin_of(node: Member, name: str) -> dict[str, Any]:
    """A plugin, as the member says that has it."""
    return {
        "name": name,
        "version": f"{node.version}.0",
        f"{'elasticsearch' if node.version.elastic else 'opensearch'}_version": str(node.version),
        "java_version": "11",
        "description": f"The plugin {name}",
        "classname": f"org.opensearch.{name}",
        "custom_foldername": "",
        "extended_plugins": [],
        "has_native_controller": False,
    }


def file_of(state: State, node: Member) -> dict[str, Any]:
    """The settings of a member's own file, as it says them."""
    given = {name: value for name, value in node.spec.settings.items() if value}
    home = home_of(node)
    paths = {"path.home": home, "path.data": [f"{home}/data"], "path.logs": f"{home}/logs"}
    own = {
        "cluster.name": state.name,
        "node.name": node.name,
        "node.roles": sorted(node.roles),
        "network.host": node.spec.address,
        "http.port": "9200",
        "client.type": "node",
    }
    attributes = {f"node.attr.{name}": value for name, value in node.attributes.items()}
    return {**paths, **given, **own, **attributes}


def _disks(call: Call) -> Answer:
    members = _seen_by(call, call.parts.get("names", "_all"))
    found = {}
    for node in members:
        size = {
            "total_in_bytes": node.disk.total,
            "free_in_bytes": node.disk.available,
            "available_in_bytes": node.disk.available,
        }
        path = {"path": f"{home_of(node)}/data/nodes/0", "mount": "/", "type": "ext4", **size}
        own = about(node)
        own = {name: value for name, value in own.items() if name not in {"version", *_build(node)}}
        moment = round(call.state.clock.now() * 1000)
        fs = {"timestamp": moment, "total": size, "data": [path]}
        if node.alive:
            found[node.id] = {"timestamp": moment, **own, "ip": f"{node.spec.address}:9300", "fs": fs}
    return answered({**header(call.state, members), "nodes": found})


SIZE = 208
"""The bytes of every shard."""


def _stored(call: Call) -> Answer:
    """The sizes of the shards of each member: so many bytes as each recovery has to copy."""
    members = _seen_by(call, call.parts["names"])
    held = Counter(copy.node for copy in call.state.copies)
    found = {}
    for node in members:
        size = SIZE * held[node.id]
        if node.alive:
            found[node.id] = {**about(node), "indices": {"store": {"size_in_bytes": size, "reserved_in_bytes": 0}}}
    return answered({**header(call.state, members), "nodes": found})


def _counted(call: Call) -> Answer:
    """The counters of each process since its start, see `Counters`."""
    members = _seen_by(call, call.parts["names"])
    moment = call.state.clock.now()
    found = {node.id: _counters_of(node, moment) for node in members if node.alive}
    return answered({**header(call.state, members), "nodes": found})


def _counters_of(node: Member, moment: float) -> dict[str, Any]:
    counters = node.counters
    search = {"query_total": counters.searches, "query_time_in_millis": counters.search_millis}
    pools = {
        pool: {"completed": counters.completed[pool], "rejected": counters.rejected[pool]}
        for pool in ("search", "write", "get")
    }
    return {
        **about(node),
        "timestamp": round(moment * 1000),
        "jvm": {"uptime_in_millis": round((moment - node.started) * 1000)},
        "indices": {"search": search},
        "thread_pool": pools,
        "breakers": {"parent": {"tripped": counters.tripped}},
    }


_WAITS = frozenset(
    {"wait_for_status", "wait_for_no_relocating_shards", "wait_for_no_initializing_shards", "wait_for_active_shards"}
    | {"wait_for_nodes", "wait_for_events", "level", "local", "awareness_attribute", "expand_wildcards"}
)
_STATE = NAMING | {"local", "flat_settings", "wait_for_metadata_version", "wait_for_timeout"}
_STATE |= {"cluster_manager_timeout", "master_timeout"}
ROUTES = (
    Route(("DELETE", "GET", "HEAD"), "/", _banner, manager=False),
    Route(("GET",), "/_cluster/health", _health, _WAITS | PATIENCE),
    Route(("GET",), "/_cluster/health/{index}", _health, _WAITS | PATIENCE),
    Route(("GET",), "/_cluster/state", _state, _STATE, in_place_from=(9, 2)),
    Route(("GET",), "/_cluster/state/{metrics}", _state, _STATE, in_place_from=(9, 2)),
    Route(("GET",), "/_cluster/state/{metrics}/{index}", _state, _STATE, in_place_from=(9, 2)),
    Route(("GET",), "/_nodes/stats/fs", _disks, frozenset({"timeout"}), manager=False),
    Route(("GET",), "/_nodes/{names}/stats/fs", _disks, frozenset({"timeout"}), manager=False),
    Route(
        ("GET",),
        "/_nodes/{names}/stats/indices,thread_pool,jvm,breaker/search",
        _counted,
        frozenset({"timeout"}),
        manager=False,
    ),
    Route(("GET",), "/_nodes/{names}/stats/indices/store", _stored, frozenset({"timeout"}), manager=False),
    Route(("GET",), "/_nodes", _nodes, frozenset({"timeout", "flat_settings"}), manager=False),
    Route(("GET",), "/_nodes/{names}", _nodes, frozenset({"timeout", "flat_settings"}), manager=False),
    Route(("GET",), "/_nodes/{names}/{metrics}", _nodes, frozenset({"timeout", "flat_settings"}), manager=False),
)
