# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `shard_allocation`: what an upgrade changes of allocation and recovery, and puts back."""

from __future__ import annotations

from ..common.task import Outcome, Task
from .act import allocation
from .observe.client import connect

CONTRACT = allocation.CONTRACT


def run(task: Task) -> Outcome:
    """Do what the state asks for; the second time nothing changes."""
    return allocation.carry_out(task, connect(task.params["opensearch"], task.params["kubernetes"]))
