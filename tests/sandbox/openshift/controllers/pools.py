"""The controller of the pools: it tells Kubernetes nodes another configuration, and the pools their status.

`syncMachineConfigPool`, `updateCandidateMachines` (`pkg/controller/node/node_controller.go`) and `calculateStatus`
(`status.go` there) of machine-config-operator.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.sandbox.kubernetes.controllers.work import Place, Work, with_condition
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers import states
from tests.sandbox.openshift.controllers.belonging import Belonging
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, MASTER, POOLS, REASON, annotations_of

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
        wanted, now = pool["spec"]["configuration"]["name"], timestamp(self._shared.clock.now())
        updated = [each for each in nodes if states.is_done(each) and annotations_of(each)[DESIRED] == wanted]
        ready = [each for each in updated if not states.unready(each)]
        degraded = [each for each in nodes if states.is_degraded(each)]
        unavailable = [each for each in nodes if states.is_unavailable(each)]
        over = len(updated) == len(ready) == len(nodes) and not unavailable

        def change(item: Json) -> None:
            status = item.setdefault("status", {})
            status |= {
                "observedGeneration": pool["metadata"]["generation"],
                "machineCount": len(nodes),
                "updatedMachineCount": len(updated),
                "readyMachineCount": len(ready),
                "unavailableMachineCount": len(unavailable),
                "degradedMachineCount": len(degraded),
            }
            if over:
                status["configuration"] = {"name": wanted}
            _tell_update(item, wanted, now, over=over, paused=bool(pool["spec"].get("paused")))
            _tell_degraded(item, degraded, now)

        self._hand.tell(POOLS, "", pool["metadata"]["name"], change)


def _moves(change: Change) -> bool:
    before = change.before or change.item
    return bool(before["metadata"].get("labels") != change.item["metadata"].get("labels"))


def _tell_update(item: Json, wanted: str, now: str, *, over: bool, paused: bool) -> None:
    if over:
        with_condition(item, "Updated", "True", now, message=f"All nodes are updated with MachineConfig {wanted}")
        with_condition(item, "Updating", "False", now)
        return
    with_condition(item, "Updated", "False", now)
    if paused:
        said = f"Pool is paused; will not update to MachineConfig {wanted}"
        with_condition(item, "Updating", "False", now, message=said)
    else:
        with_condition(item, "Updating", "True", now, message=f"All nodes are updating to MachineConfig {wanted}")


def _tell_degraded(item: Json, degraded: Sequence[Json], now: str) -> None:
    said = [
        f'Node {each["metadata"]["name"]} is reporting: "{annotations_of(each).get(REASON, "")}"' for each in degraded
    ]
    message, status = ", ".join(said), "True" if degraded else "False"
    reason = f"{len(degraded)} nodes are reporting degraded status on sync" if degraded else ""
    with_condition(item, "NodeDegraded", status, now, reason=reason, message=message)
    with_condition(item, "RenderDegraded", "False", now)
    with_condition(item, "Degraded", status, now, message=message)
