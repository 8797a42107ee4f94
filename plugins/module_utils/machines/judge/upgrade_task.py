"""The request that an UpgradeTask is: the variables of the run that it gives, and all faults at once. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...common.release import release_in
from ..observe.upgrade_tasks import UpgradeTaskState


def variables_of(seen: UpgradeTaskState) -> dict[str, Any]:
    """The variables of the run."""
    version, names = seen.version, [*seen.kubernetes_nodes]
    return {**({"target_version": version} if version else {}), **({"upgrade_only": names} if names else {})}


def faults_in(seen: UpgradeTaskState) -> Iterator[str]:
    """One sentence for each fault of a task itself."""
    spec = seen.raw["spec"]
    references = [name for name in ("controlPlaneRef", "machineDeploymentRef") if spec.get(name)]
    if len(references) != 1:
        yield "spec names no owner, or two: give one of spec.controlPlaneRef and spec.machineDeploymentRef."
    if release_in(seen.version) is None:
        yield "spec.newMachineSpec.version is no version of Kubernetes: give one such as v1.36.1."
    if not seen.machines:
        yield "spec.machinesRequireUpgrade names no machine: give the machines that are to be upgraded."
    names = seen.kubernetes_nodes
    for name in dict.fromkeys(each for each in names if names.count(each) > 1):
        yield f"spec.machinesRequireUpgrade names Kubernetes node {name} more than once: name it once."
