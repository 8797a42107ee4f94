"""The machine-config operator: new configurations for all pools, and its own version once the masters are done.

`syncRequiredMachineConfigPools` and `syncUpgradeableStatus` in `pkg/operator` of machine-config-operator. The workers
are taken at the same time as the masters, and the version operator does not wait for them.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.building import config_object
from tests.sandbox.openshift.controllers.operators import Operators
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.description import MACHINE_CONFIG_OPERATOR
from tests.sandbox.openshift.kinds import CONFIGS, POOLS, RELEASE, REQUIRED, rendered

POLL = 10.0
PER_MASTER = 600.0
"""A ten minute timeout per Kubernetes node of the required pools; after that the operator is degraded, and goes on."""


class MachineConfigs:
    """`version` is that of the configurations of the pools."""

    def __init__(self, shared: Shared, operators: Operators, version: str) -> None:
        self._shared, self._operators = shared, operators
        self._hand = shared.hand("machine-config-controller")
        self.version = version
        self._releases: dict[str, str] = {}
        self._before = version
        self._degraded = False
        self._pool_degraded = False
        self._again = 0
        self.same_content = False
        """Whether the next version renders what the pools have: the name is a hash of the content, so that only the
        annotation is another one (`syncGeneratedMachineConfig` in `pkg/controller/render/render_controller.go`)."""
        operators.machine_config = self.upgrade
        shared.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        """Whether a minor update is sensible depends on the pools: none may be degraded."""
        if change.kind != POOLS:
            return
        degraded = any(condition_of(each, "Degraded").get("status") == "True" for each in self._shared.each(POOLS))
        if degraded == self._pool_degraded:
            return
        self._pool_degraded = degraded
        said = "One or more machine config pools are degraded, please see `oc get mcp` for further details and resolve"
        told = ("False", "DegradedPool", said) if degraded else ("True", "AsExpected", "")
        self._shared.clock.later(
            self._shared.pace.control, lambda: self._operators.tell(MACHINE_CONFIG_OPERATOR, Upgradeable=told)
        )

    def release_of(self, configuration: str) -> str:
        """The version of a configuration; that of an unknown one is the present version."""
        return self._releases.get(configuration, self.version)

    def upgrade(self, version: str) -> None:
        """Give all pools new configurations, also those that are paused, then wait for the required ones."""
        self._before, self.version = self.version, version
        for pool in self._shared.each(POOLS):
            self._releases.setdefault(pool["spec"]["configuration"]["name"], self._before)
        self._shared.clock.later(self._shared.pace.render, lambda: self._render(version))

    def _render(self, version: str) -> None:
        for pool in self._shared.each(POOLS):
            name = pool["metadata"]["name"]
            if self.same_content:
                self._annotate(pool["spec"]["configuration"]["name"], version)
                continue
            made = config_object(name, version)
            if self._shared.kept(CONFIGS, made["metadata"]["name"]) is None:
                self._hand.create(CONFIGS, "", made)
            self._give(name, rendered(name, version))
        required = sum(each["status"]["machineCount"] for each in self._shared.each(POOLS) if _is_required(each))
        self._wait(version, self._shared.clock.now() + required * PER_MASTER)

    def render_again(self, pool: str) -> None:
        """Give a pool a further configuration of the present version, as a MachineConfig of a person makes one."""
        self._again += 1
        made = config_object(pool, self.version)
        made["metadata"]["name"] = rendered(pool, f"{self.version} {self._again}")
        self._hand.create(CONFIGS, "", made)
        self._give(pool, made["metadata"]["name"])

    def _annotate(self, configuration: str, version: str) -> None:
        self._releases[configuration] = version
        said = {RELEASE: version}
        self._hand.change(CONFIGS, "", configuration, lambda item: item["metadata"]["annotations"].update(said))

    def _give(self, pool: str, configuration: str) -> None:
        self._releases[configuration] = self.version
        self._hand.change(POOLS, "", pool, lambda item: _configure(item, configuration))

    def _wait(self, version: str, end: float) -> None:
        if version != self.version:
            return
        why = self._unready(version)
        now = self._shared.clock.now()
        if not why:
            if self._degraded:
                self._operators.tell(MACHINE_CONFIG_OPERATOR, Degraded=("False", "AsExpected", ""))
                self._degraded = False
            self._operators.reached(MACHINE_CONFIG_OPERATOR, version)
            return
        if (now >= end or "is paused" in why) and not self._degraded:
            self._degraded = True
            said = f"Failed to resync {version} because: error during syncRequiredMachineConfigPools: {why}"
            told = ("True", "RequiredPoolsFailed", said)
            self._operators.tell(MACHINE_CONFIG_OPERATOR, Degraded=told)
        self._shared.clock.later(POLL, lambda: self._wait(version, end))

    def _unready(self, version: str) -> str:
        """The pool that is waited for: any one that is degraded, else a required one."""
        for pool in self._shared.each(POOLS):
            name = pool["metadata"]["name"]
            if condition_of(pool, "Degraded").get("status") == "True":
                return f"MachineConfigPool {name} is not ready, retrying. Status: (pool degraded: true)"
            if not _is_required(pool):
                continue
            seen = pool["metadata"]["generation"] <= pool["status"].get("observedGeneration", 0)
            current = self.release_of(pool["spec"]["configuration"]["name"]) == version
            if seen and current and condition_of(pool, "Updated").get("status") == "True":
                continue
            if pool["spec"].get("paused"):
                return f"required MachineConfigPool {name} is paused and cannot sync until it is unpaused"
            return f"required MachineConfigPool {name} is not ready, retrying"
        return ""


def _is_required(pool: Json) -> bool:
    return REQUIRED in (pool["metadata"].get("labels") or {})


def _configure(pool: Json, configuration: str) -> None:
    pool["spec"]["configuration"] = {"name": configuration}
