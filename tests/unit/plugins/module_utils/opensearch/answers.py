"""Answers of OpenSearch for tests: those of real servers, kept in the folder `recorded`, and small ones in their shape.

The servers' own were read from a cluster of two, `a` (2.19.6, then 3.8.0; the only manager) and `b`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.state import ClusterState, Health

Json = dict[str, Any]

RECOVERING = {
    "1": {
        "description": "state not recovered / initialized",
        "retryable": True,
        "disable_state_persistence": True,
        "levels": ["read", "write", "metadata_read", "metadata_write", "create_index"],
    }
}
READ_ONLY = {"6": {"description": "cluster read-only (api)", "retryable": False, "levels": ["write", "metadata_write"]}}
NO_NEW_INDEX = {"10": {"description": "cluster create-index blocked (api)", "levels": ["create_index"]}}

WATERMARKS = {
    "threshold_enabled": "true",
    "watermark": {"low": "85%", "high": "90%", "flood_stage": "95%", "enable_for_single_data_node": "false"},
}


def nested(disk: Json) -> Json:
    """Settings of `cluster.routing.allocation.disk` as `_cluster/settings` gives them."""
    return {"cluster": {"routing": {"allocation": {"disk": disk}}}}


def disk(name: str, used: int = 50, roles: Iterable[str] = ("cluster_manager", "data")) -> Json:
    """A member's disk of 100 GiB in `_nodes/stats/fs`, with so many percent in use."""
    path = {"total_in_bytes": 100 * 1024**3, "available_in_bytes": (100 - used) * 1024**3}
    return {"name": name, "roles": list(roles), "fs": {"data": [path]}}


def task(action: str, description: str = "", parent: str | None = None) -> Json:
    """A task in `_tasks`."""
    whole = {"id": 7, "action": action, "description": description}
    return whole | ({"parent_task_id": parent} if parent else {})


def snapshot(name: str, *shards: tuple[str, str, str]) -> Json:
    """A snapshot being taken in `snapshots` of the cluster state: of shard 0 each the index, the state, the member."""
    return {
        "repository": "nightly",
        "snapshot": name,
        "shards": [
            {"index": {"index_name": index}, "shard": 0, "state": state, "node": identity(member)}
            for index, state, member in shards
        ],
    }


def recorded(name: str) -> Json:
    """The answers of a real cluster, by the kind of request."""
    answers: Json = json.loads((Path(__file__).parent / "recorded" / f"{name}.json").read_text())
    return answers


def identity(name: str) -> str:
    """The id of the member of that name."""
    return f"id-of-{name}"


def info(name: str, version: str = "2.19.6", roles: Iterable[str] = ("cluster_manager", "data")) -> Json:
    """The answer of a member about itself in `_nodes`."""
    return {"name": name, "version": version, "ip": "10.0.0.1", "host": "10.0.0.1", "roles": list(roles)}


def copy(
    place: str,
    member: str | None,
    state: str = "",
    *,
    primary: bool = False,
    to: str | None = None,
    search_only: bool = False,
) -> Json:
    """A shard copy of the routing table; `place` is written as `index/shard`, and the state follows from the rest."""
    index, _slash, shard = place.partition("/")
    return {
        "index": index,
        "shard": int(shard or 0),
        "primary": primary,
        "state": state or ("UNASSIGNED" if member is None else "RELOCATING" if to else "STARTED"),
        "node": member and identity(member),
        "relocating_node": to and identity(to),
        "searchOnly": search_only,
    }


def index_metadata(created: int = 136408427, **settings: Any) -> Json:
    """An open index created in 2.19.6, of one shard without replicas unless said otherwise."""
    counts = {"number_of_shards": "1", "number_of_replicas": "0"}
    return {"state": "open", "settings": {"index": {"version": {"created": str(created)}, **counts, **settings}}}


