"""The process kube-proxy: a loopback address for every Service, relayed to its Ready pods in turn.

It stands in for EndpointSlices and kube-proxy, because Kubernetes refuses loopback endpoints. Like the
real thing it does not retry: a connection to a pod that just died is reset. Without a Ready pod nothing listens,
so that clients see `connection refused`.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from tests.lab.addresses import AddressBook
from tests.lab.api import Api, ApiError, Json
from tests.lab.eventlog import EventLog

ANNOTATION = "lab/address"
CHUNK = 65536


@dataclass(frozen=True)
class Endpoint:
    """A Ready pod's port."""

    address: str
    port: int


@dataclass
class Listener:
    """One Service port: the server, present while there are endpoints, and who is next."""

    address: str
    port: int
    endpoints: list[Endpoint] = field(default_factory=list)
    server: asyncio.Server | None = None
    turn: int = 0

    def next_endpoint(self) -> Endpoint | None:
        if not self.endpoints:
            return None
        self.turn = (self.turn + 1) % len(self.endpoints)
        return self.endpoints[self.turn]


def endpoints_of(service: Json, port: Json, pods: list[Json]) -> list[Endpoint]:
    """The endpoints of a Service port, sorted; without terminating pods, with unready ones only where published."""
    selector = service["spec"].get("selector") or {}
    unready_too = bool(service["spec"].get("publishNotReadyAddresses"))
    found = []
    for pod in pods:
        labels = pod["metadata"].get("labels", {})
        same = pod["metadata"]["namespace"] == service["metadata"]["namespace"]
        if not (same and selector and selector.items() <= labels.items()):
            continue
        address = pod.get("status", {}).get("podIP")
        number = _target(port, pod)
        if address and number and _serves(pod, unready_too):
            found.append(Endpoint(address, number))
    return sorted(found, key=lambda endpoint: (endpoint.address, endpoint.port))


def _serves(pod: Json, unready_too: bool) -> bool:
    conditions = {item["type"]: item["status"] for item in pod.get("status", {}).get("conditions", [])}
    return not pod["metadata"].get("deletionTimestamp") and (unready_too or conditions.get("Ready") == "True")


def _target(port: Json, pod: Json) -> int | None:
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    for container in pod["spec"]["containers"]:
        for named in container.get("ports", []):
            if named.get("name") == target:
                return int(named["containerPort"])
    return None


class ServiceProxy:
    """Keeps one listener for each port of each Service with a selector."""

    def __init__(
        self, api: Api, log: EventLog, book: AddressBook, services: dict[str, Json], pods: dict[str, Json]
    ) -> None:
        self._api = api
        self._log = log
        self._book = book
        self._services = services
        self._pods = pods
        self._listeners: dict[tuple[str, int], Listener] = {}
        self._changed = asyncio.Event()

    def hear(self, _kind: str, _item: Json) -> None:
        """A Service or a pod changed."""
        self._changed.set()

    async def run(self) -> None:
        """Follow Services and pods for ever."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            wanted = await self._wanted()
            for key in set(self._listeners) - set(wanted):
                await self._open_or_close(self._listeners.pop(key), [])
            for key, endpoints in wanted.items():
                listener = self._listeners.setdefault(key, Listener(*key))
                await self._open_or_close(listener, endpoints)

    async def _wanted(self) -> dict[tuple[str, int], list[Endpoint]]:
        pods = list(self._pods.values())
        wanted = {}
        for uid, service in list(self._services.items()):
            if not service["spec"].get("selector"):
                continue
            address = await self._address(uid, service)
            for port in service["spec"].get("ports", []):
                wanted[(address, port["port"])] = endpoints_of(service, port, pods)
        return wanted

    async def _address(self, uid: str, service: Json) -> str:
        """The address that the user chose, else one of the lab's, written back as the annotation."""
        chosen: str | None = service["metadata"].get("annotations", {}).get(ANNOTATION)
        if chosen:
            self._book.reserve(uid, chosen)
            return chosen
        address = self._book.address(uid)
        path = "/api/v1/namespaces/{namespace}/services/{name}".format(**service["metadata"])
        try:
            await self._api.patch(path, {"metadata": {"uid": uid, "annotations": {ANNOTATION: address}}})
        except ApiError as error:
            self._log.write("service-not-annotated", service=service["metadata"]["name"], error=str(error))
        return address

    async def _open_or_close(self, listener: Listener, endpoints: list[Endpoint]) -> None:
        if listener.endpoints != endpoints:
            described = [f"{endpoint.address}:{endpoint.port}" for endpoint in endpoints]
            self._log.write("endpoints", service=f"{listener.address}:{listener.port}", pods=described)
        listener.endpoints = endpoints
        if endpoints and listener.server is None:
            try:
                listener.server = await asyncio.start_server(
                    lambda reader, writer: self._relay(listener, reader, writer), listener.address, listener.port
                )
            except OSError as error:
                service = f"{listener.address}:{listener.port}"
                self._log.write("service-not-served", service=service, error=str(error))
        elif not endpoints and listener.server:
            listener.server.close()
            listener.server = None

    async def _relay(self, listener: Listener, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endpoint = listener.next_endpoint()
        try:
            if endpoint is None:
                raise ConnectionRefusedError
            backend_reader, backend_writer = await asyncio.open_connection(endpoint.address, endpoint.port)
        except OSError:
            writer.transport.abort()
            return
        try:
            await asyncio.gather(_pump(reader, backend_writer), _pump(backend_reader, writer))
        finally:
            backend_writer.close()
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Relay one direction to its end; an abrupt end is passed on as one."""
    try:
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.write_eof()
    except OSError:
        writer.transport.abort()
