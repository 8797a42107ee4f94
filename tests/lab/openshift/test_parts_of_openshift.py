"""The parts of the lab's OpenShift that need no server: the changed line of the operator, and the audit."""

from __future__ import annotations

import pytest

from tests.lab.errors import LabError
from tests.lab.openshift.audit import Changes
from tests.lab.openshift.build import UPDATES, VERSION_OPERATOR
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.building import join, pool_object
from tests.sandbox.openshift.description import Pool
from tests.sandbox.openshift.kinds import DESIRED, POOLS, VERSION, VERSIONS, rendered

OLD, NEW = "4.13.0", "4.13.1"


class Noted(Changes):
    """Changes that a test makes up."""

    def __init__(self) -> None:
        super().__init__()
        self._version = 0

    def add(self, kind: object, item: Json, change: str = "MODIFIED") -> None:
        """Add the next change."""
        self._version += 1
        metadata = {**item["metadata"], "resourceVersion": str(self._version)}
        self.note(kind, change, {**item, "metadata": metadata})  # type: ignore[arg-type]

    def pool(self, *, paused: bool) -> None:
        """Add a change of the pool of the workers."""
        self.add(POOLS, pool_object(Pool("worker", paused=paused), OLD))

    def node(self, name: str, version: str = OLD) -> None:
        """Add a change of a worker that is to have the configuration of a version."""
        item: Json = {"metadata": {"name": name, "labels": {}}, "spec": {}}
        join(item, "worker", rendered("worker", OLD))
        item["metadata"]["annotations"][DESIRED] = rendered("worker", version)
        self.add(NODES, item)


def test_the_audit_sees_a_kubernetes_node_taken_from_a_paused_pool() -> None:
    noted = Noted()
    noted.pool(paused=False)
    noted.node("worker-0")
    noted.pool(paused=True)
    noted.node("worker-0", NEW)
    assert noted.breaches() == ["worker-0: a Kubernetes node of a paused pool was taken"]


def test_the_audit_sees_more_kubernetes_nodes_away_than_a_pool_lets_go() -> None:
    noted = Noted()
    noted.pool(paused=False)
    for name in ("worker-0", "worker-1"):
        noted.node(name)
    noted.node("worker-0", NEW)
    assert noted.breaches() == []
    noted.node("worker-1", NEW)
    assert noted.breaches() == ["worker: more Kubernetes nodes of a pool under way than maxUnavailable"]
    assert noted.taken() == [["worker-0", "worker-1"]]


def test_the_audit_sees_an_update_that_is_wanted_again() -> None:
    noted = Noted()
    for wanted in (None, NEW, NEW, None, NEW):
        update = {"desiredUpdate": {"version": wanted}} if wanted else {}
        noted.add(VERSIONS, {"metadata": {"name": VERSION}, "spec": update})
    assert [each["version"] for each in noted.wanted()] == [NEW, NEW]


def test_an_operator_that_names_its_folder_in_another_way_is_not_built() -> None:
    assert VERSION_OPERATOR.patched is not None
    there = 'const (\n\ttargetUpdatePayloadsDir = "/etc/cvo/updatepayloads"\n)\n'
    assert f'os.Getenv("{UPDATES}")' in VERSION_OPERATOR.patched.change(there)
    with pytest.raises(LabError, match="in another way than this lab knows"):
        VERSION_OPERATOR.patched.change("package cvo")
