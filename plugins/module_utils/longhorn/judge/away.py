"""The sets of nodes that decide whether volumes can spare others of which some are away at once. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...run.away_sets import AwaySets
from ..observe.state import Longhorn
from .copies import keeps_copy, sound_places


def deciding_sets(seen: Longhorn, away: AwaySets) -> Iterator[tuple[str, ...]]:
    """Each node by itself, then for each volume that may lose its last healthy replica the nodes that take it."""
    here = sorted(away.names & seen.nodes.keys())
    found: dict[tuple[str, ...], None] = {(name,): None for name in here}
    for volume in seen.volumes.values():
        nodes = away.worst(Counter(each for each in sound_places(seen, volume) if each in seen.nodes))
        if nodes and not keeps_copy(seen, volume, nodes):
            found[tuple(sorted(nodes))] = None
    yield from found
