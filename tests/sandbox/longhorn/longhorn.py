"""A whole Longhorn in memory, on a Kubernetes in memory: its definitions, controllers, webhook, faults and observer."""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.longhorn.bringing_up import bring_up, offered
from tests.sandbox.longhorn.controllers.all import Controllers
from tests.sandbox.longhorn.controllers.recurring import CronJobs
from tests.sandbox.longhorn.controllers.work import Shared
from tests.sandbox.longhorn.description import Described, Durations, Machine
from tests.sandbox.longhorn.faults import Faults
from tests.sandbox.longhorn.kinds import ATTACHMENTS, ENGINES, MANAGERS, NAMESPACE, SETTINGS, VOLUMES, checksum
from tests.sandbox.longhorn.memory import InMemory
from tests.sandbox.longhorn.objects import Objects
from tests.sandbox.longhorn.observer import Observer
from tests.sandbox.longhorn.webhook import Webhook

BUILT_IN = 120.0
"""Seconds of its own time in which a Longhorn has to be as it was described."""


class Longhorn:
    """It is as described when this returns: every volume that should be is attached."""

    def __init__(
        self, described: Described, kubernetes: Kubernetes | None = None, pace: Durations | None = None
    ) -> None:
        self.kubernetes = kubernetes or Kubernetes(Clock())
        self.described, self.clock = described, self.kubernetes.clock
        resources = self.kubernetes.server.resources
        self._resources = resources
        self.kubernetes.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
        self.kubernetes.apply(offered(described))
        server = InMemory(resources)
        self.objects = Objects(server)
        self.observer = Observer(self.objects)
        shared = Shared(self.objects, pace or Durations(), self.kubernetes.nodes.dead.__contains__)
        self.controllers = Controllers(shared, described)
        self.cron_jobs = CronJobs(shared)
        self.webhook = Webhook(self.objects)
        self.faults = Faults(self.objects, self.controllers, self.observer, self.webhook, self.kubernetes.faults)
        server.follow(self.objects)
        self._build()
        resources.admission.append(self.webhook)
        self.observer.start()

    def _build(self) -> None:
        for machine in self.described.machines:
            self._machine(machine)
        bring_up(self.objects, self.controllers, self.described, self._until)
        self.clock.advance(2.0)

    def _machine(self, machine: Machine) -> None:
        if self.objects.get(KUBERNETES_NODES, machine.name) is None:
            self.kubernetes.nodes.register(machine.name, machine.zone)
        images = [{"names": [each], "sizeBytes": 300_000_000} for each in machine.images]

        def tell(item: Json) -> None:
            item["status"]["images"] = images
            for field in ("capacity", "allocatable"):
                item["status"][field]["hugepages-2Mi"] = machine.huge_pages

        self._resources.change(KUBERNETES_NODES, "", machine.name, tell, Writing("kubelet", subresource="status"))

    def _until(self, what: str, holds: Callable[[], object]) -> None:
        if not self.kubernetes.until(holds, BUILT_IN):
            raise AssertionError(f"{what} of the description did not come to be in {BUILT_IN:g} s")

    def get(self, kind: Kind, name: str) -> Json:
        """An object of Longhorn, as it is now. Raises Refused."""
        return self._resources.get(kind, NAMESPACE if kind.namespaced else "", name)

    def volume(self, name: str) -> Json:
        """A volume, as it is now. Raises Refused."""
        return self.get(VOLUMES, name)

    def engine(self, volume: str) -> Json:
        """The active engine of a volume."""
        found = self.objects.of_volume(ENGINES, volume)
        return next(each for each in found if each["spec"].get("active"))

    def manager(self, node: str) -> Json:
        """The v2 instance manager of a Kubernetes node that runs, or else the one with the default image."""
        found = self.objects.of_node(MANAGERS, node)
        image = self.objects.setting("default-instance-manager-image")
        return max(found, key=lambda each: (_runs(each), each["spec"]["image"] == image))

    def write(self, kind: Kind, name: str, spec: Json) -> None:
        """Write fields of a spec, as a user does: the webhook and the definition look at it. Raises Refused."""
        place = NAMESPACE if kind.namespaced else ""
        writing = Writing("kubectl", strict="Strict")
        self._resources.change(kind, place, name, lambda item: item["spec"].update(spec), writing)

    def set(self, setting: str, value: str) -> None:
        """Write a setting as a user does. Raises Refused."""
        writing = Writing("kubectl", strict="Strict")
        self._resources.change(SETTINGS, NAMESPACE, setting, lambda item: item.update(value=value), writing)

    def attach(self, volume: str, node: str) -> None:
        """Let a workload on a Kubernetes node start to use a volume."""
        key = f"csi-{checksum(volume + node)[:16]}"
        ticket = {"id": key, "type": "csi-attacher", "nodeID": node, "generation": 0, "parameters": {}}
        self.objects.change(ATTACHMENTS, volume, lambda item: item["spec"].update(attachmentTickets={key: ticket}))

    def detach(self, volume: str) -> None:
        """End the use of a volume by its workload."""
        self.objects.change(ATTACHMENTS, volume, lambda item: item["spec"].update(attachmentTickets={}))

    def until(self, holds: Callable[[], object], seconds: float = 120.0) -> bool:
        """Let time pass until a condition is true; gives whether it became true."""
        return self.kubernetes.until(holds, seconds)


def _runs(manager: Json) -> bool:
    return bool(manager.get("status", {}).get("currentState") == "running")
