"""The kubelet of a machine: its process, and what its Kubernetes node says."""

from __future__ import annotations

import itertools

from tests.sandbox.kubeadm.packages import Packages
from tests.sandbox.kubeadm.upgrading import Shared
from tests.sandbox.kubernetes.controllers.scheduler import ZONE
from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.kubernetes.resources import Writing

NOT_READY = "node.kubernetes.io/not-ready"
_STATUS = Writing(manager="kubelet", subresource="status")
_numbers = itertools.count(1000)


class Kubelet:
    """Its process has the version that was installed when it was started."""

    def __init__(self, shared: Shared, name: str, packages: Packages) -> None:
        self._shared, self._name, self._packages = shared, name, packages
        self.version = packages.installed["kubelet"]
        self.configuration = self.version
        """The version whose kubeadm has written the configuration that it runs with."""
        self.pid = next(_numbers)
        self.restarts = 0
        self.is_linked = False
        """Whether its program is a link, so that a former program stays when another one is installed."""
        self.system = f"system-{name}"
        """The id of the machine, which another one of its name does not have."""
        self.never_ready = False
        """Whether its Kubernetes node stays not Ready after the next restart."""
        self.daemons_never_ready = False
        """Whether the pods of DaemonSets on it stay not Ready after the next restart."""
        self._number = 0
        labels = shared.kubernetes.server.resources.get(NODES, "", name)["metadata"]["labels"]
        self._zone = str(labels[ZONE])
        self.tell(ready=True)

    @property
    def is_old(self) -> bool:
        """Whether its program was replaced since it was started."""
        return self.version != self._packages.installed["kubelet"]

    def restart(self, configuration: str) -> None:
        """`systemctl restart`: the Kubernetes node is not Ready for a while, and then has the new version."""
        self.restarts += 1
        self.configuration = configuration
        self._begin()

    def power_off(self) -> None:
        """The machine stops at once."""
        self._number += 1
        self._shared.kubernetes.faults.node_dead(self._name)
        if self._name in self._shared.control_plane.images:
            self._shared.control_plane.take_down(self._name)

    def power_on(self) -> None:
        """The machine comes back."""
        self._shared.kubernetes.faults.mend_node(self._name)
        self._begin()
        if self._name in self._shared.control_plane.images:
            pace = self._shared.pace
            self._shared.clock.later(pace.static_pod, lambda: self._shared.control_plane.bring_up(self._name))

    @property
    def is_registered(self) -> bool:
        """Whether its Kubernetes node is there. The kubelet makes one that was deleted only when it starts."""
        return self._shared.kubernetes.server.resources.store.kept(NODES, "", self._name) is not None

    def tell(self, *, ready: bool) -> None:
        """Write what the Kubernetes node says about its kubelet."""
        if not self.is_registered:
            return
        now = timestamp(self._shared.clock.now())

        def status(item: Json) -> None:
            item["status"]["nodeInfo"] |= {
                "kubeletVersion": f"v{self.version}",
                "kubeProxyVersion": "",
                "systemUUID": self.system,
            }
            reason = "KubeletReady" if ready else "KubeletNotReady"
            with_condition(item, "Ready", "True" if ready else "False", now, reason=reason)

        def taint(item: Json) -> None:
            others = [each for each in item["spec"].get("taints") or [] if each["key"] != NOT_READY]
            effects = () if ready else ("NoSchedule", "NoExecute")
            item["spec"]["taints"] = [*others, *({"key": NOT_READY, "effect": each} for each in effects)]

        resources = self._shared.kubernetes.server.resources
        resources.change(NODES, "", self._name, status, _STATUS)
        resources.change(NODES, "", self._name, taint)

    def _begin(self) -> None:
        self.pid = next(_numbers)
        self._number += 1
        number = self._number
        if not self.is_registered:
            self._shared.kubernetes.nodes.register(self._name, self._zone)
        self.tell(ready=False)
        self._shared.kubernetes.faults.let_daemons(self._name, ready=False)
        self.version = self._packages.installed["kubelet"]
        self._shared.clock.later(self._shared.pace.kubelet, lambda: self._ready(number))

    def _ready(self, number: int) -> None:
        if number == self._number and not self.never_ready:
            self.tell(ready=True)
            self._shared.clock.later(self._shared.pace.daemons, lambda: self._daemons_ready(number))

    def _daemons_ready(self, number: int) -> None:
        if number == self._number and not self.daemons_never_ready:
            self._shared.kubernetes.faults.let_daemons(self._name, ready=True)
