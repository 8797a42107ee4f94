"""Random clusters of Longhorn, each with a fault at some time and an act before which the run is killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, Described, Machine, Recurring, Volume
from tests.sandbox.longhorn.kinds import MANAGER_UPGRADES, NODE_UPGRADES, NODES, VOLUMES
from tests.sandbox.longhorn.longhorn import Longhorn

NEVER = 1_000
"""An act that no run reaches."""
AT_ONCE = 3
"""Nodes that are switched in one example, however large the cluster is."""


@dataclass(frozen=True)
class Case:
    """A cluster, and what happens to it while some of its nodes are switched."""

    described: Described
    fault: str
    node: str
    """The node that the fault is about, and likewise the volume."""
    volume: str
    after: float
    """Seconds after the start of the run at which the fault happens."""
    killed_before: int = NEVER
    extra_replicas: bool = False

    @property
    def chosen(self) -> tuple[str, ...]:
        """The nodes to switch."""
        return tuple(each.name for each in self.described.machines if each.image == OLD_IMAGE)[:AT_ONCE]

    @property
    def closed(self) -> list[str]:
        """The code for a chosen node that takes no replicas, if Longhorn itself is to upgrade it."""
        shut = [each for each in self.described.machines if each.name in self.chosen and not each.schedulable]
        return ["node_takes_no_replicas"] if shut and self.described.offers else []

    @property
    def single(self) -> bool:
        """Whether an attached volume with an engine or a replica on a chosen node has one replica only."""
        return any(
            each.attached and each.wanted == 1 and {*each.replicas, each.engine or each.attached} & set(self.chosen)
            for each in self.described.volumes
        )


Spoil = Callable[[Longhorn, Case], object]
FAULTS: Mapping[str, Spoil] = {
    "nothing": lambda _found, _case: None,
    "a switch reverts": lambda found, case: found.faults.switch_reverts(case.volume, 2),
    "a switch always reverts": lambda found, case: found.faults.switch_reverts(case.volume),
    "a node dies": lambda found, case: found.faults.node_dies(case.node),
    "a manager never runs": lambda found, case: found.faults.manager_never_runs(case.node),
    "a rebuild is stuck": lambda found, case: found.faults.rebuild_stuck(case.volume),
    "no slot is free": lambda found, case: found.faults.slots_exhausted(case.node),
    "a volume is deleted": lambda found, case: found.faults.volume_deleted(case.volume),
    "the webhook refuses nodes": lambda found, _case: found.faults.webhook_refuses(NODES, times=2),
    "the webhook refuses volumes": lambda found, _case: found.faults.webhook_refuses(VOLUMES, times=3),
    "the controllers are away": lambda found, _case: found.faults.controllers_away(60),
    "a backup begins": lambda found, case: found.faults.backup_starts(case.volume),
    "a disk is lost": lambda found, case: found.faults.disk_lost(case.node),
    "no snapshot is ready": lambda found, case: found.faults.snapshots_stuck(case.volume),
    "a workload goes": lambda found, case: found.detach(case.volume),
}
BY_LONGHORN: Mapping[str, Mapping[str, Spoil]] = {
    "": {},
    "design": {
        "an upgrade stalls": lambda found, _case: found.faults.upgrade_stalls(NODE_UPGRADES, "switching-over"),
    },
    "v1.13": {
        "an upgrade stalls": lambda found, _case: found.faults.upgrade_stalls(MANAGER_UPGRADES, "relocating-engines"),
        "an upgrade fails": lambda found, _case: found.faults.upgrade_fails(MANAGER_UPGRADES, "pending", "on purpose"),
    },
}


UNHEEDED: Mapping[str, frozenset[str]] = {"": frozenset(), "design": frozenset({"a node dies"}), "v1.13": frozenset()}
"""The faults that Longhorn's own controllers do not heed, as far as the design says, once an upgrade is under way."""


def spoil(found: Longhorn, case: Case) -> None:
    """Make the fault now; a volume that is gone has no more faults.

    A node that takes no replicas does not die: those that it loses would never be rebuilt there.
    """
    if case.fault == "a node dies" and any(not each.schedulable for each in case.described.machines):
        return
    every = {**FAULTS, **BY_LONGHORN[case.described.offers]}
    if found.objects.get(VOLUMES, case.volume) is not None or case.fault in {"a node dies", "nothing"}:
        every[case.fault](found, case)


