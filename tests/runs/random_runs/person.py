"""A person who aborts, pauses or settles the upgrade of a story while it goes on, and has it resumed later."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.runs import chosen, executor
from tests.runs.driver import BegunHere
from tests.runs.observer.watching import Watching
from tests.runs.turns import OneRun
from tests.scenarios.playbook import Played

ABORT, PAUSE, RESUME, SETTLE = (f"stateful.upgrade.{name}" for name in ("abort", "pause", "resume", "settle"))
WITHOUT_LOCK = (PAUSE, RESUME)
HELD = ('"aborted_on_request"', '"paused_on_request"', "until the playbook resume has run")
"""The words of the end of a run that a person has to let go on."""


class Person:
    """The playbooks that one person runs next to the upgrade."""

    def __init__(
        self,
        given: Mapping[str, Any],
        left: Callable[[], Iterable[str]] = tuple,
        arguments: Sequence[str] = (),
        after: Collection[str] = (ABORT, SETTLE),
    ) -> None:
        """`given` are the variables of these playbooks, `arguments` those of their command line.

        `left` has a sentence for each thing that is wrong as soon as one of the playbooks `after` has ended well.
        """
        self._after = after
        self._given, self._left_now, self._arguments = given, left, arguments
        self._begun: list[tuple[str, BegunHere]] = []
        self._left: list[str] = []
        self._paused = False
        self.without_lock: list[OneRun] = []
        """The runs of playbooks that take no lock: they only write into the record."""

    def watched_by(self, observer: Watching[Any]) -> None:
        """Have an observer know when the upgrade is paused, and what takes no lock."""
        observer.is_paused, observer.without_lock = self.is_paused, self.without_lock

    def is_paused(self) -> bool:
        """Whether it is paused, and not resumed since."""
        return self._paused

    def abort(self) -> None:
        """Start to abort it: the playbook waits until the run at work has ended."""
        self._begin(ABORT)

    def pause(self) -> None:
        """Have it paused: no further batch begins."""
        self._begin(PAUSE)

    def settle(self) -> None:
        """Have put back what an interrupted run has changed. A run at work holds the lock, so that it is refused."""
        self._begin(SETTLE)

    def _begin(self, playbook: str) -> BegunHere:
        def work(_shown: io.StringIO) -> Played:
            ended = chosen.play(playbook, self._given, *self._arguments)
            if ended.code == 0 and playbook in WITHOUT_LOCK:
                self._paused = playbook == PAUSE
            elif ended.code == 0 and playbook in self._after:
                self._left += [f"The playbook {playbook} has ended well: {each}." for each in self._left_now()]
            return ended

        run = executor.a_run()
        if playbook in WITHOUT_LOCK:
            self.without_lock.append(run)
        begun = BegunHere(run, work)
        self._begun.append((playbook, begun))
        return begun

    def read(self, ended: Played) -> bool:
        """Have it resumed if a run has ended since it was aborted or paused. Whether it was."""
        if not any(each in ended.output for each in HELD):
            return False
        self._begin(RESUME).wait()
        return True

    def judged(self) -> Iterator[str]:
        """A sentence for each playbook that has ended without a cause, and for each thing that it has left."""
        for playbook, each in self._begun:
            if each.wait() != 0 and '"msg": "' not in each.output:
                yield f"The playbook {playbook} has ended without a cause: {each.output[-600:]}"
        yield from self._left
