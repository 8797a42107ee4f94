"""Longhorn's webhook as a real API server asks it: over HTTPS on a loopback port, in threads of their own."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.lab.certificates import Authority
from tests.sandbox.kubernetes.objects import Json, Refused, copied
from tests.sandbox.longhorn.kinds import GROUP, OWN, VERSION
from tests.sandbox.longhorn.webhook import Webhook

HOST = "127.0.0.1"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NAME = "longhorn-webhook-mutator"
_SAID = "denied the request: "
_KINDS = {each.plural: each for each in OWN}


def review(webhook: Webhook, request: Json) -> Json:
    """The answer of the webhook to the request of a review."""
    answer: Json = {"uid": request["uid"], "allowed": True}
    before, after = request.get("oldObject"), request.get("object")
    draft = copied(after) if after else None
    try:
        webhook(_KINDS[request["resource"]["resource"]], before, draft)
    except Refused as error:
        # The API server puts the name of the webhook before the message.
        status = {"code": error.code, "reason": error.reason, "message": error.message.partition(_SAID)[2]}
        return {**answer, "allowed": False, "status": status}
    if draft is not None and draft != after:
        patch = [{"op": "replace", "path": "/metadata", "value": draft["metadata"]}]
        answer |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    return answer


class Door(ThreadingHTTPServer):
    """The webhook's address; `configuration` sends the API server there."""

    daemon_threads = True

    def __init__(self, webhook: Webhook) -> None:
        super().__init__((HOST, 0), _Handler)
        self.webhook = webhook
        self._authority = Authority("Longhorn's webhook")
        identity = self._authority.issue("Longhorn's webhook", [HOST])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as place:
            certificate, key = Path(place, "server.crt"), Path(place, "server.key")
            certificate.write_bytes(identity.certificate)
            key.write_bytes(identity.key)
            context.load_cert_chain(certificate, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, name="webhook", daemon=True).start()

    def configuration(self) -> Json:
        """The MutatingWebhookConfiguration. No rule names a status, as with Longhorn's own."""
        bundle = base64.b64encode(self._authority.certificate).decode()
        rule: Json = {"apiGroups": [GROUP], "apiVersions": [VERSION], "resources": sorted(_KINDS)}
        rule["operations"] = ["CREATE", "UPDATE", "DELETE"]
        asked: Json = {"name": "validator.longhorn.io", "rules": [rule], "failurePolicy": "Fail"}
        asked["clientConfig"] = {"url": f"https://{HOST}:{self.server_address[1]}/", "caBundle": bundle}
        asked |= {"sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 10}
        return {"metadata": {"name": NAME}, "webhooks": [asked]}


class _Handler(BaseHTTPRequestHandler):
    server: Door
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked: Any = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {"apiVersion": asked["apiVersion"], "kind": asked["kind"]}
        body = json.dumps({**answer, "response": review(self.server.webhook, asked["request"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""
