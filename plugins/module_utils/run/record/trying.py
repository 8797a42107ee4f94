"""A step that was tried: it is done, tried again, left to the next pass, or has failed for good. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...common.verdict import Reason, State, waiting
from ..steps import means_yes
from .conditions import FailureClass, StepState

ENDING = frozenset({"stopped_by_request", "lock_lost", "orphaned"})
"""The codes of a run that is to end, or has lost its lock or its controller. It does not try again."""
SHORTEST, LONGEST = 2, 60
"""Seconds between two tries. They grow with the time that has passed, so that there are not too many tries."""
MOST = 60
"""The pauses of the longest kind within the timeout. Each try includes the next one, and ansible-core ends with a
RecursionError at a depth of about 250, after minutes of computing (executor/play_iterator.py)."""
TRIED: dict[str, Any] = {
    "type": "dict",
    "options": {
        "waits": {"type": "str", "default": ""},
        "reasons": {"type": "list", "elements": "dict", "default": []},
        "without": {"type": "str", "default": ""},
        "since": {"type": "int", "required": True},
        "failure": {"type": "dict", "default": {}},
        "timeout": {"type": "int", "default": 1800},
        "late_after": {"type": "int", "default": 0},
        "retries": {"type": "int", "default": 0},
        "retries_unreachable": {"type": "int", "default": 0},
        "before": {"type": "dict", "default": {}},
    },
}
"""The option for a step whose tasks have been run: its outcome, its limits, and the result of the try before."""
SKIPPED_NOTICE = "scale_skipped"
"""The state of the notice that the upgrade continues without a step; the only such step adds capacity."""


class Next(str, Enum):
    """What comes after a try."""

    DONE = "done"
    AGAIN = "again"
    WAITING = "waiting"
    """The next pass runs the step again."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """It has failed, and the upgrade continues without it."""


@dataclass(frozen=True)
class Try:
    """A step whose tasks have run, with what is known of its earlier tries."""

    name: str
    tried: Mapping[str, Any]
    """The option `TRIED`."""
    seconds: int
    """The time since this run started the step."""
    unfinished: int
    """How long the step has not been done, over all runs, in seconds."""
    times: int
    """How often it has failed with an error of this class; 0 if it has not failed now."""
    wait: bool
    """Whether the run tries it again; a single pass does not."""

    @property
    def failure(self) -> FailureClass | None:
        """The class of the error with which it has failed now."""
        return class_of(self.tried)

    @property
    def said(self) -> str:
        """The message of the failure, or the sentences of the step itself on what it waits for."""
        if self.failure is not None:
            return str(self.tried["failure"].get("message", ""))
        return str(self.tried["waits"]) or " ".join(self._messages(State.WAITING))

    @property
    def waits(self) -> str:
        """The reason that it is not done; empty if it is."""
        if self.failure is None:
            return self.said
        return f"It has failed {self.times} of {self._budget() + 1} times: {self.said}"

    @property
    def late(self) -> bool:
        """Whether it has taken longer than it should."""
        return bool(self.waits) and 0 < self.tried["late_after"] <= self.unfinished

    @property
    def message(self) -> str:
        """The sentence about a step that is not done."""
        return f"The step {self.name} is not done{self._late_words()}: {self.waits}"

    def reason(self) -> Reason:
        """The reason to wait for it."""
        return waiting("step_late", self.message) if self.late else waiting("step_not_done", self.message)

    def next(self) -> Next:
        """What comes now."""
        if self.failure is not None and self._is_final():
            return Next.FAILED if self.ending or not self.tried["without"] else Next.SKIPPED
        if not self.waits:
            return Next.DONE
        if not self.wait:
            return Next.WAITING
        return Next.FAILED if self.seconds >= self.tried["timeout"] else Next.AGAIN

    def state(self) -> StepState:
        """The state for the condition."""
        states = {Next.DONE: StepState.COMPLETED, Next.SKIPPED: StepState.SKIPPED}
        return states.get(self.next(), StepState.IN_PROGRESS)

    @property
    def ending(self) -> bool:
        """Whether the run is to end, or has lost its lock or its controller. Then it undoes nothing."""
        return not ENDING.isdisjoint(self.tried["failure"].get("codes") or ())

    def remarks(self) -> list[str]:
        """The remarks of the step, or the sentence that the upgrade continues without it."""
        if self.next() is Next.SKIPPED:
            return [f"The upgrade continues without {self.tried['without']}. {self.said}"]
        return self._messages(State.PASSED)

    def notice(self, noticed: bool) -> dict[str, Any]:
        """The notice that is due; empty for none, as for a step that is late and was `noticed` before."""
        if self.next() is Next.SKIPPED:
            codes = list(self.tried["failure"].get("codes") or ())
            return {"state": SKIPPED_NOTICE, "cause": self.said, "codes": codes}
        if not self.late or noticed or self.next() is not Next.AGAIN:
            return {}
        return {"state": "delayed", "cause": self.message, "codes": ["step_late"]}

    def failed(self) -> dict[str, Any]:
        """The final failure: its task, its message and its codes."""
        failure, own = self.tried["failure"], {"step": self.name, "batch": f"the step {self.name}"}
        if failure and self._is_final():
            codes = list(failure.get("codes") or ["step_failed"])
            return {**own, "task": str(failure.get("task", "")), "message": self.said, "codes": codes}
        said = f"It is not done after {self.seconds} s: {self.waits}"
        return {**own, "task": "Take the step again", "message": said, "codes": ["timed_out"]}

    def pause(self) -> int:
        """Seconds until it is tried again."""
        left = max(1, self.tried["timeout"] - self.seconds)
        longest = max(LONGEST, self.tried["timeout"] // MOST)
        return int(min(max(SHORTEST, self.seconds // 4), longest, left))

    def _is_final(self) -> bool:
        return self.times > self._budget() or self.ending

    def _messages(self, state: State) -> list[str]:
        reasons: Sequence[Mapping[str, Any]] = self.tried["reasons"]
        return [str(each["message"]) for each in reasons if each["state"] == state.value]

    def _budget(self) -> int:
        unreachable = self.failure is FailureClass.UNREACHABLE
        return int(self.tried["retries_unreachable"] if unreachable else self.tried["retries"])

    def _late_words(self) -> str:
        return f", and late after {self.unfinished} s" if self.late else ""


def class_of(tried: Mapping[str, Any]) -> FailureClass | None:
    """The class of the error with which a step has failed now; None if it has not."""
    if not tried["failure"]:
        return None
    return FailureClass.UNREACHABLE if means_yes(tried["failure"].get("unreachable")) else FailureClass.FAILED
