"""The Ready pods of a cluster, followed as a Service follows them, and single requests to them without any retry."""

from __future__ import annotations

import asyncio
import errno
import itertools
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
import kubernetes
import urllib3

_WATCH_SECONDS = 60
_PAUSE_SECONDS = 0.2


@dataclass(frozen=True)
class Target:
    """The target of the traffic: the Ready pods that the selector picks, or plain hosts, at the HTTP port."""

    kubeconfig: Path
    namespace: str
    selector: str
    port: int = 9200
    hosts: tuple[str, ...] = ()
    """Addresses of members that are not pods; then nothing else but the port counts."""

    @classmethod
    def of_hosts(cls, hosts: Iterable[str]) -> Target:
        """Gives the target that these hosts are: all of them in turn, whether they serve or not."""
        return cls(Path(), "", "", hosts=tuple(hosts))


class RequestFailed(Exception):
    """A request got no answer; the message is the class of the failure."""


@dataclass(frozen=True)
class Answer:
    """A member's answer to one request."""

    status: int
    body: Any

    @property
    def failure(self) -> str:
        """The class of an unsuccessful answer: the status code, with the server's error type where it gives one."""
        error = self.body.get("error") if isinstance(self.body, dict) else None
        kind = error.get("type") if isinstance(error, dict) else None
        return f"{self.status} {kind}" if kind else str(self.status)


class Hosts:
    """The addresses of plain hosts in turn, as a client with a list of them uses it."""

    def __init__(self, addresses: tuple[str, ...]) -> None:
        self._addresses = itertools.cycle(addresses)

    def start(self) -> None:
        """There is nothing to follow."""

    def stop(self) -> None:
        """There is nothing to follow."""

    def choose(self) -> str | None:
        """Gives the address of the next host."""
        return next(self._addresses)


class ReadyPods:
    """Follows the Ready pods in a thread of its own; when the API server is away, the last known ones stay."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._core = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(str(target.kubeconfig)))
        self._stopped = threading.Event()
        self._turn = itertools.count()
        self._pods: dict[str, Any] = {}
        self._addresses: tuple[str, ...] = ()

    def start(self) -> None:
        """Looks once, then keeps following."""
        self._list()
        threading.Thread(target=self._follow, daemon=True, name="ready-pods").start()

    def stop(self) -> None:
        self._stopped.set()

    def choose(self) -> str | None:
        """Gives the address of the next Ready pod in turn, or None when there is none."""
        addresses = self._addresses
        return addresses[next(self._turn) % len(addresses)] if addresses else None

    def _list(self) -> str:
        found: Any = self._core.list_namespaced_pod(self._target.namespace, label_selector=self._target.selector)
        self._pods = {pod.metadata.uid: pod for pod in found.items}
        self._addresses = ready_addresses(self._pods.values())
        return str(found.metadata.resource_version)

    def _follow(self) -> None:
        while not self._stopped.is_set():
            try:
                self._watch(self._list())
            except (kubernetes.client.ApiException, urllib3.exceptions.HTTPError, OSError):
                self._stopped.wait(_PAUSE_SECONDS)

    def _watch(self, version: str) -> None:
        changes = kubernetes.watch.Watch().stream(
            self._core.list_namespaced_pod,
            self._target.namespace,
            label_selector=self._target.selector,
            resource_version=version,
            timeout_seconds=_WATCH_SECONDS,
        )
        for change in changes:
            pod = change["object"]
            if change["type"] == "DELETED":
                self._pods.pop(pod.metadata.uid, None)
            else:
                self._pods[pod.metadata.uid] = pod
            self._addresses = ready_addresses(self._pods.values())
            if self._stopped.is_set():
                return


def ready_addresses(pods: Iterable[Any]) -> tuple[str, ...]:
    """Gives the addresses of the pods that a Service would send to: Ready, and not being deleted."""
    return tuple(sorted(pod.status.pod_ip for pod in pods if pod.status.pod_ip and _serves(pod)))


def _serves(pod: Any) -> bool:
    ready = any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ())
    return ready and pod.metadata.deletion_timestamp is None


class Members:
    """Requests to Ready pods in turn. Every request has a connection of its own.

    A kept connection would be repeated by aiohttp itself when the server has closed it; and through a Service, too,
    only a new connection is sent to a pod that is Ready now.
    """

    def __init__(self, target: Target) -> None:
        self._port = target.port
        self._pods = Hosts(target.hosts) if target.hosts else ReadyPods(target)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Members:
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True, limit=0))
        await asyncio.to_thread(self._pods.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pods.stop()
        if self._session is not None:
            await self._session.close()

    async def request(self, method: str, path: str, body: object = None, *, timeout: float) -> Answer:
        """Sends one request to the next Ready pod, once, and waits at most ``timeout`` seconds.

        The body is sent as JSON, or as it is when it is a text (bulk lines).

        Raises:
            RequestFailed: there is no Ready pod, or no answer came.
        """
        address = self._pods.choose()
        if address is None or self._session is None:
            raise RequestFailed("no Ready pod")
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        limit = aiohttp.ClientTimeout(total=timeout)
        headers = {"Content-Type": "application/x-ndjson" if path.endswith("_bulk") else "application/json"}
        url = f"http://{address}:{self._port}{path}"
        try:
            async with self._session.request(method, url, data=data, headers=headers, timeout=limit) as response:
                text = await response.text()
                return Answer(response.status, _content(text))
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
            raise RequestFailed(failure_class(error)) from error


def failure_class(error: Exception) -> str:
    """Gives the class of an error of transport, in the words that the report uses."""
    if isinstance(error, asyncio.TimeoutError):
        return "timeout"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "connection refused" if error.errno == errno.ECONNREFUSED else "no connection"
    if isinstance(error, (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, OSError)):
        return "connection lost"
    return type(error).__name__


def _content(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
