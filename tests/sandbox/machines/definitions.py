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


PROVIDED = {
    "Cluster": ("cluster.x-k8s.io", "clusters"),
    "KubeadmControlPlane": ("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes"),
    "KubeadmConfig": ("bootstrap.cluster.x-k8s.io", "kubeadmconfigs"),
    "SandboxMachine": ("infrastructure.cluster.x-k8s.io", "sandboxmachines"),
}
"""Kinds that controllers around a Machine have, each with its group and its plural."""


def provided(version: str) -> list[Json]:
    """Their definitions, without the fields, which no controller reads here."""
    return [_free(kind, group, plural, version) for kind, (group, plural) in PROVIDED.items()]


def _free(kind: str, group: str, plural: str, version: str) -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    served = {"name": version, "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }
