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
    entry = snapshots.begin(call.parts["repository"], call.parts["name"], call.cluster.indices.find(names))
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
    indices = [index["name"] for index in entry["indices"]]
    return {"snapshot": entry["snapshot"], "uuid": entry["uuid"], "state": state, "indices": indices}


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
    return answered({"snapshots": [{**_shown(each), "state": "STARTED"} for each in call.state.snapshots]})


def _remove(call: Call) -> Answer:
    call.cluster.snapshots.remove(call.parts["repository"], call.parts["name"])
    return answered(ACKNOWLEDGED)


_PATIENT = PATIENCE | {"verify", "local", "ignore_unavailable", "verbose"}
ROUTES = (
    Route(("GET",), "/_snapshot", _repositories, _PATIENT),
    Route(("GET",), "/_snapshot/_status", _status, _PATIENT),
    Route(("PUT", "POST"), "/_snapshot/{repository}", _register, _PATIENT),
    Route(("DELETE",), "/_snapshot/{repository}", _forget, _PATIENT),
    Route(("PUT", "POST"), "/_snapshot/{repository}/{name}", _take, _PATIENT | {"wait_for_completion"}),
    Route(("GET",), "/_snapshot/{repository}/{name}", _read, _PATIENT),
    Route(("DELETE",), "/_snapshot/{repository}/{name}", _remove, _PATIENT),
)
