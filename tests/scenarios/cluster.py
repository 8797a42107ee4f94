"""An OpenSearch cluster of the lab or in memory, as scenarios see and compare it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client

from tests.lab.proxy import ANNOTATION
from tests.lab.traffic import Target
from tests.lab.waiting import until
from tests.scenarios.platforms import Platform

ROLE = Path(__file__).parents[2] / "roles/opensearch/files/role.yml"
OPTIONAL_ROLE = ROLE.with_name("optional_role.yml")
"""The Role with the rights that single variables need."""
MACHINES_ROLE = ROLE.parents[2] / "steps/files/machines_role.yml"
"""The Role that additional machines of Cluster API need, in the namespace of their MachineDeployments."""
RESTART_ROLE = ROLE.parents[2] / "restart/files/role.yml"
"""The Role that a restart of processes needs in addition to that of an upgrade."""
BOOT = 240.0
"""Seconds a cluster may take to be green on a busy machine."""
USER = "upgrader"
CLUSTER_USER = "cluster-upgrader"
"""The user whose rights are to the whole Kubernetes cluster, which other tests use at the same time."""
NOTE_OF_RESTART = ("cluster", "metadata", "stateful_upgrade", "restart_request")
"""The setting in which the last restart is noted. It is written out: the demo runs without the collection's modules."""

Layout = Callable[..., list[dict[str, Any]]]


@dataclass(frozen=True)
class Fingerprint:
    """Everything that a run which refuses must leave as it was."""

    pods: dict[str, str]
    """Name → uid."""
    pools: dict[str, Any]
    """Name → spec, labels and annotations of the StatefulSet."""
    settings: str
    """`GET _cluster/settings`, but for the note of the last restart, which stays."""


