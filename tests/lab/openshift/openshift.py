"""An OpenShift on the lab: the real version operator and definitions, and stand-ins for the operators below it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import urllib3
from kubernetes import client

from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.openshift.audit import Audit
from tests.lab.openshift.definitions import DEFINITIONS
from tests.lab.openshift.machine_api.machine_api import MachineApi
from tests.lab.openshift.machines import Machines
from tests.lab.openshift.payloads import NAMESPACE, Payloads
from tests.lab.openshift.server import Server
from tests.lab.openshift.stand_ins import ClusterOperators, MachineConfigOperator, RealPace
from tests.lab.openshift.version_operator import VersionOperator
from tests.lab.waiting import RealClock, until
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, LEASES
from tests.sandbox.kubernetes.objects import Json, Kind, Refused
from tests.sandbox.listening import Listening
from tests.sandbox.openshift import building
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.kinds import (
    ACKS,
    ACKS_NAMESPACE,
    CONFIGS,
    GATES,
    GATES_NAMESPACE,
    OPERATORS,
    POOLS,
    VERSION,
    VERSIONS,
)
from tests.sandbox.openshift.kinds import NAMESPACES as SANDBOX_NAMESPACES
from tests.sandbox.openshift.registry import image_of
from tests.sandbox.openshift.update_service import UpdateService

BETWEEN = 0.3
INSTALLED, ESTABLISHED, CLEARED = 180.0, 60.0, 30.0
_KINDS = (VERSIONS, OPERATORS, POOLS, CONFIGS)
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class OpenShiftOnLab:
    """Use it in a `with` statement: it is installed when the block begins, and gone when it has ended.

    The definitions and the namespaces stay. The log of the version operator is in `directory`. All releases are signed
    but those of `unsigned` versions.
    """

    def __init__(
        self,
        lab: Lab,
        directory: Path,
        described: Described,
        unsigned: Sequence[str] = (),
        pace: RealPace | None = None,
    ) -> None:
        self._lab, self.described, self._unsigned = lab, described, unsigned
        self.updates = UpdateService(described.graph)
        self._payloads = Payloads(directory / "payloads", described)
        self.version_operator = VersionOperator(lab.kubeconfig(), self._payloads, directory / "version-operator.log")
        self._api: client.ApiClient = lab.client()
        self._server = Server(self._api, "installer")
        pace = pace or RealPace()
        self.operators = ClusterOperators(Server(self._api, "operators"), described.operators, pace)
        self._pools = MachineConfigOperator(Server(self._api, "machine-config-operator"), pace)
        self._machines = Machines(Server(self._api, "kubelet"), described, self._pools.is_booting, lab.faults)
        self._machine_api = MachineApi(Server(self._api, "cloud"), directory, self._machines, pace)
        self._ending = threading.Event()
        self._failure: BaseException | None = None
        self.troubles: list[str] = []
        """Requests of the stand-ins that were refused; they are made again."""

    def __enter__(self) -> OpenShiftOnLab:
        self._services = contextlib.ExitStack()
        try:
            self._install()
            until("The installation of OpenShift", self._is_installed, INSTALLED)
            self.audit = Audit(self._lab.kubeconfig())
            self._services.callback(self.audit.close)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _install(self) -> None:
        names = (NAMESPACE, *SANDBOX_NAMESPACES)
        self._lab.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in names])
        self._lab.apply(DEFINITIONS.definitions())
        until("The kinds of OpenShift", self._is_served, ESTABLISHED)
        self._payloads.write()
        self._lab.apply([_map(ACKS_NAMESPACE, ACKS), _map(GATES_NAMESPACE, GATES)])
        for release in self.described.graph.releases:
            if release.version not in self._unsigned:
                self.sign(release.version)
        listening = self._services.enter_context(Listening(Clock(time.time())))
        upstream = f"{listening.serve(self.updates).url}/graph"
        item = building.version_object(self.described)
        self._server.create(VERSIONS, {**item, "spec": {**item["spec"], "upstream": upstream}})
        for pool in self.described.pools:
            self._server.create(CONFIGS, building.config_object(pool.name, self.described.version))
            self._server.create(POOLS, building.pool_object(pool, self.described.version))
        self._machines.register()
        self.version_operator.start(image_of(self.described.version))
        self._thread = threading.Thread(target=self._run, name="openshift", daemon=True)
        self._services.callback(self._stop)
        self._thread.start()
        if self.described.machine_sets:
            self._services.callback(self._machine_api.end)
            self._machine_api.start(self._lab.kubeconfig(), self.described.machine_sets)
            self._services.callback(until, "The end of all machines", self._machine_api.are_gone, CLEARED)

    def _is_served(self) -> bool:
        known = self._server.ask("GET", _DEFINITIONS)["items"]
        wanted = {each["metadata"]["name"] for each in DEFINITIONS.definitions()}
        return wanted <= {
            each["metadata"]["name"]
            for each in known
            for said in each.get("status", {}).get("conditions") or []
            if (said["type"], said["status"]) == ("Established", "True")
        }

    def _is_installed(self) -> bool:
        if self._failure is not None:
            raise LabError(f"The stand-ins of OpenShift have failed: {self._failure}.") from self._failure
        status = self.version().get("status", {})
        done = [each["version"] for each in status.get("history") or [] if each["state"] == "Completed"]
        installed = done[:1] == [self.described.version] and bool(status.get("availableUpdates"))
        return installed and self._machine_api.are_ready(self.described.machine_sets)

    def _run(self) -> None:
        replaced = partial(self.version_operator.step, self._server)
        steps: tuple[Callable[[], None], ...] = (
            replaced,
            self.operators.step,
            self._pools.step,
            self._machine_api.step,
            self._machines.step,
        )
        while not self._ending.is_set():
            for step in steps:
                try:
                    step()
                except (Refused, urllib3.exceptions.HTTPError) as error:
                    self.troubles.append(str(error))
                except BaseException as error:  # noqa: BLE001 - it is raised where the block ends
                    self._failure = error
                    return
            RealClock().sleep(BETWEEN)

    def _stop(self) -> None:
        self._ending.set()
        self._thread.join()
        self.version_operator.end()

    def sign(self, version: str) -> None:
        """Give the cluster the signature of a release."""
        self._lab.apply([self._payloads.signature(version)])

    def mirror(self, version: str, registry: str) -> str:
        """Have the release of a version in another registry too; gives its image there."""
        image = image_of(version, registry)
        self._payloads.write_image(version, image)
        return image

    def write(self, spec: Json) -> None:
        """Change the ClusterVersion, as an administrator does. Raises Refused."""
        self._server.merge(VERSIONS, VERSION, {"spec": spec})

    def acknowledge(self, gate: str) -> None:
        """Give an acknowledgement that is asked for."""
        self._lab.apply([{**_map(ACKS_NAMESPACE, ACKS), "data": {gate: "true"}}])

    def version(self) -> Json:
        """The ClusterVersion."""
        return self._server.get(VERSIONS, VERSION) or {}

    def all(self, kind: Kind) -> list[Json]:
        """All objects of a kind."""
        return self._server.all(kind)

    def __exit__(self, *_: object) -> None:
        try:
            self._services.close()
            until("The end of OpenShift", self._is_cleared, CLEARED)
        finally:
            self._api.close()
        if self._failure is not None:
            raise self._failure

    def _is_cleared(self) -> bool:
        for kind in _KINDS:
            with contextlib.suppress(Refused):
                self._server.ask("DELETE", kind.path(""))
        # The operator that was ended has left its part of an election, which one of a next block would wait for.
        for kind in (CONFIG_MAPS, LEASES):
            with contextlib.suppress(Refused):
                self._server.ask("DELETE", kind.path(NAMESPACE))
        return self._machines.are_cleared() and not any(self._server.all(kind) for kind in _KINDS)


def _map(namespace: str, name: str) -> Json:
    return {"apiVersion": "v1", "kind": CONFIG_MAPS.kind, "metadata": {"name": name, "namespace": namespace}}
