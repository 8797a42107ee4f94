# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a piece of work is given, whether it runs in the controller process or as a shipped module."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from .ancestry import ancestors
from .errors import Denied, Refusal, Unreachable, refusal
from .moments import now_text
from .verdict import State, Verdict, combine
from .waiting import Clock, Look, MonotonicClock, Patience, Remaining, Waited, wait_for
from .words import printable_data

DENIED_PATIENCE = 120.0
"""Seconds that a run, whose rights were asked for when it was planned, goes on asking after it was denied one."""

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
    guarded: bool = True
    """Whether the work is done only while its run holds the lock, where one is given; not what manages the lock."""

    def arguments(self, given: Mapping[str, Any], **own: Any) -> dict[str, Any]:
        """All arguments of this module, asked by another: its own, those that the other was given, or the defaults."""
        known = {name: given.get(name, option.get("default")) for name, option in self.argument_spec.items()}
        return {**known, **own}


class Guard(Protocol):
    """What has to hold before a look or an act beside the life of the controller: the lock of the run."""

    def before_look(self, doing: str, stoppable: bool) -> None:
        """Asked before each look; `doing` is what is waited for, `stoppable` whether an abort may end it here."""

    def before_act(self) -> None:
        """Asked immediately before each act."""


class Journal:
    """What was done in this task, with times: becomes `actions` in the result."""

    def __init__(self) -> None:
        self._actions: list[dict[str, Any]] = []
        self.unconfirmed = False
        """Whether the answer to an act was lost, so that it may have been made."""

    def did(self, action: str, target: str, **details: Any) -> None:
        """Note an act that was made (in check mode: that would be made)."""
        self._actions.append({"action": action, "target": target, "at": now_text("milliseconds"), **details})

    @contextmanager
    def doing(self, *actions: tuple[str, str, Mapping[str, Any]]) -> Iterator[None]:
        """Note these (action, target, details) once this block has made them; not where they were refused.

        Where the answer was lost they are noted as that. So nothing else may be asked in the block.
        """
        lost = {}
        try:
            yield
        except Unreachable:
            self.unconfirmed = True
            lost = {"answer": "lost"}
            raise
        except Refusal:
            actions = ()
            raise
        finally:
            for action, target, details in actions:
                self.did(action, target, **details, **lost)

    def as_result(self) -> list[dict[str, Any]]:
        """The actions in order."""
        return list(self._actions)


@dataclass(frozen=True)
class Task:
    """The surroundings of one run of a module: arguments, modes, a voice, a clock, and what was done so far."""

    params: Mapping[str, Any]
    check_mode: bool = False
    diff_mode: bool = False
    progress: Callable[[str], None] = lambda line: None
    warn: Callable[[str], None] = lambda line: None
    clock: Clock = field(default_factory=MonotonicClock)
    parents: tuple[str, ...] = field(default_factory=lambda: ancestors(1))
    """The processes above this one that must live on, nearest first."""
    in_controller: bool = False
    """Whether the nearest of them is the controller."""
    guard: Guard | None = None
    journal: Journal = field(default_factory=Journal)
    waited: Waited = field(default_factory=Waited)

    @property
    def run(self) -> str:
        """The run that this task belongs to; empty for a task of its own."""
        return str((self.params.get("lock") or {}).get("run") or "")

    def still_wanted(self) -> None:
        """Called immediately before every act. Ansible's workers outlive a killed controller: they must not act.

        Raises:
            Refusal: a process above this one is gone, or another run holds the lock.
        """
        self._not_orphaned()
        if self.guard is not None:
            self.guard.before_act()

    def may_look(self, stoppable: bool = False) -> None:
        """Called before every look.

        Raises:
            Refusal: as `still_wanted`; or somebody asked the run to stop, and this look is `stoppable`.
        """
        self._not_orphaned()
        if self.guard is not None:
            self.guard.before_look(self.waited.present, stoppable)

    def verdict_of(self, error: Refusal) -> Verdict:
        """What is said of a failure: in one pass (`wait: false`) an API out of reach is waited for by the next pass."""
        one_pass = self.params.get("wait", True) is False
        return error.as_waiting() if one_pass and isinstance(error, Unreachable) else error.verdict

    def _not_orphaned(self) -> None:
        if ancestors(len(self.parents)) != self.parents:
            raise refusal(
                "orphaned",
                "The controller process that started this task is gone, so the task stops without acting.",
                "Run the playbook again: it goes on where it was.",
            )

    def wait(
        self,
        look: Callable[[], Look],
        verdict_of: Callable[[Look], Verdict],
        stoppable: bool = False,
        pace: float = 0.0,
        hands_back_after: float | None = None,
        in_vain: Callable[[], bool] | None = None,
        remaining: Callable[[Look], Remaining] | None = None,
    ) -> tuple[Look, Verdict]:
        """Look once (`wait: false`), or until it passes, is refused, or `wait_timeout` is over.

        `stoppable` says that nothing is in between: an abort may end the wait here. `pace` see `Patience`. After
        `hands_back_after` seconds with an answer a verdict that is still waiting is given as it is, and at once where
        waiting is `in_vain` (see `Patience`). With `remaining`, `wait_timeout` counts from the last progress, and
        `wait_limit` from the beginning.
        """

        denied_since: list[float] = []

        def guarded() -> Look:
            try:
                self.may_look(stoppable)
                seen = look()
                denied_since.clear()
                return seen
            except Denied as error:
                denied_since.append(self.clock.now())
                if not self.run or self.clock.now() - denied_since[0] > DENIED_PATIENCE:
                    raise
                raise Unreachable(*error.verdict.reasons) from error

        if not self.params.get("wait", True):
            seen = guarded()
            return seen, verdict_of(seen)
        sleep, timeout = max(SHORTEST_SLEEP, float(self.params["wait_sleep"])), float(self.params["wait_timeout"])
        patience = Patience(timeout, sleep, pace, limit=self.params.get("wait_limit"), remaining=remaining)
        if hands_back_after is not None and hands_back_after <= timeout:
            patience = Patience(timeout, sleep, pace, hands_back_after=hands_back_after, in_vain=in_vain)
        return wait_for(guarded, verdict_of, patience, self.clock, self.progress, self.waited)


