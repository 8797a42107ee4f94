"""The wait for a batch until it is late, for the states of systems.

A state that is given `late_in` waits no longer than that. It then notes that the batch is late, and returns the report
as `late`, which the role roll sends. Then the state runs again with that report (`late`), and waits to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..common.task import Task
from ..common.verdict import Reason, State, Verdict, combine
from .record.lateness import note_late

STATE = "delayed"
"""The state of the notice."""


class Lateness:
    """The lateness of the batch with these members, as one task sees it. The options are `late_in` and `late`."""

    def __init__(self, task: Task, members: Sequence[str]) -> None:
        self._task, self._members, self._began = task, members, task.clock.now()
        report = task.params["late"] or {}
        self._after = None if report else task.params["late_in"]
        self.before: float = report.get("seconds", 0.0)
        """The seconds that the state took until it was late."""
        self.waited_for: Verdict | None = None
        """What the batch waited for when it became late; None while it is not late."""

    def judge(self, verdict: Verdict) -> Verdict:
        """The verdict on the batch. Once the batch is late, a verdict that waits ends the wait."""
        late = self._after is not None and self._task.clock.now() - self._began >= self._after
        if verdict.state is not State.WAITING or not late:
            return verdict
        self.waited_for = verdict
        return Verdict()

    def note(self, reason: Callable[[str, str], Reason], seconds: float) -> tuple[Verdict, dict[str, Any]]:
        """Note that it is late, and give the verdict and the report. In a single pass the verdict waits.

        `reason` makes the remark from the members and from what they wait for, and `seconds` is the time that the state
        took.

        Raises:
            Refusal: the note failed because of something that ends the run, such as a lost lock.
        """
        waited_for = self.waited_for or Verdict()
        said = " ".join(each.message for each in waited_for.deciding())
        late = reason(", ".join(self._members), said)
        self._task.progress(late.message)
        noted = note_late(self._task, self._members, said)
        report = {"state": STATE, "cause": late.message, "codes": [late.code], "seconds": seconds}
        return combine((Verdict((late,)), noted, *(() if self._task.params["wait"] else (waited_for,)))), report
