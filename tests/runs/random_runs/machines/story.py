"""The story of an upgrade of machines of kubeadm: their number, and the variables that a user may choose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.runs.random_runs.machines.deletions import NAMES
from tests.runs.random_runs.story import Story, by_person, events_of

FROM = "1.35.4"
TARGETS = ("1.36.1", "1.35.5")
WAYS = (("1.34.8", "1.35.4"), ("1.33.9", "1.34.8", "1.35.4"))
"""The version at the start of a chain, and those on the way."""
BY_IMAGE = 0.15
"""The share of stories whose machines are upgraded by agents."""
CHAINS = 0.2
"""The share of stories that go over several minor versions."""
DELEGATED = 0.2
"""The share of the others whose work on machines is delegated."""
BY_TASK, OWNED, ELSEWHERE = 0.25, 0.3, 0.5
"""The share of stories to one version that an UpgradeTask requests, that of those with Machines of Cluster API, and of
these that of those whose management cluster is another one."""
ACTS_OF_MACHINE, ACTS_OF_UPGRADER = 60, 18
"""The acts of a run on one machine, about, and those for one whose work is delegated."""
TOGETHER = 0.4
"""The share of stories whose events come one soon after the other."""
IN_PASSES = 0.2
"""The share of stories whose runs never wait before a batch."""


@dataclass(frozen=True)
class MachinesStory(Story):
    """The story of a kubeadm cluster."""

    target: str
    control_plane: int
    workers: int
    balanced: bool
    """Whether a balancer is before the API. Without one it is away while the first machine is upgraded."""
    database: bool = False
    """Whether an OpenSearch lives on the workers, and is asked before each batch."""
    start: str = FROM
    through: tuple[str, ...] = ()
    """The versions on the way."""
    by_image: bool = False
    """Whether an agent on each machine writes an image of the operating system."""
    delegated: bool = False
    """Whether something else upgrades the machines, as NodeUpdates ask for it."""
    by_task: bool = False
    """Whether an UpgradeTask requests the upgrade."""
    owned: bool = False
    """Whether Cluster API has made the machines."""
    elsewhere: bool = False
    """Whether their management cluster is another one."""

    @property
    def by_name(self) -> bool:
        """Whether that is named with its connection, and made ready for each drain; else a file of tasks asks it."""
        return self.database and self.seed % 2 == 0

    @property
    def names(self) -> list[str]:
        """The machines."""
        return [*(f"cp-{each + 1}" for each in range(self.control_plane)), *self.of_workers]

    @property
    def of_workers(self) -> list[str]:
        """The workers."""
        return [f"worker-{each + 1}" for each in range(self.workers)]

    @property
    def passes(self) -> int:
        """See `Story`."""
        return len(self.names) * len(self.hops) if self.options.get("upgrade_wait") is False else 0

    @property
    def hops(self) -> tuple[str, ...]:
        """The versions to which each machine goes."""
        return (*self.through, self.target)

    def cluster(self) -> list[str]:
        """See `Story`."""
        kinds = ("balanced", "database", "by_name", "by_image", "delegated", "by_task", "owned", "elsewhere")
        more = [name for name in kinds if getattr(self, name)]
        return [f"{self.control_plane} + {self.workers} machines, {' → '.join((self.start, *self.hops))}", *more]

    def with_smaller_cluster(self) -> Iterator[MachinesStory]:
        """See `Story`."""
        if self.through:
            yield replace(self, start=self.through[0], through=self.through[1:])
        if self.by_image and not any(each.kind in OF_AGENT for each in self.events):
            yield replace(self, by_image=False)
        if self.delegated and not any(each.kind in OF_UPGRADER for each in self.events):
            yield replace(self, delegated=False)
        if self.elsewhere:
            yield replace(self, elsewhere=False)
        if self.owned and not self.elsewhere:
            yield replace(self, owned=False)
        if self.by_task and not any(each.kind in OF_TASK for each in self.events):
            yield replace(self, by_task=False)
        if self.database:
            yield replace(self, database=False)
        if self.balanced:
            yield replace(self, balanced=False)
        if self.workers > 1 and not self.database:
            yield replace(self, workers=self.workers - 1)


def story_of(seed: int) -> MachinesStory:
    """The story of a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same story each time, and nothing secret
    database = chance.random() < 0.15
    workers = 6 if database else chance.choice((1, 2, 2, 3, 3, 4))
    control_plane = chance.choice((1, 3, 3, 3))
    may: Mapping[str, tuple[float, Callable[[], Any]]] = {
        "upgrade_max_unavailable": (0.3, lambda: chance.choice(("2", "50%"))),
        "upgrade_allow_quorum_loss": (0.9 if control_plane == 1 else 0.1, lambda: True),
    }
    options = PATIENCE | {name: give() for name, (share, give) in may.items() if chance.random() < share}
    likely = LIKELY | (OF_DATABASE if database else {})
    story = MachinesStory(
        seed,
        chance.choice(TARGETS),
        control_plane,
        workers,
        chance.random() < 0.5,
        database,
        options=options,
        events=events_of(chance, likely, ACTS_OF_MACHINE * (control_plane + workers), TOGETHER),
    )
    passes = {"upgrade_wait": False} if chance.random() < IN_PASSES else {}
    story = replace(story, options={**story.options, **passes})
    if story.target == TARGETS[0] and chance.random() < CHAINS:
        start, *through = chance.choice(WAYS)
        story = replace(story, start=start, through=tuple(through))
    if chance.random() < BY_IMAGE:
        story = replace(story, by_image=True)
        likely = {name: often for name, often in likely.items() if name not in NOT_OF_AGENT} | OF_AGENT
    elif chance.random() < DELEGATED:
        story = replace(story, delegated=True)
        likely = {name: often for name, often in likely.items() if name not in NOT_OF_UPGRADER} | OF_UPGRADER
    if story.hops == TARGETS[:1]:
        owned = chance.random() < OWNED
        story = replace(story, owned=owned, elsewhere=owned and chance.random() < ELSEWHERE)
        story = replace(story, by_task=chance.random() < BY_TASK)
    likely |= OF_TASK if story.by_task else {}
    on_each = ACTS_OF_UPGRADER if story.delegated else ACTS_OF_MACHINE
    acts = on_each * (control_plane + workers) * len(story.hops)
    if story.through or story.by_image or story.delegated or story.by_task:
        story = replace(story, events=events_of(chance, likely, acts, TOGETHER))
    events = (*story.events, *by_person(seed, acts))
    return replace(story, events=tuple(sorted(events, key=lambda each: each.act)))


