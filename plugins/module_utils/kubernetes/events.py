"""Kubernetes events for those who look there first (kubectl describe): refused plans, and phases of upgrades."""

from __future__ import annotations

from ..common.errors import Refusal
from ..common.timestamps import now_text
from ..common.words import shortened
from .client import Json, KubernetesClient
from .paths import CORE, in_namespace

COMPONENT = "stateful.upgrade"
REFUSED = "UpgradeRefused"
LONGEST = 1024
"""The API server takes no longer message (server source, ValidateEvent)."""


def warn(client: KubernetesClient, namespace: str, pool: str, uid: str, message: str) -> bool:
    """Emit a Warning event about a StatefulSet. The result says whether the API took it; a refusal is not raised."""
    about = {"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": namespace, "name": pool, "uid": uid}
    return _emit(client, about, "Warning", REFUSED, message)


def report_phase(client: KubernetesClient, namespace: str, record: str, uid: str, phase: str, message: str) -> bool:
    """Emit an event about the ConfigMap of a record, whose upgrade has reached a phase. The reason of the event is
    `Upgrade` followed by the phase."""
    about = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": record, "uid": uid}
    return _emit(client, about, "Warning" if phase == "Failed" else "Normal", f"Upgrade{phase}", message)


def _emit(client: KubernetesClient, about: Json, kind: str, reason: str, message: str) -> bool:
    at = now_text()
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{about['name']}.upgrade-", "namespace": about["namespace"]},
        "involvedObject": about,
        "type": kind,
        "reason": reason,
        "message": shortened(message, LONGEST),
        "source": {"component": COMPONENT},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
    try:
        client.post(in_namespace(CORE, about["namespace"], "events"), event)
    except Refusal:
        return False
    return True
