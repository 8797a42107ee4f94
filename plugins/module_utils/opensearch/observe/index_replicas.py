"""The replicas of indices: their settings, the limits for more of them, and the undo of a run that has added some.

The undo is in a cluster setting of its own, since settings of indices cannot be changed in the same request, and since
it stays longer than the undo of a batch. The path of a change is the name of the index, its UUID, and the setting: an
index that was removed and made again under the same name has another UUID. Pure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.reading import Json, Unreadable, count, named, optional_text, part, text, whole, within
from ...run.undo.undo import Change, Undo
from .disk import parse_watermark
from .settings import Settings, undo_under

UNDO_OF_REPLICAS = "cluster.metadata.stateful_upgrade.replicas"
NUMBER, EXPAND = "index.number_of_replicas", "index.auto_expand_replicas"
NONE, ONE = "0", "1"
OFF = "false"
"""The value of `auto_expand_replicas` with which the number of replicas is that of its own setting."""
NEVER = (None, OFF)
EXPANDS_TO_NONE = "0-0"
"""A value of it that keeps an index without replicas, whatever the other setting says."""
CHANGED: Mapping[str, tuple[tuple[str | None, ...], str]] = {
    NUMBER: ((NONE,), ONE),
    EXPAND: ((EXPANDS_TO_NONE,), OFF),
}
"""The settings that a run changes, each with the values that it may have had, and the value that is set."""
BLOCKS = ("read_only", "read_only_allow_delete", "metadata")
"""The blocks of an index with which its settings cannot be changed."""
FIELDS = (
    "uuid",
    "number_of_replicas",
    "auto_expand_replicas",
    "routing.allocation",
    "blocks",
    "store",
    "resize.source",
)
ON_MEMBER = "total_shards_per_node"
"""The setting of an index, or of the cluster, for the most copies on a member; -1 is no limit."""
IN_CLUSTER = "total_shards_limit"
"""The setting of OpenSearch for the most copies in the cluster; -1 is no limit (server source, ShardLimitValidator)."""
MOST_SHARDS = 1000
"""The servers' own default of `cluster.max_shards_per_node`."""


@dataclass(frozen=True)
class IndexReplicas:
    """The settings of an index that say how many replicas it has, and where they may be."""

    name: str
    uuid: str
    number: str
    expand: str | None = None
    """`index.auto_expand_replicas`; None if it is not set."""
    allocation: str = ""
    """The settings of its allocation, as JSON: what is true of one index is true of another one that has the same."""
    enable: str | None = None
    blocks: tuple[str, ...] = ()
    """Those of `BLOCKS` that it has."""
    in_repository: bool = False
    """Whether its shards only read from a snapshot, so that another copy takes no room on a disk."""
    on_member: int | None = None
    """The most of its copies that one member may hold; None if it sets no limit."""
    source: str = ""
    """The UUID of the index of which it was made by a shrink, split or clone, whose settings it has got; empty if it
    was not (server source, IndexMetadata, INDEX_RESIZE_SOURCE_UUID)."""

    def at(self, setting: str) -> str | None:
        """The value of one of the two settings; None if it is not set."""
        return self.number if setting == NUMBER else self.expand


