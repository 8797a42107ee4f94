"""An OpenSearch on the workers of an OpenShift, and a watch over its members."""

from __future__ import annotations

from tests.runs.observer.watching import asking
from tests.runs.random_runs.resident import Resident
from tests.runs.turns import OneRun
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, MASTER, POOLS, annotations_of
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.openshift import OpenShift


class Database(Resident):
    """It notes whenever a worker is taken although a member on it cannot be spared.

    A pool that a person or a killed run has let go counts for nothing: no gate can be asked then.
    """

    def __init__(self, here: World, openshift: OpenShift) -> None:
        self._openshift = openshift
        masters = [node.name for pool in openshift.described.pools if pool.name == MASTER for node in pool.nodes]
        workers = [node.name for pool in openshift.described.pools for node in pool.nodes]
        self._workers = [name for name in workers if name not in masters]
        self._let_go_by: dict[str, OneRun | None] = {}
        super().__init__(here, openshift.resources, masters)
        openshift.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        name = change.item["metadata"]["name"]
        if change.before is None or change.type == "DELETED":
            return
        if change.kind == POOLS and change.before["spec"].get("paused") and not change.item["spec"].get("paused"):
            writes = self._openshift.observer.writes_of("spec.paused")
            self._let_go_by[name] = None if writes and writes[-1][0] == PERSON else asking()
        if change.kind != NODES or name not in self._workers:
            return
        if annotations_of(change.before).get(DESIRED) != annotations_of(change.item).get(DESIRED):
            run = self._let_go_by.get(self._pool_of(name))
            if run is not None and run.is_at_work:
                self.breaches += [f"{name}: {each}" for each in self.spares(self._taken())]

    def _pool_of(self, node: str) -> str:
        return next(pool.name for pool in self._openshift.described.pools if node in {one.name for one in pool.nodes})

    def _taken(self) -> set[str]:
        """The workers that the machine config operator has taken, and that are not back."""
        notes = {name: annotations_of(self._openshift.node(name)) for name in self._workers}
        return {name for name, found in notes.items() if found[CURRENT] != found[DESIRED]}
