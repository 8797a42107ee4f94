"""A whole Kubernetes of kubeadm in memory, on a Kubernetes in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.sandbox.kubeadm import building
from tests.sandbox.kubeadm.addons import Addons
from tests.sandbox.kubeadm.building import CONFIGURATION, SYSTEM
from tests.sandbox.kubeadm.control_plane import ControlPlane
from tests.sandbox.kubeadm.description import DNS, PROXY, Described, Pace, image_of
from tests.sandbox.kubeadm.machine import Machine
from tests.sandbox.kubeadm.upgrading import Shared
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES, PODS, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json, is_ready, timestamp

ZONES = "abc"


class KubeadmCluster:
    """It is as described when this returns, in the place of the Kubernetes nodes that were there."""

    def __init__(
        self, kubernetes: Kubernetes, described: Described, available: Sequence[str] = (), pace: Pace | None = None
    ) -> None:
        """`available` are the versions in the repository of the packages, besides the present one."""
        self.kubernetes, self.described = kubernetes, described
        self._resources = kubernetes.server.resources
        for name in [each["metadata"]["name"] for each in self._resources.store.each(NODES)]:
            self._resources.delete(NODES, "", name)
        for place, name in enumerate(described.machines):
            self._register(name, place)
        if self._resources.store.kept(SERVICE_ACCOUNTS, SYSTEM, "default") is None:
            self._resources.create(SERVICE_ACCOUNTS, SYSTEM, {"metadata": {"name": "default"}})
        self._resources.create(CONFIG_MAPS, SYSTEM, building.configuration(described.version, described.endpoint))
        self.control_plane = ControlPlane(kubernetes, described)
        addons = Addons(kubernetes, described.version)
        self.shared = Shared(kubernetes, self.control_plane, addons, pace or Pace())
        self.machines = {name: Machine(self.shared, name, described.version, available) for name in described.machines}
        kubernetes.until(self.is_whole)

    def _register(self, name: str, place: int) -> None:
        self.kubernetes.nodes.register(name, ZONES[place % len(ZONES)])
        item = self._resources.get(NODES, "", name)
        if name in self.described.control_plane:
            building.join_control_plane(item)
        # Their order by age is that of the description.
        item["metadata"]["creationTimestamp"] = timestamp(self.kubernetes.clock.now() - 3600 + place)
        self._resources.store.put(NODES, item)

    def node(self, name: str) -> Json:
        """A Kubernetes node, as it is now. Raises Refused."""
        return self._resources.get(NODES, "", name)

    def is_registered(self, name: str) -> bool:
        """Whether a machine has its Kubernetes node."""
        return self._resources.store.kept(NODES, "", name) is not None

    def delete_node(self, name: str) -> None:
        """Delete the Kubernetes node of a worker, as a person or Cluster API does, and the pods on it.

        Kubernetes deletes these a little later (`pkg/controller/podgc`).
        """
        self._resources.delete(NODES, "", name)
        for pod in self._resources.store.list(PODS):
            if pod["spec"].get("nodeName") == name:
                metadata = pod["metadata"]
                self._resources.delete(PODS, metadata["namespace"], metadata["name"], {"gracePeriodSeconds": 0})

    def version(self) -> str:
        """The version in the ConfigMap of kubeadm."""
        return self.shared.version()

    def configuration(self) -> Json:
        """That ConfigMap."""
        return self._resources.get(CONFIG_MAPS, SYSTEM, CONFIGURATION)

    def pods(self) -> list[Json]:
        """The pods of the system."""
        return [*self._resources.store.each(PODS, SYSTEM)]

    def is_whole(self) -> bool:
        """Whether the API answers, and each static pod and addon is there and Ready."""
        pods = self.pods()
        count = sum(map(len, self.control_plane.images.values())) + len(self.described.machines) + 2
        return self.control_plane.answers and len(pods) == count and all(is_ready(each) for each in pods)

    def is_upgraded(self, version: str) -> bool:
        """Whether all machines, static pods and addons are of a version, and whole."""
        names = self.described.control_plane
        components = building.all_components(version, external_etcd=self.described.external_etcd)
        wanted = {*components.values(), image_of(PROXY, version), image_of(DNS, version)}
        of_kubelets = all(
            self.node(name)["status"]["nodeInfo"]["kubeletVersion"] == f"v{version}" for name in self.described.machines
        )
        static = all(self.control_plane.images[name] == components for name in names)
        images = {each["spec"]["containers"][0]["image"] for each in self.pods()}
        return of_kubelets and static and images == wanted and self.version() == version and self.is_whole()

    def until(self, holds: Callable[[], object], seconds: float = 3600.0, step: float = 0.5) -> bool:
        """Let time pass until a condition is true; gives whether it became true."""
        return self.kubernetes.until(holds, seconds, step)
