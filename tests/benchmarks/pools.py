"""The StatefulSets of a cluster, as a person with kubectl changes and follows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from tests.benchmarks.rest import NoAnswer, poll

MANAGES = "cluster_manager"
ROLES = "node.roles"


class Pools:
    """The pools of one namespace; those without cluster managers come first."""

    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self._apps: Any = client.AppsV1Api(api)
        self._core: Any = client.CoreV1Api(api)
        self._namespace = namespace

    @classmethod
    @contextmanager
    def of(cls, kubeconfig: str, namespace: str) -> Iterator[Pools]:
        """The pools of a namespace, over a connection that is kept for the length of the block."""
        with config.new_client_from_config(kubeconfig) as api:
            yield cls(api, namespace)

    def names(self) -> list[str]:
        """All pools, in the order in which they are upgraded."""
        found = self._apps.list_namespaced_stateful_set(self._namespace).items
        return [pool.metadata.name for pool in sorted(found, key=lambda pool: (_manages(pool), pool.metadata.name))]

    def pods(self, pool: str) -> list[str]:
        """The names of its pods, highest ordinal first."""
        replicas = self._apps.read_namespaced_stateful_set(pool, self._namespace).spec.replicas
        return [f"{pool}-{ordinal}" for ordinal in reversed(range(replicas))]

    def change(self, pool: str, strategy: str, version: str | None = None) -> None:
        """Set the update strategy and, with a version, the image; return when the controller has seen it."""
        spec: dict[str, Any] = {"updateStrategy": {"type": strategy, "rollingUpdate": None}}
        if version is not None:
            spec["template"] = {"spec": {"containers": [{"name": "opensearch", "image": f"opensearch:{version}"}]}}
        changed = self._apps.patch_namespaced_stateful_set(pool, self._namespace, {"spec": spec})
        generation = changed.metadata.generation
        poll(f"Pool {pool} to be seen", lambda: self._status(pool).observed_generation >= generation)

    def rolled_out(self, pool: str) -> bool:
        """Whether a pool is as `kubectl rollout status` waits for it."""
        one = self._apps.read_namespaced_stateful_set(pool, self._namespace)
        status, wanted = one.status, one.spec.replicas
        return bool(
            (status.observed_generation or 0) >= one.metadata.generation
            and status.updated_replicas == status.ready_replicas == wanted
            and status.current_revision == status.update_revision
        )

    def _status(self, pool: str) -> Any:
        return self._apps.read_namespaced_stateful_set(pool, self._namespace).status

    def delete(self, pod: str) -> str:
        """Delete a pod and give its uid."""
        uid = str(self._core.read_namespaced_pod(pod, self._namespace).metadata.uid)
        self._core.delete_namespaced_pod(pod, self._namespace)
        return uid

    def is_back(self, pod: str, former: str) -> bool:
        """Whether a pod of this name and another uid is Ready."""
        try:
            found = self._core.read_namespaced_pod(pod, self._namespace)
        except ApiException as error:
            raise NoAnswer(f"pod {pod}: {error.reason}") from error
        conditions = found.status.conditions or ()
        return found.metadata.uid != former and any(one.type == "Ready" and one.status == "True" for one in conditions)


def _manages(pool: Any) -> bool:
    variables = pool.spec.template.spec.containers[0].env
    return any(one.name == ROLES and MANAGES in (one.value or "") for one in variables)
