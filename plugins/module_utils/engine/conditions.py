# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conditions of an upgrade, one for each of its steps: how far it came when it was last looked at. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ..common.reading import Json, one_of, text
from ..common.words import shortened

LONGEST = 1000
"""Characters of a message that are kept."""


class StepState(str, Enum):
    """The state of a step."""

    STARTED = "started"
    IN_PROGRESS = "in_progress"
    """It is not done, or it has failed; the next pass takes it again."""
    COMPLETED = "completed"


@dataclass(frozen=True)
class Condition:
    """The condition of one step, in the words of Kubernetes. Moments are texts; one that has not come is empty."""

    type: str
    """The name of the step."""
    status: str
    """`True` if the step is completed, else `False`."""
    reason: str
    """The state of the step."""
    message: str
    start_time: str
    """The moment at which it was first begun in this upgrade."""
    complete_time: str
    """The moment since which it is completed."""
    last_probe_time: str
    """The moment at which it was last looked at."""
    last_transition_time: str
    """The moment at which its status last changed."""


def after_step(
    conditions: Sequence[Condition], name: str, state: StepState, message: str, at: str
) -> tuple[Condition, ...]:
    """The conditions once a step has come to a state.

    A pass takes every step again. So a step that is started again and was completed stays so until it is known to be
    otherwise.
    """
    before = next((each for each in conditions if each.type == name), None)
    if before is None:
        before = Condition(name, "False", StepState.STARTED.value, "", at, "", at, at)
        conditions = (*conditions, before)
    if state is StepState.STARTED and before.status == "True":
        after = replace(before, last_probe_time=at)
    else:
        status = "True" if state is StepState.COMPLETED else "False"
        changed = status != before.status
        after = replace(
            before,
            status=status,
            reason=state.value,
            message=shortened(message, LONGEST),
            complete_time=(at if changed else before.complete_time) if status == "True" else "",
            last_probe_time=at,
            last_transition_time=at if changed else before.last_transition_time,
        )
    return tuple(after if each.type == name else each for each in conditions)


def parse_condition(raw: Json) -> Condition:
    """The condition that a record keeps."""
    return Condition(
        type=text(raw, "type"),
        status=one_of(raw, "status", ("True", "False")),
        reason=one_of(raw, "reason", [each.value for each in StepState]),
        message=text(raw, "message", ""),
        start_time=text(raw, "start_time"),
        complete_time=text(raw, "complete_time", ""),
        last_probe_time=text(raw, "last_probe_time"),
        last_transition_time=text(raw, "last_transition_time"),
    )
