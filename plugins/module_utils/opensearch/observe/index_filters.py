"""The settings of indices that say to which members their shards may be allocated. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.reading import Json, named, part, within
from .settings import names_in

REQUIRE, INCLUDE, EXCLUDE = "require", "include", "exclude"
KINDS = (REQUIRE, INCLUDE, EXCLUDE)
PREFIX = "index.routing.allocation."
TIER = "_tier"
"""The start of the attributes that another decider judges, which takes the next tier if there is none (server source,
DiscoveryNodeFilters.trimTier and DataTierAllocationDecider)."""
PREFERENCE = f"{TIER}_preference"

Filter = Mapping[str, Any]
"""Values by the attributes of members."""


@dataclass(frozen=True)
class IndexFilters:
    """The filters of one index, each by the attributes that it names."""

    require: Filter = field(default_factory=dict)
    include: Filter = field(default_factory=dict)
    exclude: Filter = field(default_factory=dict)
    tiers: tuple[str, ...] = ()
    """The tiers of Elasticsearch that it prefers, in their order. OpenSearch ignores them."""
    shrinks: bool = False
    """Whether the index lifecycle management of Elasticsearch (ILM) shrinks it: for that time a filter of its own keeps
    a copy of each shard on one member (`require._id`; server source, SetSingleNodeAllocateStep)."""


def parse_filters(answer: Json) -> Mapping[str, IndexFilters]:
    """Those of each index that has any, from `metadata.indices` of the cluster state.

    It also has the state of ILM for each index (server source, LifecycleExecutionState); a failed step is `ERROR`.
    """
    found = within(answer, "metadata", lambda metadata: named(metadata, "indices", _filters, {}), {})
    return {index: filters for index, filters in found.items() if filters != IndexFilters()}


def _filters(_name: str, index: Json) -> IndexFilters:
    rules = within(index, "settings.index.routing.allocation", dict, {})
    tiers = names_in(part(rules, INCLUDE, {}).get(PREFERENCE))
    require, include, exclude = (dict(_leaves(part(rules, kind, {}))) for kind in KINDS)
    managed = part(index, "ilm", {})
    shrinks = managed.get("action") == "shrink" and managed.get("step") != "ERROR"
    return IndexFilters(require, include, exclude, tuple(tiers), shrinks)


def _leaves(of: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in of.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{before}{name}.")
        elif not name.startswith(TIER):
            yield f"{before}{name}", value
