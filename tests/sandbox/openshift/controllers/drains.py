"""Cordons and drains of Kubernetes nodes: by eviction, so that budgets hold.

`pkg/controller/drain/drain_controller.go` of machine-config-operator, and the helper of `kubectl drain` that it uses.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.controllers.work import Place, Recorder, Work
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json, Refused, controller_of, timestamp
from tests.sandbox.kubernetes.requests import Target
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.kubernetes.subresources import evict
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import DESIRED_DRAIN, LAST_DRAIN, annotations_of

ROUND, RETRY = 90.0, 5.0
"""`DrainHelperTimeout`, and `EvictErrorRetryDelay` within it."""
PAUSE, FAILING, FAILING_PAUSE = 60.0, 600.0, 300.0
"""`DrainRequeueDelay`; after `DrainRequeueFailingThreshold` it is `DrainRequeueFailingDelay`."""
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_MIRROR = "kubernetes.io/config.mirror"


class Cordons:
    """The taint of a cordoned Kubernetes node with its time, whoever has cordoned it.

    `doNoScheduleTaintingPass` in `pkg/controller/nodelifecycle/node_lifecycle_controller.go` of Kubernetes.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._hand = shared.hand("node-lifecycle-controller")
        self._work = Work(shared.resources, shared.pace.control, self._look)
        shared.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == NODES and change.type != "DELETED" and _is_odd(change.item):
            self._work.add(("", change.item["metadata"]["name"]))

    def _look(self, place: Place) -> None:
        def change(item: Json) -> None:
            others = [each for each in item["spec"].get("taints") or [] if each["key"] != CORDONED["key"]]
            now = timestamp(self._shared.clock.now())
            item["spec"]["taints"] = [*others, {**CORDONED, "timeAdded": now}] if _cordoned(item) else others

        found = self._shared.kept(NODES, place[1])
        if found is not None and _is_odd(found):
            self._hand.change(NODES, "", place[1], change)


def _cordoned(node: Json) -> bool:
    return bool(node["spec"].get("unschedulable"))


def _is_odd(node: Json) -> bool:
    tainted = any(each["key"] == CORDONED["key"] for each in node["spec"].get("taints") or [])
    return tainted != _cordoned(node)


class Evictions:
    """Rounds of evictions, as `RunNodeDrain` makes them for whoever drains."""

    def __init__(self, shared: Shared, component: str) -> None:
        self._shared, self._hand = shared, shared.hand(component)

    def cordon(self, name: str, *, cordoned: bool) -> None:
        """Cordon a Kubernetes node, or open it."""

        def change(item: Json) -> None:
            item["spec"].pop("unschedulable", None)
            if cordoned:
                item["spec"]["unschedulable"] = True

        self._hand.change(NODES, "", name, change)

    def round(self, name: str, seconds: float, over: Callable[[bool], None]) -> None:
        """Evict all pods of a Kubernetes node for at most so long, then say whether none is left."""
        self._go_on(name, self._shared.clock.now() + seconds, over)

    def _go_on(self, name: str, end: float, over: Callable[[bool], None]) -> None:
        for pod in self.left_on(name):
            if "deletionTimestamp" not in pod["metadata"]:
                self._evict(pod)
        left = self.left_on(name)
        if not left or self._shared.clock.now() >= end:
            over(not left)
            return
        self._shared.clock.later(RETRY, lambda: self._go_on(name, end, over))

    def _evict(self, pod: Json) -> None:
        metadata = pod["metadata"]
        target = Target("", "v1", "pods", metadata["namespace"], metadata["name"], "eviction")
        try:
            with self._hand.acting.named(self._hand.component):
                evict(self._shared.resources, target, {})
        except Refused as error:
            # A round fails as a whole at a pod that several budgets cover, and so does the next one.
            if error.code not in {404, 429, 500}:
                raise

    def left_on(self, name: str) -> list[Json]:
        """The pods that a drain removes: none of a DaemonSet, and no static one (`pkg/drain/filters.go` of kubectl)."""
        found = []
        for pod in self._shared.each(PODS):
            owner = controller_of(pod)
            if pod["spec"].get("nodeName") != name or (owner is not None and owner["kind"] == "DaemonSet"):
                continue
            if _MIRROR not in annotations_of(pod):
                found.append(pod)
        return found


