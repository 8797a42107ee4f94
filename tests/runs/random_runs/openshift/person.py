"""A person who aborts the upgrade of a story while it goes on, and has it resumed later."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.runs import executor
from tests.runs.driver import BegunHere
from tests.runs.openshift import SYSTEM
from tests.runs.world import World
from tests.scenarios.playbook import Played

ABORT, RESUME = "stateful.upgrade.abort", "stateful.upgrade.resume"
ABORTED = "aborted_on_request"


class Person:
    """The aborts of one person."""

    def __init__(self, here: World, given: Mapping[str, Any], let_go: Callable[[], list[str]]) -> None:
        """`given` are the variables of the playbooks `abort` and `resume`.

        `let_go` has the pools with Kubernetes nodes left that nothing holds.
        """
        self._here, self._given, self._let_go = here, {**given, **SYSTEM}, let_go
        self._aborts: list[BegunHere] = []
        self._left: list[str] = []

    def abort(self) -> None:
        """Start to abort it: the playbook waits until the run at work has ended."""

        def work(_shown: io.StringIO) -> Played:
            ended = executor.play(ABORT, self._given)
            self._left += self._let_go() if ended.code == 0 else []
            return ended

        self._aborts.append(BegunHere(executor.a_run(), work))

    def read(self, ended: Played) -> bool:
        """Have it resumed if a run has ended since it was aborted. Whether it was."""
        if f'"{ABORTED}"' not in ended.output:
            return False
        self._here.play(RESUME, self._given)
        return True

    def judged(self) -> Iterator[str]:
        """A sentence for each abort that has ended without a cause, and each pool that it has let go."""
        for each in self._aborts:
            if each.wait() != 0 and '"msg": "' not in each.output:
                yield f"An abort has ended without a cause: {each.output[-600:]}"
        yield from (
            f"MachineConfigPool {each} was let go by an abort, with Kubernetes nodes left" for each in self._left
        )
