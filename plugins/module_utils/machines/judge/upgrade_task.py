"""The request that an UpgradeTask is: the variables of the run that it gives, and all faults at once. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...common.release import release_in
from ..observe.state import plain
from ..observe.upgrade_tasks import UpgradeTaskState
from .differences import BY_KUBEADM, OBJECTS, VERSION, difference_of, faults_of


def variables_of(seen: UpgradeTaskState) -> dict[str, Any]:
    """The variables of the run."""
    version, names = plain(str(seen.wanted.get(VERSION) or "")), [each.kubernetes_node for each in seen.machines]
    return {**({"target_version": version} if version else {}), **({"upgrade_only": names} if names else {})}


def faults_in(seen: UpgradeTaskState) -> Iterator[str]:
    """One sentence for each fault of a task, with every field of every machine that cannot be changed in place."""
    spec = seen.raw["spec"]
    references = [name for name in ("controlPlaneRef", "machineDeploymentRef") if spec.get(name)]
    if len(references) != 1:
        yield "spec names no owner, or two: give one of spec.controlPlaneRef and spec.machineDeploymentRef."
    if release_in(plain(str(seen.wanted.get(VERSION) or ""))) is None:
        yield "spec.newMachineSpec.version is no version of Kubernetes: give one such as v1.36.1."
    if not seen.machines:
        yield "spec.machinesRequireUpgrade names no machine: give the machines that are to be upgraded."
    names = [each.kubernetes_node for each in seen.machines]
    for name in dict.fromkeys(each for each in names if names.count(each) > 1):
        yield f"spec.machinesRequireUpgrade names Kubernetes node {name} more than once: name it once."
    yield from _declined(seen)


def _declined(seen: UpgradeTaskState) -> Iterator[str]:
    compares = any(seen.wanted.get(name) is not None for name in OBJECTS)
    for each in seen.machines:
        if each.spec is None:
            if compares:
                yield (
                    f"Machine {each.name} has no machineSpec, so its difference from spec.newMachineSpec is not"
                    " known: give its present one, or only spec.newMachineSpec.version."
                )
            continue
        yield from faults_of(difference_of(each.name, each.spec, seen.wanted, (*BY_KUBEADM, *seen.covers)))