@dataclass(frozen=True)
class ReplicaLimits:
    """The limits of the cluster for more replicas."""

    awareness: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The node attributes over whose values copies are spread, each with the values that are forced."""
    most_shards: int = MOST_SHARDS
    """Shards that each data member may have on average (`cluster.max_shards_per_node`)."""
    bytes_a_second: float = math.inf
    """The limit of the recoveries of a member."""
    in_cluster: int | None = None
    """Shards that all members may have together (`cluster.routing.allocation.total_shards_limit`), if that is set."""
    on_member: int | None = None
    """Copies that one member may hold (`cluster.routing.allocation.total_shards_per_node`); None without a limit."""


def replicas_of(name: str, metadata: Json) -> IndexReplicas:
    """Those of one index, from `metadata.indices` of the cluster state."""
    return within(metadata, "settings.index", lambda index: _replicas(name, index))


def _replicas(name: str, index: Json) -> IndexReplicas:
    rules = part(part(index, "routing", {}), "allocation", {})
    blocks = part(index, "blocks", {})
    kind = within(index, "store", lambda store: optional_text(store, "type"), {})
    partly = str(part(part(index, "store", {}), "snapshot", {}).get("partial")) == "true"
    return IndexReplicas(
        name=name,
        uuid=text(index, "uuid"),
        number=str(count(index, "number_of_replicas")),
        expand=optional_text(index, "auto_expand_replicas"),
        allocation=json.dumps(rules, sort_keys=True),
        enable=optional_text(rules, "enable"),
        blocks=tuple(each for each in BLOCKS if str(blocks.get(each)).lower() == "true"),
        in_repository=kind == "remote_snapshot" or (kind == "snapshot" and partly),
        on_member=_most(rules.get(ON_MEMBER)),
        source=optional_text(part(part(index, "resize", {}), "source", {}), "uuid") or "",
    )


def replicas_in(answer: Json) -> dict[str, IndexReplicas]:
    """Those of all indices in an answer of the cluster state, by name."""
    return within(answer, "metadata", lambda found: named(found, "indices", replicas_of, {}), {})


def limits_in(answer: Json) -> ReplicaLimits:
    """The limits from `_cluster/settings?include_defaults=true`. Transient hides persistent, which hides defaults."""
    found: dict[str, Any] = {}
    for scope in ("defaults", "persistent", "transient"):
        given = part(answer, scope, {})
        cluster = part(given, "cluster", {})
        allocation = part(part(cluster, "routing", {}), "allocation", {})
        rules = allocation.get("awareness")
        recovery = part(part(given, "indices", {}), "recovery", {})
        awareness = {**found.get("awareness", {}), **(rules if isinstance(rules, Mapping) else {})}
        found |= {"awareness": awareness, **_limit(cluster, "max_shards_per_node")}
        found |= _limit(recovery, "max_bytes_per_sec") | _limit(allocation, ON_MEMBER) | _limit(allocation, IN_CLUSTER)
    forced = part(found["awareness"], "force", {})
    attributes = _names(found["awareness"].get("attributes"))
    return ReplicaLimits(
        {each: frozenset(_names(part(forced, each, {}).get("values"))) for each in attributes},
        count(found, "max_shards_per_node", MOST_SHARDS),
        _rate(found.get("max_bytes_per_sec")),
        _most(found.get(IN_CLUSTER)),
        _most(found.get(ON_MEMBER)),
    )


def _limit(of: Json, name: str) -> dict[str, str]:
    """The setting, if this scope has it. Elasticsearch also has `cluster.max_shards_per_node.frozen`, so that the name
    alone may stand for an object (server source, ShardLimitValidator)."""
    return {} if of.get(name) is None or isinstance(of[name], Mapping) else {name: str(of[name])}


def _most(written: Any) -> int | None:
    """A limit; None for -1 and without one. With 0 the deciders have none either (`ShardsLimitAllocationDecider`)."""
    return int(written) or None if str(written).isdecimal() else None


def _names(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else str(value or "").split(",")
    return [name for each in listed if (name := str(each).strip())]


def _rate(written: str | None) -> float:
    """Bytes a second; without a limit, and for one that is no size, it is not known."""
    try:
        return (parse_watermark(written).free if written else None) or math.inf
    except ValueError:
        return math.inf


def sizes_in(answer: Json) -> dict[tuple[str, int], int]:
    """The bytes of each shard by its primary, from `_stats/store?level=shards`."""
    found: dict[tuple[str, int], int] = {}

    def of_index(name: str, index: Json) -> None:
        for number, copies in part(index, "shards", {}).items():
            if not isinstance(copies, list):
                raise Unreadable("has no list of copies", number)
            for copy in copies:
                if copy["routing"]["primary"]:
                    found[name, int(number)] = within(copy, "store", lambda store: whole(store, "size_in_bytes"))

    named(answer, "indices", of_index, {})
    return found


def is_raised(change: Change) -> bool:
    """Whether a run that adds replicas makes such a change."""
    if len(change.path) != 3 or change.name not in CHANGED:
        return False
    before, then = CHANGED[change.name]
    return change.was in before and change.set_to == then


def carried_replicas(settings: Settings) -> Undo | None:
    """The undo of replicas that the cluster carries, if any.

    Raises:
        Refusal: it carries one that cannot be read. A person has to look, since such an undo is never overwritten.
    """

    def judge(undo: Undo) -> None:
        if undo.foreign:
            raise ValueError("no run makes these changes")

    return undo_under(settings, UNDO_OF_REPLICAS, is_raised, judge, "replicas")
