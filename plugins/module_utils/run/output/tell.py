"""The work of the part `tell`: the end of a run, or other lines, as plain text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...common.errors import Refusal
from ...common.task import Contract, Outcome, Task
from ...common.verdict import Verdict
from ...common.words import printable
from ..record.record import Record
from ..record.record_reading import parse_record
from .ending_text import Ending, ending_lines
from .plan_text import DEEDS, UPGRADE, Words

_TEXTS: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
_REASONS: dict[str, Any] = {"type": "list", "elements": "dict", "default": []}

CONTRACT = Contract(
    argument_spec={
        "lines": {"type": "list", "elements": "str"},
        "ending": {
            "type": "dict",
            "options": {
                "target_version": {"type": "str", "required": True},
                "failures": _TEXTS,
                "failed": {"type": "bool", "default": False},
                "aborted": {"type": "bool", "default": False},
                "not_put_back": {"type": "bool", "default": False},
                "remains": {"type": "bool", "default": False},
                "put_back": {"type": "str", "default": ""},
                "waiting": _REASONS,
                "waiting_lead": {"type": "str", "default": ""},
                "planned": {"type": "bool", "default": True},
                "found": {"type": "str", "default": ""},
                "record": {"type": "dict", "default": {}},
                "record_name": {"type": "str", "default": ""},
                "took": _REASONS,
                "outdated": _TEXTS,
                "remarks": _REASONS,
            },
        },
        "last_words": {"type": "str", "default": ""},
        "unit": {"type": "str", "default": "member"},
        "deed": {"type": "str", "default": UPGRADE, "choices": [*DEEDS]},
    },
    required_one_of=[("lines", "ending")],
    mutually_exclusive=[("lines", "ending")],
    guarded=False,
)


def run(task: Task) -> Outcome:
    """Make the lines and show them. With last words, the task then fails."""
    params = task.params
    if params["ending"] is None:
        lines = params["lines"]
    else:
        facts = {**params["ending"], "record": _record(params["ending"]["record"])}
        words = Words(params["unit"], deed=params["deed"])
        lines = ending_lines(Ending(**facts, check_mode=task.check_mode), words)
    for line in lines:
        task.voice.show(line)
    failure = {"failed": True, "msg": params["last_words"]} if params["last_words"] else {}
    return Outcome(Verdict(), more={"lines": [printable(line) for line in lines], **failure})


def _record(given: Mapping[str, Any]) -> Record | None:
    """The record that the end of the run has written; None if there is none. An unreadable one is no error."""
    try:
        return parse_record(json.dumps(given), "the option ending.record") if given else None
    except Refusal:
        return None
