# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Warning event about a pool whose plan was refused, for those who look there first (kubectl describe)."""

from __future__ import annotations

from ..common.errors import Refusal
from ..common.moments import now_text
from ..common.words import shortened
from .client import KubernetesClient
from .paths import CORE, in_namespace

COMPONENT = "stateful.upgrade"
REASON = "UpgradeRefused"
LONGEST = 1024
"""The API server takes no longer message (server source, ValidateEvent)."""


def warn(client: KubernetesClient, namespace: str, pool: str, uid: str, message: str) -> bool:
    """Emit a Warning event about a StatefulSet. The result says whether the API took it; a refusal is not raised."""
    at = now_text()
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{pool}.upgrade-", "namespace": namespace},
        "involvedObject": {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "namespace": namespace,
            "name": pool,
            "uid": uid,
        },
        "type": "Warning",
        "reason": REASON,
        "message": shortened(message, LONGEST),
        "source": {"component": COMPONENT},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
    try:
        client.post(in_namespace(CORE, namespace, "events"), event)
    except Refusal:
        return False
    return True
