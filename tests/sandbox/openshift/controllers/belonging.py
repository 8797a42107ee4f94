"""The pool of each Kubernetes node, kept in step with the labels: no pool is gone through at each change."""

from __future__ import annotations

from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import CURRENT, POOLS, annotations_of


class Belonging:
    """It follows the changes before anything that asks it."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._of: dict[str, str] = {}
        self._nodes: dict[str, set[str]] = {}
        shared.resources.store.listeners.append(self._changed)
        self._sort_all()

    def _changed(self, change: Change) -> None:
        before = change.before or {"metadata": {}, "spec": {}}
        if (change.kind == POOLS and before["spec"].get("nodeSelector") != change.item["spec"].get("nodeSelector")) or (
            change.kind == POOLS and change.type == "DELETED"
        ):
            self._sort_all()
        elif change.kind == NODES and change.type == "DELETED":
            self._put(change.item["metadata"]["name"], "")
        elif change.kind == NODES and before["metadata"].get("labels") != change.item["metadata"].get("labels"):
            self._put(change.item["metadata"]["name"], states.pool_of(change.item, self._shared.each(POOLS)))

    def _sort_all(self) -> None:
        pools = self._shared.each(POOLS)
        for node in self._shared.each(NODES):
            self._put(node["metadata"]["name"], states.pool_of(node, pools))

    def _put(self, name: str, pool: str) -> None:
        self._nodes.get(self._of.pop(name, ""), set()).discard(name)
        if pool:
            self._of[name] = pool
            self._nodes.setdefault(pool, set()).add(name)

    def pool_of(self, node: str) -> str:
        """The name of the pool of a Kubernetes node; empty: it is in none."""
        return self._of.get(node, "")

    def nodes_of(self, pool: str) -> list[Json]:
        """The Kubernetes nodes of a pool that a daemon has ever looked at, by name."""
        found = [self._shared.kept(NODES, name) for name in sorted(self._nodes.get(pool, ()))]
        return [each for each in found if each is not None and CURRENT in annotations_of(each)]