PATIENCE: dict[str, Any] = {"upgrade_member_timeout": 300, "upgrade_gate_timeout": 300}
"""Seconds after which a run gives up, so that stories in which nothing comes back end soon."""
LIKELY: dict[str, int] = {
    "kill": 14,
    "api_away": 4,
    "answer_lost": 6,
    "request_lost": 4,
    "conflict": 5,
    "server_error": 4,
    "busy": 2,
    "kubeadm_fails": 4,
    "kubeadm_cut_off": 4,
    "kubelet_not_ready": 5,
    "repository_away": 3,
    "power_off": 3,
    "unreachable": 4,
    "component_broken": 4,
    "person_cordons": 5,
    "drain_blocked": 5,
    **NAMES,
}
"""The likelihood of each kind of event."""
OF_DATABASE: dict[str, int] = {"member_away": 8}
"""That of those that happen to a database on the workers."""
OF_AGENT: dict[str, int] = {
    "agent_fails": 6,
    "agent_hangs": 5,
    "agent_forgets": 5,
    "agent_silent": 4,
    "agent_lies": 3,
}
"""That of those that happen to the agent of a machine."""
OF_UPGRADER: dict[str, int] = {"upgrader_fails": 8, "upgrader_hangs": 8, "upgrader_away": 5}
"""That of those that happen to the upgrader of delegated work."""
OF_TASK: dict[str, int] = {"task_aborted": 8, "task_deleted": 6}
"""That of what people do to the UpgradeTask."""
NOT_OF_UPGRADER = ("kubeadm_cut_off", "unreachable")
"""The events that change nothing where no run reaches the machines."""
NOT_OF_AGENT = ("kubeadm_fails", "kubeadm_cut_off", "repository_away")
"""The events that cannot happen where an agent runs kubeadm, and fetches no packages."""
