"""Kubernetes nodes: how they are registered, and what the node controller does about one that is lost."""

from __future__ import annotations

from collections import Counter

from tests.sandbox.kubernetes.controllers.work import Durations, Recorder, with_condition
from tests.sandbox.kubernetes.kinds import LEASES, NAMESPACES, NODES, PODS
from tests.sandbox.kubernetes.metadata_rules import MOST_OF_LABEL
from tests.sandbox.kubernetes.objects import Json, owner_of, timestamp
from tests.sandbox.kubernetes.resources import Resources, Writing

CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "200Gi"}
_LEASES = "kube-node-lease"
_STATUS = Writing(manager="kubelet", subresource="status")
_INFO = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "machineID", "osImage", "systemUUID")
"""Fields that each Kubernetes node has, and whose values are unknown here."""
_KNOWN = {"kubeletVersion": "v1.36.3", "operatingSystem": "linux", "architecture": "amd64"}
_PRESSURES = ("Memory", "Disk", "PID")
_UNREACHABLE = "node.kubernetes.io/unreachable"


class Nodes:
    """The Kubernetes nodes that have power, and those that have none."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources, self._durations = resources, durations
        self._events = Recorder(resources, "node-controller")
        self.dead: set[str] = set()
        self._deaths: Counter[str] = Counter()
        """By Kubernetes node: what was to happen after a death does not once it has returned."""

    def register(self, name: str, zone: str) -> None:
        """Make a Kubernetes node in a zone."""
        labels = {
            # A name may be longer than a label.
            "kubernetes.io/hostname": name[:MOST_OF_LABEL].rstrip("-."),
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/region": "lab",
            "topology.kubernetes.io/zone": zone,
        }
        made = self._resources.create(NODES, "", {"metadata": {"name": name, "labels": labels}, "spec": {}})
        if self._resources.store.kept(NAMESPACES, "", _LEASES) is None:
            self._resources.create(NAMESPACES, "", {"metadata": {"name": _LEASES}})
        if self._resources.store.kept(LEASES, _LEASES, name) is not None:
            # That of a Kubernetes node of this name which has just been deleted.
            self._resources.delete(LEASES, _LEASES, name)
        owners = [{**owner_of(NODES, made), "controller": False}]
        lease = {"holderIdentity": name, "leaseDurationSeconds": 40}
        self._resources.create(LEASES, _LEASES, {"metadata": {"name": name, "ownerReferences": owners}, "spec": lease})
        self._write(name, alive=True)

    def die(self, name: str) -> None:
        """It loses its power; after a while that is noticed."""
        self.dead.add(name)
        self._deaths[name] += 1
        death = self._deaths[name]
        clock = self._resources.store.clock
        clock.later(self._durations.node_lost, lambda: self._lose(name) if self._is_dead(name, death) else None)
        until = self._durations.node_lost + self._durations.eviction
        clock.later(until, lambda: self._evict(name) if self._is_dead(name, death) else None)

    def revive(self, name: str) -> None:
        """It has power again."""
        self.dead.discard(name)
        self._deaths[name] += 1
        self._write(name, alive=True)

    def _is_dead(self, name: str, death: int) -> bool:
        return name in self.dead and self._deaths[name] == death

    def _write(self, name: str, *, alive: bool) -> None:
        """Say whether a Kubernetes node is alive. One that was deleted says nothing."""
        if self._resources.store.kept(NODES, "", name) is None:
            return
        now = timestamp(self._resources.store.clock.now())

        def status(item: Json) -> None:
            found = item.setdefault("status", {})
            for each in ("capacity", "allocatable"):
                found[each] = {**CAPACITY, **found.get(each, {})}
            found["addresses"] = [{"type": "Hostname", "address": name}]
            found["nodeInfo"] = {**dict.fromkeys(_INFO, ""), **_KNOWN, **found.get("nodeInfo", {})}
            for each in _PRESSURES:
                reason = (
                    f"KubeletHas{'Sufficient' if each != 'Disk' else 'No'}{each}{'' if each != 'Disk' else 'Pressure'}"
                )
                with_condition(item, f"{each}Pressure", "False" if alive else "Unknown", now, reason=reason)
            if alive:
                with_condition(item, "Ready", "True", now, reason="KubeletReady", message="kubelet is ready")
            else:
                message = "Kubelet stopped posting node status."
                with_condition(item, "Ready", "Unknown", now, reason="NodeStatusUnknown", message=message)

        self._resources.change(NODES, "", name, status, _STATUS)
        taints = [] if alive else [{"key": _UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute")]

        def taint(item: Json) -> None:
            kept = [each for each in item["spec"].get("taints", []) if each["key"] != _UNREACHABLE]
            item["spec"]["taints"] = [*kept, *taints]

        self._resources.change(NODES, "", name, taint)

    def _lose(self, name: str) -> None:
        """Mark a Kubernetes node as lost, and its pods as not Ready."""
        self._write(name, alive=False)
        now = timestamp(self._resources.store.clock.now())
        for pod in self._pods(name):
            metadata = pod["metadata"]
            self._resources.change(
                PODS,
                metadata["namespace"],
                metadata["name"],
                lambda item: with_condition(item, "Ready", "False", now),
                Writing(manager="kube-controller-manager", subresource="status"),
            )
            self._events.report(PODS, pod, "Warning", "NodeNotReady", "Node is not ready")

    def _evict(self, name: str) -> None:
        """Delete the pods of a Kubernetes node that stays away; they end once it is back, or by force."""
        for pod in self._pods(name):
            metadata = pod["metadata"]
            message = f"Marking for deletion Pod {metadata['namespace']}/{metadata['name']}"
            self._events.report(PODS, pod, "Normal", "TaintManagerEviction", message)
            self._resources.delete(PODS, metadata["namespace"], metadata["name"])

    def _pods(self, name: str) -> list[Json]:
        found = [*self._resources.store.each(PODS)]
        ended = {"Succeeded", "Failed"}
        return [
            each for each in found if each["spec"].get("nodeName") == name and each["status"].get("phase") not in ended
        ]
