"""A whole Kubernetes in memory: the API server, its controllers, three zones with a Kubernetes node each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import APPLY, ApiServer
from tests.sandbox.kubernetes.controllers.budgets import Budgets
from tests.sandbox.kubernetes.controllers.garbage import Garbage
from tests.sandbox.kubernetes.controllers.namespaces import Namespaces
from tests.sandbox.kubernetes.controllers.nodes import Nodes
from tests.sandbox.kubernetes.controllers.quotas import Quotas
from tests.sandbox.kubernetes.controllers.resizer import Resizer
from tests.sandbox.kubernetes.controllers.scheduler import LOCAL_CLASS, Scheduler
from tests.sandbox.kubernetes.controllers.stateful_sets import StatefulSets
from tests.sandbox.kubernetes.controllers.work import Durations
from tests.sandbox.kubernetes.kinds import NAMESPACES, STORAGE_CLASSES
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour
from tests.sandbox.kubernetes.kubelet.kubelets import Kubelets
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.rights import ADMIN, User
from tests.sandbox.web import Answer, Request, answered

NODES = {"node-a1": "a", "node-b1": "b", "node-c1": "c"}
"""Name and zone of each Kubernetes node."""
TOKENS = {"admin": "token-of-admin", "upgrader": "token-of-upgrader"}
_USERS = {TOKENS["admin"]: ADMIN, TOKENS["upgrader"]: User("upgrader")}
_SYSTEM = ("default", "kube-system", "kube-public")
_SOON = 0.5


class Switchboard:
    """Everything in pods and Kubernetes nodes that can be broken on purpose."""

    def __init__(self, kubelets: Kubelets, resources: Resources) -> None:
        self._kubelets, self._resources = kubelets, resources
        self._dead: set[str] = set()

    def never_ready(self, namespace: str, pod: str) -> None:
        """Keep the pod's containers from being Ready, whatever their probes say."""
        self._kubelets.switches.never_ready.add((namespace, pod))
        self._kubelets.obey((namespace, pod))

    def let_daemons(self, node: str, *, ready: bool) -> None:
        """Keep the pods of DaemonSets on a Kubernetes node from being Ready, or let them be."""
        self._kubelets.let_daemons(node, ready=ready)

    def crash_loop(self, namespace: str, pod: str) -> None:
        """Kill the pod's processes as soon as they start."""
        self._kubelets.switches.crash_loop.add((namespace, pod))
        self._kubelets.obey((namespace, pod))

    def slow_stop(self, namespace: str, pod: str, seconds: float) -> None:
        """Let the pod take this long to stop; its grace period still ends it."""
        self._kubelets.switches.slow_stop[namespace, pod] = seconds

    def slow_mounts(self, namespace: str, pod: str, seconds: float) -> None:
        """Let changes of Secrets and ConfigMaps take this long to arrive in the pod's files."""
        self._kubelets.switches.slow_mounts[namespace, pod] = seconds

    def back_off(self, namespace: str, pod: str, seconds: float) -> None:
        """Let the pod's containers wait for at most so long before they are started again."""
        self._kubelets.switches.back_off[namespace, pod] = seconds

    def kill(self, namespace: str, pod: str) -> None:
        """Kill the pod's processes now."""
        worker = self._kubelets.worker((namespace, pod))
        if worker is None:
            raise KeyError(f"no pod {namespace}/{pod} runs here")
        worker.kill()

    def node_dead(self, node: str) -> None:
        """Take a Kubernetes node's power away."""
        self._dead.add(node)
        self._kubelets.node_dead(node)

    def mend(self, namespace: str, pod: str) -> None:
        """Switch everything off for a pod."""
        self._kubelets.switches.mend((namespace, pod))

    def mend_node(self, node: str) -> None:
        """Give the Kubernetes node its power back."""
        self._dead.discard(node)
        self._kubelets.mend_node(node)

    def controllers_away(self, seconds: float) -> None:
        """Stop the controllers of StatefulSets, placement, budgets and garbage for so long; kubelets go on."""
        self._resources.controllers_back_at = self._resources.store.clock.now() + seconds

    def mend_all(self) -> None:
        """Switch everything off."""
        self._kubelets.switches.mend_all()
        self._resources.controllers_back_at = 0.0
        for node in sorted(self._dead):
            self.mend_node(node)


@dataclass
class Kubernetes:
    """`server` is a `Handler`; whatever it does by itself happens when the clock goes on."""

    clock: Clock
    behaviour: Behaviour = field(default_factory=Behaviour)
    durations: Durations = field(default_factory=Durations)
    users: Mapping[str, User] = field(default_factory=lambda: dict(_USERS))
    """By bearer token; `TOKENS` has those of `admin` and `upgrader`."""

    def __post_init__(self) -> None:
        self.server = ApiServer(self.clock, self.users)
        self.server.logs = self.behaviour.log
        resources = self.server.resources
        self.nodes = Nodes(resources, self.durations)
        self._controllers = (
            Namespaces(resources, self.durations),
            Garbage(resources, self.durations),
            StatefulSets(resources, self.durations),
            Scheduler(resources, self.durations),
            Resizer(resources, self.durations),
            Budgets(resources, self.durations),
            Quotas(resources, self.durations),
        )
        self.kubelets = Kubelets(resources, self.nodes, self.behaviour, self.durations)
        self.server.stream = self.kubelets.stream
        self.faults = Switchboard(self.kubelets, resources)
        for name in _SYSTEM:
            resources.create(NAMESPACES, "", {"metadata": {"name": name}})
        for name, zone in NODES.items():
            self.nodes.register(name, zone)
        for name in ("lab", LOCAL_CLASS):
            chosen = {"storageclass.kubernetes.io/is-default-class": json.dumps(name == "lab")}
            body = {"metadata": {"name": name, "annotations": chosen}, "provisioner": "stateful.upgrade/sandbox"}
            resources.create(STORAGE_CLASSES, "", {**body, "volumeBindingMode": "WaitForFirstConsumer"})
        self.clock.advance(_SOON)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        *,
        media_type: str = "application/json",
        user: str = "admin",
    ) -> Answer:
        """The answer to a call; the clock goes on only where it waits for something."""
        headers = {"Authorization": f"Bearer {TOKENS[user]}", "Content-Type": media_type, "User-Agent": "sandbox/1"}
        return answered(self.server, Request(method, path, query or {}, body, headers), self.clock)

    def apply(self, objects: Sequence[Json]) -> None:
        """Create or change objects as admin with server-side apply, in the order given. Raises RuntimeError."""
        for item in objects:
            kind = self.server.kinds.named(item["apiVersion"], item["kind"])
            if kind is None:
                raise RuntimeError(f"no kind {item['kind']} of {item['apiVersion']} is known here")
            metadata = item["metadata"]
            path = kind.path(metadata.get("namespace", "default") if kind.namespaced else "", metadata["name"])
            query = {"fieldManager": "kubectl", "force": "true"}
            answer = self.ask("PATCH", path, item, query, media_type=APPLY)
            if answer.status >= 400:
                raise RuntimeError(f"{path}: {answer.body['message']}")
            if kind == NAMESPACES:
                self.clock.advance(self.durations.control)

    def until(self, holds: Callable[[], object], seconds: float = 120.0, step: float = 0.1) -> bool:
        """Let time pass until a condition is true; gives whether it became true."""
        end = self.clock.now() + seconds
        while not holds():
            if self.clock.now() >= end:
                return False
            self.clock.advance(step)
        return True
