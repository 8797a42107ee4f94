"""The fields of an UpgradeTask that are written into its Machines once they are upgraded. Pure.

The controller of a control plane compares the version of each Machine, and its bootstrapConfig, with its own spec, and
replaces a Machine that differs (cluster-api, `controlplane/kubeadm/internal/filters.go`, `matchesMachineSpec`). That of
a topology holds every further upgrade while a Machine has another version than its MachineDeployment
(`internal/topology/check/upgrade.go`). So a Machine is written only if its owner has the version already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...common.verdict import Reason, remark
from ...common.words import enumerate_few
from ..observe.requested import CONTROL_PLANE, NamedObject
from ..observe.state import plain
from ..observe.upgrade_tasks import BOOTSTRAP, SPECIFIED_VERSION
from .differences import Difference, differences

Patch = dict[str, Any]


def may_write(owner: NamedObject, target: str) -> bool:
    """Whether the owner has the version of the request, so that its Machines may have it too."""
    return owner.exists and plain(owner.version) == target


def patches_of(present: Mapping[str, Any], wanted: Mapping[str, Any], owner: NamedObject) -> dict[str, Patch]:
    """The changes of a Machine's spec (`version`) and of each object of it, each as a merge patch of its `spec`.

    Only fields of the request that differ are in them. The bootstrapConfig of a control plane stays as it is.
    """
    found: dict[str, Patch] = {}
    for each in differences(present, wanted):
        name = each.path[0]
        if name == SPECIFIED_VERSION:
            found[name] = {SPECIFIED_VERSION: f"v{plain(str(wanted[SPECIFIED_VERSION]))}"}
        elif each.path[1] == "spec" and len(each.path) > 2 and not (name == BOOTSTRAP and owner.field == CONTROL_PLANE):
            _set(found.setdefault(name, {}), each, wanted)
    return found


def _set(patch: Patch, difference: Difference, wanted: Mapping[str, Any]) -> None:
    value: Any = wanted
    for each in difference.path:
        value = value.get(each) if isinstance(value, Mapping) else None
    *above, last = difference.path[2:]
    for each in above:
        patch = patch.setdefault(each, {})
    patch[last] = value


def kept_by_owner(machines: Iterable[str], owner: NamedObject, target: str) -> Reason:
    """The remark on Machines whose spec stays as it is."""
    named = enumerate_few(machines)
    said = f"The spec of Machines {named} stays as it was, since {owner.reference.called} has not version {target}."
    if owner.field == CONTROL_PLANE:
        remedy = (
            f"Pause {owner.reference.called}, give it the version, and run again; without a pause it replaces them."
        )
    else:
        remedy = "Leave it so: a MachineDeployment that gets another version replaces its machines."
    return remark("machine_spec_kept", said, remedy)


def not_written(machine: str, cause: str) -> Reason:
    """The remark on a Machine whose spec could not be written."""
    return remark(
        "machine_spec_kept",
        f"Machine {machine} is upgraded, and its new specification was not written. {cause}",
        "Write it yourself, or fix the cause and run again.",
    )
