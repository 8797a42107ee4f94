"""The work of the part `start_window`: the window for the start has not ended before the first batch.

A pass may have prepared the upgrade inside its window (spare machines, silences) and still wait at its end. The step
refuses then, and what was prepared is put back.
"""

from __future__ import annotations

from datetime import datetime, timezone

from ...common.arguments import WAIT
from ...common.task import Contract, Outcome, Task
from ...common.timestamps import utc_now
from ...common.verdict import Verdict
from ..record.phases import Deed
from .schedule import over

CONTRACT = Contract(
    argument_spec={
        **WAIT,
        "until": {"type": "int", "required": True},
        "deed": {"type": "str", "default": Deed.UPGRADE.value, "choices": [each.value for each in Deed]},
    },
)


def run(task: Task) -> Outcome:
    """Judge the present time. Nothing is changed."""
    end = datetime.fromtimestamp(task.params["until"], timezone.utc)
    ended = task.ask(utc_now) >= end
    return Outcome(Verdict((over(end, Deed(task.params["deed"])),)) if ended else Verdict())
