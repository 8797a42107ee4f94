"""Puts a lab together: control plane, Kubernetes nodes, kubelet, volumes, services and the control socket."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiohttp

from tests.lab import control
from tests.lab.addresses import POD_THIRDS, SERVICE_THIRDS, AddressBook, Range
from tests.lab.api import Api, ApiError, Json, Store
from tests.lab.control_plane import credentials
from tests.lab.control_plane.components import API_SERVER_PORT, ControlPlane
from tests.lab.control_plane.in_memory import InMemory
from tests.lab.eventlog import EventLog
from tests.lab.faults import Faults
from tests.lab.kubelet.kubelet import Kubelet
from tests.lab.kubelet.logs import LogServer
from tests.lab.kubelet.node import KubernetesNode
from tests.lab.kubelet.place import Host, NodePlace
from tests.lab.kubelet.recorder import Recorder
from tests.lab.plan import LabPlan
from tests.lab.processes import Ledger, pod_user
from tests.lab.provisioner import Provisioner, create_storage_classes
from tests.lab.proxy import ServiceProxy
from tests.lab.supervisor import Supervisor
from tests.lab.switchboard import Switchboard
from tests.lab.waiting import eventually

READY_TIMEOUT = 120.0


@dataclass
class Assembly:
    """The parts of one lab."""

    directory: Path
    plan: LabPlan
    range: Range
    ledger: Ledger
    log: EventLog
    supervisor: Supervisor
    kubelet: Kubelet | None = None

    async def start(self, stack: AsyncExitStack) -> None:
        """Start everything; the control socket comes last, so whoever reaches it finds a working lab."""
        places = self._places()
        address = self.range.control_plane
        secrets = credentials.create(
            self.directory / "secrets",
            f"https://{address}:{API_SERVER_PORT}",
            [address, *(place.address for place in places)],
        )
        api = await stack.enter_async_context(Api(secrets.server, secrets.tokens["kubelet"], str(secrets.authority)))
        await self._start_control_plane(secrets, api)
        await create_storage_classes(api)
        version = (await api.get("/version"))["gitVersion"]
        nodes = [KubernetesNode(api, place, self.log, version) for place in places]
        await asyncio.gather(*(node.register() for node in nodes))
        host = self._host(api, await stack.enter_async_context(_probing()))
        board = await self._serve(stack, host, nodes, secrets)
        await eventually("The default ServiceAccount's creation", lambda: _default_account(api), READY_TIMEOUT)
        self.log.write("lab-ready")
        runner = await control.serve(self.directory, board.answerers())
        stack.push_async_callback(runner.cleanup)

    def _places(self) -> list[NodePlace]:
        return [
            NodePlace(name, zone, self.range.kubernetes_node(index), self.directory / "nodes" / name)
            for index, (name, zone) in enumerate(self.plan.node_names())
        ]

    async def _start_control_plane(self, secrets: credentials.Credentials, api: Api) -> None:
        if self.plan.in_memory:
            self.supervisor.add(InMemory(self.directory, self.range.control_plane, self.ledger).start)
            await eventually("The API server's start", api.healthy, READY_TIMEOUT)
            self.log.write("api-ready")
            return
        plane = ControlPlane(Path(self.plan.binary), self.directory, self.range.control_plane, secrets, self.ledger)
        self.supervisor.add(partial(plane.start, "etcd"))
        self.supervisor.add(partial(plane.start, "kube-apiserver"))
        await eventually("The API server's start", api.healthy, READY_TIMEOUT)
        self.log.write("api-ready")
        self.supervisor.add(partial(plane.start, "kube-controller-manager"))
        self.supervisor.add(partial(plane.start, "kube-scheduler"))

    def _host(self, api: Api, probing: aiohttp.ClientSession) -> Host:
        recorder = Recorder(api)
        self.supervisor.watch_over(recorder.run(), "the recorder of events")
        return Host(
            directory=self.directory,
            api=api,
            probing=probing,
            ledger=self.ledger,
            log=self.log,
            recorder=recorder,
            faults=Faults(),
            addresses=AddressBook(self.range.number, POD_THIRDS),
            user=pod_user(),
        )

    async def _serve(
        self,
        stack: AsyncExitStack,
        host: Host,
        nodes: list[KubernetesNode],
        secrets: credentials.Credentials,
    ) -> Switchboard:
        pods = Store(host.api, "/api/v1/pods")
        services = Store(host.api, "/api/v1/services")
        claims = Store(host.api, "/api/v1/persistentvolumeclaims")
        volumes = Store(host.api, "/api/v1/persistentvolumes")
        places = {node.place.name: node.place for node in nodes}
        self.kubelet = Kubelet(host, nodes, pods.objects)
        book = AddressBook(self.range.number, SERVICE_THIRDS)
        proxy = ServiceProxy(host.api, self.log, book, services.objects, pods.objects)
        provisioner = Provisioner(host, places, claims, volumes)
        pods.listen(self.kubelet.hear)
        secrets_of_pods, maps = Store(host.api, "/api/v1/secrets"), Store(host.api, "/api/v1/configmaps")
        secrets_of_pods.listen(partial(_hear_content, self.kubelet, "secret"))
        maps.listen(partial(_hear_content, self.kubelet, "configmap"))
        for store in (pods, services):
            store.listen(proxy.hear)
        for node in nodes:
            self.supervisor.watch_over(node.run(), f"Kubernetes node {node.place.name}")
        for store in (pods, services, claims, volumes, secrets_of_pods, maps):
            self.supervisor.watch_over(store.run(), "a store")
        self.supervisor.watch_over(proxy.run(), "the service proxy")
        self.supervisor.watch_over(provisioner.run(), "the provisioner")
        logs = LogServer(self.directory, pods.objects, self.kubelet.executor)
        runner = await logs.start(list(places.values()), secrets.certificate, secrets.key)
        stack.push_async_callback(runner.cleanup)

        async def restart(seconds: float) -> None:
            await self._restart_control_plane(host.api, seconds)

        return Switchboard(self.plan, self.range.network, secrets.server, host, self.kubelet, pods.objects, restart)

    async def _restart_control_plane(self, api: Api, seconds: float) -> None:
        """The API server is away for some seconds. Then the others start again, as where they lose their election."""
        await self.supervisor.restart("kube-apiserver", seconds)
        await eventually("The API server's return", api.healthy, READY_TIMEOUT)
        for name in ("kube-controller-manager", "kube-scheduler"):
            await self.supervisor.restart(name, 0.0)

    async def end(self) -> None:
        """End the pods' processes; the API server is not notified."""
        if self.kubelet:
            for name in self.kubelet.nodes:
                await self.kubelet.kill_node(name)


def _hear_content(kubelet: Kubelet, kind: str, change: str, item: Json) -> None:
    if change != "DELETED":
        kubelet.hear_content(kind, item)


def _probing() -> aiohttp.ClientSession:
    """Probes open a connection each, as the real kubelet's do."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True, limit=0))


async def _default_account(api: Api) -> bool:
    try:
        await api.get("/api/v1/namespaces/default/serviceaccounts/default")
    except ApiError:
        return False
    return True
