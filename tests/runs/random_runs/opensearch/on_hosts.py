"""A cluster of OpenSearch on plain hosts on which a story is played."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import urllib3

from tests.runs.observer.on_hosts import ObserverOfHosts
from tests.runs.observer.sight import Consents
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, ClusterOnHosts, cluster_on_hosts
from tests.runs.random_runs.opensearch.host_events import HappeningToHosts
from tests.runs.random_runs.opensearch.stage import make_indices
from tests.runs.random_runs.opensearch.story import OpenSearchStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.story import Event
from tests.runs.world import World
from tests.scenarios.playbook import Played, digest_in

AGAIN = "Run again: the new plan takes it alone and last."
"""The words of a run that stops before an elected manager that shares a batch (docs/plain-hosts.md, Limits)."""


@contextmanager
def stage_on_hosts(here: World, story: OpenSearchStory) -> Iterator[StageOnHosts]:
    """The stage of a story, until the block ends. In every second one systemd starts a process again that has ended."""
    with cluster_on_hosts(here, story.way[0], story.pools, story.product, restarts=bool(story.seed % 2)) as cluster:
        make_indices(cluster, story)
        yield StageOnHosts(here, cluster, story)


class StageOnHosts:
    """See `tests.runs.random_runs.playing.Stage`."""

    playbook = PLAYBOOK_OF_HOSTS

    def __init__(self, here: World, cluster: ClusterOnHosts, story: OpenSearchStory) -> None:
        self._world, self._cluster, self._story, self.target = here, cluster, story, story.way[1]
        batching = str(story.options.get("upgrade_batching", "serial"))
        consents = Consents.of(story.options)
        self.observer = ObserverOfHosts(here.sandbox, cluster, self.target, consents, batching)
        given = cluster.variables(self.target)
        self._person = Person(given, self.observer.left_over, cluster.arguments)
        self._person.watched_by(self.observer)
        self._happening = HappeningToHosts(here, cluster, story, self.observer.foreign, self._person)

    def variables(self) -> dict[str, Any]:
        """See `Stage`."""
        return self._cluster.variables(self.target, **self._story.options)

    def plan(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        return self._world.play(PLAYBOOK_OF_HOSTS, given, *self._cluster.arguments, CHECK)

    def digest(self, planned: Played) -> str:
        """See `Stage`."""
        return digest_in(planned)

    def run(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        return self._world.play(self.playbook, given, *self._cluster.arguments)

    def fingerprint(self) -> Any:
        """See `Stage`."""
        return self._cluster.fingerprint()

    def happen(self, event: Event) -> None:
        """See `Stage`."""
        self._happening.happen(event)

    def mend(self) -> None:
        """See `Stage`."""
        self._happening.mend()

    def read(self, ended: Played) -> bool:
        """See `Stage`: no batch is divided on hosts, so some runs ask for another one, with its new plan."""
        return self._person.read(ended) or AGAIN in ended.output

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Stage`."""
        return dict(given)

    def is_done(self) -> bool:
        """See `Stage`."""
        try:
            return set(self._cluster.versions().values()) == {self.target}
        except (urllib3.exceptions.HTTPError, json.JSONDecodeError, KeyError):
            return False  # no member answers

    def is_upgraded(self) -> None:
        """See `Stage`."""
        self._cluster.is_upgraded(self.target)
        assert not (said := [*self._person.judged()]), said
