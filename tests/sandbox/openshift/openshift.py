"""A whole OpenShift in memory, on a Kubernetes in memory: definitions, controllers, update service and registry."""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, DEFINITIONS, NODES
from tests.sandbox.kubernetes.kinds import NAMESPACES as NAMESPACE_KIND
from tests.sandbox.kubernetes.objects import Json, Kind, condition_of, timestamp
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift import building
from tests.sandbox.openshift.controllers.all import Controllers
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.definitions import definitions
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.faults import Faults
from tests.sandbox.openshift.habits import Habits, Pace
from tests.sandbox.openshift.hands import Acting
from tests.sandbox.openshift.kinds import (
    ACKS,
    ACKS_NAMESPACE,
    CONFIGS,
    GATES,
    GATES_NAMESPACE,
    MACHINE_API,
    MACHINE_SETS,
    NAMESPACES,
    OPERATORS,
    POOLS,
    REQUEST_COUNTS,
    VERSION,
    VERSIONS,
    rendered,
)
from tests.sandbox.openshift.observer import PERSON, Observer
from tests.sandbox.openshift.registry import Registry
from tests.sandbox.openshift.update_service import UpdateService

SETTLED = 30.0
"""Seconds of its own time in which the status of everything is written."""


class OpenShift:
    """It is as described when this returns. `kubernetes.server` is its API server, as any client asks it."""

    def __init__(
        self,
        described: Described,
        habits: Habits | None = None,
        pace: Pace | None = None,
        kubernetes: Kubernetes | None = None,
    ) -> None:
        self.kubernetes = kubernetes or Kubernetes(Clock())
        self.described, self.clock = described, self.kubernetes.clock
        self.resources = self.kubernetes.server.resources
        self.updates = UpdateService(described.graph)
        self.registry = Registry(lambda: [each.version for each in self.updates.graph.releases])
        shared = Shared(self.kubernetes, Acting(), pace or Pace(), habits or Habits())
        self._shared, self._hand = shared, shared.hand("installer")
        self._install()
        self.controllers = Controllers(shared, described, self.updates, self.registry)
        self._pools()
        self.controllers.version_operator.begin(described.version)
        self.clock.advance(SETTLED)
        self.observer = Observer(shared, self.controllers.belonging)
        self.faults = Faults(shared, self.controllers, self.updates, self.registry)

    def _install(self) -> None:
        for name in [each["metadata"]["name"] for each in self._shared.each(NODES)]:
            # Those of the Kubernetes in memory are in no pool.
            self._hand.delete(NODES, "", name)
        for each in definitions():
            self._hand.create(DEFINITIONS, "", each)
        for name in NAMESPACES:
            self._hand.create(NAMESPACE_KIND, "", {"metadata": {"name": name}})
        self._hand.create(CONFIG_MAPS, GATES_NAMESPACE, _map(GATES, self.described.gates_of(self.described.version)))
        self._hand.create(CONFIG_MAPS, ACKS_NAMESPACE, _map(ACKS, {}))
        self._hand.create(VERSIONS, "", building.version_object(self.described))
        for name, (release, requests) in self.described.removed_apis.items():
            self._hand.create(REQUEST_COUNTS, "", building.request_count_object(name, release, requests))
        now = timestamp(self.clock.now())
        for name in self.described.operators:
            self._hand.create(OPERATORS, "", building.operator_object(name, self.described.version, now))
        nodes = [(node, pool.name) for pool in self.described.pools for node in pool.nodes]
        for place, (node, pool) in enumerate(nodes):
            self.kubernetes.nodes.register(node.name, node.zone)
            item = self.get(NODES, node.name)
            building.join(item, pool, rendered(pool, self.described.version))
            if self.described.is_single:
                building.single(item, alone=len(nodes) == 1)
            # Their order by age is that of the description; nothing but the store changes the age of an object.
            item["metadata"]["creationTimestamp"] = timestamp(self.clock.now() - len(nodes) + place)
            self.resources.store.put(NODES, item)

    def _pools(self) -> None:
        for pool in self.described.pools:
            self._hand.create(CONFIGS, "", building.config_object(pool.name, self.described.version))
            self._hand.create(POOLS, "", building.pool_object(pool, self.described.version))
        for found in self.described.machine_sets:
            self._hand.create(MACHINE_SETS, MACHINE_API, building.machine_set_object(found))
        self.clock.advance(self._shared.pace.control)
        self.controllers.machines.boot = self._shared.pace.boot

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json:
        """An object, as it is now. Raises Refused."""
        return self.resources.get(kind, namespace, name)

    def version(self) -> Json:
        """The ClusterVersion, as it is now."""
        return self.get(VERSIONS, VERSION)

    def pool(self, name: str) -> Json:
        """A MachineConfigPool, as it is now. Raises Refused."""
        return self.get(POOLS, name)

    def node(self, name: str) -> Json:
        """A Kubernetes node, as it is now. Raises Refused."""
        return self.get(NODES, name)

    def machine_set(self, name: str) -> Json:
        """A MachineSet, as it is now. Raises Refused."""
        return self.get(MACHINE_SETS, name, MACHINE_API)

    def operator(self, name: str) -> Json:
        """A ClusterOperator, as it is now. Raises Refused."""
        return self.get(OPERATORS, name)

    def write(self, kind: Kind, name: str, spec: Json, manager: str = PERSON, namespace: str = "") -> None:
        """Write fields of a spec, as a user does: None takes a field away. Raises Refused."""

        def change(item: Json) -> None:
            item["spec"].update(spec)
            for each in [key for key, value in spec.items() if value is None]:
                del item["spec"][each]

        self.resources.change(kind, namespace, name, change, Writing(manager, strict="Strict"))

    def want(self, version: str = "", image: str = "", manager: str = PERSON, *, force: bool = False) -> None:
        """Set the wanted update, as a user does. Raises Refused."""
        wanted = {"version": version, "image": image}
        update: Json = {key: value for key, value in wanted.items() if value}
        self.write(VERSIONS, VERSION, {"desiredUpdate": {**update, **({"force": True} if force else {})}}, manager)

    def upgrade_done(self) -> bool:
        """Whether the latest update is complete, and every pool that is not paused is updated."""
        item = self._shared.kept(VERSIONS, VERSION)
        assert item is not None
        if item["status"]["history"][0]["state"] != "Completed" or _status(item, "Progressing") != "False":
            return False
        wanted = item["spec"].get("desiredUpdate", {}).get("version", item["status"]["desired"]["version"])
        if wanted != item["status"]["desired"]["version"]:
            return False
        return all(
            _status(each, "Updated") == "True"
            and each["status"]["observedGeneration"] == each["metadata"]["generation"]
            for each in self._shared.each(POOLS)
            if not each["spec"].get("paused")
        )

    def until(self, holds: Callable[[], object], seconds: float = 6 * 3600.0, step: float = 1.0) -> bool:
        """Let time pass until a condition is true; gives whether it became true."""
        return self.kubernetes.until(holds, seconds, step)


def _status(item: Json, condition: str) -> str:
    return str(condition_of(item, condition).get("status", ""))


def _map(name: str, data: dict[str, str]) -> Json:
    return {"metadata": {"name": name}, "data": data}
