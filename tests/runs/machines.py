"""Kubernetes clusters of kubeadm in memory whose machines are hosts of an inventory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.runs.calling import CalledPort
from tests.runs.over_ssh import SSH, over_ssh
from tests.runs.random_runs.resident import Resident
from tests.runs.world import World
from tests.sandbox.kubeadm.cluster import KubeadmCluster
from tests.sandbox.kubeadm.description import Described, Pace
from tests.sandbox.kubeadm.machine import Machine
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.scenarios.playbook import Played, digest_in

PLAYBOOK, NAMESPACE = "stateful.upgrade.machines", "upgrades"
ROLE = "stateful.upgrade.member_kubeadm"
SERVED = {"upgrade_system": PLAYBOOK}
"""The variable of playbooks that serve every upgrade."""
CHECK = "--check"
"""The argument with which the playbook shows its plan."""
ENABLE, UNDO = "cluster.routing.allocation.enable", "upgrade.stateful/undo"
GROUPS = ("control_plane", "workers")


@dataclass(frozen=True)
class Machines:
    """A cluster and its inventory. The machines of the control plane are known there as `h-<name>`, with the variable
    `upgrade_member`; the workers have the names of their Kubernetes nodes."""

    here: World
    cluster: KubeadmCluster
    doors: Mapping[str, CalledPort] = field(default_factory=dict)
    """The ports of the machines to which their controller connects, by Kubernetes node."""
    folder: Path = Path()

    @property
    def machines(self) -> Mapping[str, Machine]:
        """By Kubernetes node."""
        return self.cluster.machines

    @property
    def arguments(self) -> tuple[str, str]:
        """The arguments of ansible-playbook, which name the inventory as its users write it."""
        described = self.cluster.described
        control_plane = {host_of(name, described): self._of(name, described) for name in described.control_plane}
        workers = {name: self._of(name, described) for name in described.workers}
        groups = {name: {"hosts": hosts} for name, hosts in zip(GROUPS, (control_plane, workers), strict=True)}
        path = self.folder / "inventory.json"
        path.write_text(json.dumps({"all": {"children": groups}}), encoding="utf-8")
        return "-i", str(path)

    def _of(self, name: str, described: Described) -> dict[str, str]:
        address = {"ansible_host": self.doors[name].host}
        return {**address, "upgrade_member": name} if name in described.control_plane else address

    def variables(self, target_version: str, user: str = "admin", **more: Any) -> dict[str, Any]:
        """The variables of an upgrade to a version, as one of the users of the API."""
        return {
            "target_version": target_version,
            "upgrade_groups": [*GROUPS],
            "upgrade_namespace": NAMESPACE,
            "upgrade_kubernetes": {"kubeconfig": str(self.here.sandbox.kubeconfig(user))},
            **more,
        }

    def upgraded(self, target_version: str, **more: Any) -> Played:
        """A run with consent to the present plan, which the check mode shows; that one if it is refused."""
        given = self.variables(target_version, **more)
        planned = self.here.play(PLAYBOOK, given, *self.arguments, CHECK)
        if planned.code:
            return planned
        return self.here.play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned)}, *self.arguments)


def serve(found: Machines, playbook: str, user: str, **more: Any) -> Played:
    """The end of a playbook that serves every upgrade. It needs no inventory."""
    return found.here.play(playbook, {**served_by(found, user), **more})


def served_by(found: Machines, user: str) -> dict[str, Any]:
    """The variables of such a playbook."""
    given = found.variables("", user)
    return {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")} | SERVED


def decided(name: str, first: str, target_version: str) -> dict[str, Any]:
    """What a plan and a batch decide for the role of a machine; `first` is the one that gets `apply`."""
    course = "apply" if name == first else "node"
    return {
        "member_kubeadm_course": course,
        "member_kubeadm_plan": {"batches": [{"members": [first]}], "target_version": target_version},
        "member_kubeadm_saves": [first],
        "member_kubeadm_guards_etcd": False,
    }


def host_of(name: str, described: Described) -> str:
    """The name in the inventory of the machine of a Kubernetes node."""
    return f"h-{name}" if name in described.control_plane else name


@contextmanager
def machines(
    here: World,
    version: str,
    available: Sequence[str],
    *,
    control_plane: int = 3,
    workers: int = 3,
    pace: Pace | None = None,
    **described: Any,
) -> Iterator[Machines]:
    """A cluster that is whole; until the block ends, runs reach its machines, and its API behind one address.

    Args:
        here: The world, whose Kubernetes it becomes.
        version: The version of all, such as 1.35.4.
        available: The other versions in the repository of the packages.
        control_plane: The number of its machines.
        workers: The number of the others.
        pace: The seconds that things take.
        described: Further fields of `Described`: balanced, external_etcd.
    """
    names = (
        tuple(f"cp-{each + 1}" for each in range(control_plane)),
        tuple(f"worker-{each + 1}" for each in range(workers)),
    )
    whole = Described(version, *names, **described)
    with here.calling.lock:
        cluster = KubeadmCluster(here.sandbox.kubernetes, whole, available, pace)
    port: Any = here.sandbox.server_port
    port.handler = cluster.control_plane.door(port.handler)
    here.sandbox.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    doors = {
        name: here.calling.serve(machine, f"10.2.0.{number + 1}", SSH)
        for number, (name, machine) in enumerate(cluster.machines.items())
    }
    with TemporaryDirectory(prefix="machines-") as folder, over_ssh(here.calling):
        yield Machines(here, cluster, doors, Path(folder))


class Tenant(Resident):
    """An OpenSearch on the workers. It notes each cordon of one of them while a member on it cannot be spared."""

    def __init__(self, found: Machines) -> None:
        self._workers = found.cluster.described.workers
        resources = found.here.sandbox.kubernetes.server.resources
        super().__init__(found.here, resources, found.cluster.described.control_plane)
        self.unready: list[str] = []
        """Each cordon by a run of a machine whose members were not made ready for it, with the cause."""
        self.cordoned: list[str] = []
        """The machines with members that runs have cordoned."""
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        name = change.item["metadata"]["name"]
        if change.kind != NODES or change.before is None or change.type == "DELETED" or name not in self._workers:
            return
        if change.item["spec"].get("unschedulable") and not change.before["spec"].get("unschedulable"):
            self.breaches += [f"{name}: {each}" for each in self.spares(self._batch_of(change.item))]
            if _is_marked(change.item):
                self._judge_ready(name)

    def _batch_of(self, node: Json) -> set[str]:
        """The Kubernetes node, and those that a run has taken with it: the gate has judged them together.

        One of a batch before it is on another version, or is not cordoned any more.
        """
        workers = [each for each in self._resources.store.each(NODES) if each["metadata"]["name"] in self._workers]
        marked = [each for each in workers if _is_marked(each) and _version_of(each) == _version_of(node)]
        return {each["metadata"]["name"] for each in (node, *(marked if _is_marked(node) else ()))}

    def _judge_ready(self, machine: str) -> None:
        there, state = {member for member, place in self.places().items() if place == machine}, self.servers.state
        alive = {each.name for each in state.nodes.values() if each.alive}
        if not there & alive:
            return
        self.cordoned.append(machine)
        enabled = state.settings.persistent.get(ENABLE)
        self.unready += [] if enabled == "primaries" else [f"{machine}: allocation is {enabled or 'not restricted'}"]
        elected = state.nodes[state.elected].name if state.elected in state.nodes else ""
        self.unready += [f"{machine}: {elected} is elected"] if elected in there else []


def _is_marked(node: Json) -> bool:
    return UNDO in node["metadata"].get("annotations", {})


def _version_of(node: Json) -> str:
    return str(node["status"]["nodeInfo"]["kubeletVersion"])
