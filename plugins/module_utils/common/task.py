# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a piece of work is given, whether it runs in the controller process or as a shipped module."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from .errors import Refusal, refusal
from .verdict import State, Verdict, combine
from .waiting import Clock, Look, MonotonicClock, Patience, wait_for

SHORTEST_SLEEP = 0.1
"""Seconds between two looks at the least, whatever `wait_sleep` says: nobody gains from a busy loop."""


@dataclass(frozen=True)
class Contract:
    """The arguments of a module, as data: one object for the module, its action plugin and the tests."""

    argument_spec: dict[str, dict[str, Any]]
    required_if: list[tuple[Any, ...]] = field(default_factory=list)
    required_together: list[tuple[str, ...]] = field(default_factory=list)
    required_one_of: list[tuple[str, ...]] = field(default_factory=list)
    mutually_exclusive: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """The surroundings of one run of a module: arguments, modes, a voice and a clock."""

    params: Mapping[str, Any]
    check_mode: bool = False
    diff_mode: bool = False
    progress: Callable[[str], None] = lambda line: None
    warn: Callable[[str], None] = lambda line: None
    clock: Clock = field(default_factory=MonotonicClock)
    parent: int = field(default_factory=os.getppid)

    def still_wanted(self) -> None:
        """Called before every look and every act. Ansible's workers outlive a killed controller: they must not act.

        Raises:
            Refusal: the process that started this one is gone.
        """
        if os.getppid() != self.parent:
            raise refusal(
                "orphaned",
                "The controller process that started this task is gone, so the task stops without acting.",
                "Run the playbook again: it goes on where it was.",
            )

    def wait(self, look: Callable[[], Look], verdict_of: Callable[[Look], Verdict]) -> tuple[Look, Verdict]:
        """Look once (`wait: false`), or until it passes, is refused, or `wait_timeout` is over."""

        def guarded() -> Look:
            self.still_wanted()
            return look()

        if not self.params.get("wait", True):
            seen = guarded()
            return seen, verdict_of(seen)
        patience = Patience(float(self.params["wait_timeout"]), max(SHORTEST_SLEEP, float(self.params["wait_sleep"])))
        return wait_for(guarded, verdict_of, patience, self.clock, self.progress)


class Journal:
    """What was done in this task, with times: becomes `actions` in the result."""

    def __init__(self) -> None:
        self._actions: list[dict[str, Any]] = []

    def did(self, action: str, target: str, **details: Any) -> None:
        """Note an act that was made (in check mode: that would be made)."""
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._actions.append({"action": action, "target": target, "at": at, **details})

    def as_result(self) -> list[dict[str, Any]]:
        """The actions in order."""
        return list(self._actions)


@dataclass(frozen=True)
class Outcome:
    """What every module gives back, in the same words."""

    verdict: Verdict
    changed: bool = False
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] | None = None
    actions: Journal = field(default_factory=Journal)
    next: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_result(self, diff_mode: bool) -> dict[str, Any]:
        """The result of the module; a refused verdict is a failure whose `msg` holds every sentence."""
        result: dict[str, Any] = {
            "changed": self.changed,
            "verdict": self.verdict.as_result(),
            "before": dict(self.before),
            "actions": self.actions.as_result(),
            "next": self.next,
            **self.more,
        }
        if diff_mode and self.after is not None:
            result["diff"] = {"before": dict(self.before), "after": dict(self.after)}
        if self.verdict.state is State.REFUSED:
            result.update(failed=True, msg=sentences(self.verdict))
        return result


def sentences(verdict: Verdict) -> str:
    """All deciding sentences as one line; remedies that repeat are said once."""
    parts: list[str] = []
    remedies: dict[str, None] = {}
    for reason in verdict.deciding():
        parts.append(reason.message)
        remedies.update(dict.fromkeys([reason.remedy] if reason.remedy else []))
    return " ".join([*parts, *remedies])


def perform(run: Callable[[Task], Outcome], task: Task) -> dict[str, Any]:
    """Run a module's work and give its result; a `Refusal` raised anywhere becomes a failed result."""
    try:
        return run(task).as_result(task.diff_mode)
    except Refusal as error:
        return Outcome(error.verdict).as_result(task.diff_mode)


def passed_or_raise(*verdicts: Verdict) -> Verdict:
    """The combined verdict; raises `Refusal` with its refusing reasons."""
    verdict = combine(verdicts)
    if verdict.state is State.REFUSED:
        raise Refusal(*verdict.deciding())
    return verdict
