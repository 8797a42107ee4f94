"""Layouts: whole OpenSearch clusters as Kubernetes manifests, written as users write them.

Every function gives a list of manifests, the Namespace first. The callable ``address(namespace, pod)`` gives a pod's
address in the lab, which is stable: it is in ``discovery.seed_hosts`` where others write a headless Service's name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Manifest = dict[str, Any]
Address = Callable[[str, str], str]

SERVES_CLIENTS = "lab/serves-clients"
"""The label of the pods that the client Service, and the traffic, go to: all but dedicated managers."""

_LOOKS = {"periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 3}
CONFIGURATION = "/mounted/configuration"
"""The path at which members mount their configuration."""
_PORTS = {"http": 9200, "transport": 9300}


@dataclass(frozen=True)
class Product:
    """The differences between manifests of servers of this family."""

    name: str
    """The name of the container and of the image."""
    manager_role: str
    founders: str
    """The setting that names the first managers."""
    ready: str
    """The path that the probe asks for."""

    entry: str
    """The entry point of the image."""

    @property
    def data_path(self) -> str:
        return f"/usr/share/{self.name}/data"

    @property
    def command(self) -> list[str]:
        """The command of a member whose settings are in the file of its name in a mounted Secret."""
        settings = f"/usr/share/{self.name}/config/{self.name}.yml"
        return ["sh", "-c", f"cp {CONFIGURATION}/$HOSTNAME {settings} && exec {self.entry}"]


OPENSEARCH = Product(
    "opensearch",
    "cluster_manager",
    "cluster.initial_cluster_manager_nodes",
    "/",
    "/usr/share/opensearch/opensearch-docker-entrypoint.sh",
)
# The zip of Elasticsearch has no banner.
ELASTICSEARCH = Product(
    "elasticsearch",
    "master",
    "cluster.initial_master_nodes",
    "/_cluster/health?local=true",
    "/usr/local/bin/docker-entrypoint.sh",
)


@dataclass(frozen=True)
class Pool:
    """One StatefulSet of members with the same roles; no roles at all makes a coordinating member."""

    name: str
    replicas: int
    roles: tuple[str, ...]

    @property
    def manages(self) -> bool:
        """Whether its members may be elected cluster manager."""
        return "cluster_manager" in self.roles

    def pods(self, cluster: str) -> list[str]:
        return [f"{cluster}-{self.name}-{ordinal}" for ordinal in range(self.replicas)]


@dataclass(frozen=True)
class Layout:
    """A cluster: its pools, and how all of them are run."""

    namespace: str
    version: str
    pools: tuple[Pool, ...]
    address: Address
    cluster: str = "opensearch"
    image_repository: str = ""
    """The place of its image, if that is not the name of the product."""
    update_strategy: str = "RollingUpdate"
    ephemeral: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    """More settings for every member, by full name, as environment variables."""
    secrets: dict[str, str] = field(default_factory=dict)
    """Secrets that every member mounts: name → path."""
    ready: dict[str, Any] | None = None
    """The probe that shows the kubelet that a member is ready, if not that of the product; empty: it is Ready as soon
    as it runs."""
    product: Product = OPENSEARCH
    configured: bool = False
    """Whether all settings are in a Secret a pool with one key a member, and not in variables."""

    @property
    def labels(self) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.product.name, "app.kubernetes.io/instance": self.cluster}

    def manifests(self) -> list[Manifest]:
        """Gives the namespace, the two services and one StatefulSet a pool."""
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
            self._service(f"{self.cluster}-members", self.labels, headless=True),
            self._service(self.cluster, {**self.labels, SERVES_CLIENTS: "true"}, headless=False),
            *(self.configuration(pool) for pool in self.pools if self.configured),
            *(self._stateful_set(pool) for pool in self.pools),
        ]

    def configuration(self, pool: Pool, **changes: object) -> Manifest:
        """Gives the Secret with the settings of each member of a pool, with these changes."""
        content = "".join(f"{name}: {json.dumps(value)}\n" for name, value in self._settings(pool, changes).items())
        labels = {**self.labels, "upgrade.stateful/configuration": f"{self.cluster}-{pool.name}"}
        metadata = {"name": self._named(pool), "namespace": self.namespace, "labels": labels}
        data = dict.fromkeys(pool.pods(self.cluster), content)
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}

    def _named(self, pool: Pool) -> str:
        return f"{self.cluster}-{pool.name}-configuration"

    def _settings(self, pool: Pool, changes: Mapping[str, object]) -> dict[str, object]:
        settings: dict[str, object] = {name: value for name, value in self._environment(pool).items() if "." in name}
        settings.update(changes)
        roles = str(settings["node.roles"]).strip("[]").split(",")
        return dict(sorted({**settings, "node.roles": list(filter(None, roles))}.items()))

    def _service(self, name: str, selector: dict[str, str], *, headless: bool) -> Manifest:
        ports = [{"name": port, "port": number} for port, number in _PORTS.items() if headless or port == "http"]
        spec: Manifest = {"selector": selector, "ports": ports}
        if headless:
            spec |= {"clusterIP": "None", "publishNotReadyAddresses": True}
        metadata = {"name": name, "namespace": self.namespace, "labels": self.labels}
        return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

    def _stateful_set(self, pool: Pool) -> Manifest:
        labels = {**self.labels, "app.kubernetes.io/component": pool.name}
        served = {} if pool.roles == ("cluster_manager",) else {SERVES_CLIENTS: "true"}
        spec: Manifest = {
            "replicas": pool.replicas,
            "serviceName": f"{self.cluster}-members",
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": self.update_strategy},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": {**labels, **served}}, "spec": self._pod(pool, labels)},
        }
        if not self.ephemeral:
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data", "labels": labels}, "spec": claim}]
        metadata = {"name": f"{self.cluster}-{pool.name}", "namespace": self.namespace, "labels": labels}
        return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}

    def _pod(self, pool: Pool, labels: dict[str, str]) -> Manifest:
        container: Manifest = {
            "name": self.product.name,
            "image": f"{self.image_repository or self.product.name}:{self.version}",
            "env": [{"name": name, "value": value} for name, value in sorted(self._variables(pool).items())],
            "ports": [{"name": name, "containerPort": number} for name, number in _PORTS.items()],
            "resources": {"requests": {"cpu": "100m", "memory": "400Mi"}},
            "volumeMounts": [
                {"name": "data", "mountPath": self.product.data_path},
                *({"name": name, "mountPath": path} for name, path in self.secrets.items()),
            ],
        }
        ready = {"httpGet": {"path": self.product.ready, "port": 9200}} if self.ready is None else self.ready
        if ready:
            container["readinessProbe"] = {**ready, **_LOOKS}
        if self.configured:
            container["command"] = self.product.command
            container["volumeMounts"].append({"name": "configuration", "mountPath": CONFIGURATION})
        spread = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": labels},
        }
        spec: Manifest = {
            "terminationGracePeriodSeconds": 120,
            "topologySpreadConstraints": [spread],
            "containers": [container],
        }
        volumes: list[Manifest] = [{"name": name, "secret": {"secretName": name}} for name in self.secrets]
        if self.configured:
            volumes.append({"name": "configuration", "secret": {"secretName": self._named(pool)}})
        if self.ephemeral:
            volumes.append({"name": "data", "emptyDir": {}})
        return {**spec, "volumes": volumes} if volumes else spec

    def _variables(self, pool: Pool) -> dict[str, str]:
        """Gives the variables of a member; with a configuration only those that are no settings."""
        kept = self._environment(pool)
        return {name: value for name, value in kept.items() if "." not in name} if self.configured else kept

    def _environment(self, pool: Pool) -> dict[str, str]:
        """Gives the settings as variables; the zone comes from the Kubernetes node, through the kubelet (LAB_ZONE)."""
        managers = [pod for other in self.pools if other.manages for pod in other.pods(self.cluster)]
        roles = [self.product.manager_role if role == "cluster_manager" else role for role in pool.roles]
        environment = {
            "cluster.name": self.cluster,
            "cluster.routing.allocation.awareness.attributes": "zone",
            "discovery.seed_hosts": ",".join(self.address(self.namespace, pod) for pod in managers),
            "node.roles": "[" + ",".join(roles) + "]",
        }
        if pool.manages:
            environment[self.product.founders] = ",".join(managers)
        return {**environment, **self.settings}


def with_pools(pools: tuple[Pool, ...], **own: Any) -> Callable[..., list[Manifest]]:
    """Gives a layout with these pools, and these other fields of ``Layout``, as the functions below."""

    def layout(namespace: str, version: str, *, address: Address, **options: Any) -> list[Manifest]:
        return Layout(namespace, version, pools, address, **own, **options).manifests()

    return layout


def three_combined(namespace: str, version: str, *, address: Address, **options: Any) -> list[Manifest]:
    """Gives one pool of three members that manage, hold data and ingest, one in each of three zones.

    The options are the other fields of ``Layout``, as ``ephemeral=True`` or ``update_strategy="OnDelete"``.
    """
    pools = (Pool("members", 3, ("cluster_manager", "data", "ingest")),)
    return Layout(namespace, version, pools, address, **options).manifests()


def two_combined(namespace: str, version: str, *, address: Address, **options: Any) -> list[Manifest]:
    """Gives one pool of two members that manage, hold data and ingest: only the elected one votes."""
    pools = (Pool("members", 2, ("cluster_manager", "data", "ingest")),)
    return Layout(namespace, version, pools, address, **options).manifests()


def seven_members(namespace: str, version: str, *, address: Address, **options: Any) -> list[Manifest]:
    """Gives three managers, three data members, one of each in each of three zones, and one coordinating member."""
    pools = (
        Pool("managers", 3, ("cluster_manager",)),
        Pool("data", 3, ("data", "ingest")),
        Pool("coordinating", 1, ()),
    )
    return Layout(namespace, version, pools, address, **options).manifests()
