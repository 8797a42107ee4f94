"""Drains of Kubernetes nodes: each pod is evicted by the API server, which holds it to its budgets."""

from __future__ import annotations

from urllib.parse import quote

from tests.lab.openshift.server import Server
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json, Refused, controller_of
from tests.sandbox.openshift.kinds import annotations_of

_MIRROR = "kubernetes.io/config.mirror"
_LATER = (404, 429, 500)
"""A pod that is gone, a budget that does not let it go now, and several budgets of one pod."""


class Drains:
    """The hand that drains, as `pkg/controller/drain` of machine-config-operator does by the helper of kubectl."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def is_over(self, name: str) -> bool:
        """Ask for the eviction of every pod that is left on a Kubernetes node; whether none is left. Raises Refused."""
        left = self._left_on(name)
        for each in left:
            if "deletionTimestamp" not in each["metadata"]:
                self._evict(each["metadata"]["namespace"], each["metadata"]["name"])
        return not left

    def _left_on(self, name: str) -> list[Json]:
        """The pods that a drain removes: none of a DaemonSet, and no static one (`pkg/drain/filters.go` of kubectl)."""
        found = self._server.ask("GET", f"{PODS.path('')}?fieldSelector={quote(f'spec.nodeName={name}', safe='')}")
        owners = [(pod, controller_of(pod) or {}) for pod in found["items"]]
        return [pod for pod, owner in owners if owner.get("kind") != "DaemonSet" and _MIRROR not in annotations_of(pod)]

    def _evict(self, namespace: str, name: str) -> None:
        metadata = {"name": name, "namespace": namespace}
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        try:
            self._server.ask("POST", f"{PODS.path(namespace, name)}/eviction", eviction)
        except Refused as error:
            if error.code not in _LATER:
                raise