@dataclass(frozen=True)
class Cluster:
    """One cluster in a namespace of its own."""

    platform: Platform
    namespace: str
    name: str = "opensearch"
    scheme: str = "http"
    """The scheme by which its members answer."""

    @classmethod
    def start(cls, platform: Platform, namespace: str, layout: Layout, version: str, **options: Any) -> Cluster:
        """Start a cluster and wait until it is green; the user `upgrader` gets exactly the documented Role."""
        cluster = cls(platform, namespace)
        cluster.rise(layout, version, **options)
        return cluster

    def rise(self, layout: Layout, version: str, **options: Any) -> None:
        """Its members and the rights of the user, until it is green."""
        self.platform.apply(layout(self.namespace, version, address=self.platform.pod_address, **options))
        self.platform.apply(bound(ROLE, self.namespace))
        until(f"Cluster {self.namespace} to be green", self._whole, BOOT)

    @property
    def address(self) -> str:
        """The address of the cluster's Service; empty before it has one. In memory it has a port of its own."""
        with self.platform.client() as api:
            service = _core(api).read_namespaced_service(self.name, self.namespace)
        return str((service.metadata.annotations or {}).get(ANNOTATION, ""))

    @property
    def url(self) -> str:
        """The cluster's Service, as its users reach it."""
        address = self.address
        return f"{self.scheme}://{address}" if ":" in address else f"{self.scheme}://{address}:9200"

    @property
    def target(self) -> Target:
        """The target of the traffic: the members behind the client Service."""
        with self.platform.client() as api:
            service = _core(api).read_namespaced_service(self.name, self.namespace)
        selector = ",".join(f"{name}={value}" for name, value in sorted(service.spec.selector.items()))
        return Target(self.platform.kubeconfig(), self.namespace, selector)

    def variables(self, target_version: str, user: str = USER, **more: Any) -> dict[str, Any]:
        """The variables of the playbook."""
        return {
            "target_version": target_version,
            "upgrade_namespace": self.namespace,
            "upgrade_kubernetes": {"kubeconfig": str(self.platform.kubeconfig(user))},
            "upgrade_opensearch": {"hosts": [self.url]},
            **more,
        }

    def ask(self, path: str, method: str = "GET", body: Any = None) -> str:
        """The text of the cluster's answer."""
        data = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)  # noqa: S310 - the lab's own address
        with self.open(request) as answer:
            return str(answer.read().decode())

    def open(self, request: urllib.request.Request) -> Any:
        """The answer to a request, of which the members ask neither name nor password."""
        return urllib.request.urlopen(request, timeout=30)  # noqa: S310 - the lab's own http address

    def versions(self) -> dict[str, str]:
        """Member → version, from the members themselves."""
        nodes = json.loads(self.ask("/_nodes/_all/_none"))["nodes"]
        return {node["name"]: node["version"] for node in nodes.values()}

    def elected(self) -> str:
        """The member that is the elected manager, which goes last of its pool; chance decides which one it is."""
        return self.ask("/_cat/cluster_manager?h=node").strip()

    def voting(self) -> dict[str, Any]:
        """The voting configurations and exclusions."""
        state = json.loads(self.ask("/_cluster/state/metadata?filter_path=metadata.cluster_coordination"))
        return dict(state["metadata"]["cluster_coordination"])

    def excluded(self) -> list[str]:
        """The members that may not vote."""
        return [each["node_name"] for each in self.voting()["voting_config_exclusions"]]

    def health(self) -> dict[str, Any]:
        """`_cluster/health`."""
        health: dict[str, Any] = json.loads(self.ask("/_cluster/health"))
        return health

    def until_green(self) -> None:
        """Wait until all copies are started."""
        until(f"Cluster {self.namespace} to be green", lambda: self.health()["status"] == "green", BOOT)

    def is_upgraded(self, version: str) -> None:
        """Fails unless every member runs the version and all copies are started."""
        assert set(self.versions().values()) == {version}, self.versions()
        assert self.health()["status"] == "green", self.health()

    def until_ready(self) -> None:
        """Wait until every pod is Ready: one that is not would change the order of a plan."""

        def ready() -> bool:
            with self.platform.client() as api:
                pods = _core(api).list_namespaced_pod(self.namespace).items
            held = [{each.type: each.status for each in pod.status.conditions or []} for pod in pods]
            return all(each.get("Ready") == "True" for each in held)

        until(f"The pods of {self.namespace} to be Ready", ready, BOOT)

    def claims(self) -> list[str]:
        """The names of the volume claims."""
        with self.platform.client() as api:
            return [
                each.metadata.name for each in _core(api).list_namespaced_persistent_volume_claim(self.namespace).items
            ]

    def fingerprint(self) -> Fingerprint:
        """The fingerprint of the cluster now."""
        with self.platform.client() as api:
            pods = _core(api).list_namespaced_pod(self.namespace).items
            sets = _apps(api).list_namespaced_stateful_set(self.namespace).items
            pools = {
                one.metadata.name: api.sanitize_for_serialization(
                    {"spec": one.spec, "labels": one.metadata.labels, "annotations": one.metadata.annotations}
                )
                for one in sets
            }
        uids = {pod.metadata.name: pod.metadata.uid for pod in pods}
        return Fingerprint(uids, pools, _settings(self.ask("/_cluster/settings")))

    def remove(self) -> None:
        """End the cluster and wait until its pods are gone; its namespace goes by itself, which takes longer."""
        with self.platform.client() as api:
            core = _core(api)
            _apps(api).delete_collection_namespaced_stateful_set(self.namespace)
            core.delete_collection_namespaced_pod(self.namespace)
            core.delete_namespace(self.namespace)

            def gone() -> bool:
                return not core.list_namespaced_pod(self.namespace).items

            until(f"The pods of namespace {self.namespace} to be gone", gone, BOOT)

    def _whole(self) -> bool:
        with self.platform.client() as api:
            # Read without the models of the client, which cost more than all else in this look.
            sets = json.loads(_apps(api).list_namespaced_stateful_set(self.namespace, _preload_content=False).data)
        wanted = sum(each["spec"]["replicas"] for each in sets["items"])
        if sum(each.get("status", {}).get("readyReplicas", 0) for each in sets["items"]) < wanted:
            return False
        try:
            health = self.health()
        except OSError:
            return False
        return bool(health["status"] == "green" and health["number_of_nodes"] == wanted)


def _core(api: client.ApiClient) -> Any:
    return client.CoreV1Api(api)


def _apps(api: client.ApiClient) -> Any:
    return client.AppsV1Api(api)


def bound(role_file: Path, namespace: str, user: str = USER) -> list[dict[str, Any]]:
    """A shipped Role in a namespace, bound to a user."""
    role = yaml.safe_load(role_file.read_text(encoding="utf-8"))
    name = role["metadata"]["name"]
    role["metadata"]["namespace"] = namespace
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": f"{user}-{name}", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    return [role, binding]


def _settings(answer: str) -> str:
    """The settings without the note of the last restart, and without what it alone was in."""
    found = json.loads(answer)
    above, names = [found["persistent"]], NOTE_OF_RESTART
    for name in names[:-1]:
        above.append(above[-1].get(name) or {})
    if above[-1].pop(names[-1], None) is not None:
        for outer, name in zip(above[-2::-1], names[-2::-1], strict=True):
            if not outer.get(name, True):
                del outer[name]
    return json.dumps(found)
