"""Records of an upgrade of OpenShift from 4.18.1 to 4.18.2, as far as it has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import (
    Condition,
    StepState,
    Upgrade,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.recorded_start import Start
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import record_of

BEGUN, LATER, COMMENCED, CONTROLLED, ROLLED, NOW, DONE = (f"2026-11-21T0{hour}:00:00Z" for hour in range(2, 9))
"""The times of the start, the first batch, the update, the control plane, the workers, the last look, and the end."""

NAMES = [
    "SendStartedNotification",
    "UpgradeDelayedCheck",
    "IsUpgradeable",
    "PreUpgradeHealthCheck",
    "ExternalDependencyAvailabilityCheck",
    "EnsureExtraUpgradeWorkers",
    "CreateControlPlaneMaintWindow",
    "CommenceUpgrade",
    "ControlPlaneUpgraded",
    "RemoveControlPlaneMaintWindow",
    "CreateWorkerMaintWindow",
    "AllWorkersUpgraded",
    "RemoveExtraScaledNodes",
    "RemoveMaintWindow",
    "PostUpgradeHealthCheck",
    "PostUpgradeProcedures",
    "SendCompletedNotification",
]
"""The named steps of a managed upgrade in their order, as the managed-upgrade-operator has them."""
NO_ALERTS = "alerts were not looked at (upgrade_prometheus_url)"
NO_SILENCES = "no silence was asked for (upgrade_alertmanager_url)"
NOT_SENT = "noted in the record; no notice was sent (upgrade_webhook)"


def batch(pool: str, state: str = "pending", started: str = "", went: str = "", ended: str = "") -> BatchRecord:
    """A batch of a pool."""
    return BatchRecord(f"{pool}s", (pool,), (f"{pool}-0",), state, "night", started, ended, went=went)


PLANNED = (batch("master"), batch("worker"))
COMMENCING = (batch("master", "upgrading", LATER), batch("worker"))
CONTROL = (batch("master", "upgrading", LATER, COMMENCED), batch("worker"))
HALF = (batch("master", "done", LATER, COMMENCED, CONTROLLED), batch("worker"))
TAKEN = (HALF[0], batch("worker", "upgrading", CONTROLLED))
WHOLE = (HALF[0], batch("worker", "done", CONTROLLED, "", ROLLED))


def step(name: str, done: str = "", said: str = "", *, skipped: bool = False) -> Condition:
    """The condition of a step of the run."""
    state = StepState.SKIPPED if skipped else StepState.COMPLETED if done else StepState.IN_PROGRESS
    return Condition(name, "True" if done else "False", state.value, said, BEGUN, done, NOW, done or BEGUN)


def recorded(batches: tuple[BatchRecord, ...], *steps: Condition, told: str = "", **more: Any) -> Record:
    """The record of a run at work; `told` is the state of a notice that was sent."""
    events = (happened(EventKind.NOTICED, LATER, "night", f"{told}-0a1b"),) if told else ()
    whole = {"target_version": "4.18.2", "deployed_version": "4.18.1", "started": BEGUN, "updated": NOW}
    return record_of(*batches, **{**whole, "conditions": steps, "events": events, **more})


def pending(**more: Any) -> Record:
    """The record before any run."""
    start: dict[str, Any] = {"at": LATER, "end": NOW, "policy": "start_only", **more}
    return recorded(PLANNED, run="", phase=Phase.PENDING, start=Start(**start))


def completed(*steps: Condition, told: str = "", batches: tuple[BatchRecord, ...] = WHOLE) -> Record:
    """The record at the end."""
    whole = recorded(batches, *steps, told=told, phase=Phase.COMPLETED, deployed_version="4.18.2")
    return replace(whole, upgrades=(Upgrade("4.18.2", "Completed", BEGUN, DONE, preceding="4.18.1"),))
