"""A management cluster in memory that is its own workload cluster, with MachineDeployments and pods of members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.kinds import DEFINITIONS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.kubernetes.rights import User
from tests.sandbox.machines.controllers import Controllers, Pace
from tests.sandbox.machines.definitions import served_as
from tests.sandbox.machines.kinds import Version

MANAGEMENT, SEARCH = "management", "search"
"""The namespaces of the MachineDeployments and of the members."""
BUILT_IN = 120.0
"""Seconds of its own time after which its machines are there."""


class Machines:
    """Its machines are Ready when this returns, each with a Kubernetes node."""

    def __init__(
        self,
        deployments: Mapping[str, int],
        version: str = "v1beta2",
        users: Mapping[str, User] | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.clock = Clock()
        self.version = Version(version)
        self.server = ApiServer(self.clock, users or {})
        self.resources = self.server.resources
        for name in (MANAGEMENT, SEARCH):
            self.resources.create(NAMESPACES, "", {"metadata": {"name": name}})
            self.resources.create(SERVICE_ACCOUNTS, name, {"metadata": {"name": "default"}})
        for each in served_as(version):
            self.resources.create(DEFINITIONS, "", each)
        self.controllers = Controllers(self.resources, self.version, pace or Pace())
        for name, replicas in deployments.items():
            self.resources.create(
                self.version.deployments,
                MANAGEMENT,
                self.version.deployment("search", name, replicas),
                Writing(strict="Strict"),
            )
        self.clock.advance(BUILT_IN)

    def deployment(self, name: str) -> Json:
        """A MachineDeployment, as it is now. Raises Refused."""
        return self.resources.get(self.version.deployments, MANAGEMENT, name)

    def machines(self, deployment: str) -> dict[str, Json]:
        """The machines of a MachineDeployment, by name."""
        found = self.controllers.machines_of((MANAGEMENT, deployment))
        return {each["metadata"]["name"]: each for each in found}

    def write(self, deployment: str, **spec: Any) -> None:
        """Write fields of a spec, as a user does. Raises Refused."""
        self.resources.change(self.version.deployments, MANAGEMENT, deployment, lambda item: item["spec"].update(spec))

    def annotate(self, deployment: str, name: str, value: str | None, machine: str = "") -> None:
        """Set or remove an annotation of a MachineDeployment or of one of its machines. Raises Refused."""

        def change(item: Json) -> None:
            annotations = item["metadata"].setdefault("annotations", {})
            annotations.pop(name, None)
            if value is not None:
                annotations[name] = value

        kind = self.version.machines if machine else self.version.deployments
        self.resources.change(kind, MANAGEMENT, machine or deployment, change)

    def member(self, name: str, machine: str, owner: str = "StatefulSet", *, orphaned: bool = False) -> None:
        """Put a pod on the Kubernetes node of a machine; without a machine it is on none.

        One that is `orphaned` has the label of a StatefulSet that was deleted without it.
        """
        reference = {"apiVersion": "apps/v1", "kind": owner, "name": name.rpartition("-")[0], "uid": f"of-{name}"}
        references = [{**reference, "controller": True}] if owner else []
        spec: Json = {"containers": [{"name": "server", "image": "server:1"}]}
        if machine:
            spec |= {"nodeName": f"node-{machine}"}
        labels = {"statefulset.kubernetes.io/pod-name": name} if orphaned else {}
        metadata = {"name": name, "ownerReferences": references, "labels": labels}
        self.resources.create(PODS, SEARCH, {"metadata": metadata, "spec": spec})

    def gone(self, name: str) -> None:
        """Remove a pod at once. Raises Refused."""
        self.resources.store.remove(PODS, self.resources.get(PODS, SEARCH, name))
