"""The verdict: what a judge says of a cluster, and why.

A judge is a pure function from an observation to a `Verdict`. It never sleeps, asks or changes anything. Most yield
their reasons, of which `as_verdict` makes the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import wraps
from typing import Any, ParamSpec

from .words import printable

Arguments = ParamSpec("Arguments")


class State(str, Enum):
    """The three things a verdict can say."""

    PASSED = "passed"
    WAITING = "waiting"
    """Time will fix it."""
    REFUSED = "refused"
    """Time will not fix it: a person has to act."""


@dataclass(frozen=True)
class Reason:
    """One thing found, in words a person can act on.

    `code` is stable; `message` is one sentence that names the thing at fault; `remedy` is one sentence that says what
    to do. `state` is what this reason alone would make of a verdict; a reason in state `passed` is a remark. The page
    docs/reference/reasons.md is made from the calls that make reasons.
    """

    state: State
    code: str
    message: str
    remedy: str = ""
    about: str = field(default="", compare=False)
    """The one thing that is waited for, if the code can mean different things one after the other; else empty."""

    def __post_init__(self) -> None:
        # Sentences quote servers, pods and other people, and go to terminals, logs, events and locks.
        for name in ("message", "remedy"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def as_result(self) -> dict[str, str]:
        """Plain data for a module's result."""
        return {"state": self.state.value, "code": self.code, "message": self.message, "remedy": self.remedy}

    def sentence(self) -> str:
        """Message and remedy as one line for people."""
        return f"{self.message} {self.remedy}".strip()


@dataclass(frozen=True)
class Verdict:
    """All reasons found; the most severe one decides the state. No reason at all means passed."""

    reasons: tuple[Reason, ...] = ()

    @property
    def state(self) -> State:
        """It is `refused` if any reason refuses, else `waiting` if any waits, else `passed`."""
        states = {reason.state for reason in self.reasons}
        for state in (State.REFUSED, State.WAITING):
            if state in states:
                return state
        return State.PASSED

    @property
    def passed(self) -> bool:
        """Whether no reason refuses or waits."""
        return self.state is State.PASSED

    def deciding(self) -> tuple[Reason, ...]:
        """The reasons in the verdict's own state; none for a verdict that passed."""
        return tuple(r for r in self.reasons if r.state is self.state and r.state is not State.PASSED)

    def without_waiting(self) -> Verdict:
        """The same reasons, but those that wait refuse."""
        reasons = (replace(r, state=State.REFUSED) if r.state is State.WAITING else r for r in self.reasons)
        return Verdict(tuple(reasons))

    def as_result(self) -> dict[str, object]:
        """Plain data for a module's result."""
        return {"state": self.state.value, "reasons": [reason.as_result() for reason in self.reasons]}


def sentence_of(reason: Mapping[str, Any]) -> str:
    """The message and the remedy of a reason in a result, as one line for people."""
    return " ".join(filter(None, (reason.get("message"), reason.get("remedy"))))


def refused(code: str, message: str, remedy: str) -> Reason:
    """A reason that stops the run until a person has acted."""
    return Reason(State.REFUSED, code, message, remedy)


def waiting(code: str, message: str, remedy: str = "", about: str = "") -> Reason:
    """A reason that time will fix."""
    return Reason(State.WAITING, code, message, remedy, about)


def remark(code: str, message: str, remedy: str = "") -> Reason:
    """Something worth saying that stops nothing."""
    return Reason(State.PASSED, code, message, remedy)


def as_verdict(judge: Callable[Arguments, Iterable[Reason]]) -> Callable[Arguments, Verdict]:
    """The judge that gives the verdict of the reasons which `judge` yields; none at all means passed."""

    @wraps(judge)
    def judged(*arguments: Arguments.args, **named: Arguments.kwargs) -> Verdict:
        return Verdict(tuple(judge(*arguments, **named)))

    return judged


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict with the reasons of all, each said once, in the order given."""
    seen: dict[Reason, None] = {}
    for verdict in verdicts:
        seen.update(dict.fromkeys(verdict.reasons))
    return Verdict(tuple(seen))
