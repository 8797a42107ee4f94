"""The objects that a pod names, and that have to be there when it is made."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import PRIORITY_CLASSES, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Store

_OF_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def account(store: Store, namespace: str, spec: Json) -> str:
    """The reason why its ServiceAccount refuses a pod; empty if none does."""
    name = spec.get("serviceAccountName") or "default"
    if store.kept(SERVICE_ACCOUNTS, namespace, name) is not None:
        return ""
    return f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'


def priority(store: Store, spec: Json) -> str:
    """Give a pod the priority of its class; the reason why that cannot be done, empty if it can."""
    name = spec.get("priorityClassName")
    if not name:
        return ""
    found = store.kept(PRIORITY_CLASSES, "", name)
    if found is None and name not in _OF_SYSTEM:
        return f"no PriorityClass with name {name} was found"
    spec["priority"] = found["value"] if found else _OF_SYSTEM[name]
    return ""
