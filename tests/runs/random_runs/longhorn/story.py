"""The story of an upgrade of Longhorn: Kubernetes nodes, volumes, the way, and the variables that a user may choose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.runs.random_runs.story import Story, by_person, events_of
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, Described, Machine, Recurring, Volume

OUTSIDE, DESIGN, NEXT = "outside", "design", "v1.13"
WAYS = (OUTSIDE, DESIGN, NEXT)
ACTS_OF_NODE = 30
"""The acts of a run on one Kubernetes node, about."""
WAITS_OF_NODE = 7
"""The things that a run waits for on one Kubernetes node, about."""
TOGETHER = 0.4
"""The share of stories whose events come one soon after the other."""
ASKED = 0.25
"""The share of stories in which a workload is asked before each Kubernetes node."""
ONE_OBJECT = 0.5
"""The share of stories with one object for all Kubernetes nodes, where there is such a kind."""
RECURRING = 0.3
"""The share of stories with a recurring job."""
UNLISTED = 0.05
"""The share of Kubernetes nodes that do not list the new image, so that a throw-away pod proves it there."""
COPYING = 0.05
"""The share of Kubernetes nodes whose instance manager shows a copy of a backing image that is never made."""
REPLACEMENT = "instance_manager_replacement"


@dataclass(frozen=True)
class LonghornStory(Story):
    """The story of a Longhorn."""

    way: str
    """From outside, or with the kinds of the design or of v1.13."""
    machines: tuple[Machine, ...]
    volumes: tuple[Volume, ...]
    outlive: bool
    """Whether frontends outlive the instance manager in which they run."""
    workload: bool = False
    """Whether a database on the first Kubernetes nodes is asked before each of them."""
    jobs: tuple[Recurring, ...] = ()

    @property
    def nodes(self) -> list[str]:
        """The names of the Kubernetes nodes."""
        return [each.name for each in self.machines]

    @property
    def left(self) -> list[str]:
        """Those that are to be upgraded."""
        named = self.options.get("upgrade_nodes") or self.nodes
        return [each.name for each in self.machines if each.image == OLD_IMAGE and each.name in named]

    @property
    def passes(self) -> int:
        """See `Story`: a run ends behind a node that has interrupted a volume, and a pass at its first wait."""
        waits = self.options.get("upgrade_wait") is not False
        return len(self.left) * (int(not self.outlive) + (0 if waits else WAITS_OF_NODE))

    def described(self) -> Described:
        """The Longhorn."""
        offers = "" if self.way == OUTSIDE else self.way
        return Described(self.machines, self.volumes, offers=offers, frontends_outlive=self.outlive, jobs=self.jobs)

    def cluster(self) -> list[str]:
        """See `Story`."""
        machines = [
            f"{each.name}{' done' if each.image == NEW_IMAGE else ''}{'' if each.schedulable else ' closed'}"
            for each in self.machines
        ]
        frontends = "outlive their instance manager" if self.outlive else "die with their instance manager"
        asked = ", a workload is asked" if self.workload else ""
        asked += "".join(f", recurring job {each.name} every {each.minutes} min" for each in self.jobs)
        return [
            f"{self.way}, frontends {frontends}{asked}",
            f"nodes: {', '.join(machines)}",
            *map(_shown, self.volumes),
        ]

    def with_smaller_cluster(self) -> Iterator[LonghornStory]:
        """See `Story`."""
        for without in self.volumes:
            yield replace(self, volumes=tuple(each for each in self.volumes if each is not without))
        used = {node for each in self.volumes for node in (*each.replicas, each.attached, each.engine)}
        for gone in self.machines if len(self.machines) > 3 else ():
            if gone.name not in used and self.left != [gone.name]:
                yield replace(self, machines=tuple(each for each in self.machines if each is not gone))
        if not self.outlive:
            yield replace(self, outlive=True)
        if self.workload:
            yield replace(self, workload=False)
        if self.jobs:
            yield replace(self, jobs=())


def _shown(volume: Volume) -> str:
    kind = "shared " if volume.access == "rwx" else "standby " if volume.standby else ""
    engine = f", engine on {volume.engine}" if volume.engine else ""
    at = f"attached to {volume.attached}{engine}" if volume.attached else "detached"
    return f"{kind}volume {volume.name}: replicas on {', '.join(volume.replicas)}, {at}"


def story_of(seed: int) -> LonghornStory:
    """The story of a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same story each time, and nothing secret
    way = chance.choices(WAYS, (6, 2, 2))[0]
    machines = _machines(chance)
    nodes = [each.name for each in machines]
    count = chance.choice((1, 2, 3, 3, 4, 6)) if len(nodes) < 7 else chance.randint(len(nodes) // 2, len(nodes) * 2)
    volumes = tuple(_volume(chance, f"v{number}", nodes, way) for number in range(1, count + 1))
    outlive = chance.random() < 0.7
    left = [each.name for each in machines if each.image == OLD_IMAGE]
    workload = chance.random() < ASKED
    likely = LIKELY | (OF_RUN if way == OUTSIDE else OF_LONGHORN) | (OF_WORKLOAD if workload else {})
    events = events_of(chance, likely, ACTS_OF_NODE * len(left), TOGETHER)
    people = by_person(seed, ACTS_OF_NODE * len(left))
    events = tuple(sorted((*events, *people), key=lambda each: each.act))
    options = _options(chance, way, volumes, left)
    jobs = _jobs(chance)
    if jobs:
        volumes = tuple(replace(each, groups=("default",)) for each in volumes)
    if way == DESIGN and not workload and chance.random() < ONE_OBJECT:
        # Longhorn then goes on without a gate, so that no workload is asked. It puts back the scheduling that it finds
        # when the turn of a node comes, whatever a person who closed the node has wanted since.
        options = {**options, "upgrade_one_object": True}
        events = tuple(each for each in events if each.kind != "scheduling_by_person")
    machines = tuple(_rare(chance, each) for each in machines)
    return LonghornStory(seed, way, machines, volumes, outlive, workload, jobs, options=options, events=events)


def _rare(chance: random.Random, machine: Machine) -> Machine:
    """The same with an image that it does not list, and a copy of a backing image that Longhorn has given up."""
    unlisted, copying = chance.random() < UNLISTED, chance.random() < COPYING
    return replace(machine, images=(OLD_IMAGE,) if unlisted else machine.images, copying="golden" if copying else "")


def _jobs(chance: random.Random) -> tuple[Recurring, ...]:
    """Recurring jobs of all volumes, as of a group that every volume is in."""
    return (Recurring("daily", ("default",), chance.choice((1, 2, 5))),) if chance.random() < RECURRING else ()


def _machines(chance: random.Random) -> tuple[Machine, ...]:
    count = chance.choices((3, 4, 5, 6, 9, 15, 30), (40, 20, 12, 8, 5, 2, 1))[0]
    nodes = [f"n{number:02d}" for number in range(1, count + 1)]
    # A node takes seconds, so that of many only some are to be upgraded.
    done = {*chance.sample(nodes, max(chance.choice((0, 0, 0, 1)), count - 5))}
    closed = {*chance.sample(nodes, chance.choice((0, 0, 0, 0, 0, 0, 0, 0, 1)))}
    return tuple(
        Machine(name, "abc"[number % 3], image=NEW_IMAGE if name in done else OLD_IMAGE, schedulable=name not in closed)
        for number, name in enumerate(nodes)
    )


def _volume(chance: random.Random, name: str, nodes: Sequence[str], way: str) -> Volume:
    """A volume; the kinds by which Longhorn itself upgrades do not keep a wanted place of an engine."""
    replicas = tuple(chance.sample(nodes, chance.choice((3, 3, 3, 2, 2, 2, 2, 2, 2, 1))))
    attached = chance.choice(nodes) if chance.random() < 0.85 else ""
    kind = chance.choices(("plain", "shared", "standby", "away"), (14, 2, 1, 2))[0]
    away = chance.choice(replicas) if kind == "away" and attached and way == OUTSIDE else ""
    access = "rwx" if kind == "shared" else "rwo"
    if kind == "standby" and way != NEXT:
        # Its engine cannot be moved, so the plan would be refused; only Longhorn 1.13 leaves it alone.
        attached = ""
    return Volume(name, replicas, attached, engine=away, access=access, standby=kind == "standby")


def _options(chance: random.Random, way: str, volumes: Sequence[Volume], left: Sequence[str]) -> dict[str, Any]:
    single = any(each.wanted == 1 and each.attached for each in volumes)
    may: Mapping[str, tuple[float, Callable[[], Any]]] = {
        "upgrade_accept_unverified": (0.95 if way == OUTSIDE else 0.0, lambda: [REPLACEMENT]),
        "upgrade_extra_replicas": (0.9 if single else 0.1, lambda: True),
        "upgrade_nodes": (0.2, lambda: sorted(chance.sample(left, chance.randint(1, len(left))))),
        "upgrade_wait": (0.12 if len(left) < 5 else 0.0, lambda: False),
        "upgrade_snapshots": (0.1, lambda: "kept"),
    }
    return PATIENCE | {name: give() for name, (share, give) in may.items() if chance.random() < share}


PATIENCE: dict[str, Any] = {"upgrade_member_timeout": 90, "upgrade_gate_timeout": 90}
"""Seconds after which a run gives up, so that stories in which nothing comes back end soon."""
LIKELY: dict[str, int] = {
    "kill": 14,
    "api_away": 4,
    "answer_lost": 6,
    "request_lost": 4,
    "conflict": 5,
    "server_error": 4,
    "busy": 2,
    "node_dead": 3,
    "manager_not_ready": 3,
    "controllers_away": 3,
    "replica_fails": 4,
    "rebuild_stuck": 3,
    "no_rebuild_slot": 2,
    "switch_reverts": 3,
    "snapshots_stuck": 1,
    "disk_lost": 2,
    "backup": 2,
    "webhook_refuses": 3,
    "workload_goes": 3,
    "workload_comes": 3,
    "workload_moves": 2,
    "volume_deleted": 2,
    "setting_by_person": 3,
    "scheduling_by_person": 3,
    "replicas_by_person": 2,
    "node_cordoned": 2,
    "lock_taken": 3,
    "second_controller": 4,
}
"""The likelihood of each kind of event."""
OF_RUN: dict[str, int] = {"engine_by_person": 2}
"""That of those that upgrades of Longhorn's own do not heed."""
OF_LONGHORN: dict[str, int] = {"upgrade_stalls": 8, "upgrade_fails": 6}
"""That of those that happen to upgrades of Longhorn's own."""
OF_WORKLOAD: dict[str, int] = {"member_away": 12, "member_restarts": 6, "index_bare": 4}
"""That of those that happen to the workload which is asked."""
