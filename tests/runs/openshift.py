"""The playbook of OpenShift in memory: its names, and the user with exactly the shipped rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs.shipped import bound
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.kinds import MACHINE_API
from tests.scenarios.cluster import USER

PLAYBOOK, NAMESPACE = "stateful.upgrade.openshift", "openshift-upgrade"
SYSTEM = {"upgrade_system": PLAYBOOK}
FILES = Path(__file__).parents[2] / "roles" / "openshift" / "files"


def kills(first: int, end: int, step: int, each: int) -> list[Any]:
    """The numbers of the acts after which runs are killed; `make test` takes one in so many."""
    numbers = range(first, end, step)
    return [
        pytest.param(number, marks=() if place % each == 0 else (pytest.mark.soak,), id=str(number))
        for place, number in enumerate(numbers)
    ]


def shipped_rights(user: str = USER, *, spare_workers: bool = False) -> list[Json]:
    """The shipped roles, bound to the user."""
    found: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    found += bound("openshift/files/role.yml", NAMESPACE, user)
    found += bound("openshift/files/cluster_role.yml", user=user)
    return [*found, *(bound("openshift/files/spare_workers_role.yml", MACHINE_API, user) if spare_workers else ())]
