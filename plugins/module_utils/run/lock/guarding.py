"""The guard of a task: its run must still hold the lock, which is renewed now and then, and before the first act."""

from __future__ import annotations

from dataclasses import replace

from ...common.task import Guard, Task
from ...monitoring.alert_silence import alertmanager_of
from ...monitoring.silence_renewal import SilenceRenewal
from ..start.pausable import PausableGate
from .held_lock import HeldLock, processes_of
from .lock import StoreOf


def under_lock(task: Task, store_of: StoreOf) -> Task:
    """The same task, which checks the lock before its looks and acts, and renews its silences.

    A lock that names the record is that of a gate, which a pause ends.
    """
    guard: Guard = HeldLock(store_of(task.params), task.run, task.clock, processes_of(task))
    if task.params["lock"].get("record"):
        guard = PausableGate(guard, task)
    if (task.params.get("alertmanager") or {}).get("url"):
        guard = SilenceRenewal(guard, alertmanager_of(task.params), task.clock)
    return replace(task, guard=guard)
