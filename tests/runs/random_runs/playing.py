"""A story as it is played: runs of the playbook until the upgrade is done, each change watched."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Protocol

import urllib3

from tests.runs import chosen
from tests.runs.observer.watching import Watching
from tests.runs.random_runs.events import SECOND
from tests.runs.random_runs.second import WAITED, Second
from tests.runs.random_runs.story import Event, Story
from tests.runs.turns import Killed
from tests.runs.world import World, is_act, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, Played, digest_in

START = 1_800_000_000.0
"""The time at which each story starts."""
BROKEN_RUNS, RUNS = 2, 8
"""The runs after which all is mended, and the most that an upgrade takes here. A story may take some passes more before
all is mended, and as many after it."""
CONSENT = "upgrade_confirm"
"""It is in the output of each plan that can be consented to."""
PAUSE = 120.0
"""Seconds between two runs."""


class Stage(Protocol):
    """The cluster of a story, the playbook that upgrades it, and what can happen to it."""

    playbook: str
    target: str
    """The version of the upgrade."""

    @property
    def observer(self) -> Watching:
        """It sees the cluster."""

    def variables(self) -> dict[str, Any]:
        """The variables of the playbook, without consent to its plan."""

    def plan(self, given: Mapping[str, Any]) -> Played:
        """A run that shows the plan for these variables of the playbook."""

    def digest(self, planned: Played) -> str:
        """The digest of the plan that such a run has shown."""

    def run(self, given: Mapping[str, Any]) -> Played:
        """A run of the playbook."""

    def fingerprint(self) -> Any:
        """All that a refused plan must leave as it is."""

    def happen(self, event: Event) -> None:
        """Let an event happen. Raises Killed: it is the end of the controller."""

    def mend(self) -> None:
        """End everything that was broken, and take back what people have done in between."""

    def read(self, ended: Played) -> bool:
        """Do as a person does who has read how a run has ended. Gives whether a further run continues by itself."""

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The variables of a run once all is mended."""

    def is_done(self) -> bool:
        """Whether all is on the target version."""

    def is_upgraded(self) -> None:
        """Fails unless all is on the target version, and whole."""


class ByPlaybook:
    """The part of a stage whose plan is shown by the playbook `plan`, and that needs no arguments."""

    playbook: str
    world: World

    def of_plan(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The variables of the playbook `plan`."""
        raise NotImplementedError

    def plan(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        return self.world.play(PLAN, self.of_plan(given))

    def digest(self, planned: Played) -> str:
        """See `Stage`."""
        return digest_in(planned)

    def run(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        return self.world.play(self.playbook, given)


@dataclass
class Ending:
    """The end of a story."""

    story: Story
    faults: list[str] = field(default_factory=list)
    """A sentence for each thing that must not be."""
    refused: str = ""
    """The sentence of a plan that was refused, so that nothing was upgraded."""
    runs: int = 0
    acts: int = 0
    further: list[Second] = field(default_factory=list)
    """The controllers that were started while another one ran."""
    told: list[str] = field(default_factory=list)
    """All that has happened, in its order."""

    def text(self) -> str:
        """The story with its end."""
        return "\n".join([self.story.text(), *(f"    {each}" for each in self.told), *self.faults])


def play_story(story: Story, stage_of: Callable[[World], AbstractContextManager[Stage]]) -> Ending:
    """Play a story to its end."""
    ending = Ending(story)
    # Two runs side by side end their own redirections of the output in any order.
    with (
        redirect_stdout(sys.stdout),
        redirect_stderr(sys.stderr),
        world(chosen.play, START, story.paces) as here,
        stage_of(here) as stage,
    ):
        try:
            _Playing(here, stage, story, ending).play()
        except (AssertionError, urllib3.exceptions.HTTPError) as error:
            ending.faults.append(f"{type(error).__name__}: {error}")
    return ending


class _Playing:
    def __init__(self, here: World, stage: Stage, story: Story, ending: Ending) -> None:
        self._world, self._stage, self._story, self._ending = here, stage, story, ending
        self._left = list(story.events)
        self._watches = False
        self._consented = dict[str, Any]()

    def play(self) -> None:
        """The runs, until one has upgraded everything, or nothing is allowed to be."""
        with self._stage.observer.watching():
            try:
                self._play()
            finally:
                self._ending.faults += self._stage.observer.violations

    def _play(self) -> None:
        stage = self._stage
        before, given = stage.fingerprint(), stage.variables()
        self._world.calling.after = self._asked
        most = RUNS + 2 * self._story.passes
        for number in range(most):
            self._ending.runs = number + 1
            ended = self._run(given)
            if ended is not None and self._is_done(ended):
                break
            goes_on = ended is None or stage.read(ended) or ended.code == 0
            if ended is not None and not goes_on and number == 0 and len(self._left) == len(self._story.events):
                # Nothing has happened to this cluster, which is not upgraded without consent.
                self._ending.refused = cause_of(ended)
                assert stage.fingerprint() == before, f"refused, and changed: {self._ending.refused}"
                return
            if number >= BROKEN_RUNS + self._story.passes:
                self._left.clear()
                stage.mend()
                given = stage.mended(given)
            time.sleep(PAUSE)
        else:
            said = cause_of(ended) if ended is not None else "killed"
            if not self._consented:
                # It would have been refused also if nothing had happened.
                self._ending.refused = said
                return
            self._ending.faults.append(f"The upgrade is not done after {most} runs: {said}")
            return
        stage.mend()
        time.sleep(PAUSE)
        for second in self._ending.further:
            self._ending.faults += second.judged(stage.observer)
        stage.is_upgraded()

    def _run(self, given: dict[str, Any]) -> Played | None:
        self._watches = True
        try:
            planned = self._stage.plan(given)
            if planned.code != 0 or (WAITED in planned.output and CONSENT not in planned.output):
                self._ending.told.append(f"plan {self._ending.runs} is refused: {cause_of(planned)}")
                return planned
            self._consented = {**given, CONSENT: self._stage.digest(planned)}
            ended = self._stage.run(self._consented)
        except Killed:
            self._ending.told.append("the controller is killed")
            return None
        finally:
            self._watches = False
        self._stage.observer.ended(ended.code, target=self._stage.target if self._is_done(ended) else "")
        lines = [
            line for line in ended.output.split("\n") if re.match(r"Done|Note|✔|This pass|The upgrade|Waiting", line)
        ]
        self._ending.told += [f"run {self._ending.runs} ends with {ended.code}: {cause_of(ended)}", *lines[-6:]]
        return ended

    def _is_done(self, ended: Played) -> bool:
        return not ended.code and '"upgrade_state": "done"' in ended.output and self._stage.is_done()

    def _asked(self, request: Request) -> None:
        if not self._watches or not is_act(request.method, request.path):
            return
        self._ending.acts += 1
        while self._left and self._left[0].act <= self._ending.acts:
            event = self._left.pop(0)
            self._watches = False
            self._ending.told.append(f"{event.text()} ({request.method} {request.path})")
            try:
                self._happen(event)
            finally:
                self._watches = True

    def _happen(self, event: Event) -> None:
        if event.kind == SECOND:
            second = Second(self._stage.playbook, self._consented, elsewhere=bool(event.subject % 2))
            self._ending.further.append(second)
            return
        since = time.time()
        self._stage.happen(event)
        if time.time() > since:
            self._stage.observer.delayed()


def cause_of(ended: Played) -> str:
    """The cause of the end of a run, which its statistics have."""
    found = re.search(r'"upgrade_cause": ("(?:[^"\\]|\\.)+")', ended.output)
    return str(json.loads(found[1])) if found else ended.message
