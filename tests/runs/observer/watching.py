"""An observer that sees each change and each request, and collects what is wrong as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from tests.sandbox.kubernetes.store import Change
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request

Watcher = TypeVar("Watcher", bound="Watching")


@dataclass(frozen=True)
class Violation:
    """Something that may never be."""

    rule: str
    """The name of the invariant."""
    at: float
    """Virtual seconds since the observer was made."""
    behind: str
    """Method and path of the last request before it."""
    said: str

    def __str__(self) -> str:
        return f"{self.at:.3f} s, behind {self.behind or 'no request'}: [{self.rule}] {self.said}"


class Watching:
    """The part that the observers of all systems share. Each one looks by itself, and holds its own invariants."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self._store = sandbox, sandbox.kubernetes.server.store
        self._start = self._store.clock.now()
        self._behind = ""
        self._present: set[tuple[str, str]] = set()
        self.found: list[Violation] = []

    @property
    def violations(self) -> list[str]:
        """All that was wrong, in its order."""
        return [str(each) for each in self.found]

    def note(self, change: Change) -> None:
        """Take note of a change of an object of Kubernetes."""
        raise NotImplementedError

    def look(self) -> None:
        """Look again if anything has changed."""
        raise NotImplementedError

    def asked(self, request: Request) -> None:
        """A request is about to be answered; see `tests.runs.calling.Watcher`."""
        raise NotImplementedError

    def answered(self, request: Request, status: int) -> None:
        """A request was answered; see `tests.runs.calling.Watcher`."""
        raise NotImplementedError

    def ended(self, code: int, *, target: str = "") -> None:
        """A run has ended. `target` is the version of the upgrade if it has completed it; then all is put back."""
        raise NotImplementedError

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
