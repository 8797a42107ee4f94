"""The new specification of upgraded Machines, in the management cluster of Cluster API.

Where Cluster API starts the updates itself it has written it before. For an UpgradeTask the run writes it, once a
machine is back on the target.
"""

from __future__ import annotations

from collections.abc import Collection

from ..common.errors import Conflict, Refusal, Unreachable
from ..common.task import Task
from ..common.verdict import Reason, Verdict
from ..extra_machines.observe.look import cluster_api
from ..kubernetes.client import connect
from .act.specs import MachineSpecs
from .judge.differences import differences
from .judge.marks import home_of
from .judge.specs import kept_by_owner, may_write, not_written
from .observe.requested_look import present_of, requested_objects
from .observe.state import KubeadmCluster
from .requested import request_of


def write_specs(task: Task, seen: KubeadmCluster, names: Collection[str], target: str) -> Verdict:
    """Write what the UpgradeTask wants into the Machines of these Kubernetes nodes, which are on the target.

    The upgrade is done whatever comes of it, so that a Machine that stays as it was is a remark.

    Raises:
        Unreachable: no answer can be had.
    """
    management, request = task.params["management"], request_of(task)
    if not management or request is None or request.ends or task.check_mode:
        return Verdict()
    if request.version != target:
        return Verdict()
    api = cluster_api(connect(management))
    found = requested_objects(api, request, home_of(seen))
    if found is None:
        return Verdict()
    reasons, kept = list[Reason](), list[str]()
    for each in request.machines:
        machine = found.machines.get(each.name)
        if each.kubernetes_node not in names or machine is None or not found.belongs(machine):
            continue
        if may_write(found.owner, target):
            try:
                MachineSpecs(task, api, found.owner).write(machine, request.wanted)
            except (Unreachable, Conflict):
                raise
            except Refusal as error:
                task.still_wanted()
                reasons.append(not_written(each.name, error.verdict.reasons[0].message))
        elif differences(present_of(api.client, machine, request.wanted)[0], request.wanted):
            kept.append(each.name)
    return Verdict((*reasons, *([kept_by_owner(kept, found.owner, target)] if kept else [])))
