# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `shard_allocation`: the changes of an upgrade to allocation and recovery, and their undo."""

from __future__ import annotations

from ..common.task import Outcome, Task
from .act import allocation
from .observe.client import connect

CONTRACT = allocation.CONTRACT


def run(task: Task) -> Outcome:
    """Bring about the state that is asked for. A second run changes nothing."""
    return allocation.carry_out(task, connect(task.params["opensearch"], task.params["kubernetes"]))
