"""Documents: one, many, and a search that finds words."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.sandbox.opensearch.allocation import store_of
from tests.sandbox.opensearch.errors import ServerError, no_index
from tests.sandbox.opensearch.model import Index
from tests.sandbox.opensearch.rest.indices import broadcast, find
from tests.sandbox.opensearch.rest.looks import SIZE
from tests.sandbox.opensearch.rest.routes import NAMING, Call, Route, answered
from tests.sandbox.web import Answer, Pending

Write = tuple[str, Index, str, Any]
"""The kind of an action, its index, the document's id, and the document."""


def _written(call: Call, writes: Sequence[Write], what: Any) -> Answer | Pending:
    """Write as soon as all primaries serve, at the latest after a minute."""
    documents = call.cluster.documents
    call.cluster.indices.judge_blocks("", "write")
    shards = {(index.name, documents.shard(index, identity)): index for _kind, index, identity, _source in writes}

    def may() -> bool:
        return all(documents.may_write(index, shard) for (_name, shard), index in shards.items())

    def answer() -> Answer:
        if may():
            return answered(*what([documents.write(index, each, source) for _kind, index, each, source in writes]))
        name, shard = next(key for key, index in shards.items() if not documents.may_write(index, key[1]))
        reason = f"[{name}][{shard}] primary shard is not active Timeout: [{call.text('timeout', '1m')}]"
        raise ServerError(503, "unavailable_shards_exception", reason)

    return answer() if may() else Pending(may, call.seconds("timeout", 60.0), answer)


def _status(done: dict[str, Any]) -> int:
    return {"created": 201, "not_found": 404}.get(done["result"], 200)