@st.composite
def volumes(draw: st.DrawFn, name: str, nodes: list[str], offers: str) -> Volume:
    """A volume with replicas on some of the nodes; most are attached, and some have their engine elsewhere.

    The kinds by which Longhorn upgrades its nodes do not keep such a place.
    """
    copies = draw(st.sampled_from([3, 3, 2, 2, 2, 1])) if len(nodes) > 2 else 2
    replicas = tuple(draw(st.permutations(nodes))[:copies])
    attached = draw(st.sampled_from([*nodes, *nodes, ""])) if len(nodes) < 6 else draw(st.sampled_from([*nodes, ""]))
    kind = draw(st.sampled_from(["plain", "plain", "plain", "shared", "standby", *([] if offers else ["away"])]))
    if kind == "shared":
        return Volume(name, replicas, attached, access="rwx")
    if kind == "standby":
        # Only Longhorn 1.13 leaves its engine alone.
        return Volume(name, replicas, attached if offers == "v1.13" else "", standby=True)
    groups = ("default",) if draw(st.booleans()) else ()
    away = draw(st.sampled_from(nodes)) if kind == "away" and attached else ""
    return Volume(name, replicas, attached, engine=away, groups=groups)


@st.composite
def cases(draw: st.DrawFn, offers: str = "") -> Case:
    """Small clusters mostly: what goes wrong on many nodes goes wrong on few."""
    nodes = [f"n{number}" for number in range(1, draw(st.sampled_from([3, 3, 3, 4, 4, 5, 7])) + 1)]
    count = draw(st.sampled_from([1, 2, 2, 3, 4, 6, 9]))
    found = tuple(draw(volumes(f"v{number}", nodes, offers)) for number in range(1, count + 1))
    done = draw(st.sets(st.sampled_from(nodes), max_size=1))
    closed = draw(st.sets(st.sampled_from(nodes), max_size=1)) if draw(st.booleans()) else set()
    machines = tuple(
        Machine(name, image=NEW_IMAGE if name in done else OLD_IMAGE, schedulable=name not in closed) for name in nodes
    )
    return Case(
        Described(
            machines,
            found,
            offers=offers,
            frontends_outlive=draw(st.booleans()),
            jobs=draw(
                st.sampled_from([(), (Recurring("daily", ("default",), 1),), (Recurring("daily", ("default",), 3),)])
            ),
        ),
        draw(st.sampled_from([each for each in (*FAULTS, *BY_LONGHORN[offers]) if each not in UNHEEDED[offers]])),
        draw(st.sampled_from(nodes)),
        draw(st.sampled_from(found)).name,
        draw(st.floats(0, 60).map(lambda each: round(each, 1))),
        draw(st.sampled_from([NEVER, *range(12)])),
        draw(st.booleans()),
    )


@st.composite
def large_cases(draw: st.DrawFn) -> Case:
    """Clusters of up to 50 Kubernetes nodes and 500 volumes."""
    nodes, count, chosen = draw(st.integers(8, 50)), draw(st.integers(1, 500)), draw(st.integers(1, 2))
    killed_before = draw(st.sampled_from([NEVER, *range(20)]))
    return large(nodes, count, chosen, draw(st.sampled_from([*FAULTS])), draw(st.integers(0, 999)), killed_before)


def large(nodes: int, count: int, chosen: int, fault: str, seed: int = 0, killed_before: int = 14) -> Case:
    """A cluster of this size, the same for each seed, with so many nodes to switch."""
    chance = Random(nodes * count + seed)  # noqa: S311 - no secret
    names = [f"n{number:02d}" for number in range(1, nodes + 1)]
    found = tuple(
        Volume(
            f"v{number:03d}",
            tuple(chance.sample(names, chance.choice((2, 3)))),
            chance.choice(names) if chance.random() < 0.8 else "",
            access="rwx" if number % 20 == 7 else "rwo",
        )
        for number in range(count)
    )
    machines = tuple(Machine(name, image=OLD_IMAGE if name in names[:chosen] else NEW_IMAGE) for name in names)
    described = Described(machines, found, frontends_outlive=True)
    return Case(described, fault, names[-1], found[0].name, 8.0, killed_before)
