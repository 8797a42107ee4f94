"""An HTTP server that answers the few requests of `shard_allocation` as OpenSearch does, and really keeps settings."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

UUID = "uuid-of-the-parity-cluster"
NODE = "id-0"
NODES = {
    "nodes": {NODE: {"name": "data-0", "version": "2.19.6", "ip": "127.0.0.1", "roles": ["cluster_manager", "data"]}}
}
COORDINATION = {"last_committed_config": [NODE], "last_accepted_config": [NODE], "voting_config_exclusions": []}
STATE = {
    "cluster_uuid": UUID,
    "version": 7,
    "cluster_manager_node": NODE,
    "nodes": {NODE: {"name": "data-0", "ephemeral_id": "ephemeral-0"}},
    "metadata": {"cluster_coordination": COORDINATION, "indices": {}},
    "routing_table": {"indices": {}},
}


class Cluster:
    """One cluster of one member. With a password, only `admin` with that password is let in."""

    def __init__(self, password: str | None = None) -> None:
        self.settings: dict[str, dict[str, Any]] = {"persistent": {}, "transient": {}}
        self.writes = 0
        self.seen_authorization: set[str] = set()
        self.password = password
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(*cluster.get(urlsplit(self.path).path, self._allowed()))

            def do_PUT(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    data = gzip.decompress(data)
                self._answer(*cluster.put(urlsplit(self.path).path, json.loads(data), self._allowed()))

            def _allowed(self) -> bool:
                given = self.headers.get("Authorization", "")
                cluster.seen_authorization.add(given)
                return cluster.password is None or given == basic("admin", cluster.password)

            def _answer(self, status: int, body: dict[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_arguments: Any) -> None:
                """Nothing on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address at which it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Cluster:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def get(self, path: str, allowed: bool) -> tuple[int, dict[str, Any]]:
        """The answer to GET."""
        if not allowed:
            return 401, {"error": "Unauthorized"}
        if path == "/_cluster/settings":
            return 200, self.settings
        if path.startswith("/_nodes/"):
            return 200, NODES
        if path.startswith("/_cluster/state"):
            return 200, STATE
        return 404, {"error": f"no handler found for uri [{path}]"}

    def put(self, path: str, body: dict[str, Any], allowed: bool) -> tuple[int, dict[str, Any]]:
        """The answer to PUT: settings are kept flat, and null takes one away."""
        if not allowed:
            return 401, {"error": "Unauthorized"}
        if path != "/_cluster/settings":
            return 404, {"error": f"no handler found for uri [{path}]"}
        self.writes += 1
        for scope in self.settings:
            for name, value in _flat(body.get(scope, {})).items():
                if value is None:
                    self.settings[scope].pop(name, None)
                else:
                    self.settings[scope][name] = value
        return 200, {"acknowledged": True, **body}


def basic(username: str, password: str) -> str:
    """The header of basic authentication."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat
