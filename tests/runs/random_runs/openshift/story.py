"""The story of an upgrade of OpenShift: pools, Kubernetes nodes, habits, and the variables that a user may choose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tests.runs.random_runs.story import Event, Story, events_of
from tests.sandbox.openshift.asking import FAR, FEW, GRAPH, LONG, pool
from tests.sandbox.openshift.description import Described, Graph, MachineSet, Pool
from tests.sandbox.openshift.habits import KIND, Habits

OLD, NEW = "4.18.1", "4.18.2"


@dataclass(frozen=True)
class Way:
    """The versions of an upgrade."""

    old: str
    new: str
    through: tuple[str, ...] = ()
    graph: Graph = GRAPH
    not_for_workers: tuple[str, ...] = ()
    """The versions over which workers pass."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions to which it leads, in their order."""
        return (*self.through, self.new)


ALONE = Way(OLD, NEW)
CHAINS = (
    Way("4.18.2", "4.20.2", ("4.19.4",), FAR, ("4.19.4",)),
    Way("4.19.4", "4.21.0", ("4.20.2",), LONG),
    Way("4.19.4", "4.22.1", ("4.20.2", "4.21.0"), LONG, ("4.21.0",)),
)
ACTS = 60
"""The acts of a run on the control plane, and on each batch, about: it renews its lock while it waits."""
WAITS_OF_BATCH = 6
"""The passes that a batch takes, about, if a run does not wait."""
TOGETHER = 0.4
OF_FORCING: dict[str, int] = {"drain_kept": 1}
"""The likelihood of the events of a story in which pods may be forced."""
OF_REQUEST: dict[str, int] = {
    "request_changed": 3,
    "request_deleted": 3,
    "person_aborts": 2,
    "upgrade_paused": 1,
    "person_settles": 1,
}
"""That of the events of a story whose upgrade is requested by an UpgradeConfig."""
KEPT_PODS = (("search", ""), ("shop", ""), ("search", "data"), ("openshift-search", ""))
"""The namespaces and claims of pods that budgets keep: in some of them a rung may be allowed, in others never."""
RUNGS = (("evict", 60), ("delete", 300), ("delete_now", 900))
"""The rungs that a user may allow, with the seconds after which each is due at the earliest."""
FORCED = "upgrade_allow_forced_drains"
SWITCHES = ("database", "windows", "requested")
"""The fields that are on or off in a story."""
SPARE = ("upgrade_extra_workers", "upgrade_capacity_policy")
"""The variables of spare workers."""


@dataclass(frozen=True)
class OpenShiftStory(Story):
    """The story of an OpenShift."""

    pools: tuple[Pool, ...]
    habits: Habits
    way: Way = ALONE
    database: bool = False
    """Whether an OpenSearch lives on the workers, and is asked before each batch."""
    windows: bool = False
    """Whether an Alertmanager holds the maintenance windows."""
    machine_sets: tuple[MachineSet, ...] = ()
    """MachineSets of further workers, each of which may have a spare one."""
    never_boots: str = ""
    """The MachineSet for whose spare one the cloud has no machine left, until all is mended."""
    requested: bool = False
    """Whether an UpgradeConfig requests the upgrade, and a webhook gets its notices."""

    @property
    def passes(self) -> int:
        """See `Story`."""
        waits = WAITS_OF_BATCH * len(self.way.versions)
        return 0 if self.options.get("upgrade_wait") is not False else waits * sum(map(_count, self.pools))

    def described(self) -> Described:
        """The OpenShift."""
        channel = f"stable-{self.way.old.rpartition('.')[0]}"
        return Described(
            self.way.old, self.way.graph, self.pools, channel, operators=FEW, machine_sets=self.machine_sets
        )

    @property
    def left(self) -> list[str]:
        """The pools that a person has paused."""
        return [each.name for each in self.pools if each.paused]

    def cluster(self) -> list[str]:
        """See `Story`."""
        habits = [each.name for each in fields(Habits) if getattr(self.habits, each.name) != getattr(KIND, each.name)]
        more = [name for name in SWITCHES if getattr(self, name)]
        more += [" → ".join((self.way.old, *self.way.versions))] if self.way.through else []
        sets = [f"MachineSet {each.name} in zone {each.zone}" for each in self.machine_sets]
        away = [f"no machine for a spare one of {self.never_boots}"] if self.never_boots else []
        return [*map(_shown, self.pools), *sets, *away, f"habits: {', '.join(habits) or 'kind'}", *more]

    def with_smaller_cluster(self) -> Iterator[OpenShiftStory]:
        """See `Story`."""
        if self.way.through:
            yield replace(self, way=ALONE)
        if self.habits != KIND:
            yield replace(self, habits=KIND)
        if self.never_boots:
            yield replace(self, never_boots="")
        if self.machine_sets:
            fewer_options = {name: value for name, value in self.options.items() if name not in SPARE}
            yield replace(self, machine_sets=(), never_boots="", options=fewer_options)
        for name in SWITCHES:
            if getattr(self, name):
                yield replace(self, **{name: False})  # type: ignore[arg-type]
        for each in () if self.database else self.pools[1:]:
            others = tuple(other for other in self.pools if other is not each)
            if each.name != "worker":
                yield replace(self, pools=others)
            if _count(each) > 1:
                fewer = replace(each, nodes=each.nodes[:-1])
                yield replace(self, pools=tuple(fewer if other is each else other for other in self.pools))


