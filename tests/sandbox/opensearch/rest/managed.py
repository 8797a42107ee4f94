"""`_plugins/_ism/explain` of the plugin for index management, by its source (ExplainResponse, ManagedIndexMetaData).

A member without the plugin knows no such request. Policies do nothing by themselves here: a test says what an index
is at.
"""

from __future__ import annotations

from typing import Any

from tests.sandbox.opensearch.rest.routes import Call, Route, answered
from tests.sandbox.web import Answer

PLUGIN = "opensearch-index-management"
CONFIGURATION = ".opendistro-ism-config"
POLICY = "index_state_management.policy_id"
SHOWN = 20
"""The managed indices of a page, unless a size is asked for."""


def _explain(call: Call) -> Answer:
    if PLUGIN not in call.member.spec.plugins:
        said = f"no handler found for uri [{call.request.path}] and method [{call.request.method}]"
        return Answer(400, {"error": said})
    there = CONFIGURATION in call.state.indices
    managed = {name: each for name, each in sorted(call.state.managed.items()) if there and name in call.state.indices}
    begin, size = int(call.text("from", "0")), int(call.text("size", str(SHOWN)))
    page = list(managed.items())[begin : begin + size]
    return answered({**{name: _shown(call, name, at) for name, at in page}, "total_managed_indices": len(managed)})


def _shown(call: Call, name: str, at: dict[str, Any]) -> dict[str, Any]:
    return {
        f"index.plugins.{POLICY}": "policy",
        f"index.opendistro.{POLICY}": "policy",
        "index": name,
        "index_uuid": call.state.indices[name].uuid,
        "policy_id": "policy",
        "enabled": True,
        **at,
    }


ROUTES = (
    Route(("GET", "POST"), "/_plugins/_ism/explain", _explain, frozenset({"from", "size", "queryString", "sortField"})),
)
