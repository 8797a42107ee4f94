"""A cluster in memory that answers as OpenSearch does, in the place of the client: it really keeps its settings.

It can be cut off at any request, before or after the servers have done what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, Unreachable, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import refused
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.products import Product
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    WATERMARKS,
    Json,
    disk,
    identity,
    info,
    nested,
    state_answer,
)

GREEN: Json = {
    "status": "green",
    "timed_out": False,
    "number_of_nodes": 3,
    "initializing_shards": 0,
    "relocating_shards": 0,
    "unassigned_shards": 0,
    "delayed_unassigned_shards": 0,
    "number_of_in_flight_fetch": 0,
    "number_of_pending_tasks": 0,
}


@dataclass
class Servers:
    """The answers, and what was asked of them."""

    state: Json = field(default_factory=lambda: state_answer("abc", elected="a"))
    nodes: Json = field(default_factory=lambda: {identity(name): info(name) for name in "abc"})
    explanations: dict[tuple[str, int, bool], Json | Refusal] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=lambda: {"persistent": {}, "transient": {}})
    defaults: Json = field(default_factory=lambda: {"defaults": nested(WATERMARKS)})
    stats: Json = field(default_factory=lambda: {identity(name): disk(name) for name in "abc"})
    tasks: Json = field(default_factory=dict)
    started_with: dict[str, Json] = field(default_factory=dict)
    """Settings of members' own configuration, flat, by name of the member."""
    managed: list[Json] = field(default_factory=list)
    """Pages of the managed indices, one after another."""
    silent: list[Json] = field(default_factory=list)
    """The failures of members that do not answer for themselves."""
    certificates: dict[str, set[bytes]] = field(default_factory=dict)
    denied: dict[str, str] = field(default_factory=dict)
    """Path → the permission that the user lacks for it."""
    condition: Json = field(default_factory=lambda: dict(GREEN))
    asked: list[tuple[str, str]] = field(default_factory=list)
    cut_off: int | None = None
    """After so many requests none is answered any more."""
    lost_answer: bool = False
    """Whether the request at which the line was cut has still been carried out."""
    product: Product | None = None
    """As the answers have shown it."""
    shutdowns: dict[str, Json] | None = None
    """The members that are registered to go, by id; None if the servers do not have that API."""
    waited_for: str | None = None
    """The status for which the last question for the health asked the server to wait."""

    def start(self, name: str, version: str = "2.19.6") -> None:
        """The member is there as another process, of this version."""
        self.state["nodes"][identity(name)] = {"name": name, "ephemeral_id": f"another-of-{name}"}
        self.nodes[identity(name)] = {**info(name), **self.nodes.get(identity(name), {}), "version": version}

    def get(self, path: str, **_params: Any) -> Json:
        """The answer to GET."""
        return self._served("GET", path)

    def put(self, path: str, body: Mapping[str, Mapping[str, Any]], **_params: Any) -> Json:
        """The answer to PUT: null takes a setting away, and an archived one that stays refuses them all."""
        return self._served("PUT", path, body)

    def post(self, path: str, body: Mapping[str, Any] | None = None, **_params: Any) -> Json:
        """The answer to POST."""
        return self._served("POST", path, body)

    def post_once(self, path: str, seconds: float, **_params: Any) -> Json:
        """The answer to a POST that is sent once."""
        return self._served("POST", path)

    def delete(self, path: str, **_params: Any) -> Json:
        """The answer to DELETE; empty if there was nothing to delete."""
        try:
            return self._served("DELETE", path)
        except Refusal as error:
            if "answered 404" not in str(error):
                raise
            return {}

    def order(self, method: str, path: str, **_params: Any) -> None:
        """A request whose answer has no body."""
        self._served(method, path)

    def health(self, **params: Any) -> Json:
        """The health."""
        self.waited_for = params.get("wait_for_status")
        return self._served("GET", "/_cluster/health")

    def _served(self, method: str, path: str, body: Any = None) -> Json:
        self.asked.append((method, path))
        reached = self.cut_off is None or len(self.asked) <= self.cut_off
        if reached or (self.lost_answer and len(self.asked) == (self.cut_off or 0) + 1):
            answer = self._answer(method, path, json.loads(json.dumps(body)))
            if reached:
                return answer
        raise Unreachable(refused("opensearch_unreachable", "OpenSearch cannot be reached.", "Check the network."))

    def _answer(self, method: str, path: str, body: Any) -> Json:
        if path == "/_cluster/settings":
            return self._change(body) if method == "PUT" else json.loads(json.dumps(self.settings | self.defaults))
        if path == "/_cluster/health":
            return self.condition
        denied = self.denied.get(path) or self.denied.get(f"{method} {path}")
        if denied is not None:
            said = f"OpenSearch does not allow {method} {path}: no permissions for [{denied}]."
            raise refusal("opensearch_rights", said, "Give it.")
        if "shutdown" in path:
            return self._shutdown(method, path, body)
        if path.startswith(("/_tasks", "/_nodes/")):
            return self._of_members(path)
        if path.startswith("/_cluster/state"):
            return self.state
        if path.startswith("/_plugins/") and self.managed:
            return self.managed.pop(0)
        if path == "/_cluster/allocation/explain":
            return self._explain(body)
        if not path.endswith("/_flush"):
            raise answered(404, f"no handler found for uri [{path}]")
        return {"_shards": {"failed": 0}}

    def _shutdown(self, method: str, path: str, body: Any) -> Json:
        """Without the API, `shutdown` is the name of a member that does not exist."""
        if self.shutdowns is None:
            if method == "GET":
                return {"_nodes": {"total": 0}, "nodes": {}}
            raise answered(400, f"no handler found for uri [{path}] and method [{method}]")
        if method == "GET":
            return {"nodes": [{"node_id": key, **each} for key, each in self.shutdowns.items()]}
        key = path.split("/")[2]
        if method == "PUT":
            self.shutdowns[key] = body
        elif self.shutdowns.pop(key, None) is None:
            raise answered(404, f"node [{key}] is not currently shutting down")
        return {"acknowledged": True}

    def _of_members(self, path: str) -> Json:
        if path == "/_tasks":
            return {"nodes": self.tasks, **({"node_failures": self.silent} if self.silent else {})}
        header = {"_nodes": {"failed": len(self.silent)}}
        if path.endswith("/stats/fs"):
            return {**header, "nodes": self.stats}
        own = {key: {"settings": self.started_with.get(node["name"], {})} for key, node in self.nodes.items()}
        return {**header, "nodes": {key: {**node, **own[key]} for key, node in self.nodes.items()}}

    def _change(self, body: Mapping[str, Mapping[str, Any]]) -> Json:
        changed = {scope: dict(values) for scope, values in self.settings.items()}
        for scope, values in body.items():
            for name, value in values.items():
                if value is None:
                    changed[scope].pop(name, None)
                else:
                    changed[scope][name] = value
        for name in (name for values in changed.values() for name in values if name.startswith("archived.")):
            raise answered(400, f"unknown setting [{name}] please check that any required plugins are installed")
        self.settings = changed
        return {"acknowledged": True}

    def _explain(self, body: Json) -> Json:
        found = self.explanations.get((body["index"], body["shard"], body["primary"]))
        if isinstance(found, Refusal):
            raise found
        if found is None:
            raise answered(400, "unable to find any unassigned shards to explain")
        return {**body, **found}


def answered(status: int, said: str) -> Refusal:
    """The refusal of the client for an answer of the server."""
    return refusal("opensearch_answer", f"OpenSearch answered {status}: {said}.", "Fix the cause.")
