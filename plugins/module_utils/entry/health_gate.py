# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `cluster_health_gate`: the gate of the subject that is asked for."""

from __future__ import annotations

from dataclasses import replace

from ..common.task import Outcome, Task
from ..longhorn import health_gate as longhorn
from ..longhorn.observe.kinds import NAMESPACE
from ..opensearch import health_gate as opensearch

CONTRACT = replace(
    opensearch.CONTRACT,
    argument_spec={
        **opensearch.CONTRACT.argument_spec,
        "subject": {"type": "str", "default": "opensearch", "choices": ["opensearch", "longhorn"]},
        "namespace": {"type": "str", "default": NAMESPACE},
    },
)


def run(task: Task) -> Outcome:
    """Judge the subject."""
    return {"opensearch": opensearch.run, "longhorn": longhorn.run}[task.params["subject"]](task)
