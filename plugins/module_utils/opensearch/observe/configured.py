"""The settings that members were started with, and settings of indices, by name. Pure.

Their values are not kept, but for those of allocation: a value may be a secret that its plugin does not mark as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.reading import Json, named, part, text
from .settings import RECOVERY_BYTES, ROUTING, Flat

Names = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Configured:
    """The names of the settings of each member's own configuration, and those of each index that were asked for."""

    members: Names = field(default_factory=dict)
    indices: Names = field(default_factory=dict)
    allocation: Mapping[str, Flat] = field(default_factory=dict)
    """The settings of allocation and of the pace of recoveries in the configuration of each member, by its name."""


def parse_started_with(answer: Json) -> Names:
    """The names of the settings of each member, from `GET _nodes/_all/settings?flat_settings=true`."""
    found = named(answer, "nodes", lambda _identity, node: (text(node, "name"), frozenset(part(node, "settings", {}))))
    return dict(found.values())


def parse_allocation(answer: Json) -> Mapping[str, Flat]:
    """Those settings of each member, from the same answer."""

    def of(_identity: str, node: Json) -> tuple[str, Flat]:
        given = part(node, "settings", {})
        found = {name: value for name, value in given.items() if name.startswith(ROUTING) or name == RECOVERY_BYTES}
        return text(node, "name"), found

    return dict(named(answer, "nodes", of).values())


def parse_of_indices(answer: Json) -> Names:
    """The names of the settings of each index, from a cluster state that has only those which were asked for."""
    metadata = part(answer, "metadata", {})
    return named(metadata, "indices", lambda _name, index: frozenset(_leaves(part(index, "settings", {}))), {})


def _leaves(of: Json, before: str = "") -> Iterator[str]:
    for name, value in of.items():
        yield from _below(f"{before}{name}", value)


def _below(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from _leaves(value, f"{name}.")
    else:
        yield name
