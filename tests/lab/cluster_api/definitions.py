"""Objects that a release of Cluster API applies for its controllers: definitions, webhooks, and a class of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.lab.cluster_api.build import BOOTSTRAP, CONTROL_PLANE, CORE, IN_MEMORY, MODULE
from tests.lab.go_program import GoProgram
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.module_definitions import ModuleDefinitions

_CONTRACTS = {"cluster.x-k8s.io/v1beta1": "v1beta1", "cluster.x-k8s.io/v1beta2": "v1beta2"}
"""The kustomization of a release adds them: the version of a kind that speaks each contract is found by them."""
_MAIN = (MODULE, "v1.14.2", "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA=")
_TEST = (f"{MODULE}/test", "v1.14.0", "h1:LYvJN8oM0vk6dv6ciceaCS0sAy62Lrf5IGsyNJ04g+U=")
_DEV = ("clusters", "clustertemplates", "machinepools", "machinepooltemplates", "machines", "machinetemplates")


def _files(module: tuple[str, str, str], *paths: str) -> ModuleDefinitions:
    return ModuleDefinitions("Cluster API", *module, paths)


@dataclass(frozen=True)
class Provider:
    """One of the four controllers."""

    name: str
    program: GoProgram
    kinds: ModuleDefinitions
    hooks: ModuleDefinitions
    extensions: bool = False
    """Whether it calls runtime extensions."""

    def definitions(self, url: str, bundle: str) -> list[Json]:
        """Its kinds, which its webhook at this address converts between their versions."""
        found = self.kinds.definitions()
        for each in found:
            each["metadata"].setdefault("labels", {}).update({**_CONTRACTS, "cluster.x-k8s.io/provider": self.name})
            if len(each["spec"]["versions"]) > 1:
                called = {"url": f"{url}/convert", "caBundle": bundle}
                hook = {"conversionReviewVersions": ["v1"], "clientConfig": called}
                each["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook}
        return found

    def webhooks(self, url: str, bundle: str) -> list[Json]:
        """The registrations of its webhooks at this address."""
        found = self.hooks.definitions()
        for configuration in found:
            configuration["metadata"]["name"] = f"{self.name}-{configuration['metadata']['name']}"
            for each in configuration["webhooks"]:
                path = each["clientConfig"]["service"]["path"]
                each["clientConfig"] = {"url": f"{url}{path}", "caBundle": bundle}
        return found


def _provider(
    name: str,
    program: GoProgram,
    module: tuple[str, str, str],
    folder: str,
    kinds: Sequence[str],
    extensions: bool = False,
) -> Provider:
    bases = [f"{folder}/config/crd/bases/{each}.yaml" for each in kinds]
    hooks = _files(module, f"{folder}/config/webhook/manifests.yaml")
    return Provider(name, program, _files(module, *bases), hooks, extensions)


_CORE_KINDS = (
    *(f"addons.cluster.x-k8s.io_clusterresourceset{each}" for each in ("bindings", "s")),
    *(f"cluster.x-k8s.io_{each}" for each in ("clusterclasses", "clusters", "machinedeployments", "machinedrainrules")),
    *(f"cluster.x-k8s.io_{each}" for each in ("machinehealthchecks", "machinepools", "machines", "machinesets")),
    *(f"ipam.cluster.x-k8s.io_ipaddress{each}" for each in ("claims", "es")),
    "runtime.cluster.x-k8s.io_extensionconfigs",
)
PROVIDERS = (
    _provider("cluster-api", CORE, _MAIN, "core", _CORE_KINDS, extensions=True),
    _provider(
        "bootstrap-kubeadm",
        BOOTSTRAP,
        _MAIN,
        "bootstrap/kubeadm",
        [f"bootstrap.cluster.x-k8s.io_kubeadmconfig{each}" for each in ("s", "templates")],
    ),
    _provider(
        "control-plane-kubeadm",
        CONTROL_PLANE,
        _MAIN,
        "controlplane/kubeadm",
        [f"controlplane.cluster.x-k8s.io_kubeadmcontrolplane{each}" for each in ("s", "templates")],
        extensions=True,
    ),
    _provider(
        "infrastructure-docker",
        IN_MEMORY,
        _TEST,
        "infrastructure/docker",
        [f"infrastructure.cluster.x-k8s.io_{system}{each}" for system in ("dev", "docker") for each in _DEV],
    ),
)
_CLASS = _files(_TEST, "infrastructure/docker/templates/clusterclass-in-memory.yaml")


STARTS = "2s"
"""The time that a machine in memory takes to start; the class of the release has 10 s."""
SMALLEST = 3
"""Machines of a control plane that Cluster API upgrades without one machine more."""


@dataclass(frozen=True)
class Wanted:
    """A cluster that is to be made, in a namespace of its own."""

    namespace: str
    version: str
    control_plane: int
    workers: int
    checks: Json | None = None
    """The checks of a MachineHealthCheck of its workers; None for those of the class, which wait for 5 minutes."""
    in_flight: int | None = None
    """The most unhealthy workers that are replaced at the same time; None for all."""
    name: str = "mem"


def cluster_class(wanted: Wanted) -> list[Json]:
    """The class `in-memory` of clusters, whose control planes make no machine more for an upgrade if they may."""
    found = _CLASS.definitions()
    for each in found:
        each["metadata"]["namespace"] = wanted.namespace
        if each["kind"] == "KubeadmControlPlaneTemplate":
            surge = 0 if wanted.control_plane >= SMALLEST else 1
            strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}
            each["spec"]["template"]["spec"]["rollout"] = {"strategy": strategy}
        if each["kind"] == "DevMachineTemplate":
            machine = each["spec"]["template"]["spec"]["backend"]["inMemory"]["vm"]
            machine["provisioning"]["startupDuration"] = STARTS
    # A class is refused whose templates are not there yet.
    return sorted(found, key=lambda each: str(each["kind"]) == "ClusterClass")


def cluster(wanted: Wanted) -> Json:
    """A cluster of that class, whose workers are upgraded one at a time and in their places."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    deployment: Json = {"class": "default-worker", "name": "md-0", "replicas": wanted.workers}
    deployment["rollout"] = {"strategy": rolling}
    if wanted.checks is not None:
        deployment["healthCheck"] = {"checks": wanted.checks}
    if wanted.in_flight is not None:
        deployment.setdefault("healthCheck", {})["remediation"] = {"maxInFlight": wanted.in_flight}
    network = {"services": {"cidrBlocks": ["10.128.0.0/12"]}, "pods": {"cidrBlocks": ["192.168.0.0/16"]}}
    topology = {
        "classRef": {"name": "in-memory", "namespace": wanted.namespace},
        "version": wanted.version,
        "controlPlane": {"replicas": wanted.control_plane},
        "workers": {"machineDeployments": [deployment]},
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": wanted.name, "namespace": wanted.namespace},
        "spec": {"clusterNetwork": {**network, "serviceDomain": "cluster.local"}, "topology": topology},
    }
