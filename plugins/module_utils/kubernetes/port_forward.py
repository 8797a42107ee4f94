"""Connections to pods through the Kubernetes API, for networks that allow no other: to one pod, or to any pod of a
Service.

In the latter case each connection looks for a Ready pod again. The pod of the last connection is tried last, since it
may have just gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.errors import Refusal, Unreachable, refusal
from ..common.packages import needed
from ..common.reading import Json as Part
from ..common.reading import listed, part, text, text_map, whole, within
from .access import PACKAGE
from .answers import reading_object
from .client import Json, KubernetesClient
from .paths import CORE, in_namespace
from .pods import pod, pod_path

PROTOCOL = "v4.channel.k8s.io"


class PodForward:
    """Connections to one port of one pod, Ready or not."""

    def __init__(self, client: KubernetesClient, namespace: str, name: str, port: int) -> None:
        self._client = client
        self._path = f"{pod_path(namespace, name)}/portforward"
        self._port = port
        self.where = f"port {port} of pod {name} in namespace {namespace}, through {client.host}"
        """The target of the connections, in words for people."""

    def socket(self) -> Any:
        """A new connection, as a socket.

        Raises:
            Unreachable: the pod cannot be reached.
            Refusal: the user lacks a right, or there is no such pod.
        """
        channels = self._client.websocket(self._path, {"ports": str(self._port)}, PROTOCOL)
        library = needed("kubernetes.stream.ws_client", PACKAGE)
        return _quiet(library.PortForward)(channels, [self._port]).socket(self._port)


class PortForward:
    """Connections to one port of any Ready pod that a Service or a label selector selects.

    With `pod`, which no user gives, they lead to that pod of the namespace alone, by the same port, Ready or not.
    """

    def __init__(self, client: KubernetesClient, options: Mapping[str, Any]) -> None:
        self._client = client
        self._namespace = str(options["namespace"])
        self._service = options.get("service") or ""
        self._labels = options.get("label_selector") or ""
        self._port = int(options.get("port") or 9200)
        self._pod = options.get("pod") or ""
        self._last = ""

    @property
    def where(self) -> str:
        """The target of the connections, in words for people."""
        if self._pod:
            return f"port {self._port} of pod {self._pod} in namespace {self._namespace}, through {self._client.host}"
        behind = f"service {self._service}" if self._service else f"pods with {self._labels}"
        return f"port {self._port} of {behind} in namespace {self._namespace}, through {self._client.host}"

    def socket(self) -> Any:
        """A new connection, as a socket.

        Raises:
            Unreachable: no pod is Ready, or none can be reached.
            Refusal: the user lacks a right, or there is no such Service.
        """
        trouble: Refusal | None = None
        for name, port in self._endpoints():
            self._last = name
            try:
                return self._to(name, port)
            except Refusal as error:
                trouble = error
        raise trouble or Unreachable.because(
            "port_forward_no_pod",
            f"No Ready pod is behind {self.where}.",
            "Bring a member back. If the members are Ready, check opensearch.port_forward.service,"
            " opensearch.port_forward.label_selector and opensearch.port_forward.port.",
        )

    def _to(self, name: str, port: int) -> Any:
        return PodForward(self._client, self._namespace, name, port).socket()

    def _endpoints(self) -> list[tuple[str, int]]:
        """The names of the Ready pods and their ports, the pod of the last connection at the end."""
        labels, wanted = self._labels, self._port
        port: int | str = wanted
        if self._service:
            labels, port = self._behind_service(wanted)
        found = []
        for item in self._client.list(pod_path(self._namespace), label_selector="" if self._pod else labels):
            seen = pod(item)
            number = port if isinstance(port, int) else named_port(item, port)
            wanted_one = seen.name == self._pod if self._pod else seen.ready
            if wanted_one and not seen.terminating and number:
                found.append((seen.name, number))
        return sorted(found, key=lambda endpoint: (endpoint[0] == self._last, endpoint[0]))

    def _behind_service(self, wanted: int) -> tuple[str, int | str]:
        """The labels of the pods behind the Service, and their port as a number or a name."""
        service = self._client.get(in_namespace(CORE, self._namespace, "services", self._service))
        with reading_object("Service", service or {}):
            spec = part(service or {}, "spec", {})
            selector = ",".join(f"{name}={value}" for name, value in sorted(text_map(spec, "selector").items()))
            ports = dict(listed(spec, "ports", _port_behind, ()))
        if not selector or wanted not in ports:
            what = (
                "is not there" if service is None else f"has no port {wanted}" if selector else "selects no pods itself"
            )
            raise refusal(
                "port_forward_target",
                f"Service {self._service} in namespace {self._namespace} (opensearch.port_forward.service) {what}.",
                "Check opensearch.port_forward.namespace, opensearch.port_forward.service and"
                " opensearch.port_forward.port, or give opensearch.port_forward.label_selector instead of a Service.",
            )
        return selector, ports[wanted]


def forwarded(base: Any, forward: PodForward | PortForward) -> Any:
    """A subclass of `base`, a connection class of urllib3, whose sockets lead through the Kubernetes API.

    Its TLS and host names stay the same.
    """

    class Forwarded(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        def _new_conn(self) -> Any:
            return forward.socket()

    return Forwarded


def _quiet(base: Any) -> Any:
    """The package's port-forward with a thread that ends silently with its connection, whatever ended that."""

    class Quiet(base):  # type: ignore[misc]  # known at run time only
        """One connection."""

        def _proxy(self) -> None:
            library = needed("websocket", "websocket-client")
            try:
                super()._proxy()
            except (OSError, RuntimeError, ValueError, library.WebSocketException):
                pass
            finally:
                # The reader at this end sees the end of the connection, and makes another one.
                for port in self.local_ports.values():
                    port.python.close()
                self.websocket.shutdown()

    return Quiet


def named_port(item: Json, name: str) -> int | None:
    """The number of the pod's port with this name; None if no container has it."""
    with reading_object("Pod", item):
        containers = within(item, "spec", lambda spec: listed(spec, "containers", _named_ports, ()), {})
    return next((number for ports in containers for each, number in ports if each == name), None)


def _named_ports(container: Part) -> tuple[tuple[str, int], ...]:
    return listed(container, "ports", lambda port: (text(port, "name", ""), whole(port, "containerPort")), ())


def _port_behind(port: Part) -> tuple[int, int | str]:
    """A port of a Service, and the port of its pods as a number or a name; by default both are the same."""
    number, target = whole(port, "port"), port.get("targetPort")
    return number, target if isinstance(target, str) and target else whole(port, "targetPort", number) or number