class Drains:
    """It does what the daemon of a Kubernetes node asks for by an annotation, and says that it is done by another."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        component = "machine-config-controller"
        self._hand, self._evictions = shared.hand(component), Evictions(shared, component)
        self._events = Recorder(shared.resources, "machineconfigcontroller-nodecontroller")
        self._work = Work(shared.resources, shared.pace.pool, self._sync)
        self._since: dict[str, float] = {}
        """The time at which each drain that is not over has started."""
        self._in_round: set[str] = set()
        self._again: set[str] = set()
        """Those that something has happened to in a round: they are looked at as soon as it is over."""
        self.away_until = 0.0
        shared.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind != NODES or change.type == "DELETED":
            return
        before = change.before or {"metadata": {}, "spec": {}}
        asked = annotations_of(change.item).get(DESIRED_DRAIN) != annotations_of(before).get(DESIRED_DRAIN)
        if asked or _cordoned(change.item) != _cordoned(before):
            self._add(change.item["metadata"]["name"])

    def _add(self, name: str) -> None:
        away = self.away_until - self._shared.clock.now()
        if away > 0:
            self._shared.clock.later(away, lambda: self._add(name))
        else:
            self._work.add(("", name))

    def _sync(self, place: Place) -> None:
        name = place[1]
        node = self._shared.kept(NODES, name)
        if node is None:
            return
        if name in self._in_round:
            self._again.add(name)
            return
        wanted = annotations_of(node).get(DESIRED_DRAIN, "")
        if wanted == annotations_of(node).get(LAST_DRAIN, ""):
            return
        if wanted.startswith("uncordon-"):
            self._evictions.cordon(name, cordoned=False)
            self._applied(name, wanted)
            return
        if name not in self._since or not _cordoned(node):
            self._evictions.cordon(name, cordoned=True)
            # The clock of a drain starts again with each new cordon: `ctrl.ongoingDrains[node.Name] = time.Now()`.
            self._since[name] = self._shared.clock.now()
        self._in_round.add(name)
        self._evictions.round(name, ROUND, lambda empty: self._after(name, wanted, empty))

    def _after(self, name: str, wanted: str, empty: bool) -> None:
        self._in_round.discard(name)
        node = self._shared.kept(NODES, name)
        if node is None:
            return
        if not empty:
            failing = self._shared.clock.now() - self._since[name] > FAILING
            if failing:
                self._events.report(NODES, node, "Warning", "DrainThresholdExceeded", self._trouble(name))
            pause = FAILING_PAUSE if failing else PAUSE
            self._shared.clock.later(0.0 if name in self._again else pause, lambda: self._add(name))
            self._again.discard(name)
            return
        self._again.discard(name)
        self._since.pop(name, None)
        if _cordoned(node):
            self._applied(name, wanted)
        else:
            # It was opened since then, so there may be new pods.
            self._add(name)

    def _trouble(self, name: str) -> str:
        left = ", ".join(f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in self.left_on(name))
        said = "Drain failed. Drain has been failing for more than 10 minutes. Waiting 5 minutes then retrying."
        return f"{said} Error message from drain: error when evicting pods/{left}: global timeout reached: 1m30s"

    def left_on(self, name: str) -> list[Json]:
        """The pods that a drain of a Kubernetes node has still to remove."""
        return self._evictions.left_on(name)

    def _applied(self, name: str, wanted: str) -> None:
        self._hand.change(NODES, "", name, lambda item: item["metadata"]["annotations"].update({LAST_DRAIN: wanted}))
