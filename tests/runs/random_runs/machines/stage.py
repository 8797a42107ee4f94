"""A kubeadm cluster on which a story is played."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, Tenant, machines, served_by
from tests.runs.observer.machines import MachinesObserver
from tests.runs.random_runs.machines.deletions import NAMES, Deletions
from tests.runs.random_runs.machines.events import HappeningToMachines
from tests.runs.random_runs.machines.requesting import Requesting
from tests.runs.random_runs.machines.story import MachinesStory
from tests.runs.random_runs.machines.upgrader import UpgraderInStory
from tests.runs.random_runs.person import Person
from tests.runs.random_runs.playing import cause_of
from tests.runs.random_runs.story import Event
from tests.runs.shipped import rights_of_machines
from tests.runs.world import World
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

OF_IMAGE: dict[str, Any] = {
    "upgrade_member_role": "stateful.upgrade.member_os_image",
    "member_os_image_command": ["osagent"],
    "member_os_image_image": "{{ images[upgrade_version] }}",
    "member_os_image_interval": 30,
    "member_os_image_timeout": 900,
}
BY_UPGRADER: dict[str, Any] = {
    "upgrade_member_role": "stateful.upgrade.member_delegated",
    "member_delegated_timeout": 600,
}


def image_of_version(version: str) -> dict[str, str]:
    """An image with this version."""
    return {"url": f"https://images.test/{version}.raw", "sha256": hashlib.sha256(version.encode()).hexdigest()}


@contextmanager
def stage_of(here: World, story: MachinesStory) -> Iterator[MachinesStage]:
    """The stage of a story, until the block ends."""
    count, workers = story.control_plane, story.workers
    with machines(
        here, story.start, story.hops, control_plane=count, workers=workers, balanced=story.balanced
    ) as found:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield MachinesStage(found, story)


class MachinesStage:
    """See `tests.runs.random_runs.playing.Stage`."""

    playbook = PLAYBOOK

    def __init__(self, found: Machines, story: MachinesStory) -> None:
        self._found, self._story, self.target = found, story, story.target
        self._tenant = Tenant(found) if story.database else None
        together = str(story.options.get("upgrade_max_unavailable", "1"))
        most = max(1, story.workers // 2) if together == "50%" else int(together)
        self.observer = MachinesObserver(found.here.sandbox, found, most, (story.start, *story.hops))
        self._upgrader = UpgraderInStory(found) if story.delegated else None
        self._requesting = Requesting(found, story) if story.by_task or story.owned else None
        owned = self._requesting.machines if self._requesting is not None else None
        self._deletions = Deletions(found, owned, self._replaced)
        self._person = Person(served_by(found, USER), self.observer.left_over)
        self._person.watched_by(self.observer)
        self._happening = HappeningToMachines(
            found.here, found, story, self._tenant, self._upgrader, self._requesting, self._deletions, self._person
        )
        self.observer.by_person = self._happening.cordoned
        self.observer.early, self.observer.left = self._early, self._left
        if self._requesting is not None:
            self.observer.free = self._requesting.free
            self._requesting.left_out = self._deletions.for_good

    def _replaced(self, name: str) -> None:
        self.observer.work.replaced(name)
        if self._requesting is not None:
            self._requesting.made_again.add(name)

    def _early(self) -> list[str]:
        if self._tenant is None:
            return []
        return self._tenant.breaches + (self._tenant.unready if self._story.by_name else [])

    def _left(self) -> list[str]:
        changed = self._tenant.changed_settings() if self._tenant else {}
        kept = [f"the database keeps {name} = {value}" for name, value in changed.items()]
        return kept + (self._requesting.left() if self._requesting else [])

    def variables(self) -> dict[str, Any]:
        """See `Stage`."""
        gate: dict[str, Any] = {}
        if self._tenant is not None and self._story.by_name:
            gate = {"upgrade_workloads": [self._tenant.workload()]}
        elif self._tenant is not None:
            gate = {"upgrade_workload_gate": self._tenant.gate()}
        chain = {"upgrade_through": [*self._story.through]} if self._story.through else {}
        images = {version: image_of_version(version) for version in self._story.hops}
        by_image = {**OF_IMAGE, "images": images} if self._story.by_image else {}
        role = BY_UPGRADER if self._story.delegated else by_image
        return self._found.variables(self.target, user=USER, **gate, **chain, **role, **self._story.options)

    def plan(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        return self._found.here.play(PLAYBOOK, self._requested(given), *self._found.arguments, CHECK)

    def digest(self, planned: Played) -> str:
        """See `Stage`."""
        return digest_in(planned)

    def run(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        return self._found.here.play(PLAYBOOK, self._requested(given), *self._found.arguments)

    def _requested(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return self._requesting.variables(dict(given)) if self._requesting else dict(given)

    def fingerprint(self) -> Any:
        """See `Stage`."""
        cluster = self._found.cluster
        nodes = [cluster.node(name) for name in self._found.machines if cluster.is_registered(name)]
        specs = [(each["spec"].get("unschedulable"), each["metadata"].get("annotations")) for each in nodes]
        return specs, {name: dict(each.packages.installed) for name, each in self._found.machines.items()}

    def happen(self, event: Event) -> None:
        """See `Stage`."""
        self._happening.happen(event)

    def mend(self) -> None:
        """See `Stage`."""
        self._happening.mend()
        # kubeadm gives a component minutes to come up, and a command that was begun goes on.
        self._found.here.calling.clock.advance(900)

    def read(self, ended: Played) -> bool:
        """See `Stage`. A person deletes what has failed for good, takes machines out that are gone, requests the
        upgrade again, and ends an abort."""
        named = self._deletions.named
        if named and ended.code and {each.kind for each in self._story.events} <= {*NAMES}:
            self.observer.refused(cause_of(ended), named)
        self._deletions.take_out()
        if self._upgrader is not None:
            self._upgrader.remove_failed()
        if self._requesting is not None:
            self._requesting.request()
        return self._person.read(ended)

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Stage`."""
        # As a person does who has corrected the cause of a failure that is not retried.
        for each in self._found.machines.values():
            each.agent.remove_plans()
        if self._upgrader is not None:
            self._upgrader.remove_failed()
        return dict(given)

    def is_done(self) -> bool:
        """See `Stage`."""
        return not self.observer.behind(self.target)

    def is_upgraded(self) -> None:
        """See `Stage`."""
        assert self._found.cluster.is_upgraded(self.target), self.observer.behind(self.target)
        assert not (said := [*self._person.judged()]), said