def _one(done: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    return done[0], _status(done[0])


def _put(call: Call) -> Answer | Pending:
    index = call.cluster.documents.index(call.parts["index"])
    identity = call.parts.get("id") or call.state.names.make()
    return _written(call, [("index", index, identity, call.needed_body)], _one)


def _delete(call: Call) -> Answer | Pending:
    return _written(call, [("delete", _index(call, call.parts["index"]), call.parts["id"], None)], _one)


def _index(call: Call, name: str) -> Index:
    found = call.state.indices.get(name)
    if found is None:
        raise no_index(name, "index_expression")
    return found


def _get(call: Call) -> Answer:
    found = call.cluster.documents.read(_index(call, call.parts["index"]), call.parts["id"])
    return answered(found, 200 if found["found"] else 404)


def _lines(body: Any) -> list[Any]:
    if isinstance(body, str):
        return [json.loads(line) for line in body.splitlines() if line.strip()]
    return list(body or [])


def _bulk_of(call: Call) -> Iterator[Write]:
    lines = iter(_lines(call.request.body))
    for line in lines:
        ((kind, about),) = line.items()
        source = None if kind == "delete" else next(lines, None)
        index = call.cluster.documents.index(about.get("_index") or call.parts["index"])
        yield kind, index, str(about.get("_id") or call.state.names.make()), source


def _bulk(call: Call) -> Answer | Pending:
    writes = list(_bulk_of(call))

    def body(done: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
        items = [{write[0]: {**each, "status": _status(each)}} for write, each in zip(writes, done, strict=True)]
        return {"took": 1, "errors": False, "items": items}, 200

    return _written(call, writes, body)


def _many(call: Call) -> Answer:
    found = []
    for wanted in call.needed_body["docs"]:
        name, identity = wanted.get("_index") or call.parts["index"], str(wanted["_id"])
        try:
            each = call.cluster.documents.read(_index(call, name), identity)
        except ServerError as error:
            each = {"_index": name, "_id": identity, "error": error.body}
        if wanted.get("_source") is False:
            each.pop("_source", None)
        found.append(each)
    return answered({"docs": found})


def _shards(call: Call, indices: Sequence[Index]) -> dict[str, int]:
    documents = call.cluster.documents
    total = sum(len(index.shards) for index in indices)
    served = sum(documents.readable(index, shard) is not None for index in indices for shard in index.shards)
    if total and not served:
        more = {"phase": "query", "grouped": True, "failed_shards": list[Any]()}
        error = ServerError(503, "search_phase_execution_exception", "all shards failed", **more)
        error.rooted = False
        raise error
    return {"total": total, "successful": served, "skipped": 0, "failed": 0}


@functools.lru_cache(maxsize=100_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())


def _wanted(query: dict[str, Any]) -> dict[str, frozenset[str]]:
    """By field the words of which a document has to have one."""
    found = {}
    for name, given in (query.get("match") or query.get("term") or {}).items():
        text = given.get("query", given.get("value")) if isinstance(given, dict) else given
        found[name] = _words(str(text))
    return found


def _hits(call: Call) -> tuple[dict[str, int], list[tuple[Index, str, Any]]]:
    indices = [index for index in find(call) if index.open]
    shards, wanted = _shards(call, indices), list(_wanted(call.body.get("query") or {}).items())
    found = [
        (index, identity, source)
        for index in indices
        for identity, source in call.cluster.documents.all(index)
        if all(not words.isdisjoint(_words(str(source.get(name, "")))) for name, words in wanted)
    ]
    return shards, found


def _search(call: Call) -> Answer:
    shards, found = _hits(call)
    size = int(call.text("size") or call.body.get("size", 10))
    hits = [{"_index": i.name, "_id": each, "_score": 1.0, "_source": source} for i, each, source in found[:size]]
    total = {"value": len(found), "relation": "eq"}
    body = {"took": 1, "timed_out": False, "_shards": shards}
    return answered({**body, "hits": {"total": total, "max_score": 1.0 if hits else None, "hits": hits}})


def _count(call: Call) -> Answer:
    shards, found = _hits(call)
    return answered({"count": len(found), "_shards": shards})


def _stats(call: Call) -> Answer:
    """The documents of each index, in its primaries and in all copies; a copy that does not serve reports none."""
    indices = [index for index in find(call) if index.open]
    found = {}
    for index in indices:
        serving = [copy for copy in index.copies if call.cluster.documents.serves(copy)]
        stores = [(copy.primary, store) for copy in serving if (store := store_of(call.state, copy)) is not None]
        primaries = [len(store.documents) for primary, store in stores if primary]
        every = [len(store.documents) for _primary, store in stores]
        found[index.name] = {"primaries": _counted(primaries), "total": _counted(every)}
        if call.text("level") == "shards":
            found[index.name]["shards"] = _leases(call, index)
    return answered({"_shards": broadcast(copy for index in indices for copy in index.copies), "indices": found})


def _counted(documents: Sequence[int]) -> dict[str, Any]:
    return {"docs": {"count": sum(documents), "deleted": 0}} if documents else {}


def _leases(call: Call, index: Index) -> dict[str, list[dict[str, Any]]]:
    """By shard those of its own copies, and that of a follower, as each copy reports them (server source,
    RetentionLeases)."""
    follower = call.cluster.documents.followed.get(index.name)

    def of(shard: int) -> list[dict[str, Any]]:
        serving = [copy for copy in index.shards[shard] if call.cluster.documents.serves(copy)]
        names = [f"peer_recovery/{copy.node}" for copy in serving] + ([follower] if follower else [])
        leases = [{"id": name, "retaining_seq_no": 0, "source": name.partition("/")[0]} for name in names]
        return [{"retention_leases": {"primary_term": 1, "leases": leases}} for _copy in serving]

    return {str(shard): of(shard) for shard in index.shards}


def _stored(call: Call) -> Answer:
    """The bytes of each copy; closed indices have no part in it, unless they are asked for."""
    closed = call.text("forbid_closed_indices") == "false"
    found = {index.name: {"shards": _sizes(index)} for index in find(call) if index.open or closed}
    return answered({"indices": found})


def _sizes(index: Index) -> dict[str, list[dict[str, Any]]]:
    store = {"size_in_bytes": SIZE, "reserved_in_bytes": 0}
    return {
        str(shard): [
            {"routing": {"state": each.state, "primary": each.primary, "node": each.node}, "store": store}
            for each in copies
            if each.started
        ]
        for shard, copies in index.shards.items()
    }


_WRITE = frozenset({"refresh", "timeout", "wait_for_active_shards", "routing", "op_type", "require_alias"})
_READ = frozenset({"realtime", "refresh", "routing", "preference", "_source"})
_SEARCH = NAMING | {"request_cache", "size", "q", "preference", "routing", "search_type", "rest_total_hits_as_int"}
_SEARCH |= {"allow_partial_search_results", "track_total_hits", "sort"}
ROUTES = (
    Route(("PUT", "POST"), "/{index}/_doc/{id}", _put, _WRITE, manager=False),
    Route(("POST",), "/{index}/_doc", _put, _WRITE, manager=False),
    Route(("GET", "HEAD"), "/{index}/_doc/{id}", _get, _READ, manager=False),
    Route(("DELETE",), "/{index}/_doc/{id}", _delete, _WRITE, manager=False),
    Route(("POST", "PUT"), "/_bulk", _bulk, _WRITE, manager=False),
    Route(("POST", "PUT"), "/{index}/_bulk", _bulk, _WRITE, manager=False),
    Route(("GET", "POST"), "/_mget", _many, _READ, manager=False),
    Route(("GET", "POST"), "/{index}/_mget", _many, _READ, manager=False),
    Route(("GET", "POST"), "/_search", _search, _SEARCH, manager=False),
    Route(("GET", "POST"), "/{index}/_search", _search, _SEARCH, manager=False),
    Route(("GET", "POST"), "/_count", _count, _SEARCH, manager=False),
    Route(("GET", "POST"), "/{index}/_count", _count, _SEARCH, manager=False),
    Route(("GET",), "/_stats/docs", _stats, NAMING | {"level"}, manager=False),
    Route(("GET",), "/{index}/_stats/store", _stored, NAMING | {"level", "forbid_closed_indices"}, manager=False),
)
