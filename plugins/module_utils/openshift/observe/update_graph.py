"""The update graph of one channel, as an answer of the Cincinnati protocol has it. Pure: no client.

The protocol is `docs/design/cincinnati.md` of openshift/cincinnati; its reading is that of the cluster version operator
(`pkg/cincinnati/cincinnati.go`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...common.reading import Json, Unreadable, entries, listed, parsed, text
from ...kubernetes.conditions import StatusCondition
from .state import Update, UpdateRisk

NOT_EVALUATED = StatusCondition("Unknown", "NotEvaluated")
"""A graph does not know the cluster, and so not whether a risk applies to it."""
Edge = tuple[str, str]
"""The versions from which and to which an update leads."""


@dataclass(frozen=True)
class UpdateGraph:
    """The releases and updates of a channel."""

    channel: str
    images: Mapping[str, str]
    """The image of each release, by version."""
    edges: frozenset[Edge] = frozenset()
    """The updates without risks."""
    conditional: Mapping[Edge, tuple[UpdateRisk, ...]] = field(default_factory=dict)
    """The updates with risks."""

    def updates(self, present: str) -> dict[str, Update]:
        """The updates from a version, by the version to which they lead."""
        plain = {target: Update(target, self.images[target]) for origin, target in self.edges if origin == present}
        risky = {
            target: Update(target, self.images[target], risks, NOT_EVALUATED)
            for (origin, target), risks in self.conditional.items()
            if origin == present
        }
        return {**plain, **risky}


def graph_in(channel: str, answer: str) -> UpdateGraph:
    """The graph in an answer.

    As the cluster version operator does it, an update that is both conditional and not is conditional, and one that is
    conditional twice is none at all.

    Raises:
        Unreadable: the answer is not as the protocol says.
    """
    found = parsed(answer)
    releases = listed(found, "nodes", lambda item: (text(item, "version"), text(item, "payload")))
    versions = [version for version, _image in releases]
    edges = {_edge(each, versions) for each in entries(found, "edges")}
    conditional = list(_conditional(found, frozenset(versions)))
    times = Counter(edge for edge, _risks in conditional)
    once = {edge: risks for edge, risks in conditional if times[edge] == 1}
    return UpdateGraph(channel, dict(releases), frozenset(edges - times.keys()), once)


def _edge(found: Any, versions: list[str]) -> Edge:
    places = found if isinstance(found, list) and len(found) == 2 else ()
    if not places or not all(_is_place(each, len(versions)) for each in places):
        raise Unreadable("holds something else than two places in the list of nodes", "edges")
    return versions[places[0]], versions[places[1]]


def _is_place(found: Any, count: int) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and 0 <= found < count


def _conditional(found: Json, versions: frozenset[str]) -> Iterator[tuple[Edge, tuple[UpdateRisk, ...]]]:
    """The conditional edges, each as often as it is there. An older service has no such list."""
    groups = listed(found, "conditionalEdges", lambda item: (listed(item, "edges", _named), _risks(item)), ())
    for edges, risks in groups:
        for edge in edges:
            if edge[1] not in versions:
                raise Unreadable(f"lead to {edge[1]}, which is no node", "conditionalEdges")
            yield edge, risks


def _named(item: Json) -> Edge:
    return text(item, "from"), text(item, "to")


def _risks(item: Json) -> tuple[UpdateRisk, ...]:
    risks = listed(
        item, "risks", lambda each: UpdateRisk(text(each, "name"), text(each, "message", ""), text(each, "url", ""))
    )
    if not risks:
        raise Unreadable("name no risk", "conditionalEdges")
    return risks
