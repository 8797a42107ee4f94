"""Threads of which one runs at a time. Virtual time alone decides which one, so that each run happens in one way only.

A thread that sleeps wakes at its own time, whatever others do: the waits of threads go on at the same time.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:  # this file is read before the collection can be found
    from tests.sandbox.sandbox import SharedClock


class Killed(BaseException):
    """The controller is killed here."""


@dataclass(eq=False)
class OneRun:
    """A run in this process, which counts as a process of its own."""

    number: int
    lines: list[str] = field(default_factory=list)
    """The lines that it has shown, if it runs without the executor of ansible-core."""
    with_executor: bool = False
    killed: bool = False
    ended: bool = False
    machine: str = ""
    """The machine on which it runs, if it is another one than that of the tests."""

    @property
    def is_at_work(self) -> bool:
        """Whether it may still ask something."""
        return not (self.killed or self.ended)

    def lives(self) -> None:
        """Raises Killed if it was killed."""
        if self.killed:
            raise Killed


RUN: contextvars.ContextVar[OneRun | None] = contextvars.ContextVar("RUN", default=None)
"""The run to which this thread belongs; the threads that it starts belong to it, too."""


def lives() -> None:
    """Raises Killed if this thread belongs to a run that was killed."""
    run = RUN.get()
    if run is not None:
        run.lives()


def kill() -> None:
    """Kill the run to which this thread belongs: nothing that its threads do from now on is done."""
    run = RUN.get()
    if run is not None:
        run.killed = True


class _Call:
    """A thread waits to be called once. A bare lock, since there are thousands in a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()  # pylint: disable=consider-using-with
        self.wait = self._lock.acquire
        self.set = self._lock.release


class _Worker:
    """Threads that are kept for the next work, since to start one costs more than most of what they do."""

    _idle: ClassVar[list[_Worker]] = []

    def __init__(self) -> None:
        self._called = _Call()
        self._work: Callable[[], object] = lambda: None
        threading.Thread(target=self._go_on, daemon=True).start()

    @classmethod
    def do(cls, work: Callable[[], object]) -> None:
        """Have a thread do this, with the context of the caller."""
        worker = cls._idle.pop() if cls._idle else cls()
        worker._work = partial(contextvars.copy_context().run, work)
        worker._called.set()

    def _go_on(self) -> None:
        while True:
            self._called.wait()
            self._work()
            self._work = lambda: None
            self._idle.append(self)


@dataclass
class _Waiting:
    """A thread that does not run now."""

    wakes: float
    number: int
    """Of those that wake at the same time, the one that has waited for longer goes first."""
    is_over: Callable[[], bool] | None = None
    """The thread goes on as soon as this holds, and not at a time of its own."""
    called: _Call = field(default_factory=_Call)


class Turns:
    """A clock whose sleepers take turns, in the place of that of a sandbox."""

    def __init__(self, clock: SharedClock) -> None:
        self._clock = clock
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()

    def now(self) -> float:
        """The present time."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Let other threads run, and go on at its own time. Raises Killed if its run was killed until then."""
        lives()
        if self._waiting:
            self._goes_on(self._queued(seconds))
        else:
            self._clock.sleep(seconds)
        lives()

    def queued(self, work: Callable[[], None]) -> None:
        """Have a thread that does this in its turn."""
        own = self._queued(0.0)

        def take_turn() -> None:
            own.called.wait()
            work()
            self._next()

        _Worker.do(take_turn)

    def until(self, is_over: Callable[[], bool]) -> None:
        """Let the other threads run until this holds.

        Raises:
            RuntimeError: no thread is left that could change it.
        """
        if is_over():
            return
        if self._earliest() is None:
            raise RuntimeError("A thread waits for something that no other one does.")
        own = _Waiting(math.inf, next(self._numbers), is_over)
        self._waiting.append(own)
        self._goes_on(own)

    def _queued(self, seconds: float) -> _Waiting:
        own = _Waiting(self.now() + seconds, next(self._numbers))
        self._waiting.append(own)
        return own

    def _goes_on(self, own: _Waiting) -> None:
        self._next()
        own.called.wait()

    def _earliest(self) -> _Waiting | None:
        """The thread that goes on next; none if each one waits for another."""
        over = [each for each in self._waiting if each.is_over is not None and each.is_over()]
        asleep = [each for each in self._waiting if each.is_over is None]
        return min(over or asleep, key=lambda each: (each.wakes, each.number), default=None)

    def _next(self) -> None:
        chosen = self._earliest()
        if chosen is None:
            return
        self._waiting.remove(chosen)
        if chosen.is_over is None and chosen.wakes > self.now():
            self._clock.sleep(chosen.wakes - self.now())
        chosen.called.set()


class PoolOfTurns:
    """In the place of `concurrent.futures.ThreadPoolExecutor`."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._futures: list[Future[Any]] = []

    def __enter__(self) -> PoolOfTurns:
        return self

    def __exit__(self, *_: object) -> None:
        self._turns.until(lambda: all(each.done() for each in self._futures))

    def submit(self, work: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        """See `concurrent.futures.Executor`."""
        future: Future[Any] = _FutureInTurn(self._turns)
        self._futures.append(future)

        def done() -> None:
            try:
                future.set_result(work(*arguments, **named))
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
                with contextlib.suppress(Exception):
                    future.set_exception(error)

        self._turns.queued(done)
        return future

    def map(self, work: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
        """See `concurrent.futures.Executor`."""
        futures = [self.submit(work, *each) for each in zip(*arguments, strict=False)]
        return (each.result() for each in futures)


class _FutureInTurn(Future[Any]):
    def __init__(self, turns: Turns) -> None:
        super().__init__()
        self._turns = turns

    def result(self, timeout: float | None = None) -> Any:
        """See `concurrent.futures.Future`."""
        self._turns.until(self.done)
        return super().result(timeout)
