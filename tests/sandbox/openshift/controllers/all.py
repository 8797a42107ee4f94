"""All controllers of OpenShift, side by side."""

from __future__ import annotations

from tests.sandbox.openshift.controllers.belonging import Belonging
from tests.sandbox.openshift.controllers.daemons import Daemons
from tests.sandbox.openshift.controllers.drains import Cordons, Drains
from tests.sandbox.openshift.controllers.kubelet_versions import KubeletVersions
from tests.sandbox.openshift.controllers.machine_configs import MachineConfigs
from tests.sandbox.openshift.controllers.machines import Machines
from tests.sandbox.openshift.controllers.operators import Operators
from tests.sandbox.openshift.controllers.pools import Pools
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.controllers.states import in_order
from tests.sandbox.openshift.controllers.version_operator import VersionOperator
from tests.sandbox.openshift.description import Described
from tests.sandbox.openshift.kinds import MASTER
from tests.sandbox.openshift.registry import Registry
from tests.sandbox.openshift.update_service import UpdateService

API_SERVER_STARTS = 180.0
"""Seconds without an API server while the only one gets another version."""


class Controllers:
    """They follow the changes of the objects from now on."""

    def __init__(self, shared: Shared, described: Described, updates: UpdateService, registry: Registry) -> None:
        self.shared, self.belonging = shared, Belonging(shared)
        self.operators = Operators(shared)
        self.cordons, self.drains = Cordons(shared), Drains(shared)
        self.pools = Pools(shared, self.belonging, described.operator_on or _first_master(described))
        self.daemons = Daemons(shared, self._is_last)
        self.daemons.reboots.append(self._reboots)
        self._only_master = _first_master(described) if described.is_single else ""
        self.daemons.boots.append(self._boots)
        if described.is_single:
            self.operators.rolls = self._api_server_rolls
        self.machine_configs = MachineConfigs(shared, self.operators, described.version)
        self.kubelet_versions = KubeletVersions(shared, self.operators, self.machine_configs)
        self.daemons.boots.append(self.kubelet_versions.booted)
        self.machines = Machines(shared)
        self.version_operator = VersionOperator(
            shared, updates, self.operators, described.operators, registry.has, described.gates_of
        )

    def _is_last(self, node: str) -> bool:
        nodes = self.belonging.nodes_of(self.belonging.pool_of(node))
        return bool(nodes) and in_order(nodes)[-1]["metadata"]["name"] == node

    def _reboots(self, node: str) -> None:
        """The controllers of the pools run on the same master as their operator, and are elected anew. Without the only
        master there is no API server."""
        if node == self._only_master:
            self._api_is(away=True)
        if node == self.pools.operator_on:
            until = self.shared.clock.now() + self.shared.habits.elected
            self.pools.away_until = self.drains.away_until = until

    def _boots(self, node: str, _configuration: str) -> None:
        if node == self._only_master:
            self._api_is(away=False)

    def _api_server_rolls(self, name: str) -> None:
        """The only API server ends before another one starts on the same Kubernetes node."""
        if name == "kube-apiserver":
            self._api_is(away=True)
            self.shared.clock.later(API_SERVER_STARTS, lambda: self._api_is(away=False))

    def _api_is(self, *, away: bool) -> None:
        self.shared.kubernetes.server.faults.away = away


def _first_master(described: Described) -> str:
    masters = [node.name for pool in described.pools if pool.name == MASTER for node in pool.nodes]
    return masters[0] if masters else ""
