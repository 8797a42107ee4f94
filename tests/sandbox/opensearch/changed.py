"""The parts of a cluster that have changed since they were looked at last: a large one is not looked at as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.sandbox.opensearch.deciders import heeds_disks
from tests.sandbox.opensearch.known import DISK
from tests.sandbox.opensearch.model import Copy, Index, Member, Store
from tests.sandbox.opensearch.state import State


def key_of(copy: Copy) -> tuple[str, int]:
    """The key under which a disk has the files of a copy."""
    return copy.index.uuid, copy.shard


class Files:
    """The members that may have files of an index, so that not every disk is looked through."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._having: dict[str, set[str]] = {}
        """The UUID of an index -> the ids of members."""
        self._seen: dict[str, Member] = {}
        self._revisions: dict[Index, int] = {}
        self._came: set[str] = set()
        """The UUIDs of indices of which members have brought files."""

    def put(self, copy: Copy, node: Member, store: Store) -> None:
        """Files of a copy are on the disk of a member."""
        node.disk.stores[key_of(copy)] = store
        self._having.setdefault(copy.index.uuid, set()).add(node.id)

    def of(self, copies: Iterable[Copy]) -> dict[tuple[str, int], list[Member]]:
        """The members with files of each shard of these copies."""
        self._look()
        found: dict[tuple[str, int], list[Member]] = {}
        order = {node.id: (number, node) for number, node in enumerate(self._state.data_nodes)}
        for key in {key_of(copy) for copy in copies}:
            having = sorted(order[each] for each in self._having.get(key[0], ()) if each in order)
            found[key] = [node for _number, node in having if key in node.disk.stores]
        return found

    def _look(self) -> None:
        """Look through the disks of members that have come."""
        nodes = self._state.data_nodes
        for node in nodes:
            if self._seen.get(node.id) is not node:
                for uuid, _shard in node.disk.stores:
                    self._having.setdefault(uuid, set()).add(node.id)
                    self._came.add(uuid)
        self._seen = {node.id: node for node in nodes}

    def clean(self) -> None:
        """Members drop the files of what is started elsewhere, and of indices that are gone."""
        state = self._state
        self._look()
        came, self._came = self._came, set()
        load = state.counted
        for index in state.indices.values():
            if index.uuid in came or self._revisions.get(index) != index.revision:
                having = self._having.setdefault(index.uuid, set())
                having |= load.own(index).keys()
                self._revisions[index] = index.revision
                self._clean(index.uuid, index)
        if len(self._revisions) > len(state.indices):
            for gone in self._revisions.keys() - set(state.indices.values()):
                del self._revisions[gone]
        known = {index.uuid for index in state.indices.values()}
        for uuid in [uuid for uuid in self._having if uuid not in known]:
            self._clean(uuid, None)

    def _clean(self, uuid: str, index: Index | None) -> None:
        for identity in list(self._having[uuid]):
            node = self._state.nodes.get(identity)
            if node is None or not node.alive:
                continue
            left = [key for key in self._keys(uuid, index, node) if key in node.disk.stores]
            for key in left:
                copies = index.shards[key[1]] if index is not None else []
                placed = any(node.id in copy.places for copy in copies)
                if not placed and all(copy.state == "STARTED" for copy in copies):
                    del node.disk.stores[key]
            if not any(key in node.disk.stores for key in left):
                self._having[uuid].discard(identity)

    def _keys(self, uuid: str, index: Index | None, node: Member) -> list[tuple[str, int]]:
        if index is not None:
            return [(uuid, shard) for shard in index.shards]
        return [key for key in node.disk.stores if key[0] == uuid]


class Staying:
    """The indices whose copies have to be asked again whether they may stay where they are."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._rules: Any = None
        self._members: dict[str, Any] = {}
        self._revisions: dict[Index, int] = {}
        self.refused: set[Index] = set()
        """Those of which a copy may not stay, and perhaps has no other place."""

    def to_judge(self) -> list[Index]:
        """They have changed, or one of their members has, or the rules for all."""
        state, load = self._state, self._state.load
        counts = {attribute: number for attribute, (_values, number) in load.places.items()}
        rules = load.filters, counts, heeds_disks(state), str(state.setting(f"{DISK}.watermark.high"))
        members = {node.id: (node, node.disk.known) for node in state.nodes.values()}
        other = {each for each, facts in members.items() if self._members.get(each) != facts}
        known = {} if rules != self._rules else self._revisions
        found = [
            index
            for index in state.indices.values()
            if known.get(index) != index.revision or index in self.refused or not other.isdisjoint(load.own(index))
        ]
        self._rules, self._members = rules, members
        self._revisions = {index: index.revision for index in state.indices.values()}
        self.refused = set()
        return found
