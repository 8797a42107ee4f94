"""Indices: made, changed, read, removed, flushed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.sandbox.opensearch.indices import judge_name
from tests.sandbox.opensearch.model import Copy, Index
from tests.sandbox.opensearch.rest.routes import ACKNOWLEDGED, NAMING, PATIENCE, Call, Route, answered
from tests.sandbox.opensearch.values import nested
from tests.sandbox.web import Answer, Pending


def find(call: Call) -> list[Index]:
    """The indices of the path."""
    unavailable = call.flag("ignore_unavailable")
    hidden = bool({"hidden", "all"} & set(call.text("expand_wildcards").split(",")))
    return call.indices.find(call.parts.get("index", "_all"), unavailable=unavailable, hidden=hidden)


def _make(call: Call) -> Answer | Pending:
    """Made at once; the answer waits for as many copies as are asked for."""
    index = call.cluster.indices.make(call.parts["index"], call.body)
    wanted = call.text("wait_for_active_shards") or str(index.settings.get("write.wait_for_active_shards", "1"))
    most = index.replicas + 1 if wanted == "all" else int(wanted)

    def is_so() -> bool:
        return all(sum(copy.started for copy in copies) >= most for copies in index.shards.values())

    def answer() -> Answer:
        return answered({**ACKNOWLEDGED, "shards_acknowledged": is_so(), "index": index.name})

    return answer() if is_so() else Pending(is_so, call.seconds("timeout", 30.0), answer)


def _remove(call: Call) -> Answer:
    call.cluster.indices.remove(call.parts["index"])
    return answered(ACKNOWLEDGED)


def _shown(call: Call, index: Index) -> dict[str, Any]:
    settings = call.cluster.indices.settings_of(index)
    return dict(sorted(settings.items())) if call.flag("flat_settings") else nested(settings)


def _read(call: Call) -> Answer:
    judge_name(call.parts["index"])
    found = {
        index.name: {"aliases": {}, "mappings": index.body["mappings"], "settings": _shown(call, index)}
        for index in find(call)
    }
    return answered(found)


def _read_settings(call: Call) -> Answer:
    return answered({index.name: {"settings": _shown(call, index)} for index in find(call)})


def _change_settings(call: Call) -> Answer:
    call.cluster.indices.change(call.parts.get("index", "_all"), call.needed_body)
    return answered(ACKNOWLEDGED)


def _open(call: Call) -> Answer:
    call.cluster.indices.open(call.parts["index"], wanted=True)
    return answered({**ACKNOWLEDGED, "shards_acknowledged": True})


def _close(call: Call) -> Answer:
    call.cluster.indices.open(call.parts["index"], wanted=False)
    return answered({**ACKNOWLEDGED, "shards_acknowledged": True, "indices": {}})


def broadcast(copies: Iterable[Copy]) -> dict[str, Any]:
    """The counts of a request that went to all copies; those that do not serve are not counted as failed."""
    listed = list(copies)
    return {"total": len(listed), "successful": sum(copy.started for copy in listed), "failed": 0}


def _flush(call: Call) -> Answer:
    return answered({"_shards": broadcast(copy for index in find(call) if index.open for copy in index.copies)})


_CHANGE = PATIENCE | NAMING | {"preserve_existing", "flat_settings", "wait_for_active_shards"}
_READING = NAMING | {"local", "flat_settings", "include_defaults", "master_timeout", "cluster_manager_timeout"}
_FLUSH = NAMING | {"force", "wait_if_ongoing"}
ROUTES = (
    Route(("GET", "POST"), "/_flush", _flush, _FLUSH, manager=False),
    Route(("GET", "POST"), "/{index}/_flush", _flush, _FLUSH, manager=False),
    Route(("GET", "POST"), "/_refresh", _flush, _FLUSH, manager=False),
    Route(("GET", "POST"), "/{index}/_refresh", _flush, _FLUSH, manager=False),
    Route(("POST",), "/{index}/_open", _open, _CHANGE),
    Route(("POST",), "/{index}/_close", _close, _CHANGE),
    Route(("GET",), "/{index}/_settings", _read_settings, _READING),
    Route(("GET",), "/_settings", _read_settings, _READING),
    Route(("PUT",), "/{index}/_settings", _change_settings, _CHANGE),
    Route(("PUT",), "/_settings", _change_settings, _CHANGE),
    Route(("PUT",), "/{index}", _make, PATIENCE | {"wait_for_active_shards"}),
    Route(("GET", "HEAD"), "/{index}", _read, _READING),
    Route(("DELETE",), "/{index}", _remove, PATIENCE | NAMING),
)
