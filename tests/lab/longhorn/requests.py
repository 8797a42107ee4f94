"""Plain JSON requests over the connections of the Kubernetes client."""

from __future__ import annotations

import json
from typing import Any

from kubernetes import client

from tests.sandbox.kubernetes.objects import Refused

JSON = "application/json"


def ask(
    api: client.ApiClient,
    method: str,
    path: str,
    body: Any = None,
    content: str = JSON,
    manager: str = "longhorn-manager",
) -> dict[str, Any]:
    """The answer of an API server; a write is held to the definition of its kind. Raises Refused."""
    settings = api.configuration
    headers = {"Accept": JSON, "Content-Type": content}
    headers |= {each["key"]: each["value"] for each in settings.auth_settings().values()}
    query = f"?fieldValidation=Strict&fieldManager={manager}" if method in {"POST", "PUT", "PATCH"} else ""
    data = None if body is None else json.dumps(body).encode()
    answer = api.rest_client.pool_manager.request(method, f"{settings.host}{path}{query}", body=data, headers=headers)
    try:
        found: Any = json.loads(answer.data)
    except ValueError:
        # The path of a kind that is not served is answered with plain text.
        found = {"message": answer.data.decode(errors="replace").strip()}
    if answer.status >= 400:
        raise Refused(answer.status, str(found.get("reason", "")), str(found.get("message", "")))
    return dict(found)
