"""A Kubernetes and its OpenSearch clusters in memory, behind real sockets, for scenarios that need no lab."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kubernetes import client, config

from tests.lab.addresses import HOST, ClaimedPort
from tests.lab.certificates import Identity
from tests.lab.control_plane.credentials import USERS, create
from tests.lab.proxy import ANNOTATION
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import TOKENS, Kubernetes, Switchboard
from tests.sandbox.kubernetes.controllers.scheduler import ZONE
from tests.sandbox.kubernetes.kinds import NODES, PODS, SERVICES
from tests.sandbox.kubernetes.kubelet.behaviour import Behaviour
from tests.sandbox.kubernetes.objects import Json, is_ready
from tests.sandbox.kubernetes.rights import ADMIN, User
from tests.sandbox.kubernetes.selectors import selected
from tests.sandbox.listening import Listening, Port
from tests.sandbox.members import Members, pull_error
from tests.sandbox.paces import QUICK, Paces
from tests.sandbox.web import Answer, CutOff, Handler, Pending, Request


class Faults:
    """Everything that can be broken on purpose."""

    def __init__(self, switches: Switchboard, listening: Listening, server: Port) -> None:
        self._switches, self._listening, self._server = switches, listening, server

    def never_ready(self, namespace: str, pod: str) -> None:
        """Keep the pod's containers from being Ready, whatever their probes say."""
        with self._listening.lock:
            self._switches.never_ready(namespace, pod)

    def crash_loop(self, namespace: str, pod: str) -> None:
        """Kill the pod's processes as soon as they start."""
        with self._listening.lock:
            self._switches.crash_loop(namespace, pod)

    def slow_stop(self, namespace: str, pod: str, seconds: float) -> None:
        """Let the pod take this long to stop; its grace period still ends it."""
        with self._listening.lock:
            self._switches.slow_stop(namespace, pod, seconds)

    def slow_mounts(self, namespace: str, pod: str, seconds: float) -> None:
        """Let changes of Secrets and ConfigMaps take this long to arrive in the pod's files."""
        with self._listening.lock:
            self._switches.slow_mounts(namespace, pod, seconds)

    def back_off(self, namespace: str, pod: str, seconds: float) -> None:
        """Let the pod's containers wait for at most so long before they are started again."""
        with self._listening.lock:
            self._switches.back_off(namespace, pod, seconds)

    def kill(self, namespace: str, pod: str) -> None:
        """Kill the pod's processes now."""
        with self._listening.lock:
            self._switches.kill(namespace, pod)

    def node_dead(self, node: str) -> None:
        """Take a Kubernetes node's power away."""
        with self._listening.lock:
            self._switches.node_dead(node)

    def controllers_away(self, seconds: float) -> None:
        """Stop the controllers of the control plane for so long; kubelets and the API server go on."""
        with self._listening.lock:
            self._switches.controllers_away(seconds)

    def api_server_away(self, seconds: float) -> None:
        """Kill the API server, and start it again after some seconds."""
        self._server.close_for(seconds)

    def mend(self, namespace: str, pod: str) -> None:
        """Switch everything off for a pod."""
        with self._listening.lock:
            self._switches.mend(namespace, pod)

    def mend_node(self, node: str) -> None:
        """Give the Kubernetes node its power back."""
        with self._listening.lock:
            self._switches.mend_node(node)

    def mend_all(self) -> None:
        """Switch everything off."""
        with self._listening.lock:
            self._switches.mend_all()


class SharedClock:
    """The clock of a sandbox for other threads: whoever sleeps lets the time of all pass at once."""

    def __init__(self, clock: Clock, listening: Listening) -> None:
        self._clock, self._listening = clock, listening

    def now(self) -> float:
        """The present time."""
        with self._listening.lock:
            return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        with self._listening.lock:
            self._clock.advance(seconds)


