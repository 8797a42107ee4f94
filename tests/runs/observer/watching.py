"""An observer that sees each change and each request, and collects what is wrong as sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from tests.runs.observer import acts
from tests.runs.observer.lock import Held, LockLook
from tests.runs.turns import RUN, OneRun
from tests.sandbox.kubernetes.kinds import LEASES
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request

Watcher = TypeVar("Watcher", bound="Watching[Any]")


class WithHolder(Protocol):
    """An observation, with the holder of the lock."""

    @property
    def holder(self) -> str:
        """The run that holds it; empty if none does."""


Seen = TypeVar("Seen", bound=WithHolder)


class Looks(Protocol[Seen]):
    """The looks at one cluster."""

    sight: Seen
    """The last one."""

    def note(self, change: Change) -> None:
        """A listener of the store."""

    def look(self) -> bool:
        """Look again. The result says whether anything has changed."""


@dataclass(frozen=True)
class Violation:
    """Something that must never happen."""

    rule: str
    """The name of the invariant."""
    at: float
    """Virtual seconds since the observer was made."""
    behind: str
    """Method and path of the last request before it."""
    said: str

    def __str__(self) -> str:
        return f"{self.at:.3f} s, behind {self.behind or 'no request'}: [{self.rule}] {self.said}"


class Watching(Generic[Seen]):
    """The part that the observers of all systems share. Each one looks by itself, and holds its own invariants."""

    def __init__(self, sandbox: Sandbox, looking: Looks[Seen], progress: Held) -> None:
        self._sandbox, self._store = sandbox, sandbox.kubernetes.server.store
        self._start = self._store.clock.now()
        self._behind = ""
        self._present: set[tuple[str, str]] = set()
        self.found: list[Violation] = []
        self._looking, self._fresh = looking, progress
        self._progress_of: dict[int, Held] = {}
        """The progress of each run, by its number: two of them may be at work at a time."""
        self._holders_of_lock: dict[str, OneRun] = {}
        """The runs that have written themselves into the lock, by the name that they have there."""
        self._renewed, self._lasts = float("-inf"), 0.0
        """The time at which the lock was written last, and the seconds for which it lasts since."""
        self._looking.look()
        self._number, self._began = 0, 0.0
        self._asked = self._now
        self._last_of: dict[int, Request] = {}
        self.without_lock: Sequence[OneRun] = ()
        """The runs of playbooks that only write into the record, over the version that they have read."""
        self.is_paused: Callable[[], bool] = bool
        """Whether a person has paused the upgrade."""

    @property
    def violations(self) -> list[str]:
        """All that was wrong, in its order."""
        return [str(each) for each in self.found]

    @property
    def _now(self) -> Seen:
        return self._looking.sight

    @property
    def _progress(self) -> Any:
        """That of the run that asks."""
        return self._progress_of.get(asking().number, self._fresh)

    @_progress.setter
    def _progress(self, progress: Held) -> None:
        self._progress_of[asking().number] = progress

    @property
    def _last(self) -> Request:
        """The last request of the run that asks."""
        return self._last_of.get(asking().number, Request("GET", "/"))

    def has_held(self, run: OneRun) -> bool:
        """Whether a run has ever written itself into the lock."""
        return any(each is run for each in self._holders_of_lock.values())

    def knows(self, name: str) -> bool:
        """Whether a run of this name has ever held the lock."""
        return name in self._holders_of_lock

    @property
    def is_held_by_other(self) -> bool:
        """Whether a run that is at work holds the lock, and it is not the one that asks."""
        holder = self._holders_of_lock.get(self._now.holder)
        return holder is not None and holder.is_at_work and holder is not asking()

    def note(self, change: Change) -> None:
        """Take note of a change of an object of Kubernetes."""
        self._looking.note(change)

    def look(self) -> None:
        """Look again if anything has changed."""
        if self._looking.look():
            self._judge()

    def delayed(self) -> None:
        """Time has passed between two requests of the run that asks, and not because that run has waited."""
        self._progress = replace(self._progress, held_up=self._number)

    def asked(self, request: Request) -> None:
        """A request is about to be answered. The test itself has made all changes since the last one."""
        self.look()
        self._asked, self._began = self._now, self._store.clock.now()

    def answered(self, request: Request, status: int) -> None:
        """A request was answered; see `tests.runs.calling.Watcher`."""
        before, at = self._asked, self._store.clock.now()
        self._number += 1
        changed = self._looking.look() or self._now is not before
        if changed:
            self._behind = f"{request.method} {request.path}"
        if not acts.is_of_controller(request):
            if changed and request.method not in acts.ASKING:
                self._changed_by_others(before)
        else:
            self._act(request, before, status, at)
            self._last_of[asking().number] = request
            if at != self._began or status in {0, 429} or status >= 500:
                self._progress = replace(self._progress, held_up=self._number)
            if 200 <= status < 300:
                self._saw(request, at)
        if changed:
            self._judge()
        self._asked = self._now

    def ended(self, code: int, *, target: str = "") -> None:
        """A run has ended. `target` is the version of the upgrade if it has completed it; then all is put back."""
        raise NotImplementedError

    def _act(self, request: Request, before: Seen, status: int, at: float) -> None:
        """Judge what a request of the run has done."""
        raise NotImplementedError

    def _saw(self, request: Request, at: float) -> None:
        """Note a look of the run."""
        raise NotImplementedError

    def _judge(self) -> None:
        """Hold what has to be so at every time."""
        raise NotImplementedError

    def _changed_by_others(self, before: Seen) -> None:
        """Something else than the run has changed what is seen."""

    def _is_note(self, request: Request) -> bool:
        """Whether a playbook writes what a person says into the record, which takes no lock."""
        return asking() in self.without_lock and acts.OF_RECORD.fullmatch(request.path) is not None

    def _wrote_lock(self, before: Seen, status: int, at: float) -> bool:
        """Note that a run has written the lock. The result says whether it has it since.

        The server refuses a run that writes over another version than it has read: writing is looking.
        """
        now, run = self._now, asking()
        took = bool(now.holder) and now.holder != before.holder
        former = self._holders_of_lock.get(before.holder)
        lives = former is not None and former is not run and former.is_at_work
        if took and lives and at < self._renewed + self._lasts:
            self._note("lock", [f"run {now.holder} takes the lock of {before.holder}, which is at work"])
        if now.holder and (took or 200 <= status < 300):
            self._renewed, self._lasts = at, self._seconds_of_lock(now.holder)
            self._holders_of_lock[now.holder] = self._holders_of_lock.get(now.holder, run)
            self._saw_lock(at)
        return took

    def _seconds_of_lock(self, holder: str) -> float:
        """For how long the lock lasts without being renewed; 0 where it is not a Lease."""
        found = [each["spec"] for each in self._store.each(LEASES) if each["spec"].get("holderIdentity") == holder]
        return max((float(each.get("leaseDurationSeconds") or 0) for each in found), default=0.0)

    def _saw_lock(self, at: float) -> None:
        self._progress = replace(self._progress, lock=LockLook(self._number, at, self._now.holder))

    @contextmanager
    def watching(self: Watcher) -> Iterator[Watcher]:
        """It sees each change and each request until the block ends."""
        self.attach()
        try:
            yield self
        finally:
            self.detach()

    def attach(self) -> None:
        """See each change and each request from now on."""
        self._store.listeners.append(self.note)
        self._store.clock.listeners.append(self.look)
        watchers = getattr(self._sandbox.listening, "watchers", None)
        if watchers is not None:
            watchers.append(self)

    def detach(self) -> None:
        """See nothing any more."""
        self._store.listeners.remove(self.note)
        self._store.clock.listeners.remove(self.look)
        watchers = getattr(self._sandbox.listening, "watchers", None)
        if watchers is not None:
            watchers.remove(self)

    def _keep(self, rule: str, said: Iterable[str]) -> None:
        """Note what is wrong now, once as long as it lasts."""
        present = {(rule, each) for each in said}
        self._note(rule, (each for _rule, each in sorted(present - self._present)))
        self._present = {each for each in self._present if each[0] != rule} | present

    def _note(self, rule: str, said: Iterable[str]) -> None:
        at = self._store.clock.now() - self._start
        self.found += [Violation(rule, at, self._behind, each) for each in said]


_ALONE = OneRun(0)
"""In place of a run, for requests that no run of this process makes."""


def asking() -> OneRun:
    """The run that asks."""
    return RUN.get() or _ALONE
