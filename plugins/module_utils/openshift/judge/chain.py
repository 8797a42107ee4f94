"""The chain of versions from one to another, if a minor version lies in between. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...common.release import Release, release_in
from ..observe.update_graph import UpdateGraph


@dataclass(frozen=True)
class Hop:
    """One upgrade of a chain."""

    version: str
    channel: str
    risks: tuple[str, ...] = ()
    """The names of the risks that may apply."""

    def __str__(self) -> str:
        risks = f" (with {'risk' if len(self.risks) == 1 else 'risks'} {', '.join(self.risks)})" if self.risks else ""
        return f"{self.version} in {self.channel}{risks}"


Edge = tuple[Release, Release]


def chain_of(present: Release, target: Release, graphs: Sequence[UpdateGraph]) -> tuple[Hop, ...]:
    """The chain with the fewest upgrades, and among these the one with the newest versions; empty if there is none.

    Updates with risks are in it only if there is no chain without. The graph of each hop is that of the channel of its
    minor version if that has the update, and else the one of the lowest minor version that has.
    """
    for risky in (False, True):
        edges: dict[Edge, Hop] = {}
        for graph in sorted(graphs, key=_minor):
            for edge, hop in _hops(graph, risky=risky):
                if edge[1] <= target and (edge not in edges or _minor(graph) == edge[1].minor):
                    edges[edge] = hop
        path = _shortest(present, target, edges.keys())
        if path:
            return tuple(edges[edge] for edge in path)
    return ()


def _minor(graph: UpdateGraph) -> int:
    last = graph.channel.rpartition(".")[2]
    return int(last) if last.isdecimal() else 0


def _hops(graph: UpdateGraph, *, risky: bool) -> Iterator[tuple[Edge, Hop]]:
    """The updates of a graph that lead to a greater version."""
    known: Mapping[tuple[str, str], tuple[str, ...]] = {
        **dict.fromkeys(graph.edges, ()),
        **({edge: tuple(each.name for each in risks) for edge, risks in graph.conditional.items()} if risky else {}),
    }
    for (origin, target), risks in known.items():
        below, above = release_in(origin), release_in(target)
        if below is not None and above is not None and below < above:
            yield (below, above), Hop(target, graph.channel, risks)


def _shortest(present: Release, target: Release, edges: Collection[Edge]) -> list[Edge]:
    """The path of the fewest edges, which at each fork takes the newest version."""
    before: dict[Release, list[Release]] = {}
    after: dict[Release, list[Release]] = {}
    for origin, to in edges:
        before.setdefault(to, []).append(origin)
        after.setdefault(origin, []).append(to)
    left, waiting = {target: 0}, deque([target])
    while waiting:
        here = waiting.popleft()
        for origin in before.get(here, ()):
            if origin not in left:
                left[origin] = left[here] + 1
                waiting.append(origin)
    path, here = list[Edge](), present
    while here != target:
        near = [each for each in after.get(here, ()) if left.get(each, -1) == left.get(here, 0) - 1]
        if not near:
            return []
        path.append((here, max(near)))
        here = max(near)
    return path


def chain_text(present: Release, target: Release, hops: Sequence[Hop], *, added: bool = False) -> str:
    """The sentences that name the versions on the way; empty without any. `added` says whether others are named
    already."""
    if not hops:
        return ""
    between = ",".join(each.version for each in hops[:-1])
    named = f"Add {between} to upgrade_through, before {target}" if added else f"Set upgrade_through={between}"
    return f"{named}, so that one run makes the upgrades {' → '.join([str(present), *map(str, hops)])}."