def counted(metadata: Mapping[str, Json], table: Mapping[str, Json]) -> Json:
    """The metadata of the indices of a routing table, which agree with each other as they do on a server.

    The settings count the shards and replicas that are there; replicas that a test gives its settings are made.
    """
    found = {name: index_metadata() for name in table} | {
        name: json.loads(json.dumps(i)) for name, i in metadata.items()
    }
    for name in found.keys() & table.keys():
        shards, settings = table[name]["shards"], found[name]["settings"]["index"]
        for shard, copies in shards.items():
            _with_a_primary(copies)
            missing = int(settings["number_of_replicas"]) + 1 - sum(not one["searchOnly"] for one in copies)
            copies += [
                copy(f"{name}/{shard}", None) for _copy in range(missing) if any(not c["searchOnly"] for c in copies)
            ]
        replicas = max(sum(not one["searchOnly"] for one in copies) for copies in shards.values()) - 1
        settings.update(number_of_shards=str(len(shards)), number_of_replicas=str(max(0, replicas)))
    return found


def _with_a_primary(copies: list[Json]) -> None:
    """Every shard has one, so where a test names none, it is the first."""
    ordinary = [one for one in copies if not one["searchOnly"]]
    if ordinary and not any(one["primary"] for one in ordinary):
        ordinary[0]["primary"] = True


STRANGER = "retired"
"""A name that no member has; it is excluded all the same."""


def coordination(
    committed: Iterable[str], accepted: Iterable[str] | None = None, exclusions: Iterable[str] = ()
) -> Json:
    """Voting configurations of the members named; the same ones are accepted unless said otherwise."""
    committed = list(committed)
    return {
        "term": 1,
        "last_committed_config": [identity(name) for name in committed],
        "last_accepted_config": [identity(name) for name in (committed if accepted is None else accepted)],
        "voting_config_exclusions": [
            {"node_id": "_absent_" if name == STRANGER else identity(name), "node_name": name} for name in exclusions
        ],
    }


def state_answer(
    members: Iterable[str],
    copies: Sequence[Json] = (),
    *,
    elected: str | None = None,
    voting: Json | None = None,
    indices: Mapping[str, Json] | None = None,
    blocks: Mapping[str, Json] | None = None,
    snapshots: Sequence[Json] = (),
) -> Json:
    """The cluster state as the elected manager answers it; all members vote unless said otherwise."""
    names = list(members)
    table: dict[str, dict[str, dict[str, list[Json]]]] = {}
    for one in copies:
        shards = table.setdefault(one["index"], {"shards": {}})["shards"]
        shards.setdefault(str(one["shard"]), []).append(one)
    return {
        "cluster_uuid": "uuid",
        "version": 7,
        **({"cluster_manager_node": identity(elected)} if elected else {}),
        "nodes": {identity(name): {"name": name, "ephemeral_id": f"ephemeral-{name}"} for name in names},
        "metadata": {
            "cluster_coordination": coordination(names) if voting is None else voting,
            "indices": counted(indices or {}, table),
        },
        "routing_table": {"indices": table},
        **({"blocks": {"global": dict(blocks)}} if blocks else {}),
        **({"snapshots": {"snapshots": list(snapshots)}} if snapshots else {}),
    }


def cluster(
    members: Mapping[str, Json] | Iterable[str], copies: Sequence[Json] = (), *, elected: str | None = "", **parts: Any
) -> ClusterState:
    """The state of a cluster of these members; the first is elected unless said otherwise."""
    infos = dict(members) if isinstance(members, Mapping) else {name: info(name) for name in members}
    first = next(iter(infos), None)
    answer = state_answer(infos, copies, elected=first if elected == "" else elected, **parts)
    return parse_state({identity(name): one for name, one in infos.items()}, answer)


def health(status: str = "green", **changes: Any) -> Health:
    """A health in which nothing is under way."""
    fields: Json = {
        "status": status,
        "timed_out": status != "green",
        "initializing": 0,
        "relocating": 0,
        "unassigned": 0,
        "delayed": 0,
        "in_flight_fetch": 0,
        "pending_tasks": 0,
    }
    return Health(**{**fields, **changes})