def _count(of: Pool) -> int:
    return len(of.nodes)


def _shown(of: Pool) -> str:
    most = f", {of.max_unavailable} at once" if of.max_unavailable is not None else ""
    return f"pool {of.name}: {_count(of)} Kubernetes nodes{most}{', paused' if of.paused else ''}"


def story_of(seed: int) -> OpenShiftStory:
    """The story of a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same story each time, and nothing secret
    most = chance.choice((None, None, 1, 2, "50%"))
    pools = [pool("master"), pool("worker", chance.choice((1, 2, 3, 3, 4, 5)), max_unavailable=most)]
    if chance.random() < 0.3:
        pools.append(pool("infra", chance.choice((1, 2)), paused=chance.random() < 0.3))
    habits = Habits(**{each.name: getattr(chance.choice((Habits(), KIND)), each.name) for each in fields(Habits)})
    batches = 1 + sum(_count(each) for each in pools[1:])
    events = events_of(chance, LIKELY, ACTS * (1 + batches), TOGETHER)
    options, never_boots = _options(chance, batches), ""
    # A batch of all workers would have no place left for its members, and one of two may have two of these.
    database = _count(pools[1]) > 2 and chance.random() < 0.35
    options |= {"upgrade_max_unavailable": 1} if database or chance.random() < 0.15 else {}
    windows = chance.random() < 0.4
    sets: tuple[MachineSet, ...] = ()
    # A source of its own, so that all else of a story stays as it is without.
    own = random.Random(seed + 0.5)  # noqa: S311 - as above
    if own.random() < 0.4:
        sets = tuple(MachineSet(f"workers-{zone}", zone) for zone in "abc"[: own.choice((1, 2, 3))])
        never_boots = own.choice(sets).name if own.random() < 0.2 else ""
        # With the policy `stop` such a run ends by itself, and nothing would be upgraded.
        policy = "continue" if never_boots else own.choice(("stop", "continue"))
        options |= {"upgrade_extra_workers": True, "upgrade_capacity_policy": policy}
    way = own.choice(CHAINS) if own.random() < 0.25 else ALONE
    requested, forced, further = _further(seed, ACTS * (1 + batches))
    events = tuple(sorted((*events, *further), key=lambda each: each.act))
    options |= forced
    if way.through:
        # A pool that a person has paused would stay too far behind.
        pools = [replace(each, paused=False) for each in pools]
        events = tuple(replace(each, act=each.act * len(way.versions)) for each in events)
    return OpenShiftStory(
        seed,
        tuple(pools),
        habits,
        way,
        database=database,
        windows=windows,
        machine_sets=sets,
        never_boots=never_boots,
        requested=requested,
        options=options,
        events=events,
    )


def _further(seed: int, latest: int) -> tuple[bool, dict[str, Any], tuple[Event, ...]]:
    """Whether the upgrade is requested, the rungs that are allowed, and the events of both, from a source of their own.

    All else of a story stays as it is without them.
    """
    own = random.Random(seed + 0.25)  # noqa: S311 - as above
    requested, forces = own.random() < 0.35, own.random() < 0.35
    events = events_of(own, OF_REQUEST, latest) if requested else ()
    if not forces:
        return requested, {}, events
    rungs = [
        {"rung": rung, "after": after * own.choice((1, 2)), "namespaces": own.choice((["search"], ["s*"], ["*"]))}
        for rung, after in RUNGS
        if own.random() < 0.6
    ]
    return requested, {FORCED: rungs} if rungs else {}, (*events, *events_of(own, OF_FORCING, latest))


def _options(chance: random.Random, batches: int) -> dict[str, Any]:
    may: Mapping[str, tuple[float, Callable[[], Any]]] = {
        "upgrade_wait": (0.15 if batches < 5 else 0.0, lambda: False),
    }
    return PATIENCE | {name: give() for name, (share, give) in may.items() if chance.random() < share}


PATIENCE: dict[str, Any] = {"upgrade_member_timeout": 2400, "upgrade_gate_timeout": 1200}
"""Seconds after which a run gives up. An operator that upgrades itself may write nothing for six minutes."""
LIKELY: dict[str, int] = {
    "kill": 14,
    "api_away": 4,
    "answer_lost": 6,
    "request_lost": 4,
    "conflict": 5,
    "server_error": 4,
    "busy": 2,
    "operator_degraded": 4,
    "node_never_returns": 3,
    "node_degraded": 3,
    "drain_blocked": 4,
    "machine_config_away": 3,
    "version_operator_away": 3,
    "person_cordons": 3,
    "person_pauses": 2,
    "person_lets_go": 2,
    "second_controller": 2,
}
"""The likelihood of each kind of event."""
