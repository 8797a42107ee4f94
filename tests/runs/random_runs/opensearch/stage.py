"""A cluster of OpenSearch on which a story is played."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import urllib3

from tests.lab.opensearch.layouts import with_pools
from tests.runs.observer.observer import Observer
from tests.runs.observer.sight import Consents
from tests.runs.random_runs.opensearch.events import HappeningToMembers
from tests.runs.random_runs.opensearch.story import EXTRA, VOLUMES, OpenSearchStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.playing import ByPlaybook, cause_of
from tests.runs.random_runs.story import Event
from tests.runs.shipped import bound
from tests.runs.world import CalledCluster, World
from tests.sandbox.kubernetes.kinds import CLAIMS
from tests.scenarios.playbook import PLAYBOOK, Played, without_images

SNAPSHOTS = "/snapshots"
"""The folder of the repository."""
SINGLE = "upgrade_allow_single_copy"
TOO_LATE = re.compile(
    r"([\w, -]+) cannot get a replica for the time of the upgrade: no other member takes it \(node_version"
)
"""The refusal of a replica whose primary is on a member of the new version: no server of a lower one takes it."""


class OpenSearchStage(ByPlaybook):
    """See `tests.runs.random_runs.playing.Stage`."""

    playbook = PLAYBOOK

    def __init__(self, here: World, story: OpenSearchStory) -> None:
        self.world, self._story, self.target = here, story, story.way[1]
        self._cluster = _risen(here, story)
        batching = str(story.options.get("upgrade_batching", "serial"))
        saved = self.target if story.repository else ""
        self.observer = Observer(here.sandbox, self._cluster, Consents.of(story.options), batching, saved, story.size)
        self._person = Person(self._cluster.variables(self.target), self.observer.left_over)
        self._person.watched_by(self.observer)
        self._happening = HappeningToMembers(here, self._cluster, story, self.observer.foreign, self._person)
        self._accepted: set[str] = set()
        """The indices whose replica a person has taken away too late for another one, and that may be away since."""

    def variables(self) -> dict[str, Any]:
        """See `Stage`."""
        options = self._story.options
        sets = {each.name: f"{self._cluster.name}-{each.name}" for each in self._story.pools}
        if EXTRA in options:
            options = {**options, EXTRA: sets.get(options[EXTRA], "")}
        if self._story.size:
            wanted = [{**each, "pool": sets[each["pool"]]} for each in options[VOLUMES] if each["pool"] in sets]
            options = {**options, VOLUMES: wanted}
        return self._cluster.variables(self.target, **options)

    def of_plan(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `ByPlaybook`."""
        return without_images(given)

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
        """See `Stage`: the image that a sentence says is wrong is corrected, and a replica taken away is accepted."""
        if refused := TOO_LATE.search(cause_of(ended)):
            self._accepted |= self._happening.bared & {each.strip() for each in refused[1].split(",")}
        if '"template_behind"' in ended.output:
            self._happening.correct_images(self.target)
        return self._person.read(ended)

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Stage`: another manager of fields no longer counts.

        An upgrade that keeps every shard has no end once a person has taken the replica of the run away, and members
        of the new version have the only copy of a shard: the person accepts then that these indices are away.
        """
        consent = {SINGLE: sorted({*given.get(SINGLE, ()), *self._accepted})} if self._accepted else {}
        self.observer.consents = Consents.of({**self._story.options, **consent})
        return {**given, **consent, "upgrade_allow_field_managers": ["argocd"]}

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
        claims = self.world.sandbox.api.store.list(CLAIMS, self._cluster.namespace)
        found = {each["metadata"]["name"]: each["status"]["capacity"]["storage"] for each in claims}
        of_members = {name.partition("-")[2] for name in found}
        assert of_members <= {*self._happening.members}, f"claims of an extra member are left: {sorted(found)}"
        if size := self._story.size:
            assert set(found.values()) == {size}, found


def _risen(here: World, story: OpenSearchStory) -> CalledCluster:
    settings = {"path.repo": SNAPSHOTS} if story.repository else {}
    if story.size:
        here.storage_class()
    cluster = here.cluster(story.way[0], with_pools(story.pools, product=story.product), settings=settings)
    if story.repository:
        cluster.ask(f"/_snapshot/{story.repository}", "PUT", {"type": "fs", "settings": {"location": SNAPSHOTS}})
    if "upgrade_tasks_emptied" in story.options:
        here.sandbox.apply(bound("opensearch/files/emptying_role.yml"))
    if story.size or EXTRA in story.options:
        here.sandbox.apply(bound("opensearch/files/optional_role.yml", cluster.namespace))
    make_indices(cluster, story)
    return cluster


def make_indices(cluster: CalledCluster, story: OpenSearchStory) -> None:
    """Make the indices of a story, and wait until all copies are there."""
    for each in story.indices:
        settings = {"number_of_shards": each.shards, "number_of_replicas": each.replicas}
        cluster.ask(f"/{each.name}", "PUT", {"settings": settings})
    cluster.until_green()
