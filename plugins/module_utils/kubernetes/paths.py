"""Paths of the Kubernetes API. Names are quoted, since a slash or a question mark would make another request."""

from __future__ import annotations

import re
from urllib.parse import quote

from ..common.errors import refusal

CORE = "/api/v1"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A valid name of a namespace (RFC 1123, as the API server demands)."""


def in_namespace(group: str, namespace: str, *parts: str) -> str:
    """The path in a namespace to `parts`: a resource, then perhaps an object and a subresource.

    `group` is the path of the API group, such as `/apis/apps/v1`. An empty part is left out.

    Raises:
        Refusal: no namespace can have this name.
    """
    if not _LABEL.fullmatch(namespace):
        raise refusal(
            "namespace_not_valid",
            f"No namespace can have the name '{namespace}'.",
            "Correct namespace (upgrade_namespace): lower-case letters, digits and hyphens, 63 at the most.",
        )
    named = "/".join(quote(part, safe="") for part in parts if part)
    return f"{group}/namespaces/{namespace}/{named}"
