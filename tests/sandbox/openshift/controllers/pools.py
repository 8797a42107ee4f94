"""The controller of the pools: it gives Kubernetes nodes another configuration, and the pools their status.

`syncMachineConfigPool` and `updateCandidateMachines` (`pkg/controller/node/node_controller.go`) of
machine-config-operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.sandbox.kubernetes.controllers.work import Place, Work
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.controllers.belonging import Belonging
from tests.sandbox.openshift.controllers.pool_status import tell_status
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, MASTER, POOLS, annotations_of

TAINT = {"key": "UpdateInProgress", "effect": "PreferNoSchedule"}
"""`NodeUpdateInProgressTaint` in `pkg/controller/common/constants.go`."""


class Pools:
    """`operator_on` is the master that is taken last, since the pod of the operator runs there."""

    def __init__(self, shared: Shared, belonging: Belonging, operator_on: str) -> None:
        self._shared, self._belonging, self.operator_on = shared, belonging, operator_on
        self._hand = shared.hand("machine-config-controller")
        self._work = Work(shared.resources, shared.pace.pool, self._sync)
        self.away_until = 0.0
        """Until this time nothing is looked at, since the controller is being elected."""
        shared.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == POOLS and change.type != "DELETED":
            self._add(change.item["metadata"]["name"])
        elif change.kind == NODES and CURRENT in annotations_of(change.item):
            names = {self._belonging.pool_of(change.item["metadata"]["name"])}
            if change.type == "DELETED" or _moves(change):
                names.add(states.pool_of(change.before or change.item, self._shared.each(POOLS)))
            for name in names - {""}:
                self._add(name)

    def _add(self, name: str) -> None:
        away = self.away_until - self._shared.clock.now()
        if away > 0:
            self._shared.clock.later(away, lambda: self._add(name))
        else:
            self._work.add(("", name))

    def _sync(self, place: Place) -> None:
        name = place[1]
        if self._shared.clock.now() < self.away_until:
            self._add(name)
            return
        pool = self._shared.kept(POOLS, name)
        if pool is None or not pool["spec"].get("configuration", {}).get("name"):
            return
        nodes = self._belonging.nodes_of(name)
        if not pool["spec"].get("paused"):
            for node in nodes:
                self._taint(node, pool["spec"]["configuration"]["name"])
            found, capacity = states.candidates(pool, self._belonging.nodes_of(name))
            self._take(pool, found, capacity)
        self._tell(pool, self._belonging.nodes_of(name))

    def _taint(self, node: Json, wanted: str) -> None:
        taints = node["spec"].get("taints") or []
        there = any(each["key"] == TAINT["key"] for each in taints)
        if there == (annotations_of(node).get(DESIRED) != wanted):
            return
        others = [each for each in taints if each["key"] != TAINT["key"]]
        after = others if there else [*others, TAINT]
        self._hand.change(NODES, "", node["metadata"]["name"], lambda item: item["spec"].update(taints=after))

    def _take(self, pool: Json, found: Sequence[Json], capacity: int) -> None:
        if pool["metadata"]["name"] == MASTER and len(found) > 1:
            found = [each for each in found if each["metadata"]["name"] != self.operator_on]
        if capacity < len(found):
            found = states.in_order(found)[:capacity]
        wanted = pool["spec"]["configuration"]["name"]
        for node in found:
            self._hand.change(
                NODES,
                "",
                node["metadata"]["name"],
                lambda item: item["metadata"]["annotations"].update({DESIRED: wanted}),
            )

    def _tell(self, pool: Json, nodes: Sequence[Json]) -> None:
        now = timestamp(self._shared.clock.now())
        self._hand.tell(POOLS, "", pool["metadata"]["name"], lambda item: tell_status(item, pool, nodes, now))


def _moves(change: Change) -> bool:
    before = change.before or change.item
    return bool(before["metadata"].get("labels") != change.item["metadata"].get("labels"))
