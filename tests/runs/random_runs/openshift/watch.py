"""A watch over the workers of an OpenShift, which are taken only if what lives on them can spare them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tests.runs.observer.watching import asking
from tests.runs.turns import OneRun
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, MASTER, POOLS, annotations_of
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.openshift import OpenShift


def names_of(openshift: OpenShift, *, masters: bool) -> list[str]:
    """The Kubernetes nodes of the control plane, or all others."""
    pools = [pool for pool in openshift.described.pools if (pool.name == MASTER) is masters]
    return [node.name for pool in pools for node in pool.nodes]


class Watch:
    """It notes whenever a worker is taken although what `spares` asks says no: reasons, for Kubernetes nodes.

    A pool that a person or a killed run has let go counts for nothing: no gate can be asked then.
    """

    def __init__(
        self, openshift: OpenShift, spares: Callable[[Collection[str]], Iterable[str]], breaches: list[str]
    ) -> None:
        self._openshift, self._spares, self._breaches = openshift, spares, breaches
        self._workers = names_of(openshift, masters=False)
        self._let_go_by: dict[str, OneRun | None] = {}
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
                self._breaches += [f"{name}: {each}" for each in self._spares(self._taken())]

    def _pool_of(self, node: str) -> str:
        return next(pool.name for pool in self._openshift.described.pools if node in {one.name for one in pool.nodes})

    def _taken(self) -> set[str]:
        """The workers that the machine config operator has taken, and that are not back."""
        notes = {name: annotations_of(self._openshift.node(name)) for name in self._workers}
        return {name for name, found in notes.items() if found[CURRENT] != found[DESIRED]}
