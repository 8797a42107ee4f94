"""Documents: written to every copy that serves, read from any. An acknowledged document is in all copies in sync."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from tests.sandbox.opensearch.allocation import store_of
from tests.sandbox.opensearch.errors import ServerError
from tests.sandbox.opensearch.indices import Indices
from tests.sandbox.opensearch.model import Copy, Index, Store
from tests.sandbox.opensearch.state import State


class Documents:
    """Reads and writes of single documents."""

    def __init__(self, state: State, indices: Indices) -> None:
        self._state = state
        self._indices = indices
        self.followed: dict[str, str] = {}
        """The name of the lease that another cluster holds on the shards of an index, by the name of the index."""

    def index(self, name: str) -> Index:
        """The index of that name, which is made where it is not there."""
        found = self._state.indices.get(name)
        return found if found is not None else self._indices.make(name, {})

    def shard(self, index: Index, identity: str) -> int:
        """In which shard a document is."""
        return zlib.crc32(identity.encode()) % len(index.shards)

    def may_write(self, index: Index, shard: int) -> bool:
        """Whether the primary serves, and no copy is on a member that has died and is not yet removed."""
        placed = [copy for copy in index.shards[shard] if copy.started]
        alive = all(self._state.nodes[copy.node or ""].alive for copy in placed)
        return alive and index.primary(shard).started

    def write(self, index: Index, identity: str, source: Any) -> dict[str, Any]:
        """Write, or with None remove, a document; a copy that lacks it is not in sync any more."""
        shard = self.shard(index, identity)
        placed = [copy for copy in index.shards[shard] if copy.started]
        stores = [store for copy in placed if (store := store_of(self._state, copy)) is not None]
        existed = identity in stores[0].documents
        for store in stores:
            if source is None:
                store.documents.pop(identity, None)
            else:
                store.documents[identity] = source
        index.in_sync[shard] = {copy.allocation for copy in placed if copy.allocation}
        index.touch()
        index.versions[identity] = version = index.versions.get(identity, 0) + 1
        result = ("deleted" if existed else "not_found") if source is None else "updated" if existed else "created"
        return {
            "_index": index.name,
            "_id": identity,
            "_version": version,
            "result": result,
            "_shards": {"total": index.replicas + 1, "successful": len(placed), "failed": 0},
            "_seq_no": version - 1,
            "_primary_term": index.terms[shard],
        }

    def readable(self, index: Index, shard: int) -> Store | None:
        """The files of a copy that serves, the primary's if it does; None where no copy is left."""
        for copy in sorted(index.shards[shard], key=lambda copy: not copy.primary):
            if self.serves(copy):
                return store_of(self._state, copy)
        return None

    def serves(self, copy: Copy) -> bool:
        """Whether a copy answers."""
        return copy.started and self._state.nodes[copy.node or ""].alive

    def read(self, index: Index, identity: str) -> dict[str, Any]:
        """A document as it is answered.

        Raises:
            ServerError: no copy of its shard serves.
        """
        shard = self.shard(index, identity)
        store = self.readable(index, shard)
        if store is None:
            reason = f"No shard available for [get [{index.name}][{identity}]: routing [null]]"
            raise ServerError(503, "no_shard_available_action_exception", reason)
        own = {"_index": index.name, "_id": identity}
        if identity not in store.documents:
            return {**own, "found": False}
        version = {"_version": index.versions.get(identity, 1), "_seq_no": 0, "_primary_term": index.terms[shard]}
        return {**own, **version, "found": True, "_source": store.documents[identity]}

    def all(self, index: Index) -> Iterator[tuple[str, Any]]:
        """All documents that can be read."""
        for shard in index.shards:
            store = self.readable(index, shard)
            if store is not None:
                yield from store.documents.items()
