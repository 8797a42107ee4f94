"""The playbook of OpenShift in memory: its names, and the user with exactly the shipped rights."""

from __future__ import annotations

from pathlib import Path

from tests.runs.shipped import bound
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.kinds import MACHINE_API
from tests.scenarios.cluster import USER

PLAYBOOK, NAMESPACE = "stateful.upgrade.openshift", "openshift-upgrade"
SYSTEM = {"upgrade_system": PLAYBOOK}
FILES = Path(__file__).parents[2] / "roles" / "openshift" / "files"


def shipped_rights(user: str = USER, *, spare_workers: bool = False) -> list[Json]:
    """The shipped roles, bound to the user."""
    found: list[Json] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    found += bound("openshift/files/role.yml", NAMESPACE, user)
    found += bound("openshift/files/cluster_role.yml", user=user)
    return [*found, *(bound("openshift/files/spare_workers_role.yml", MACHINE_API, user) if spare_workers else ())]
