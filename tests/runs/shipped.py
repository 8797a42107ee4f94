"""The roles that the collection ships for Kubernetes, bound to the user of the tests."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.sandbox.kubernetes.objects import Json
from tests.scenarios.cluster import USER

ROLES = Path(__file__).parents[2] / "roles"
GROUP = "rbac.authorization.k8s.io"


def bound(file: str, namespace: str = "", user: str = USER) -> list[Json]:
    """One of these files and its binding to the user; without a namespace in the whole cluster."""
    role = yaml.safe_load((ROLES / file).read_text(encoding="utf-8"))
    kind, name = role["kind"], role["metadata"]["name"]
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    binding = {"apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": metadata}
    binding["roleRef"] = {"apiGroup": GROUP, "kind": kind, "name": name}
    binding["subjects"] = [{"apiGroup": GROUP, "kind": "User", "name": user}]
    return [{**role, "metadata": metadata}, binding]


def rights_of_machines(namespace: str) -> list[Json]:
    """The rights of an upgrade of machines, whose record is in this namespace."""
    return [
        *bound("machines/files/role.yml", namespace),
        *bound("machines/files/system_role.yml", "kube-system"),
        *bound("machines/files/cluster_role.yml"),
    ]
