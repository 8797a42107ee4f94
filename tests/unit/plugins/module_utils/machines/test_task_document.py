"""An UpgradeTask as a document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.task_document import (
    requested_by_document,
    task_in_document,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import Request, read_document

DOCUMENT = """
apiVersion: upgrade.stateful/v1alpha1
kind: UpgradeTask
spec:
  controlPlaneRef: {name: main}
  machinesRequireUpgrade: [{name: m-0, nodeName: cp-0}]
  newMachineSpec: {version: v1.36.1, infraMachine: {spec: {disks: 2, since: 2026-01-01, ready: true}}}
  template: {upgraderRef: {kind: Trident, name: os}, covers: [infraMachine.**]}
"""


def request(document: str) -> Request:
    return read_document(document, "the file task.yml", {"UpgradeTask": requested_by_document})


def test_it_has_the_variables_and_the_fields_of_the_object() -> None:
    found = request(DOCUMENT)
    assert (found.type, found.faults, found.aborted) == ("machines", (), False)
    assert found.variables == {"target_version": "1.36.1", "upgrade_only": ["cp-0"]}
    seen = task_in_document(DOCUMENT, "the file task.yml")
    assert seen is not None
    assert seen.wanted["infraMachine"]["spec"] == {"disks": 2, "since": "2026-01-01", "ready": True}, "as JSON has them"
    assert (seen.upgrader["name"], seen.owner) == ("os", "KubeadmControlPlane//main")


@pytest.mark.parametrize(
    "reference",
    [
        "machineDeploymentRef: {kind: MachineDeployment, namespace: clusters, name: workers}",
        "machineDeploymentRef: {namespace: clusters, name: workers}",
        "machineDeploymentRef: {name: workers}\n  cluster: {namespace: clusters, name: main}",
    ],
)
def test_the_owner_is_the_same_however_it_is_named(reference: str) -> None:
    found = request(DOCUMENT.replace("controlPlaneRef: {name: main}", reference))
    assert (found.owner, found.members, found.faults) == ("MachineDeployment/clusters/workers", ("cp-0",), ())


def test_another_document_is_a_request_as_before() -> None:
    assert task_in_document("type: machines\ntarget_version: 1.36.1\n", "x") is None
    assert request("type: machines\ntarget_version: 1.36.1\n").variables == {"target_version": "1.36.1"}


def test_one_that_is_to_be_aborted_says_so() -> None:
    assert request(DOCUMENT.replace("spec:\n", "spec:\n  phase: Abort\n", 1)).aborted


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("v1alpha1", "v2", "apiVersion of the UpgradeTask is not upgrade.stateful/v1alpha1"),
        ("covers:", "covres:", "spec.template.covres is not a field of an UpgradeTask"),
        ("nodeName:", "node:", "spec.machinesRequireUpgrade.node is not a field of an UpgradeTask"),
        ("controlPlaneRef: {name: main}", "phase: Ongoing", "spec names no owner"),
        ("name: m-0", 'name: "{{ m }}"', "spec holds a template in the request"),
    ],
)
def test_each_fault_is_named(before: str, after: str, said: str) -> None:
    assert any(each.startswith(said) for each in request(DOCUMENT.replace(before, after)).faults)


def with_machine(specification: Any) -> dict[str, Any]:
    """A document with the present specification of a machine."""
    return {"spec": {"machinesRequireUpgrade": [{"name": "m-0", "machineSpec": specification}]}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"spec": []},
        {"spec": {"machinesRequireUpgrade": {}}},
        {"metadata": 3},
        with_machine("v1.36.1"),
        with_machine([]),
        with_machine({"infraMachine": "any"}),
        {"spec": {"newMachineSpec": {"bootstrapConfig": ["any"]}}},
        {"spec": {"newMachineSpec": {"infraMachine": ""}}},
    ],
)
def test_one_that_cannot_be_read_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        request(json.dumps({"kind": "UpgradeTask", "spec": {}, **wrong}))
