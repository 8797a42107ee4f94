"""Everything that can go wrong on purpose, by name; the habits that are on by default are in `habits.py`."""

from __future__ import annotations

from collections.abc import Callable

from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.kinds import BUDGETS, NODES, PODS, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.kinds import NAMESPACES as NAMESPACE_KIND
from tests.sandbox.kubernetes.objects import Json, Kind, timestamp
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.controllers.all import Controllers
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import POOLS, VERSION, VERSIONS
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.registry import Registry
from tests.sandbox.openshift.update_service import UpdateService

SEARCH = "search"
"""The namespace of the pods that a budget protects."""
_PERSON = Writing(PERSON)


class Faults:
    """Each method makes a fault now; `mend_all` ends all that can be ended. Those of a person stay."""

    def __init__(self, shared: Shared, controllers: Controllers, updates: UpdateService, registry: Registry) -> None:
        self._shared, self._controllers = shared, controllers
        self._updates, self._registry = updates, registry
        self.blocked: dict[str, str] = {}
        """The Kubernetes nodes whose drain is blocked, with the name of the pod and of its budget."""
        self._blocked_in: dict[str, str] = {}
        """The namespace of each of these."""

    def operator_stays_degraded(self, name: str, message: str = "the deployment has no Ready pod") -> None:
        """An operator is degraded, now and through its upgrade."""
        self._controllers.operators.stays_degraded[name] = message
        self._controllers.operators.tell(name, Degraded=("True", "SyncError", message))

    def operator_breaks_in_upgrade(self, name: str, message: str = "the deployment has no Ready pod") -> None:
        """An operator is degraded as soon as its upgrade starts, and stays so."""
        self._controllers.operators.stays_degraded[name] = message

    def operator_mended(self, name: str) -> None:
        """It is degraded no more, and its upgrade goes on."""
        self._controllers.operators.mend(name)

    def operator_unavailable(self, name: str, message: str = "no pod answers") -> None:
        """An operator is not available, which fails an upgrade at once (`UpdateEffectFail`)."""
        self._controllers.operators.tell(name, Available=("False", "NoPod", message))

    def operator_available(self, name: str) -> None:
        """It is available again."""
        self._controllers.operators.tell(name, Available=("True", "AsExpected", ""))

    def operator_not_upgradeable(self, name: str, message: str = "a setting is not supported any more") -> None:
        """An operator is against minor updates."""
        self._controllers.operators.tell(name, Upgradeable=("False", "NotSupported", message))

    def operator_upgradeable(self, name: str) -> None:
        """It is not against them any more."""
        self._controllers.operators.tell(name, Upgradeable=("True", "AsExpected", ""))

    def node_never_returns(self, node: str) -> None:
        """A Kubernetes node does not come back from its next restart.

        Its daemon cannot say so: the pool is not degraded, but has it unavailable for ever (`calculateStatus`).
        """
        self._controllers.daemons.never_returns.add(node)

    def node_returns(self, node: str) -> None:
        """It comes back after all."""
        self._controllers.daemons.never_returns.discard(node)

    def node_degraded(self, node: str, reason: str = "unexpected on-disk state validating against rendered") -> None:
        """The daemon of a Kubernetes node cannot apply its next configuration, so that its pool is degraded."""
        self._controllers.daemons.breaks[node] = reason

    def node_mended(self, node: str) -> None:
        """It can apply it now."""
        self._controllers.daemons.breaks.pop(node, None)

    def node_pressure(self, node: str, kind: str = "Memory", *, there: bool = True) -> None:
        """A kubelet has too little memory, disk or process ids (`Memory`, `Disk`, `PID`), or has enough again.

        The taint follows from the condition (`nodeConditionToTaintKeyStatusMap` in
        `pkg/controller/nodelifecycle/node_lifecycle_controller.go` of Kubernetes).
        """
        key = f"node.kubernetes.io/{kind.lower()}-pressure"

        def taint(item: Json) -> None:
            others = [each for each in item["spec"].get("taints") or [] if each["key"] != key]
            item["spec"]["taints"] = [*others, *([{"key": key, "effect": "NoSchedule"}] if there else [])]

        def condition(item: Json) -> None:
            with_condition(item, f"{kind}Pressure", "True" if there else "False", timestamp(self._shared.clock.now()))

        hand = self._shared.hand("kubelet")
        hand.tell(NODES, "", node, condition)
        hand.change(NODES, "", node, taint)

    def drain_blocked(self, node: str, namespace: str = SEARCH, claim: str = "") -> str:
        """A pod on a Kubernetes node is under a budget that allows nothing; gives the name of both.

        With a `claim` it has a volume, whose data it keeps.
        """
        name = f"search-on-{node}"
        labels = {"app": name}
        resources = self._shared.resources
        if self._shared.kept(NAMESPACE_KIND, namespace) is None:
            resources.create(NAMESPACE_KIND, "", {"metadata": {"name": namespace}})
            resources.create(SERVICE_ACCOUNTS, namespace, {"metadata": {"name": "default"}})
        spec: Json = {"nodeName": node, "containers": [{"name": "server", "image": "probe:1"}]}
        if claim:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        resources.create(PODS, namespace, {"metadata": {"name": name, "labels": labels}, "spec": spec})
        budget = {"selector": {"matchLabels": labels}, "maxUnavailable": 0}
        resources.create(BUDGETS, namespace, {"metadata": {"name": name}, "spec": budget})
        self.blocked[node], self._blocked_in[node] = name, namespace
        return name

    def drain_unblocked(self, node: str) -> None:
        """The budget of that pod is gone."""
        self._shared.resources.delete(BUDGETS, self._blocked_in.pop(node), self.blocked.pop(node))

    def graph_unreachable(self) -> None:
        """No connection to the update service comes about."""
        self._updates.away = True

    def graph_fails(self, status: int = 503) -> None:
        """The update service answers everything with a status."""
        self._updates.status = status

    def graph_reachable(self) -> None:
        """It answers again."""
        self._updates.away, self._updates.status = False, 200

    def release_unsigned(self, version: str) -> None:
        """No one has signed a release: it is refused, unless it is forced."""
        self._controllers.version_operator.unsigned.add(version)

    def release_signed(self, version: str) -> None:
        """Its signature is there."""
        self._controllers.version_operator.unsigned.discard(version)

    def registry_unreachable(self) -> None:
        """No connection to the registry comes about."""
        self._registry.away = True

    def registry_reachable(self) -> None:
        """It answers again."""
        self._registry.away = False

    def machines_never_boot(self, machine_set: str) -> None:
        """The cloud has no machine left for a MachineSet, also for one that is made later."""
        self._controllers.machines.never_boots.add(machine_set)

    def machines_boot(self, machine_set: str) -> None:
        """It has."""
        self._controllers.machines.never_boots.discard(machine_set)

    def machine_config_away(self, seconds: float) -> None:
        """The controller of the pools does nothing for so long: no status, no cordon, no drain."""
        until = self._shared.clock.now() + seconds
        self._controllers.pools.away_until = self._controllers.drains.away_until = until

    def version_operator_away(self, seconds: float) -> None:
        """The version operator does nothing for so long."""
        self._controllers.version_operator.away_for(seconds)

    def person_pauses(self, pool: str) -> None:
        """A person pauses a pool."""
        self._write(POOLS, pool, {"paused": True})

    def person_unpauses(self, pool: str) -> None:
        """A person lets a pool go on, whoever has paused it."""
        self._write(POOLS, pool, {"paused": False})

    def person_cordons(self, node: str) -> None:
        """A person cordons a Kubernetes node, which counts against `maxUnavailable` of its pool."""
        self._write(NODES, node, {"unschedulable": True})

    def person_uncordons(self, node: str) -> None:
        """A person opens a Kubernetes node, even one that is being drained."""
        self._write(NODES, node, {"unschedulable": False})

    def person_configures(self, pool: str) -> None:
        """A person applies a MachineConfig, so that a pool gets a further configuration of the same version."""
        self._controllers.machine_configs.render_again(pool)

    def person_wants(self, version: str) -> None:
        """A person wants an update of their own."""
        self._write(VERSIONS, VERSION, {"desiredUpdate": {"version": version}})

    def person_changes_channel(self, channel: str) -> None:
        """A person sets another channel."""
        self._write(VERSIONS, VERSION, {"channel": channel})

    def _write(self, kind: Kind, name: str, spec: Json) -> None:
        self._shared.resources.change(kind, "", name, lambda item: item["spec"].update(spec), _PERSON)

    def when(self, kind: Kind, holds: Callable[[Json], bool], fault: Callable[[], None]) -> None:
        """Make a fault as soon as an object of a kind is so, once."""
        done: list[bool] = []

        def changed(change: Change) -> None:
            if change.kind == kind and change.type != "DELETED" and not done and holds(change.item):
                done.append(True)
                self._shared.clock.later(0.0, fault)

        self._shared.resources.store.listeners.append(changed)

    def mend_all(self) -> None:
        """End every fault but those of a person."""
        for name in list(self._controllers.operators.stays_degraded):
            self.operator_mended(name)
        self._controllers.daemons.never_returns.clear()
        self._controllers.daemons.breaks.clear()
        self._controllers.machines.never_boots.clear()
        for node in list(self.blocked):
            self.drain_unblocked(node)
        self.graph_reachable()
        self.registry_reachable()
        self._controllers.version_operator.unsigned.clear()
        self._controllers.pools.away_until = self._controllers.drains.away_until = 0.0
        self._shared.kubernetes.faults.mend_all()
