"""The work of the module `shard_allocation`: the changes of an upgrade to allocation and recovery, and their undo."""

from __future__ import annotations

from typing import Any

from ..common.task import Outcome, Task
from ..common.words import counted
from .act import allocation
from .observe.client import connect

CONTRACT = allocation.CONTRACT
RECOVERIES: dict[str, Any] = {"type": "int", "default": 10}
"""The option for the shards that a member may recover at a time during a run."""


def settings_of_a_run(recoveries: int) -> str:
    """The words for the settings that a run changes: restriction, rebalancing, and recoveries if they are given."""
    return counted(2 + bool(recoveries), "cluster setting")


def run(task: Task) -> Outcome:
    """Do what the option `state` says. A second run changes nothing."""
    return allocation.carry_out(task, connect(task.params["opensearch"], task.params["kubernetes"]))
