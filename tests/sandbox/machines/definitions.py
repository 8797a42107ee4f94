"""The real custom resource definitions of Cluster API, out of its Go module."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.module_definitions import ModuleDefinitions

CLUSTER_API = ModuleDefinitions(
    "Cluster API",
    "sigs.k8s.io/cluster-api",
    "v1.12.0",
    "h1:iFOz8b0LdrMJS5Df1Eb7wyvTkWqlTUM2LHFEHCeI6vA=",
    tuple(f"config/crd/bases/cluster.x-k8s.io_{each}.yaml" for each in ("machinedeployments", "machines")),
)


def served_as(version: str) -> list[Json]:
    """The definitions of MachineDeployments and machines, served and stored in one version alone.

    A release of Cluster API serves two of them and converts between them by a webhook, which is not here.
    """
    found = CLUSTER_API.definitions()
    for each in found:
        each["spec"]["versions"] = [one for one in each["spec"]["versions"] if one["name"] == version]
        each["spec"]["versions"][0]["storage"] = True
    return found
