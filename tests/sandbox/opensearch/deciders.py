"""The deciders of where a copy may be: those that matter in an upgrade, in the order and the words of the servers."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import NamedTuple

from tests.sandbox.opensearch.known import AWARENESS, DISK, ENABLE, INCOMING, OUTGOING, PRIMARIES, ROUTING
from tests.sandbox.opensearch.load import Filters, filters_of
from tests.sandbox.opensearch.model import Copy, Member
from tests.sandbox.opensearch.state import State

MOST_RETRIES = "5"
_UNITS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


class Said(NamedTuple):
    """The word of a decider against a member."""

    decider: str
    decision: str
    explanation: str


def _max_retry(_state: State, copy: Copy, _node: Member) -> Said | None:
    most = int(copy.index.settings.get("allocation.max_retries", MOST_RETRIES))
    if copy.why is None or copy.state != "UNASSIGNED" or copy.why.failed < most:
        return None
    said = (
        f"shard has exceeded the maximum number of retries [{most}] on failed allocation attempts - manually call"
        f" [/_cluster/reroute?retry_failed=true] to retry, [unassigned_info[[reason={copy.why.reason}]]]"
    )
    return Said("max_retry", "NO", said)


def _replica_after_primary(_state: State, copy: Copy, _node: Member) -> Said | None:
    if copy.primary or copy.index.primary(copy.shard).started:
        return None
    return Said("replica_after_primary_active", "NO", "primary shard for this replica is not yet active")


def _enable(state: State, copy: Copy, _node: Member) -> Said | None:
    own = copy.index.settings.get("routing.allocation.enable")
    value = str(own or state.setting(ENABLE)).lower()
    kind = "index" if own else "cluster"
    setting = f"{kind} setting [{'index.routing.allocation.enable' if own else ENABLE}={value}]"
    if value == "none":
        return Said("enable", "NO", f"no allocations are allowed due to {setting}")
    if value == "new_primaries" and not (copy.primary and copy.new and not copy.started):
        return Said("enable", "NO", f"non-new primary allocations are forbidden due to {setting}")
    if value == "primaries" and not copy.primary:
        return Said("enable", "NO", f"replica allocations are forbidden due to {setting}")
    return None


def _node_version(state: State, copy: Copy, node: Member) -> Said | None:
    if copy.primary:
        return _node_version_of_primary(state, copy, node)
    primary = copy.index.primary(copy.shard)
    if not primary.started or node.version >= (version := state.nodes[primary.node or ""].version):
        return None
    said = (
        f"cannot allocate replica shard to a node with version [{node.version}] since this is older than the primary"
        f" version [{version}]"
    )
    return Said("node_version", "NO", said)


def _node_version_of_primary(state: State, copy: Copy, node: Member) -> Said | None:
    if copy.node is None:
        return None
    version = state.nodes[copy.node].version
    if node.version < version:
        said = f"cannot relocate primary shard from a node with version [{version}] to a node with older version"
        return Said("node_version", "NO", f"{said} [{node.version}]")
    if copy.index.settings.get("replication.type") == "SEGMENT":
        for other in copy.index.shards[copy.shard]:
            if other is not copy and other.started and state.nodes[other.node or ""].version < node.version:
                said = "When segment replication is enabled, cannot relocate primary shard to a node with version"
                said += f" [{node.version}] if it has a replica on older version"
                return Said("node_version", "NO", f"{said} [{state.nodes[other.node or ''].version}]")
    return None


def _snapshot_in_progress(state: State, copy: Copy, _node: Member) -> Said | None:
    if not (copy.primary and copy.node):
        return None
    for snapshot in state.snapshots:
        for each in snapshot["shards"]:
            same = (each["index"]["index_name"], each["shard"]) == (copy.index.name, copy.shard)
            if same and each["state"] == "INIT" and each["node"] == copy.node:
                said = f"waiting for snapshotting of shard [[{copy.index.name}][{copy.shard}]] to complete on this node"
                return Said("snapshot_in_progress", "THROTTLE", f"{said} [{copy.node}]")
    return None


def _matches(node: Member, key: str, patterns: list[str], way: str) -> bool:
    """Whether a filter names a member: `require` takes all values of one key, other than of addresses (server source,
    DiscoveryNodeFilters.match)."""
    ways = {"_name": node.name, "_id": node.id, "_ip": node.spec.address, "_host": node.spec.address}
    value = ways.get(key, node.attributes.get(key))
    enough = all if way == "require" and key != "_ip" else any
    return value is not None and enough(fnmatch.fnmatchcase(value, pattern) for pattern in patterns)


def filter_of(state: State, copy: Copy, node: Member) -> Said | None:
    """The word of the filters of the index and of the cluster."""
    beginning = "routing.allocation."
    own = {n.removeprefix(beginning): v for n, v in copy.index.settings.items() if n.startswith(beginning)}
    elastic = state.managing_version.elastic
    return _filtered("index", filters_of(own), node) or _filtered("cluster", state.load.filters, node, elastic=elastic)


def _filtered(kind: str, filters: Filters, node: Member, *, elastic: bool = False) -> Said | None:
    for way, found in filters.items():
        matching = [_matches(node, key, patterns, way) for key, patterns in found.items()]
        refused = any(matching) if way == "exclude" else not (all if way == "require" else any)(matching)
        if refused:
            word = "matches" if way == "exclude" else "does not match"
            if (kind, way, elastic) == ("cluster", "include", False):
                word = "does not"  # as OpenSearch says it
            between = " AND " if way == "require" else " OR "
            shown = ",".join(f'{key}:"{between.join(patterns)}"' for key, patterns in found.items())
            return Said(
                "filter", "NO", f"node {word} {kind} setting [{kind}.routing.allocation.{way}] filters [{shown}]"
            )
    return None


def _same_shard(_state: State, copy: Copy, node: Member) -> Said | None:
    for other in copy.index.shards[copy.shard]:
        if node.id in other.places:
            place = f"[{copy.index.name}][{copy.shard}], node[{node.id}], [{'P' if other.primary else 'R'}]"
            what = f"{place}, s[{other.state}], a[id={other.allocation}]"
            said = f"a copy of this shard is already allocated to this node [{what}]"
            return Said("same_shard", "NO", said)
    return None


def is_above(node: Member, watermark: str) -> bool:
    """Whether a disk is fuller than a watermark: a share in use, or bytes that stay free."""
    available, total = node.disk.known
    used = 1 - available / total
    if watermark.endswith("%"):
        return used * 100 > float(watermark[:-1])
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtp]?)b?", watermark.strip().lower())
    if found:
        return bool(available < float(found[1]) * 1024 ** _UNITS[found[2] or "b"])
    return used > float(watermark)


def heeds_disks(state: State) -> bool:
    """Whether watermarks count in this cluster."""
    single = state.setting(f"{DISK}.watermark.enable_for_single_data_node")
    return str(state.setting(f"{DISK}.threshold_enabled")).lower() == "true" and (
        len(state.data_nodes) > 1 or str(single).lower() == "true"
    )


def _disk_threshold(state: State, copy: Copy, node: Member) -> Said | None:
    level = "high" if copy.primary and copy.new and copy.node is None else "low"
    watermark = str(state.setting(f"{DISK}.watermark.{level}"))
    if not heeds_disks(state) or not is_above(node, watermark):
        return None
    available, total = node.disk.known
    free = 100 * available / total
    setting = f"{level} watermark cluster setting [{DISK}.watermark.{level}={watermark}]"
    said = f"the node is above the {setting}, using more disk space than the maximum allowed, actual free: [{free}%]"
    return Said("disk_threshold", "NO", said)


def _throttling(state: State, copy: Copy, node: Member) -> Said | None:
    load = state.load
    if copy.primary and copy.node is None:
        most = int(state.setting(PRIMARIES))
        said = f"reached the limit of ongoing initial primary recoveries [{most}], cluster setting [{PRIMARIES}={most}]"
        return Said("throttling", "THROTTLE", said) if load.primaries[node.id] >= most else None
    primary = copy.index.primary(copy.shard)
    if not primary.started:
        return Said("throttling", "NO", "primary shard for this replica is not yet active")
    new = copy.why is not None and copy.why.reason == "INDEX_CREATED"
    initial = int(state.setting(f"{ROUTING}.node_initial_replicas_recoveries")) if new else 0
    most = max(initial, int(state.setting(INCOMING)))
    if load.into[node.id] >= most:
        return Said("throttling", "THROTTLE", _limit("incoming", most, INCOMING))
    source = copy.node if copy.primary else primary.node
    most = max(initial, int(state.setting(OUTGOING)))
    if load.out_of[source or ""] >= most:
        return Said("throttling", "THROTTLE", _limit("outgoing", most, OUTGOING))
    return None


def _limit(way: str, most: int, setting: str) -> str:
    also = "(can also be set via [cluster.routing.allocation.node_concurrent_recoveries])"
    return f"reached the limit of {way} shard recoveries [{most}], cluster setting [{setting}={most}] {also}"


def _shards_limit(state: State, copy: Copy, node: Member) -> Said | None:
    setting = f"{ROUTING}.total_shards_per_node"
    limit = int(state.setting(setting))
    if limit > 0:
        all_there = sum(node.id in other.places for index in state.indices.values() for other in index.copies)
        if all_there >= limit:
            said = f"too many shards [{all_there}] allocated to this node, cluster setting [{setting}={limit}]"
            return Said("shards_limit", "NO", said)
    most = int(copy.index.settings.get("routing.allocation.total_shards_per_node", "-1"))
    if most <= 0:
        return None
    there = sum(node.id in other.places for other in copy.index.copies)
    if there < most:
        return None
    said = f"too many shards [{there}] allocated to this node for index [{copy.index.name}], index setting"
    return Said("shards_limit", "NO", f"{said} [index.routing.allocation.total_shards_per_node={most}]")


def _awareness(state: State, copy: Copy, node: Member) -> Said | None:
    wanted = copy.index.replicas + 1
    for attribute, (values, so_many) in state.load.places.items():
        own = node.attributes.get(attribute)
        if own is None:
            said = "node does not contain the awareness attribute"
            return Said("awareness", "NO", f"{said} [{attribute}]; required attributes cluster setting [{AWARENESS}]")
        others = [each.target or each.node for each in copy.index.shards[copy.shard] if each is not copy and each.node]
        most = -(-wanted // so_many)
        there = sum(values.get(each or "") == own for each in others) + 1
        if there > most:
            said = (
                f"there are too many copies of the shard allocated to nodes with attribute [{attribute}], there are"
                f" [{wanted}] total configured shard copies for this shard id and [{so_many}] total attribute"
                f" values, expected the allocated shard count per attribute [{there}] to be less than or equal to the"
                f" upper bound of the required number of shards per attribute [{most}]"
            )
            return Said("awareness", "NO", said)
    return None


_Decider = Callable[[State, Copy, Member], "Said | None"]
DECIDERS: tuple[_Decider, ...] = (
    _max_retry,
    _replica_after_primary,
    _enable,
    _node_version,
    _snapshot_in_progress,
    filter_of,
    _same_shard,
    _disk_threshold,
    _throttling,
    _shards_limit,
    _awareness,
)


_OF_COPY = (_max_retry, _replica_after_primary, _enable)
"""Those that say the same of every member."""
_OFTEN_FIRST = tuple(sorted(DECIDERS, key=lambda each: each not in (_same_shard, _throttling)))


def against(state: State, copy: Copy, node: Member) -> list[Said]:
    """All that deciders say against giving a copy to a member."""
    return [said for decider in DECIDERS if (said := decider(state, copy, node))]


def refuses_all(state: State, copy: Copy) -> bool:
    """Whether a decider refuses a copy that is on no member, whichever member it is for."""
    return any(decider(state, copy, node) for decider in _OF_COPY for node in state.data_nodes[:1])


def takes(state: State, copy: Copy, node: Member) -> bool:
    """Whether no decider says anything against giving a copy to a member."""
    return not any(decider(state, copy, node) for decider in _OFTEN_FIRST)


def against_staying(state: State, copy: Copy) -> Said | None:
    """The reason why a copy may not stay where it is."""
    node = state.nodes[copy.node or ""]
    said = filter_of(state, copy, node) or _awareness(state, copy, node)
    if said:
        return said
    high = str(state.setting(f"{DISK}.watermark.high"))
    if heeds_disks(state) and is_above(node, high):
        return Said("disk_threshold", "NO", f"the shard cannot remain on this node because it is above the {high}")
    return None
