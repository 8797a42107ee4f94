"""Whether an UpgradeTask is about Machines that its Cluster and its owner have, and can change them in place. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark
from ...common.words import enumerate_few
from ..observe.owned_machines import OwnedMachine
from ..observe.requested import NamedObject, NamedUpgrader, RequestedObjects
from ..observe.upgrade_tasks import OBJECTS, UPGRADE_TASK, RequestedMachine, UpgradeTaskState
from .differences import BY_KUBEADM, difference_of, reasons_of


@as_verdict
def judge_named(seen: UpgradeTaskState, found: RequestedObjects) -> Iterator[Reason]:
    """Whether the Cluster and the owner are there, and have each Machine of the task. All reasons are given at once."""
    for named in (found.cluster, found.owner):
        if not named.exists:
            yield _missing(seen, f"spec.{named.field}", named.reference.called)
    here = f"{found.cluster.reference.namespace}/{found.cluster.reference.name}"
    if found.home and found.home != here:
        yield refused(
            "task_machine_foreign",
            f"{UPGRADE_TASK} {seen.name} is for Cluster {here}, and the Kubernetes nodes belong to Cluster"
            f" {found.home}.",
            "Correct spec.cluster, or the connection to Kubernetes (upgrade_kubernetes).",
        )
    for each in seen.machines:
        yield from _of_machine(seen, found, each)
    yield from _left(seen, found)


def _missing(seen: UpgradeTaskState, field: str, called: str) -> Reason:
    return refused(
        "task_reference_missing",
        f"{UPGRADE_TASK} {seen.name} names {called} in {field}, which the management cluster does not have.",
        f"Correct {field}, or the connection to the management cluster (upgrade_management).",
    )


def _of_machine(seen: UpgradeTaskState, found: RequestedObjects, named: RequestedMachine) -> Iterator[Reason]:
    machine = found.machines.get(named.name)
    namespace = named.namespace or found.owner.reference.namespace
    if machine is None or machine.namespace != namespace:
        yield _missing(seen, "spec.machinesRequireUpgrade", f"Machine {namespace}/{named.name}")
        return
    causes = []
    if machine.cluster != found.cluster.reference.name:
        causes.append(f"belongs to Cluster {machine.cluster}, and the task is for {found.cluster.reference.name}")
    if not found.belongs(machine):
        causes.append(f"{_owned_by(machine)}, and the task is for {_called(found.owner)}")
    if machine.kubernetes_node != named.kubernetes_node:
        is_node = (
            f"is Kubernetes node {machine.kubernetes_node}" if machine.kubernetes_node else "has no Kubernetes node"
        )
        causes.append(f"{is_node}, and the task names {named.kubernetes_node}")
    for cause in causes:
        yield refused(
            "task_machine_foreign",
            f"{machine.called} {cause}.",
            f"Correct spec.machinesRequireUpgrade of {UPGRADE_TASK} {seen.name}, or make a task for each owner.",
        )


def _owned_by(machine: OwnedMachine) -> str:
    if machine.deployment:
        return f"belongs to MachineDeployment {machine.deployment}"
    kind, name = machine.controller
    return f"belongs to {kind} {name}" if kind else "belongs to no owner"


def _called(owner: NamedObject) -> str:
    return f"{owner.reference.kind} {owner.reference.name}"


def _left(seen: UpgradeTaskState, found: RequestedObjects) -> Iterator[Reason]:
    """A remark on Machines of the owner that the task does not name."""
    named, cluster = {each.name for each in seen.machines}, found.cluster.reference.name
    there = [each for each in found.machines.values() if found.belongs(each) and each.cluster == cluster]
    left = [each.name for each in there if each.name not in named and not each.going]
    if left:
        yield remark(
            "task_machines_left",
            f"{UPGRADE_TASK} {seen.name} leaves Machines {enumerate_few(left)} of {_called(found.owner)} as they are.",
            "Name them in spec.machinesRequireUpgrade to upgrade them too.",
        )


@as_verdict
def judge_upgrader(seen: UpgradeTaskState, named: NamedUpgrader | None) -> Iterator[Reason]:
    """Whether the template object that a task names in `spec.template.upgraderRef` is there."""
    field = "spec.template.upgraderRef"
    if named is not None and named.unread:
        yield remark(
            "task_references_unread",
            f"{named.reference.called} in {field} of {UPGRADE_TASK} {seen.name} is only a name here, since"
            f" {named.unread}.",
            f"Give apiVersion, kind and namespace in {field}, and the right to get it in the management cluster.",
        )
    elif named is not None and not named.exists:
        yield _missing(seen, field, named.reference.called)


@as_verdict
def judge_unread(seen: UpgradeTaskState, *, connected: bool) -> Iterator[Reason]:
    """A remark on references that are only names, since nothing is read behind them."""
    cause = "neither it nor the Kubernetes nodes name a Cluster" if connected else "no management cluster is given"
    yield remark(
        "task_references_unread",
        f"The owner and the Machines of {UPGRADE_TASK} {seen.name} are only names here, since {cause}.",
        "Give spec.cluster." if connected else "Give management if Cluster API has made the machines.",
    )


@as_verdict
def judge_changes(seen: UpgradeTaskState, present: Mapping[str, Mapping[str, Any]]) -> Iterator[Reason]:
    """Whether the whole difference of each machine from its wanted specification can be changed in place.

    `present` has the specifications that were read, by the names of Machines; of a machine without one that counts
    which the task gives.
    """
    compares = any(seen.wanted.get(name) is not None for name in OBJECTS)
    for each in seen.machines:
        here = present.get(each.name, each.spec)
        if here is not None:
            yield from reasons_of(difference_of(each.name, here, seen.wanted, (*BY_KUBEADM, *seen.covers)))
        elif compares:
            yield refused(
                "machine_differs",
                f"The present specification of Machine {each.name} is not known, and spec.newMachineSpec has objects.",
                "Give management, or its machineSpec, or only spec.newMachineSpec.version.",
            )
