"""A namespace of a lab for one test, with what tests ask of it again and again."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from typing import Any

from kubernetes import client
from kubernetes.client.exceptions import ApiException

from tests.lab.lab import Lab
from tests.lab.waiting import until

TIMEOUT = 60.0
PORT = 8080
Changes = dict[str, Any]


class Namespace:
    """One namespace, as admin."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name
        self._api = lab.client()
        self.core: Any = client.CoreV1Api(self._api)
        self.apps: Any = client.AppsV1Api(self._api)
        lab.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}])

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Apply objects in this namespace."""
        self.lab.apply([{**item, "metadata": {**item["metadata"], "namespace": self.name}} for item in manifests])

    def remove(self) -> None:
        """Delete all pods, wait until they are gone, and delete the namespace; faults go with them.

        The namespace's own controller would start only after 5 s.
        """
        for fault in self.lab.status()["faults"]:
            if fault.get("namespace") == self.name:
                self.lab.faults.mend(self.name, fault["pod"])
        self.apps.delete_collection_namespaced_stateful_set(self.name)
        self.core.delete_collection_namespaced_pod(self.name)
        until("The end of all pods", lambda: not self.core.list_namespaced_pod(self.name).items, TIMEOUT)
        self.core.delete_namespace(self.name)
        self._api.close()

    def pod(self, name: str) -> Any:
        """The pod, or None."""
        try:
            return self.core.read_namespaced_pod(name, self.name)
        except ApiException as error:
            if error.status != 404:
                raise
            return None

    def until_pod(self, name: str, what: str, holds: Callable[[Any], Any], timeout: float = TIMEOUT) -> Any:
        """Wait until something is true of an existing pod, and give the pod."""

        def look() -> Any:
            found = self.pod(name)
            return found if found is not None and holds(found) else None

        return until(f"{name}: {what}", look, timeout)

    def until_ready(self, name: str, not_uid: str = "") -> Any:
        """Wait until a pod, other than that of the given UID, is Ready."""
        return self.until_pod(name, "Ready", lambda pod: pod.metadata.uid != not_uid and is_ready(pod))

    def delete_pod(self, name: str, grace: int | None = None) -> str:
        """Delete a pod by its present UID, and give that UID."""
        uid: str = self.pod(name).metadata.uid
        options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=uid), grace_period_seconds=grace)
        self.core.delete_namespaced_pod(name, self.name, body=options)
        return uid

    def get(self, pod: str, path: str) -> str:
        """Send GET to a probe pod."""
        return fetch(f"http://{self.lab.pod_address(self.name, pod)}:{PORT}{path}")

    def put(self, pod: str, path: str, body: str = "") -> None:
        """Send PUT to a probe pod."""
        url = f"http://{self.lab.pod_address(self.name, pod)}:{PORT}{path}"
        request = urllib.request.Request(url, data=body.encode(), method="PUT")
        with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - the scheme is written above
            pass

    def log_of(self, pod: str) -> list[dict[str, Any]]:
        """The kubelet's own events of a pod."""
        return [event for event in self.lab.events() if event.get("namespace") == self.name and event.get("pod") == pod]

    def reasons_of(self, pod: str) -> list[str]:
        """Reasons of the Kubernetes events about a pod."""
        events = self.core.list_namespaced_event(self.name, field_selector=f"involvedObject.name={pod}").items
        return [event.reason for event in events]


def fetch(url: str) -> str:
    """GET as text; HTTP and connection errors as urllib raises them."""
    with urllib.request.urlopen(url, timeout=10) as response:  # noqa: S310 - only tests call it
        text: str = response.read().decode()
        return text


def is_ready(pod: Any) -> bool:
    conditions = {item.type: item.status for item in pod.status.conditions or []}
    return conditions.get("Ready") == "True" and pod.metadata.deletion_timestamp is None


def waiting_reason(pod: Any) -> str | None:
    """The reason why the pod's first container waits, if it does."""
    statuses = pod.status.container_statuses or []
    waiting = statuses[0].state.waiting if statuses else None
    return waiting.reason if waiting else None


def probe_container(tag: str = "1", **changes: Any) -> Changes:
    """A container of the image `probe` with a readiness probe."""
    ready = {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 1}
    container = {
        "name": "probe",
        "image": f"registry.example/lab/probe:{tag}",
        "ports": [{"name": "http", "containerPort": PORT}],
        "readinessProbe": ready,
    }
    return {**container, **changes}


def probe_pod(name: str, *, spec: Changes | None = None, **container: Any) -> Changes:
    """A pod of one probe container."""
    whole = {"terminationGracePeriodSeconds": 5, "containers": [probe_container(**container)], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": whole}


def probe_set(name: str, replicas: int = 3, tag: str = "1") -> Changes:
    """An OnDelete StatefulSet, a member in each zone, with a claim at /data and an emptyDir at /cache."""
    labels = {"app": name}
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "cache", "mountPath": "/cache"}]
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    pod = {
        "terminationGracePeriodSeconds": 5,
        "topologySpreadConstraints": [spread],
        "containers": [probe_container(tag, volumeMounts=mounts)],
        "volumes": [{"name": "cache", "emptyDir": {}}],
    }
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {
        "serviceName": name,
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "OnDelete"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}
