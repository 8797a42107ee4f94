"""The work of the members, and the places that settings allow: counted once for all questions about one state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.sandbox.opensearch.known import AWARENESS, FORCED, ROUTING
from tests.sandbox.opensearch.model import Copy, Index, Member
from tests.sandbox.opensearch.values import names_of

WAYS = ("require", "include", "exclude")
Filters = Mapping[str, Mapping[str, list[str]]]
"""Way -> attribute -> patterns; ways without any are not there."""


class Load:
    """Counts by the id of a member."""

    def __init__(
        self, nodes: Iterable[Member], copies: Iterable[Copy], settings: Mapping[str, Any], filters: Filters
    ) -> None:
        """`settings` are those in force that begin with `cluster.routing.allocation.`, by what follows."""
        self.every: Counter[str] = Counter()
        """Copies, each where it is or will be."""
        self.own: dict[Index, Counter[str]] = {}
        self.into: Counter[str] = Counter()
        """Recoveries from another member."""
        self.out_of: Counter[str] = Counter()
        self.primaries: Counter[str] = Counter()
        """Primaries that begin."""
        self.filters = filters
        self.places = _places(nodes, settings)
        for copy in copies:
            self._count(copy)

    def _count(self, copy: Copy) -> None:
        if copy.node is None:
            return
        own = self.own.setdefault(copy.index, Counter())
        self.every[copy.target or copy.node] += 1
        for place in copy.places:
            own[place] += 1
        if copy.state == "INITIALIZING":
            self._begins(copy, copy.node)
        elif copy.target:
            self._comes(copy, copy.target)

    def begin(self, copy: Copy, node: str) -> None:
        """A copy that was on no member begins on one."""
        self.every[node] += 1
        self.own.setdefault(copy.index, Counter())[node] += 1
        self._begins(copy, node)

    def move(self, copy: Copy, node: str) -> None:
        """A copy begins to move to another member."""
        self.every[copy.node or ""] -= 1
        self.every[node] += 1
        self.own.setdefault(copy.index, Counter())[node] += 1
        self._comes(copy, node)

    def _begins(self, copy: Copy, node: str) -> None:
        if copy.primary:
            self.primaries[node] += 1
        else:
            self._comes(copy, node)

    def _comes(self, copy: Copy, node: str) -> None:
        self.into[node] += 1
        source = copy.node if copy.primary else copy.index.primary(copy.shard).node
        if source is not None:
            self.out_of[source] += 1


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
