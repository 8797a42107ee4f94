"""The rights that a run of the collection has, and what one leaves behind, on whatever API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import yaml

from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.longhorn.kinds import CRON_JOBS, NAMESPACE, NODES, SETTINGS, VOLUMES

_FILES = Path(__file__).resolve().parents[3] / "roles" / "longhorn" / "files"


def shipped_rights(user: str) -> list[Json]:
    """The shipped roles, bound to a user."""
    found = []
    for file in ("role", "cluster_role"):
        role = yaml.safe_load((_FILES / f"{file}.yml").read_text(encoding="utf-8"))
        kind, name = role["kind"], role["metadata"]["name"]
        metadata = {"name": name, **({"namespace": NAMESPACE} if kind == "Role" else {})}
        binding = {"apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": metadata}
        binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
        found += [{**role, "metadata": metadata}, binding]
    return found


def leftovers(all_of: Callable[[Kind], Iterable[Json]]) -> list[str]:
    """The objects that carry an undo or a mark of a run, engines away from home, closed nodes, and jobs held off."""
    found = []
    for kind in (NODES, VOLUMES, SETTINGS, CRON_JOBS):
        for item in all_of(kind):
            notes = item["metadata"].get("annotations") or {}
            found += [f"{item['metadata']['name']}: {name}" for name in notes if name.startswith("upgrade.stateful/")]
    for item in all_of(VOLUMES):
        if item["spec"].get("engineNodeID"):
            found.append(f"{item['metadata']['name']}: engine on {item['spec']['engineNodeID']}")
    for item in all_of(CRON_JOBS):
        if item["spec"].get("suspend"):
            found.append(f"{item['metadata']['name']}: suspended")
    for item in all_of(NODES):
        if not item["spec"]["allowScheduling"]:
            found.append(f"{item['metadata']['name']}: unschedulable")
    return found
