"""Spare workers for the time of an upgrade: of which MachineSets, as which copies, and whether they are there. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ...draining.judge.budgets import drain_blocked
from ...draining.observe.workloads import KeptPod
from ...run.undo.undo import Undo, Writer
from ..observe.kinds import MACHINE_API, MACHINE_GROUP, MACHINE_POOL, MACHINE_SET, MASTER, SPARE
from ..observe.machine_state import MARK, Machines, MachineSet, SpareMachine
from ..observe.state import ConfiguredNode, OpenShift, pool_for

SUFFIX = "-spare"
LONGEST = 63
"""Characters of the value of a label, which the name of a MachineSet is, too (Kubernetes, "Labels and Selectors")."""


@dataclass(frozen=True)
class Wanted:
    """A MachineSet that is to have a spare one."""

    source: MachineSet
    pool: str
    """The MachineConfigPool of its Kubernetes nodes."""

    @property
    def name(self) -> str:
        """The name of the spare set."""
        return f"{self.source.name}{SUFFIX}"


def wanted_sets(found: Machines, seen: OpenShift, patterns: Collection[str]) -> tuple[Wanted, ...]:
    """The MachineSets of these pools, by name: each is of one zone, so that each zone gets a spare worker.

    A pool is that of the label of a managed cluster; without this label that of the Kubernetes nodes that the set
    makes. A set without any replica has no Kubernetes node that would be away, nor has one of Windows, which is in no
    pool.
    """
    chosen = []
    for each in sorted(found.sets, key=lambda one: one.name):
        pool = MASTER if each.role == MASTER else pool_for(each.makes, seen.pools)
        if each.is_spare or each.going or not each.replicas or pool in (MASTER, ""):
            continue
        if any(fnmatchcase(each.labels.get(MACHINE_POOL, pool), pattern) for pattern in patterns):
            chosen.append(Wanted(each, pool))
    return tuple(chosen)


@as_verdict
def judge_wanted(
    wanted: Sequence[Wanted], found: Machines, patterns: Collection[str], *, required: bool
) -> Iterator[Reason]:
    """Whether each set may have a spare one. If these are not `required`, the reasons are remarks."""
    faults = [] if wanted else [_nothing(patterns)]
    faults += [one for each in wanted for one in _faults(each, found)]
    for fault in faults:
        said = f"No spare worker: {fault.message}"
        yield fault if required else remark(fault.code, said, fault.remedy)


def _nothing(patterns: Collection[str]) -> Reason:
    return refused(
        "machine_sets_missing",
        f"No MachineSet in namespace {MACHINE_API} makes Kubernetes nodes of pool {enumerate_few(patterns)}.",
        "Correct extra_worker_pools, or leave out extra_workers, as on hosts without machines.",
    )


def possible(wanted: Sequence[Wanted], found: Machines) -> tuple[Wanted, ...]:
    """The sets of which nothing speaks against a spare one."""
    return tuple(each for each in wanted if not list(_faults(each, found)))


def _faults(wanted: Wanted, found: Machines) -> Iterator[Reason]:
    source, there = wanted.source, found.named(wanted.name)
    if len(wanted.name) > LONGEST:
        said = f"The spare set of MachineSet {source.name} would have a name of more than {LONGEST} characters."
        yield refused("spare_set_name_too_long", said, "Leave that set out with extra_worker_pools.")
    if not source.ready and there is None:
        said = f"MachineSet {source.name} has no machine that is a Ready Kubernetes node, and a copy would have none."
        yield refused("machine_set_unfit", said, "See its machines; bring one up, or set its replicas to 0.")
    if there is not None and not there.is_ours:
        said = f"There is a MachineSet {there.name} that no run has made, so no spare set can have its name."
        yield refused("spare_set_name_taken", said, "Rename or remove it if it is not needed.")
    if there is not None and there.mark is not None and there.mark.more.get("template") != source.template:
        said = f"MachineSet {there.name} of run {there.mark.writer.run} is not a copy of the present {source.name}."
        yield refused("spare_set_differs", said, "Remove it with the playbook settle, and run again.")


def copy_of(wanted: Wanted, writer: Writer) -> dict[str, Any]:
    """The spare set: one replica with all that its source has, and labels of its own.

    It has no label of its source, by which Hive would take it for one of its own; managed-upgrade-operator makes its
    spare sets so, too (`pkg/scaler/machineSetScaler.go`).
    """
    source, own = wanted.source, {SPARE: wanted.name}
    spec: dict[str, Any] = deepcopy({**source.spec})
    template, selector = spec.setdefault("template", {}), spec.setdefault("selector", {})
    spec["replicas"] = 1
    for holder, key in ((template.setdefault("metadata", {}), "labels"), (selector, "matchLabels")):
        holder[key] = {**(holder.get(key) or {}), MACHINE_SET: wanted.name, **own}
    of_nodes = template.setdefault("spec", {}).setdefault("metadata", {})
    of_nodes["labels"] = {**(of_nodes.get("labels") or {}), **own}
    mark = Undo(writer, (), {"of": source.name, "template": source.template})
    metadata = {"name": wanted.name, "namespace": MACHINE_API, "labels": own, "annotations": {MARK: mark.text()}}
    return {"apiVersion": f"{MACHINE_GROUP}/v1beta1", "kind": "MachineSet", "metadata": metadata, "spec": spec}


@as_verdict
def judge_there(seen: OpenShift, wanted: Sequence[Wanted], found: Machines) -> Iterator[Reason]:
    """Whether each spare set has a Kubernetes node that takes pods: Ready, in its pool, and as that pool is."""
    for each in wanted:
        nodes = [node for node in seen.nodes.values() if node.labels.get(SPARE) == each.name]
        if not any(_is_fit(seen, node, each.pool) for node in nodes):
            said, remedy = _missing(each, nodes, found)
            yield waiting("spare_worker_missing", said, remedy, about=f"{each.name} {said}")


def _is_fit(seen: OpenShift, node: ConfiguredNode, pool: str) -> bool:
    names = seen.members.get(pool, ())
    others = {seen.nodes[name].current for name in names if not seen.nodes[name].is_spare}
    return node.name in names and node.has(node.current) and node.current in {seen.pools[pool].config, *others}


def _missing(wanted: Wanted, nodes: Sequence[ConfiguredNode], found: Machines) -> tuple[str, str]:
    if nodes:
        return f"Spare Kubernetes node {nodes[0].name} is not Ready yet.", "See its console."
    machine = next((each for each in found.of_runs if each.machine_set == wanted.name), None)
    if machine is None:
        return f"MachineSet {wanted.name} has no machine yet.", "See its events."
    said = f"Machine {machine.name} has no Kubernetes node yet ({machine.phase or 'no phase'})"
    return (
        f"{said}: {machine.message}" if machine.message else f"{said}.",
        "See the machine, and the quota of its cloud.",
    )


@as_verdict
def judge_gone(
    found: Machines, nodes: Mapping[str, ConfiguredNode], kept: Collection[KeptPod] = ()
) -> Iterator[Reason]:
    """Whether no spare set of any run is left, no machine of one, and no Kubernetes node.

    `kept` are the pods that budgets keep on these Kubernetes nodes.
    """
    for each in found.foreign:
        said = f"MachineSet {each.name} has the label {SPARE}, and is not as a run makes one, so it stays."
        yield remark("spare_set_foreign", said, "Remove it by hand if it is not needed.")
    for each in found.ours:
        yield waiting("spare_worker_leaves", f"MachineSet {each.name} is still there.", "See its finalizers.")
    on = {each.kubernetes_node for each in found.of_runs}
    for machine in found.of_runs:
        stays = [each for each in kept if each.kubernetes_node == machine.kubernetes_node]
        yield drain_blocked(stays) if stays else _leaving(machine)
    for name in spare_nodes(found, nodes):
        if name not in on:
            yield waiting("spare_worker_leaves", f"Spare Kubernetes node {name} is still there.", "See its machine.")


def spare_nodes(found: Machines, nodes: Mapping[str, ConfiguredNode]) -> list[str]:
    """The Kubernetes nodes that runs have added."""
    others = {each.uid for each in found.foreign}
    foreign = {each.kubernetes_node for each in found.machines if each.owner in others}
    return [name for name, each in nodes.items() if each.is_spare and name not in foreign]


def _leaving(machine: SpareMachine) -> Reason:
    said = f"Machine {machine.name} of a spare worker is not gone yet ({machine.phase or 'no phase'})"
    said = f"{said}: {machine.message}" if machine.message else f"{said}."
    return waiting("spare_worker_leaves", said, "See the events of the machine.", about=f"{machine.name} {said}")
