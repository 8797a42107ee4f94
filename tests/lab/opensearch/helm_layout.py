"""Clusters as the official Helm chart of OpenSearch renders them (chart 3.6.0): one release for each pool.

All is the chart's own but for the values that users give: replicas, roles, memory, zones and the size of a budget. One
thing differs, because the lab has no DNS: `discovery.seed_hosts` are addresses and not the name of a headless Service.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.lab.opensearch.layouts import Address, Manifest

CHART = "3.6.0"
CLUSTER = "opensearch-cluster"
HOME = "/usr/share/opensearch"
NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
_USER = 1000
_PROBED = {"tcpSocket": {"port": 9200}, "timeoutSeconds": 3}
_AWARE = {"cluster.routing.allocation.awareness.attributes": "zone"}
_RESTRICTED = {"capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": _USER}
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - of the pod, which has a network of its own
_TEMPORARY = "/tmp"  # noqa: S108 - of the container, which has a file system of its own
_GIVEN, _MADE = f"{_TEMPORARY}/configfolder", f"{_TEMPORARY}/config"
_CONFIGURATION = f"cluster.name: {CLUSTER}\n\n# Bind to all interfaces.\nnetwork.host: {_EVERYWHERE}\n"


@dataclass(frozen=True)
class Release:
    """One `helm install` of the chart, by the values that users give."""

    name: str
    node_group: str
    replicas: int
    roles: tuple[str, ...]
    max_unavailable: int = 1
    """Of the PodDisruptionBudget."""
    zones: tuple[str, ...] = field(default=())
    """The zones over which its pods are spread evenly; none means that they may be anywhere."""

    @property
    def pool(self) -> str:
        """The name of the StatefulSet."""
        return f"{CLUSTER}-{self.node_group}"

    @property
    def selects(self) -> dict[str, str]:
        """The labels by which everything of the release selects its pods."""
        return {NAME: "opensearch", INSTANCE: self.name}

    @property
    def labels(self) -> dict[str, str]:
        return {
            "helm.sh/chart": f"opensearch-{CHART}",
            **self.selects,
            "app.kubernetes.io/version": CHART,
            "app.kubernetes.io/managed-by": "Helm",
            "app.kubernetes.io/component": self.pool,
        }

    def pods(self) -> list[str]:
        return [f"{self.pool}-{ordinal}" for ordinal in range(self.replicas)]

    def manifests(self, namespace: str, version: str, seed_hosts: str) -> list[Manifest]:
        """Gives the objects of the release as Helm leaves them in the cluster."""
        about: Manifest = {
            "namespace": namespace,
            "labels": self.labels,
            "annotations": {"meta.helm.sh/release-name": self.name, "meta.helm.sh/release-namespace": namespace},
        }
        chosen = {"matchLabels": self.selects}
        ports = [
            {"name": name, "port": port} for name, port in (("http", 9200), ("transport", 9300), ("metrics", 9600))
        ]
        headless = {"clusterIP": "None", "publishNotReadyAddresses": True}
        members = {**about, "name": self.pool, "annotations": {**about["annotations"], "majorVersion": version[0]}}
        return [
            _object("policy/v1", "PodDisruptionBudget", {**about, "name": f"{self.pool}-pdb"})
            | {"spec": {"maxUnavailable": self.max_unavailable, "selector": chosen}},
            _object("v1", "ConfigMap", {**about, "name": f"{self.pool}-config"})
            | {"data": {"opensearch.yml": _CONFIGURATION}},
            _object("v1", "Service", {**about, "name": self.pool})
            | {"spec": {"type": "ClusterIP", "selector": self.selects, "ports": ports}},
            _object("v1", "Service", {**about, "name": f"{self.pool}-headless"})
            | {"spec": {**headless, "selector": self.selects, "ports": ports}},
            _object("apps/v1", "StatefulSet", members) | {"spec": self._set(version, seed_hosts)},
        ]

    def _set(self, version: str, seed_hosts: str) -> Manifest:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Gi"}}}
        return {
            "serviceName": f"{self.pool}-headless",
            "selector": {"matchLabels": self.selects},
            "replicas": self.replicas,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "volumeClaimTemplates": [{"metadata": {"name": self.pool}, "spec": claim}],
            "template": {
                "metadata": {"name": self.pool, "labels": self.labels, "annotations": {"configchecksum": "3c1a6b0f"}},
                "spec": {
                    "securityContext": {"fsGroup": _USER, "runAsUser": _USER},
                    "automountServiceAccountToken": False,
                    "affinity": self._affinity(),
                    **({"topologySpreadConstraints": [self._spread()]} if self.zones else {}),
                    "terminationGracePeriodSeconds": 120,
                    "volumes": [
                        {"name": "config", "configMap": {"name": f"{self.pool}-config"}},
                        {"name": "config-emptydir", "emptyDir": {}},
                    ],
                    "enableServiceLinks": True,
                    "initContainers": self._init_containers(version),
                    "containers": [self._container(version, seed_hosts)],
                },
            },
        }

    def _affinity(self) -> Manifest:
        chosen = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(self.selects.items())]
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchExpressions": chosen}}
        preferred = [{"weight": 1, "podAffinityTerm": term}]
        affinity: Manifest = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
        if self.zones:
            where = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": list(self.zones)}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [where]}]}
            affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        return affinity

    def _spread(self) -> Manifest:
        return {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": self.selects},
        }

    def _init_containers(self, version: str) -> list[Manifest]:
        own = {
            "name": "fsgroup-volume",
            "image": "busybox:latest",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c"],
            "args": [f"chown -R {_USER}:{_USER} {HOME}/data"],
            "securityContext": {"runAsUser": 0},
            "resources": {},
            "volumeMounts": [{"name": self.pool, "mountPath": f"{HOME}/data"}],
        }
        configure = {
            "name": "configfile",
            "image": f"opensearchproject/opensearch:{version}",
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", f"#!/usr/bin/env bash\ncp -r {_GIVEN}/*  {_MADE}/\n"],
            "securityContext": _RESTRICTED,
            "resources": {},
            "volumeMounts": [
                {"mountPath": f"{_MADE}/", "name": "config-emptydir"},
                {"mountPath": f"{_GIVEN}/opensearch.yml", "name": "config", "subPath": "opensearch.yml"},
            ],
        }
        return [own, configure]

    def _container(self, version: str, seed_hosts: str) -> Manifest:
        values = {"discovery.seed_hosts": seed_hosts, "cluster.name": CLUSTER, "network.host": _EVERYWHERE}
        if "master" in self.roles:
            values["cluster.initial_master_nodes"] = "".join(f"{pod}," for pod in self.pods())
        values["OPENSEARCH_JAVA_OPTS"] = "-Xmx256M -Xms256M"
        values["node.roles"] = "".join(f"{role}," for role in self.roles)
        own = {"name": "node.name", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
        data, configuration = f"{HOME}/data", f"{HOME}/config/opensearch.yml"
        return {
            "name": "opensearch",
            "securityContext": _RESTRICTED,
            "image": f"opensearchproject/opensearch:{version}",
            "imagePullPolicy": "IfNotPresent",
            "readinessProbe": {**_PROBED, "periodSeconds": 5, "failureThreshold": 3},
            "startupProbe": {**_PROBED, "initialDelaySeconds": 5, "periodSeconds": 10, "failureThreshold": 30},
            "ports": [
                {"name": "http", "containerPort": 9200},
                {"name": "transport", "containerPort": 9300},
                {"name": "metrics", "containerPort": 9600},
            ],
            "resources": {"requests": {"cpu": "1000m", "memory": "100Mi"}},
            "env": [own, *({"name": name, "value": value} for name, value in {**values, **_AWARE}.items())],
            "volumeMounts": [
                {"name": self.pool, "mountPath": data},
                {"name": "config-emptydir", "mountPath": configuration, "subPath": "opensearch.yml"},
            ],
        }


MASTERS = Release("search", "master", 3, ("master",))
DATA = Release("search-data", "data", 5, ("data", "ingest"), max_unavailable=2, zones=("a", "b"))
"""Three of its members are in one zone, and two in the other."""


def two_releases(namespace: str, version: str, *, address: Address) -> list[Manifest]:
    """Gives a cluster of two releases: three managers in three zones, and five data members in two of them."""
    seed_hosts = ",".join(address(namespace, pod) for pod in MASTERS.pods())
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        *(part for release in (MASTERS, DATA) for part in release.manifests(namespace, version, seed_hosts)),
    ]


def _object(version: str, kind: str, metadata: Manifest) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": metadata}