@dataclass(frozen=True)
class Outcome:
    """What every module gives back, in the same words."""

    verdict: Verdict
    changed: bool = False
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] | None = None
    next: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def as_result(self, task: Task) -> dict[str, Any]:
        """The result of the module; a refused verdict is a failure whose `msg` holds every sentence."""
        result: dict[str, Any] = {
            "changed": self.changed or task.journal.unconfirmed,
            "verdict": self.verdict.as_result(),
            "before": dict(self.before),
            "actions": task.journal.as_result(),
            "waited": task.waited.as_result(),
            "next": self.next,
            **self.more,
        }
        if task.diff_mode and self.after is not None:
            result["diff"] = {"before": dict(self.before), "after": dict(self.after)}
        if self.verdict.state is State.REFUSED:
            result.update(failed=True, msg=sentences(self.verdict))
        # What is told of a cluster goes to terminals, and into tables that a line more could forge.
        cleaned: dict[str, Any] = printable_data(result)
        return cleaned


def sentences(verdict: Verdict) -> str:
    """All deciding sentences as one line; remedies that repeat are said once."""
    parts: list[str] = []
    remedies: dict[str, None] = {}
    for reason in verdict.deciding():
        parts.append(reason.message)
        remedies.update(dict.fromkeys([reason.remedy] if reason.remedy else []))
    return " ".join([*parts, *remedies])


def attempt(run: Callable[[Task], Outcome], task: Task) -> Outcome:
    """What the work gives; a `Refusal` raised in it is its verdict, and acts that it has noted until then a change."""
    before = len(task.journal.as_result())
    try:
        return run(task)
    except Refusal as error:
        return Outcome(task.verdict_of(error), changed=len(task.journal.as_result()) > before)


def perform(run: Callable[[Task], Outcome], task: Task) -> dict[str, Any]:
    """Run a module's work and give its result; a `Refusal` raised anywhere becomes a failed result."""
    return attempt(run, task).as_result(task)


def so_far(task: Task) -> dict[str, Any]:
    """What a task tells that ends in a way nobody has foreseen: at least what it did until then."""
    actions = json.loads(json.dumps(task.journal.as_result(), default=str))
    changed = bool(actions) or task.journal.unconfirmed
    return {"changed": changed, "actions": printable_data(actions), "waited": printable_data(task.waited.as_result())}


def passed_or_raise(*verdicts: Verdict) -> Verdict:
    """The combined verdict; raises `Refusal` with its refusing reasons."""
    verdict = combine(verdicts)
    if verdict.state is State.REFUSED:
        raise Refusal(*verdict.deciding())
    return verdict
