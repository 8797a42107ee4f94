"""The surroundings of a piece of work, the same in the controller process and in a shipped module."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from .ancestry import ancestors
from .errors import Denied, Refusal, Unreachable, refusal
from .timestamps import now_text
from .verdict import State, Verdict, combine
from .voice import Lines, Stages, Voice
from .waiting import Clock, Look, MonotonicClock, Patience, Remaining, Waited, wait_for
from .words import printable_data

DENIED_PATIENCE = 120.0
"""Seconds for which a run keeps asking after a right was denied: it had all rights when it was planned."""

SHORTEST_SLEEP = 0.1
"""The least seconds between two looks, whatever `wait_sleep` says, to avoid a busy loop."""


@dataclass(frozen=True)
class Contract:
    """The arguments of a module, as data: one object for the module, its action plugin and the tests."""

    argument_spec: dict[str, dict[str, Any]]
    required_if: list[tuple[Any, ...]] = field(default_factory=list)
    required_together: list[tuple[str, ...]] = field(default_factory=list)
    required_one_of: list[tuple[str, ...]] = field(default_factory=list)
    mutually_exclusive: list[tuple[str, ...]] = field(default_factory=list)
    guarded: bool = True
    """Whether the work is done only while its run holds the lock, if one is given. False for the modules that manage
    the lock themselves."""

    def arguments(self, given: Mapping[str, Any], **own: Any) -> dict[str, Any]:
        """All arguments for a call by another module: `own` first, then those given to that module, then defaults."""
        known = {name: given.get(name, option.get("default")) for name, option in self.argument_spec.items()}
        return {**known, **own}


class Guard(Protocol):
    """The condition for every look and act, in addition to a living controller: the run holds its lock."""

    def before_look(self, doing: str, stoppable: bool) -> None:
        """Called before each look. `doing` says what is waited for, `stoppable` whether an abort may end it here."""

    def before_act(self) -> None:
        """Called immediately before each act."""


class Journal:
    """The acts of this task with their times. It becomes `actions` in the result."""

    def __init__(self, whole: Journal | None = None) -> None:
        self._actions: list[dict[str, Any]] = []
        self._whole = whole
        self.unconfirmed = False
        """Whether the answer to an act was lost, so that the act may have been made."""

    def of_part(self) -> Journal:
        """The journal of a part of the task. It has only the acts of the part, which are noted here as well."""
        return Journal(self)

    def did(self, action: str, target: str, **details: Any) -> None:
        """Note an act that was made; in check mode, one that would be made."""
        self._note({"action": action, "target": target, "at": now_text("milliseconds"), **details})

    def lost_answer(self) -> None:
        """Note that an act may have been made whose answer was lost."""
        self.unconfirmed = True
        if self._whole is not None:
            self._whole.lost_answer()

    def _note(self, act: dict[str, Any]) -> None:
        self._actions.append(act)
        if self._whole is not None:
            self._whole._note(act)

    @contextmanager
    def doing(self, *actions: tuple[str, str, Mapping[str, Any]]) -> Iterator[None]:
        """Note these (action, target, details) once this block has made them, but not if they were refused.

        If the answer was lost, they are noted with `answer: lost`, so the block must not make any other request.
        """
        lost = {}
        try:
            yield
        except Unreachable:
            self.lost_answer()
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
    """The surroundings of one run of a module: arguments, modes, a voice, a clock, and the acts so far."""

    params: Mapping[str, Any]
    check_mode: bool = False
    diff_mode: bool = False
    voice: Voice = field(default_factory=Lines)
    stages: Stages = field(default_factory=Stages)
    """The stages that are shown by their words, since they are normal."""
    warn: Callable[[str], None] = lambda line: None
    clock: Clock = field(default_factory=MonotonicClock)
    parents: tuple[str, ...] = field(default_factory=lambda: ancestors(1))
    """The processes above this one that must live on, nearest first."""
    in_controller: bool = False
    """Whether the nearest of them is the controller."""
    guard: Guard | None = None
    request_kinds: Mapping[str, Any] = field(default_factory=dict)
    """The kinds of objects of systems that hold a request, by the start of its source, see `RequestKind`."""
    request_documents: Mapping[str, Any] = field(default_factory=dict)
    """The readers of documents that are an object of a system, by its kind, see `DocumentReader` in run/start."""
    named_steps: Mapping[str, Any] = field(default_factory=dict)
    """The steps that a system has names for, by the name of the system, see `NamedSteps` in run/record."""
    request_statuses: Mapping[str, Any] = field(default_factory=dict)
    """The statuses of requests, by the name of the system, see `RequestStatus` in run/record."""
    first_answer: float | None = None
    """Seconds within which a server must accept a connection at the first look of each wait; see `Patience`."""
    tried_since: float | None = None
    """The time of its clock since which the same thing is tried, with nothing half done: each try waits for itself, and
    people read how long all of them have waited. None if every wait is a thing of its own."""
    journal: Journal = field(default_factory=Journal)
    waited: Waited = field(default_factory=Waited)

    def part(self) -> Task:
        """The same task for a part of its work. Its journal starts empty, so acts before are no changes of the part."""
        return replace(self, journal=self.journal.of_part())

    def progress(self, line: str) -> None:
        """Report that something has happened."""
        self.voice.progress(line)

    @property
    def run(self) -> str:
        """The run that this task belongs to, or empty for a task that belongs to none."""
        return str((self.params.get("lock") or {}).get("run") or "")

    def still_wanted(self) -> None:
        """Called immediately before every act. Ansible's workers outlive a killed controller: they must not act.

        Raises:
            Refusal: a process above this one is gone, or another run holds the lock.
        """
        self._not_orphaned()
        if self.guard is not None:
            self.guard.before_act()

    def act(self, action: str, target: str, do: Callable[[], object]) -> None:
        """Make one change, and note it in the journal. In check mode it is only noted.

        Raises:
            Refusal: for the reasons of `still_wanted`, or whatever `do` raises.
        """
        self.still_wanted()
        with self.journal.doing((action, target, {})):
            if not self.check_mode:
                do()

    def may_look(self, stoppable: bool = False) -> None:
        """Called before every look.

        Raises:
            Refusal: for the reasons of `still_wanted`; or someone asked the run to stop, and this look is `stoppable`.
        """
        self._not_orphaned()
        if self.guard is not None:
            self.guard.before_look(self.waited.present, stoppable)

    def verdict_of(self, error: Refusal) -> Verdict:
        """The verdict of a failure. In a single pass (`wait: false`), the next pass waits for an unreachable API."""
        one_pass = self.params.get("wait", True) is False
        return error.as_waiting() if one_pass and isinstance(error, Unreachable) else error.verdict

    def _not_orphaned(self) -> None:
        if ancestors(len(self.parents)) != self.parents:
            raise refusal(
                "orphaned",
                "The controller process that started this task is gone, so the task stops without acting.",
                "Run the playbook again: it continues where it was.",
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
        """Look once (`wait: false`), or until the verdict passes or is refused, or `wait_timeout` is over.

        `stoppable` says that nothing is half done here, so an abort may end the wait. See `Patience` for `pace`.
        A verdict that still waits is given as it is after `hands_back_after` seconds with an answer, or at once if
        waiting is `in_vain` (see `Patience`). With `remaining`, `wait_timeout` counts from the last progress, and
        `wait_limit` from the start.
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
        patience = Patience(
            timeout,
            sleep,
            pace,
            limit=self.params.get("wait_limit"),
            remaining=remaining,
            stages=self.stages,
            first_answer=self.first_answer,
        )
        if hands_back_after is not None and hands_back_after <= timeout:
            patience = Patience(timeout, sleep, pace, hands_back_after=hands_back_after, in_vain=in_vain)
        patience = self._shown_since(patience, stoppable)
        return wait_for(guarded, verdict_of, patience, self.clock, self.voice, self.waited)

    def wait_apart(
        self,
        look: Callable[[], Look],
        verdict_of: Callable[[Look], Verdict],
        patience: Patience,
        stoppable: bool = False,
    ) -> tuple[Look, Verdict]:
        """The same with its own patience, whatever the options of the task say."""

        def guarded() -> Look:
            self.may_look(stoppable)
            return look()

        patience = self._shown_since(patience, stoppable)
        return wait_for(guarded, verdict_of, patience, self.clock, self.voice, self.waited)

    def _shown_since(self, patience: Patience, stoppable: bool) -> Patience:
        return replace(patience, since=self.tried_since) if stoppable and self.tried_since is not None else patience

    def settled(self, step: Callable[[], Outcome], stoppable: bool = False) -> Outcome:
        """The outcome of a step that is repeated until it no longer waits. If time runs out first, it is refused."""
        done, verdict = self.wait(step, lambda outcome: outcome.verdict, stoppable)
        return replace(done, verdict=verdict)

    def ask(self, question: Callable[[], Look]) -> Look:
        """The answer to a question, waiting until the server gives one."""
        return self.wait(question, lambda _answer: Verdict())[0]


