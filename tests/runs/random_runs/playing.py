"""A story as it is played: runs of the playbook until the upgrade is done, each change watched."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import urllib3

from tests.lab.opensearch.layouts import Layout
from tests.runs import direct
from tests.runs.calling import Killed
from tests.runs.observer.observer import Observer
from tests.runs.observer.sight import Consents
from tests.runs.random_runs.events import Happening
from tests.runs.random_runs.story import Story
from tests.runs.world import CalledCluster, World, is_act, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, PLAYBOOK, Played, digest_in, without_images

START = 1_800_000_000.0
"""The time at which each story begins."""
BROKEN_RUNS, RUNS = 2, 8
"""The runs after which all is mended, and the most that an upgrade takes here. A pass is of one member at least, so
that there may be one for each member more before all is mended, and after it."""
PAUSE = 120.0
"""Seconds between two runs."""


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
    told: list[str] = field(default_factory=list)
    """All that has happened, in its order."""

    def text(self) -> str:
        """The story with its end."""
        return "\n".join([self.story.text(), *(f"    {each}" for each in self.told), *self.faults])


def play_story(story: Story) -> Ending:
    """Play a story to its end."""
    ending = Ending(story)
    with world(direct.play, START, story.paces) as here:
        cluster = _risen(here, story)
        try:
            _Playing(here, cluster, story, ending).play()
        except (AssertionError, urllib3.exceptions.HTTPError) as error:
            ending.faults.append(f"{type(error).__name__}: {error}")
    return ending


def _risen(here: World, story: Story) -> CalledCluster:
    def layout(namespace: str, version: str, *, address: Any, **options: Any) -> list[dict[str, Any]]:
        return Layout(namespace, version, story.pools, address, product=story.product, **options).manifests()

    cluster = here.cluster(story.way[0], layout)
    for each in story.indices:
        settings = {"number_of_shards": each.shards, "number_of_replicas": each.replicas}
        cluster.ask(f"/{each.name}", "PUT", {"settings": settings})
    cluster.until_green()
    return cluster


class _Playing:
    def __init__(self, here: World, cluster: CalledCluster, story: Story, ending: Ending) -> None:
        self._world, self._cluster, self._story, self._ending = here, cluster, story, ending
        self._left = list(story.events)
        consents = Consents.of(story.options)
        batching = str(story.options.get("upgrade_batching", "serial"))
        self._observer = Observer(here.sandbox, cluster, consents, batching)
        self._happening = Happening(here, cluster, story, self._observer.foreign)
        self._watches = False

    def play(self) -> None:
        """The runs, until one has upgraded everything, or nothing is allowed to be."""
        with self._observer.watching():
            try:
                self._play()
            finally:
                self._ending.faults += self._observer.violations

    def _play(self) -> None:
        before = self._cluster.fingerprint()
        given = self._cluster.variables(self._story.way[1], **self._story.options)
        self._world.calling.after = self._asked
        passes = self._story.members if self._story.options.get("upgrade_wait") is False else 0
        most = RUNS + 2 * passes
        for number in range(most):
            self._ending.runs = number + 1
            ended = self._run(given)
            if ended is not None and self._is_done(ended):
                break
            if number == 0 and ended is not None and len(self._left) == len(self._story.events) and ended.code != 0:
                # Nothing has happened to this cluster: it is one that is not upgraded without consent.
                self._ending.refused = ended.message or ended.output
                assert self._cluster.fingerprint() == before, f"refused, and changed: {self._ending.refused}"
                return
            if number >= BROKEN_RUNS + passes:
                self._left.clear()
                self._happening.mend()
                given = {**given, "upgrade_allow_field_managers": ["argocd"]}
            self._world.sandbox.clock.sleep(PAUSE)
        else:
            said = (ended.message or ended.output) if ended is not None else "killed"
            self._ending.faults.append(f"The upgrade is not done after {most} runs: {said}")
            return
        self._happening.mend()
        self._world.sandbox.clock.sleep(PAUSE)
        self._cluster.is_upgraded(self._story.way[1])

    def _run(self, given: dict[str, Any]) -> Played | None:
        self._watches = True
        try:
            planned = self._world.play(PLAN, without_images(given))
            if planned.code != 0:
                return planned
            ended = self._world.play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned)})
        except Killed:
            self._ending.told.append("the controller is killed")
            return None
        finally:
            self._watches = False
        self._observer.ended(ended.code, target=self._story.way[1] if self._is_done(ended) else "")
        lines = [line for line in ended.output.split("\n") if re.match(r"Done|Note|✔|This pass|The upgrade", line)]
        self._ending.told += [f"run {self._ending.runs} ends with {ended.code}: {ended.message}", *lines[-6:]]
        return ended

    def _is_done(self, ended: Played) -> bool:
        if ended.code or '"upgrade_state": "done"' not in ended.output:
            return False
        try:
            return set(self._cluster.versions().values()) == {self._story.way[1]}
        except (urllib3.exceptions.HTTPError, json.JSONDecodeError, KeyError):
            return False  # no member answers

    def _asked(self, request: Request) -> None:
        if not self._watches or not is_act(request.method, request.path):
            return
        self._ending.acts += 1
        while self._left and self._left[0].act <= self._ending.acts:
            event = self._left.pop(0)
            self._watches = False
            self._ending.told.append(f"{event.text()} ({request.method} {request.path})")
            try:
                self._happening.happen(event)
            finally:
                self._watches = True
