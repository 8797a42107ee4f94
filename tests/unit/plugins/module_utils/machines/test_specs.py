"""The fields of a request that are written into upgraded Machines."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.reference import ObjectReference
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.differences import differences
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.specs import may_write, patches_of
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.requested import (
    CONTROL_PLANE,
    DEPLOYMENT,
    NamedObject,
)

WORKERS = NamedObject(DEPLOYMENT, ObjectReference("", "MachineDeployment", "clusters", "workers"), True, "v1.36.1")
PLANE = ObjectReference("", "KubeadmControlPlane", "clusters", "main")
MAIN = NamedObject(CONTROL_PLANE, PLANE, True, "v1.36.1")
PRESENT: dict[str, Any] = {
    "version": "v1.35.4",
    "bootstrapConfig": {"kind": "KubeadmConfig", "spec": {"files": []}},
    "infraMachine": {"kind": "MetalMachine", "spec": {"size": "m", "image": {"a": 1, "b": 2}, "providerID": "x://1"}},
}
WANTED: dict[str, Any] = {
    "version": "1.36.1",
    "bootstrapConfig": {"kind": "KubeadmConfig", "spec": {"files": [1]}},
    "infraMachine": {"kind": "MetalMachine", "spec": {"size": "l", "image": {"a": 1}}},
}


def merged(before: Any, patch: Any) -> Any:
    """A merge patch carried out, by its definition (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    found = dict(before) if isinstance(before, dict) else {}
    for name, each in patch.items():
        if each is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), each)
    return found


def test_the_fields_that_differ_are_written_and_no_others() -> None:
    found = patches_of(PRESENT, WANTED, WORKERS)
    assert found == {
        "version": {"version": "v1.36.1"},
        "bootstrapConfig": {"files": [1]},
        "infraMachine": {"size": "l", "image": {"b": None}},
    }
    objects = {
        name: {**PRESENT[name], "spec": merged(PRESENT[name]["spec"], found[name])}
        for name in found
        if name != "version"
    }
    after: dict[str, Any] = {"version": "v1.36.1", **objects}
    assert not differences(after, WANTED)
    assert after["infraMachine"]["spec"]["providerID"] == "x://1"
    assert patches_of(after, WANTED, WORKERS) == {}


def test_the_configuration_of_a_control_plane_stays_as_its_controller_has_it() -> None:
    assert set(patches_of(PRESENT, WANTED, MAIN)) == {"version", "infraMachine"}


@pytest.mark.parametrize(("version", "may"), [("v1.36.1", True), ("1.36.1", True), ("v1.35.4", False), ("", False)])
def test_a_machine_gets_the_version_that_its_owner_has(version: str, may: bool) -> None:
    owner = NamedObject(CONTROL_PLANE, PLANE, True, version)
    assert may_write(owner, "1.36.1") is may
