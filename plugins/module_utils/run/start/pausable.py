"""A gate that ends if a person pauses the upgrade while it waits: its record is read now and then.

At a wait that an abort may end, nothing is half done, so a pause may end it, too. The verdict of such a gate waits, as
in a single pass: the batch is held up, everything is put back, and the run ends Paused. No upgrade needs its record,
so one that cannot be read pauses nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ...common.errors import Refusal
from ...common.task import Guard, Task
from ...common.timestamps import now_text
from ..record.kept_in import store_of
from .approvals import Hold, judge_hold, with_annotations

BETWEEN_READS = 10.0
"""Seconds between two reads of the record. The first comes so long after the start of the task: the start of the batch
has read it."""


class PausableGate:
    """The guard of a gate, on top of another one."""

    def __init__(self, below: Guard, task: Task) -> None:
        """The option `lock` of the task names the record and its place."""
        self._below, self._task = below, task
        self._read_at = task.clock.now()

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        self._below.before_look(doing, stoppable)
        if not stoppable or self._task.clock.now() - self._read_at < BETWEEN_READS:
            return
        verdict = judge_hold(self._hold())
        self._read_at = self._task.clock.now()
        if not verdict.passed:
            raise Refusal(*verdict.reasons)

    def before_act(self) -> None:
        """See `Guard`."""
        self._below.before_act()

    def _hold(self) -> Hold | None:
        """The pause in the record, or in its annotations, which count even if nothing else can be read."""
        params, lock = self._task.params, self._task.params["lock"]
        place: dict[str, Any] = {"namespace": lock["namespace"], "kubernetes": params["kubernetes"]}
        place |= {"record_kept_in": lock["record"]["kept_in"], "record_path": lock["record"]["path"]}
        hold, kept = None, None
        with suppress(Refusal):
            kept = store_of(place).read(lock["name"])
        if kept is None:
            return None
        with suppress(Refusal):
            hold = kept.record().hold
        return with_annotations(hold, (), kept.annotations, now_text(), ())[0]
