"""Looks at Cluster API, and at the members on its machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...common.errors import Refusal, refusal
from ...kubernetes.answers import is_not_found
from ...kubernetes.answers import reading as reading_answer
from ...kubernetes.client import Json, KubernetesClient
from ...kubernetes.paths import in_namespace
from ...kubernetes.pods import list_pods
from . import reading
from .state import CLUSTERS, DEPLOYMENT_NAME, DEPLOYMENTS, GROUP, MACHINES, Machine, MachineDeployment, Members

KNOWN = ("v1beta2", "v1beta1")
"""The versions of the API whose fields this collection knows."""


@dataclass(frozen=True)
class ClusterApi:
    """Cluster API as a management cluster serves it."""

    client: KubernetesClient
    version: str

    def deployment_path(self, namespace: str, name: str) -> str:
        """The path of a MachineDeployment."""
        return in_namespace(f"/apis/{GROUP}/{self.version}", namespace, DEPLOYMENTS, name)

    def machine_path(self, namespace: str, name: str = "") -> str:
        """The path of a machine, or of all machines in the namespace."""
        return in_namespace(f"/apis/{GROUP}/{self.version}", namespace, MACHINES, name)

    def deployment(self, namespace: str, name: str) -> MachineDeployment | None:
        """One MachineDeployment now; None if there is none of that name.

        Raises:
            Refusal: it cannot be had or understood.
        """
        found = self.client.get(self.deployment_path(namespace, name))
        return reading.deployment(found, paused=self.is_paused(found)) if found is not None else None

    def is_paused(self, item: Mapping[str, Any]) -> bool:
        """Whether Cluster API does nothing for an object. Before version 1.9 only its Cluster may say so.

        Raises:
            Refusal: it cannot be had or understood.
        """
        said, (namespace, name) = reading.paused(item), reading.cluster_of(item)
        if said is not None or not name:
            return bool(said)
        cluster = self.client.get(in_namespace(f"/apis/{GROUP}/{self.version}", namespace, CLUSTERS, name))
        return cluster is not None and reading.cluster_is_paused(cluster)

    def machines(self, of: MachineDeployment) -> tuple[Machine, ...]:
        """The machines of a MachineDeployment now, also those that are being deleted.

        Raises:
            Refusal: they cannot be had or understood.
        """
        items = self.client.list(self.machine_path(of.namespace), label_selector=f"{DEPLOYMENT_NAME}={of.name}")
        return tuple(reading.machine(item) for item in items)


def cluster_api(client: KubernetesClient) -> ClusterApi:
    """Cluster API in the version that its management cluster prefers.

    Raises:
        Refusal: it is not served there, or in no version that is known.
    """
    group = _group(client)
    if group is None:
        raise refusal(
            "cluster_api_missing",
            f"The Kubernetes API at {client.host} does not serve Cluster API ({GROUP}).",
            "Give the connection to the management cluster with management; it is the one that has MachineDeployments.",
        )
    with reading_answer(f"about the group {GROUP}"):
        return ClusterApi(client, reading.preferred_version(group, KNOWN))


def _group(client: KubernetesClient) -> Json | None:
    try:
        return client.get(f"/apis/{GROUP}")
    except Refusal as error:
        if is_not_found(error):
            return None
        raise


def members_in(client: KubernetesClient, namespace: str) -> Members:
    """The members of the upgraded cluster now.

    Raises:
        Refusal: they cannot be had or understood.
    """
    return reading.members(list_pods(client, namespace))
