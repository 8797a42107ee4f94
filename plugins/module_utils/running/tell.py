# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of the module `tell`: a plan, the end of a run, or other lines, as plain text."""

from __future__ import annotations

from typing import Any

from ..common.task import Contract, Outcome, Task
from ..common.verdict import Verdict
from ..common.words import printable
from ..engine.ending_text import ending_lines
from ..engine.plan_text import Words, plan_lines

_TEXTS: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
_REASONS: dict[str, Any] = {"type": "list", "elements": "dict", "default": []}

CONTRACT = Contract(
    argument_spec={
        "lines": {"type": "list", "elements": "str"},
        "plan": {"type": "dict"},
        "ending": {
            "type": "dict",
            "options": {
                "target_version": {"type": "str", "required": True},
                "failures": _TEXTS,
                "failed": {"type": "bool", "default": False},
                "not_put_back": {"type": "bool", "default": False},
                "put_back": {"type": "str", "default": ""},
                "waiting": _REASONS,
                "waiting_lead": {"type": "str", "default": ""},
                "planned": {"type": "bool", "default": True},
                "found": {"type": "str", "default": ""},
                "record": {"type": "dict", "default": {}},
                "record_name": {"type": "str", "default": ""},
                "took": _REASONS,
                "remarks": _REASONS,
            },
        },
        "unit": {"type": "str", "default": "member"},
        "system": {"type": "str", "default": ""},
        "changes": _TEXTS,
        "stays": _TEXTS,
        "notes": _TEXTS,
    },
    required_one_of=[("lines", "plan", "ending")],
    mutually_exclusive=[("lines", "plan", "ending")],
    guarded=False,
)


def run(task: Task) -> Outcome:
    """Make the lines and say them."""
    params = task.params
    words = Words(params["unit"], params["system"], params["changes"], params["stays"], params["notes"])
    if params["plan"] is not None:
        lines = plan_lines(params["plan"], words)
    elif params["ending"] is not None:
        lines = ending_lines({**params["ending"], "check_mode": task.check_mode}, words)
    else:
        lines = params["lines"]
    for line in lines:
        task.voice.show(line)
    return Outcome(Verdict(), more={"lines": [printable(line) for line in lines]})
