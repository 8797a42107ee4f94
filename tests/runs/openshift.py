"""The playbook of OpenShift in memory: its names, and the user with exactly the shipped rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.kinds import MACHINE_API
from tests.scenarios.cluster import USER

PLAYBOOK, NAMESPACE = "stateful.upgrade.openshift", "openshift-upgrade"
SYSTEM = {"upgrade_system": PLAYBOOK}
FILES = Path(__file__).parents[2] / "roles" / "openshift" / "files"


def kills(first: int, end: int, step: int, each: int) -> list[Any]:
    """The numbers of the acts behind which runs are killed, of which `make test` takes each so many."""
    numbers = range(first, end, step)
    return [
        pytest.param(number, marks=() if place % each == 0 else (pytest.mark.soak,), id=str(number))
        for place, number in enumerate(numbers)
    ]


def shipped_rights(*, spare_workers: bool = False) -> list[Json]:
    """The shipped roles, bound to the user."""
    found: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    for file in ("role", "cluster_role", *(["spare_workers_role"] if spare_workers else [])):
        role = yaml.safe_load((FILES / f"{file}.yml").read_text(encoding="utf-8"))
        kind, name = role["kind"], role["metadata"]["name"]
        namespace = MACHINE_API if file == "spare_workers_role" else NAMESPACE
        metadata = {"name": name, **({"namespace": namespace} if kind == "Role" else {})}
        binding = {"apiVersion": role["apiVersion"], "kind": f"{kind}Binding", "metadata": metadata}
        binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}]
        found += [{**role, "metadata": metadata}, binding]
    return found
