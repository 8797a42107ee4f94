"""A second controller that is started while the first one runs: the lock refuses it, and it changes nothing."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.runs import direct, executor
from tests.runs.driver import BegunHere
from tests.runs.observer.watching import Watching
from tests.scenarios.playbook import Played

NOTHING = "Nothing to do"
"""The beginning of the plan of an upgrade that is done. It takes no lock."""
WAITED = "Nothing was done in this pass"
"""The beginning of the end of a pass whose plan waits, such as for a member that does not answer. It takes no lock."""
NAMED = re.compile(r"Run (\S+) of .{1,200}? has held the lock since")


class Second:
    """A run of the same playbook. On another machine, it does not know whether the holder of the lock lives."""

    def __init__(self, playbook: str, variables: Mapping[str, Any], *, elsewhere: bool) -> None:
        self._run = executor.a_run()
        self._run.machine = "another machine" if elsewhere else ""

        def work(_shown: io.StringIO) -> Played:
            return direct.play(playbook, variables)

        self._begun = BegunHere(self._run, work)

    def judged(self, observer: Watching[Any]) -> Iterator[str]:
        """Sentences about what is wrong with it, once it has ended. Its acts are judged by the observer."""
        code, said = self._begun.wait(), self._begun.output
        if observer.has_held(self._run) or self._run.killed:
            return  # the first one had ended before, or was killed
        if code == 0 and NOTHING not in said and WAITED not in said:
            yield "A second controller has ended well without the lock."
        for run in {*NAMED.findall(said)}:
            if not observer.knows(run):
                yield f"A second controller names run {run}, which has never held the lock."

    @property
    def is_refused(self) -> bool:
        """Whether the lock has refused it."""
        return '"locked"' in self._begun.output
