"""`_cluster/settings`: both scopes and the defaults, read and changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.sandbox.opensearch.errors import blocked
from tests.sandbox.opensearch.known import NO_DELETE, READ_ONLY, ROUTING
from tests.sandbox.opensearch.rest.routes import PATIENCE, Call, Route, answered
from tests.sandbox.opensearch.settings import SCOPES
from tests.sandbox.opensearch.values import flat, nested
from tests.sandbox.web import Answer


def _shown(call: Call, values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(values.items())) if call.flag("flat_settings") else nested(values)


def _read(call: Call) -> Answer:
    settings, state = call.state.settings, call.state
    body = {"persistent": _shown(call, settings.persistent), "transient": _shown(call, settings.transient)}
    if call.flag("include_defaults"):
        # They are read on the member that is asked: its version, its file.
        body["defaults"] = _shown(call, settings.defaults(call.member.version, call.member.spec.settings))
    return answered(body if state.recovered else {"persistent": {}, "transient": {}})


def _change(call: Call) -> Answer:
    body, state = call.needed_body, call.state
    _judge_blocks(call, body)
    before = state.settings_under(f"{ROUTING}.")
    set_ = state.settings.change(body, state.managing_version)
    state.heed_filters(before)
    call.cluster.allocation.publish()
    shown = {scope: _shown(call, set_[scope]) for scope in SCOPES}
    return answered({"acknowledged": True, **shown})


def _judge_blocks(call: Call, body: Mapping[str, Any]) -> None:
    """While the cluster is read-only, nothing but that is changed (TransportClusterUpdateSettingsAction)."""
    asked = {name for scope in SCOPES for name in flat(body.get(scope) or {})}
    if asked <= {READ_ONLY, NO_DELETE}:
        return
    blocks = {number: each for number, each in call.state.blocks().items() if "metadata_write" in each["levels"]}
    if blocks:
        raise blocked(blocks)


_READ = PATIENCE | {"flat_settings", "include_defaults", "local"}
ROUTES = (
    Route(("GET",), "/_cluster/settings", _read, _READ, in_place_from=(9, 0)),
    Route(("PUT",), "/_cluster/settings", _change, PATIENCE | {"flat_settings"}),
)