@dataclass(frozen=True)
class Outcome:
    """The result of every module, in the same words."""

    verdict: Verdict
    changed: bool = False
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] | None = None
    next: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    details: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    """Further things before and after, only for diff mode."""

    def as_result(self, task: Task) -> dict[str, Any]:
        """The result of the module; a refused verdict is a failure whose `msg` has a line for each reason."""
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
            before, after = self.details
            result["diff"] = {"before": {**self.before, **before}, "after": {**self.after, **after}}
        # Texts from a cluster go to terminals, and into tables where an extra line could forge an entry.
        cleaned: dict[str, Any] = printable_data(result)
        if self.verdict.state is State.REFUSED:
            cleaned.update(failed=True, msg=sentences(self.verdict))
        return cleaned


def sentences(verdict: Verdict) -> str:
    """One line for each deciding reason: the cause, followed by its fix."""
    return "\n".join(dict.fromkeys(reason.sentence() for reason in verdict.deciding()))


def attempt(run: Callable[[Task], Outcome], task: Task) -> Outcome:
    """The outcome of the work. A `Refusal` becomes its verdict; it has changed something if acts were noted before."""
    before = len(task.journal.as_result())
    try:
        return run(task)
    except Refusal as error:
        return Outcome(task.verdict_of(error), changed=len(task.journal.as_result()) > before)


def perform(run: Callable[[Task], Outcome], task: Task) -> dict[str, Any]:
    """Run a module's work and give its result; a `Refusal` raised anywhere becomes a failed result."""
    return attempt(run, task).as_result(task)


def so_far(task: Task) -> dict[str, Any]:
    """The result of a task that ends in an unforeseen way: it names at least the acts until then."""
    actions = json.loads(json.dumps(task.journal.as_result(), default=str))
    changed = bool(actions) or task.journal.unconfirmed
    return {"changed": changed, "actions": printable_data(actions), "waited": printable_data(task.waited.as_result())}


def passed_or_raise(*verdicts: Verdict) -> Verdict:
    """The combined verdict; raises `Refusal` with its refusing reasons."""
    verdict = combine(verdicts)
    if verdict.state is State.REFUSED:
        raise Refusal(*verdict.deciding())
    return verdict