class Sandbox:
    """Use it in a `with` statement. `factor` says how many times as fast as real time its clock goes."""

    real = False

    def __init__(
        self,
        factor: float = 1.0,
        listening: Callable[[Clock, float], Listening] = Listening,
        start: float | None = None,
        paces: Paces = QUICK,
    ) -> None:
        self._paces = paces
        self._clock = Clock(time.time() if start is None else start)
        self.listening = listening(self._clock, factor)
        self.clock = SharedClock(self._clock, self.listening)
        self._stack = contextlib.ExitStack()
        self._services: dict[tuple[str, str], Port] = {}
        self._addresses: dict[tuple[str, str], str] = {}
        self._configurations: dict[str, client.Configuration] = {}

    def __enter__(self) -> Sandbox:
        directory = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-")))
        # It has to be known before the certificates and kubeconfigs are made, and faults let nothing listen there.
        port = ClaimedPort.claim()
        self._stack.callback(port.release)
        self._credentials = create(directory / "secrets", f"https://{HOST}:{port.number}", [HOST])
        users = {
            token: User(name, (*USERS[name], "system:authenticated"))
            for name, token in self._credentials.tokens.items()
        }
        users[TOKENS["admin"]] = ADMIN
        self.kubernetes = Kubernetes(self._clock, self._behaviour(), self._paces.kubernetes, users)
        self.members.read = self.kubernetes.kubelets.read
        self.api = self.kubernetes.server
        self._stack.enter_context(self.listening)
        identity = Identity(self._credentials.certificate.read_bytes(), self._credentials.key.read_bytes())
        self.server_port = self.listening.serve(self.api, HOST, port.number, identity)
        self.faults = Faults(self.kubernetes.faults, self.listening, self.server_port)
        return self

    def _behaviour(self) -> Behaviour:
        self.members = Members(self._clock, self._zone_of, self.pod_address, self._paces.opensearch)
        return Behaviour(
            address=self.pod_address,
            pull_error=pull_error,
            exit_code=self.members.exit_code,
            message=self.members.message,
            started=self.members.started,
            stopping=self.members.stopping,
            stopped=self.members.stopped,
            ready=self.members.ready,
            log=self.members.log,
        )

    def _zone_of(self, node: str) -> str:
        found = self.api.store.kept(NODES, "", node)
        assert found is not None, node
        return str(found["metadata"]["labels"][ZONE])

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def apply(self, objects: Sequence[Json]) -> None:
        """Create or change objects as admin, in the order given, as `kubectl apply --server-side`.

        Raises:
            RuntimeError: an object is not accepted.
        """
        for each in objects:
            with self.listening.lock:
                self.kubernetes.apply([each])
            if each["kind"] == SERVICES.kind and each["spec"].get("clusterIP") != "None":
                self._relay(each["metadata"].get("namespace", "default"), each["metadata"]["name"])

    def _relay(self, namespace: str, name: str) -> None:
        """Let a Service's Ready pods answer at an address of its own, which is in its annotation."""
        if (namespace, name) not in self._services:
            self._services[namespace, name] = self.listening.serve(self._service(namespace, name), HOST)
        address = f"{HOST}:{self._services[namespace, name].number}"
        with self.listening.lock:
            self.api.resources.change(
                SERVICES,
                namespace,
                name,
                lambda found: found["metadata"].setdefault("annotations", {}).update({ANNOTATION: address}),
            )

    def _service(self, namespace: str, name: str) -> Handler:
        turn = 0

        def answer(request: Request) -> Answer | Pending:
            nonlocal turn
            service = self.api.store.kept(SERVICES, namespace, name)
            ready = self._ready(namespace, service) if service else []
            turn += 1
            pod = ready[turn % len(ready)] if ready else None
            cluster = self.members.cluster_of(pod) if pod else None
            if pod is None or cluster is None:
                raise CutOff(made=False)
            return cluster.handler(pod["metadata"]["name"])(request)

        return answer

    def _ready(self, namespace: str, service: Json) -> list[Json]:
        selector = {"matchLabels": service["spec"].get("selector") or {}}
        # A pod on its way out is no endpoint any more.
        return [
            pod
            for pod in self.api.store.each(PODS, namespace)
            if is_ready(pod)
            and "deletionTimestamp" not in pod["metadata"]
            and selected(selector, pod["metadata"].get("labels") or {})
        ]

    def client(self, user: str = "admin") -> client.ApiClient:
        """A new API client; close it, or use it in a `with` statement."""
        if user not in self._configurations:
            self._configurations[user] = client.Configuration()
            config.load_kube_config(str(self.kubeconfig(user)), client_configuration=self._configurations[user])
        return client.ApiClient(self._configurations[user])

    def kubeconfig(self, user: str = "admin") -> Path:
        """The kubeconfig of `admin`, or of `upgrader`, who may do only what roles bound to it allow."""
        return self._credentials.kubeconfig(user)

    def pod_address(self, namespace: str, pod: str) -> str:
        """The address of the pod of this name, whether it exists already or not."""
        number = len(self._addresses) + 1
        return self._addresses.setdefault((namespace, pod), f"10.0.{number // 250}.{number % 250 + 1}")
