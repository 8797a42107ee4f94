"""The work of the members, and the places that settings allow: counted once for all questions about one state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.sandbox.opensearch.known import AWARENESS, FORCED, ROUTING
from tests.sandbox.opensearch.model import Copy, Index, Member
from tests.sandbox.opensearch.values import names_of

WAYS = ("require", "include", "exclude")
Filters = Mapping[str, Mapping[str, list[str]]]
"""Way -> attribute -> patterns; ways without any are not there."""


@dataclass
class _Share:
    """The part of one index in all counts."""

    revision: int
    every: Counter[str] = field(default_factory=Counter)
    own: Counter[str] = field(default_factory=Counter)
    into: Counter[str] = field(default_factory=Counter)
    out_of: Counter[str] = field(default_factory=Counter)
    primaries: Counter[str] = field(default_factory=Counter)
    states: Counter[tuple[str, bool]] = field(default_factory=Counter)
    waiting: tuple[Copy, ...] = ()


class Load:
    """Counts by the id of a member. Only indices that have changed are counted again."""

    def __init__(self) -> None:
        self.every: Counter[str] = Counter()
        """Copies, each where it is or will be."""
        self.into: Counter[str] = Counter()
        """Recoveries from another member."""
        self.out_of: Counter[str] = Counter()
        self.primaries: Counter[str] = Counter()
        """Primaries that start."""
        self.states: Counter[tuple[str, bool]] = Counter()
        """Copies by their state, and whether they are primaries."""
        self.filters: Filters = {}
        self.places: dict[str, tuple[dict[str, str | None], int]] = {}
        self._shares: dict[Index, _Share] = {}

    def heed(self, nodes: Iterable[Member], settings: Mapping[str, Any], filters: Filters) -> None:
        """`settings` are those in force that begin with `cluster.routing.allocation.`, by what follows."""
        self.filters = filters
        self.places = _places(nodes, settings)

    def follow(self, indices: Mapping[str, Index]) -> None:
        """Count what has changed since the last time."""
        for index in indices.values():
            share = self._shares.get(index)
            if share is None or share.revision != index.revision:
                self.recount(index)
        if len(self._shares) > len(indices):
            for index in self._shares.keys() - set(indices.values()):
                self._add(self._shares.pop(index), -1)

    def recount(self, index: Index) -> None:
        """An index has changed."""
        before = self._shares.get(index)
        if before is not None:
            self._add(before, -1)
        self._shares[index] = share = _Share(index.revision)
        for copy in index.copies:
            _count(share, copy)
        share.waiting = tuple(copy for copy in index.copies if copy.state == "UNASSIGNED")
        self._add(share, 1)

    def _add(self, share: _Share, times: int) -> None:
        for name in ("every", "into", "out_of", "primaries", "states"):
            of_all = getattr(self, name)
            for key, number in getattr(share, name).items():
                of_all[key] += times * number

    def own(self, index: Index) -> Counter[str]:
        """The copies of one index, each where it is and where it moves to."""
        share = self._shares.get(index)
        return share.own if share is not None else Counter()

    def states_of(self, index: Index) -> Counter[tuple[str, bool]]:
        """The copies of one index by their state, and whether they are primaries."""
        return self._shares[index].states

    def is_green(self, index: Index) -> bool:
        """Whether all copies of an index serve."""
        states = self._shares[index].states
        return all(state in {"STARTED", "RELOCATING"} for state, _primary in states)

    def waiting(self, index: Index) -> tuple[Copy, ...]:
        """The copies of an index that are on no member."""
        return self._shares[index].waiting


def _count(share: _Share, copy: Copy) -> None:
    share.states[copy.state, copy.primary] += 1
    if copy.node is None:
        return
    share.every[copy.target or copy.node] += 1
    for place in copy.places:
        share.own[place] += 1
    if copy.state == "INITIALIZING" and copy.primary:
        share.primaries[copy.node] += 1
    elif copy.state == "INITIALIZING":
        _comes(share, copy, copy.node)
    elif copy.target:
        _comes(share, copy, copy.target)


def _comes(share: _Share, copy: Copy, node: str) -> None:
    share.into[node] += 1
    source = copy.node if copy.primary else copy.index.primary(copy.shard).node
    if source is not None:
        share.out_of[source] += 1


def filters_of(settings: Mapping[str, Any], *, arrays: bool = True) -> Filters:
    """The filters in settings such as `exclude._name`: those that are not empty.

    Without `arrays` a JSON array is read as a text in brackets, as OpenSearch does.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for name, value in sorted(settings.items(), reverse=True):
        way, _dot, key = name.partition(".")
        names = names_of(value if arrays or not isinstance(value, list) else f"[{', '.join(map(str, value))}]")
        if way in WAYS and names:
            found.setdefault(way, {})[key] = names
    return found


def filters_after(heeded: Filters, before: Mapping[str, Any], after: Mapping[str, Any]) -> Filters:
    """The filters that a member of Elasticsearch heeds after a change of the settings in force.

    Of each way it keeps only the attributes that the last change of that way has changed (elastic/elasticsearch#55815;
    server source, Setting.newAffixMapUpdater). A process that has started since knows all of them.
    """
    was, now, found = filters_of(before), filters_of(after), dict(heeded)
    for way in WAYS:
        one, other = was.get(way, {}), now.get(way, {})
        changed = {key for key in {*one, *other} if one.get(key) != other.get(key)}
        if changed:
            found[way] = {key: names for key, names in other.items() if key in changed}
    return {way: keys for way, keys in found.items() if keys}


def _places(nodes: Iterable[Member], settings: Mapping[str, Any]) -> dict[str, tuple[dict[str, str | None], int]]:
    """By each attribute that copies are spread over: its value for each data member, and how many values there are."""
    data = [node for node in nodes if node.holds_data]
    beginning = FORCED.removeprefix(f"{ROUTING}.")
    found = {}
    for attribute in names_of(settings.get(AWARENESS.removeprefix(f"{ROUTING}."))):
        values = {node.id: node.attributes.get(attribute) for node in data}
        forced = names_of(settings.get(f"{beginning}{attribute}.values"))
        found[attribute] = values, len({*filter(None, values.values()), *forced})
    return found
