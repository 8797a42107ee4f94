# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of the Kubernetes API. A name with a slash or a question mark in it would ask for something else."""

from __future__ import annotations

import re
from urllib.parse import quote

from ..common.errors import refusal

CORE = "/api/v1"

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""What the name of a namespace may be (RFC 1123, as the API server asks for)."""


def in_namespace(group: str, namespace: str, *parts: str) -> str:
    """The path of what `parts` name (a resource, perhaps an object, perhaps a subresource) in a namespace.

    `group` is the path of the API group, such as `/apis/apps/v1`. An empty part is left out.

    Raises:
        Refusal: no namespace can have this name.
    """
    if not _LABEL.fullmatch(namespace):
        raise refusal(
            "namespace_not_valid",
            f"No namespace can have the name '{namespace}'.",
            "Correct namespace (upgrade_namespace): small letters, digits and dashes, 63 at the most.",
        )
    named = "/".join(quote(part, safe="") for part in parts if part)
    return f"{group}/namespaces/{namespace}/{named}"
