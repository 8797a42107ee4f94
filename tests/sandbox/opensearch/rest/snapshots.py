"""`_snapshot`: repositories and snapshots."""

from __future__ import annotations

from typing import Any

from tests.sandbox.opensearch.rest.routes import ACKNOWLEDGED, PATIENCE, Call, Route, answered
from tests.sandbox.web import Answer, Pending


def _register(call: Call) -> Answer:
    call.cluster.snapshots.register(call.parts["repository"], call.needed_body)
    return answered(ACKNOWLEDGED)


def _repositories(call: Call) -> Answer:
    return answered(call.state.repositories)


def _forget(call: Call) -> Answer:
    call.cluster.snapshots.forget(call.parts["repository"])
    return answered(ACKNOWLEDGED)


def _take(call: Call) -> Answer | Pending:
    wanted = call.body.get("indices", "_all")
    names = ",".join(wanted) if isinstance(wanted, list) else str(wanted)
    snapshots = call.cluster.snapshots
    found = call.cluster.indices.find(names, hidden=True)
    entry = snapshots.begin(call.parts["repository"], call.parts["name"], found, call.body)
    if not call.flag("wait_for_completion"):
        return answered({"accepted": True})

    def done() -> bool:
        return entry not in call.state.snapshots

    def answer() -> Answer:
        (found,) = snapshots.find(call.parts["repository"], call.parts["name"])
        return answered({"snapshot": _shown(found)})

    return Pending(done, 3600.0, answer)


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    state = "IN_PROGRESS" if entry["state"] == "STARTED" else entry["state"]
    ended = state != "IN_PROGRESS"
    failures = [
        {
            "index": part["index"]["index_name"],
            "shard_id": part["shard"],
            "reason": part["reason"],
            "status": "INTERNAL",
        }
        for part in entry["shards"]
        if ended and part["state"] == "FAILED"
    ]
    total = len(entry["shards"]) if ended else 0
    return {
        "snapshot": entry["snapshot"],
        "uuid": entry["uuid"],
        "state": state,
        "indices": [index["name"] for index in entry["indices"]],
        "include_global_state": entry["include_global_state"],
        **({"metadata": entry["user_metadata"]} if entry["user_metadata"] else {}),
        "start_time_in_millis": entry["start_time_millis"],
        "failures": failures,
        "shards": {"total": total, "failed": len(failures), "successful": total - len(failures)},
    }


def _read(call: Call) -> Answer:
    lenient = call.flag("ignore_unavailable")
    found = call.cluster.snapshots.find(call.parts["repository"], call.parts["name"], lenient=lenient)
    ends = (
        {}
        if not call.flag("verbose", default=True)
        else {each["snapshot"]: {"end_time_in_millis": each.get("end_time_millis", 0)} for each in found}
    )
    return answered({"snapshots": [{**_shown(each), **ends.get(each["snapshot"], {})} for each in found]})


def _status(call: Call) -> Answer:
    return answered({"snapshots": [_with_figures(call, each) for each in call.state.snapshots]})


def _status_of(call: Call) -> Answer:
    found = call.cluster.snapshots.find(call.parts["repository"], call.parts["name"])
    return answered({"snapshots": [_with_figures(call, each) for each in found]})


def _with_figures(call: Call, entry: dict[str, Any]) -> dict[str, Any]:
    """The server shows one that is PARTIAL as SUCCESS (TransportSnapshotsStatusAction)."""
    state = "STARTED" if entry["state"] == "STARTED" else "SUCCESS"
    about = {name: entry[name] for name in ("snapshot", "repository", "uuid", "include_global_state")}
    return {**about, "state": state, **call.cluster.snapshots.figures(entry)}


def _verify(call: Call) -> Answer:
    names = {each.id: {"name": each.name} for each in call.state.nodes.values()}
    return answered({"nodes": {one: names[one] for one in call.cluster.snapshots.verify(call.parts["repository"])}})


def _remove(call: Call) -> Answer:
    call.cluster.snapshots.remove(call.parts["repository"], call.parts["name"])
    return answered(ACKNOWLEDGED)


_PATIENT = PATIENCE | {"verify", "local", "ignore_unavailable", "verbose"}
ROUTES = (
    Route(("GET",), "/_snapshot", _repositories, _PATIENT),
    Route(("GET",), "/_snapshot/_status", _status, _PATIENT),
    Route(("PUT", "POST"), "/_snapshot/{repository}", _register, _PATIENT),
    Route(("DELETE",), "/_snapshot/{repository}", _forget, _PATIENT),
    Route(("POST",), "/_snapshot/{repository}/_verify", _verify, _PATIENT),
    Route(("GET",), "/_snapshot/{repository}/{name}/_status", _status_of, _PATIENT),
    Route(("PUT", "POST"), "/_snapshot/{repository}/{name}", _take, _PATIENT | {"wait_for_completion"}),
    Route(("GET",), "/_snapshot/{repository}/{name}", _read, _PATIENT),
    Route(("DELETE",), "/_snapshot/{repository}/{name}", _remove, _PATIENT),
)
