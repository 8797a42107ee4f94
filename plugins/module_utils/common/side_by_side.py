"""Parts of one task that run at the same time, each waiting for another server; or one long request during
which the task watches its lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from .errors import refusal
from .task import Guard, Outcome, Task, attempt
from .verdict import Reason, Verdict
from .voice import Voice, Waiting
from .waiting import Patience, Waited

Answer = TypeVar("Answer")

BREATH = 0.25
"""Seconds between two checks whether an answer has come."""


@dataclass(frozen=True)
class ParallelWork:
    """A piece of work and its arguments."""

    run: Callable[[Task], Outcome]
    params: Mapping[str, Any]


class _UntilStopped:
    """The guard of the task, which also refuses once all parts have to stop."""

    def __init__(self, stopped: Event, guard: Guard | None) -> None:
        self._stopped = stopped
        self._guard = guard

    def before_look(self, doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        self._unless_stopped()
        if self._guard is not None:
            self._guard.before_look(doing, stoppable)

    def before_act(self) -> None:
        """See `Guard`."""
        self._unless_stopped()
        if self._guard is not None:
            self._guard.before_act()

    def _unless_stopped(self) -> None:
        if self._stopped.is_set():
            raise refusal("interrupted", "The task was interrupted.", "Run again.")


class _OneAtATime:
    """The voice of the task, for one part at a time."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._speaking = Lock()

    def progress(self, line: str) -> None:
        """See `Voice`."""
        with self._speaking:
            self._voice.progress(line)

    def done(self, line: str) -> None:
        """See `Voice`."""
        with self._speaking:
            self._voice.done(line)

    def waits(self, waiting: Waiting) -> None:
        """See `Voice`."""
        with self._speaking:
            self._voice.waits(waiting)

    def show(self, line: str) -> None:
        """See `Voice`."""
        with self._speaking:
            self._voice.show(line)


def side_by_side(task: Task, parts: Sequence[ParallelWork]) -> list[Outcome]:
    """The outcome of each part, in their order; a `Refusal` raised in a part is its verdict.

    All parts share the journal of the task, so `changed` of a refused part may come from an act of another part.

    An interruption of the task (a signal, its timeout) stops every part before its next look or act, and is then
    raised again.
    """
    stopped, voice = Event(), _OneAtATime(task.voice)

    def begin(part: ParallelWork) -> tuple[Outcome, Waited]:
        own = replace(task, params=part.params, voice=voice, guard=_UntilStopped(stopped, task.guard), waited=Waited())
        return attempt(part.run, own), own.waited

    with ThreadPoolExecutor(max_workers=max(1, len(parts))) as pool:
        try:
            done = [future.result() for future in [pool.submit(begin, part) for part in parts]]
        except BaseException:
            stopped.set()
            raise
    task.waited.also([waited for _outcome, waited in done])
    return [outcome for outcome, _waited in done]


def answered(task: Task, ask: Callable[[], Answer], reason: Reason) -> Answer:
    """The answer to one long request. Until then, the task checks its lock, and shows `reason` as what it waits for.

    If the task ends first (for example by an abort), the server continues with the request.

    Raises:
        Refusal: `ask` raised it, or the run may not continue.
    """
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the task
            failures.append(error)

    asking = Thread(target=work, daemon=True)
    asking.start()

    def is_over() -> bool:
        asking.join(BREATH)
        return not asking.is_alive()

    announced = Verdict((reason,))
    patience = Patience(float("inf"), BREATH)
    task.wait_apart(is_over, lambda over: Verdict() if over else announced, patience, stoppable=True)
    for failure in failures:
        raise failure
    return answers[0]
