"""The story of an upgrade of OpenSearch: pools of members, indices, and the variables that a user may choose."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.lab.opensearch.layouts import ELASTICSEARCH, OPENSEARCH, Pool, Product
from tests.runs.random_runs.story import Event, Story, by_person, events_of
from tests.sandbox.paces import QUICK, Paces, drawn

LATEST = 90
"""The last act of a run at which something happens; a run of three members has about 80."""
COMBINED = ("cluster_manager", "data", "ingest")
WAYS = (
    *((("2.19.6", "3.8.0"),) * 4),
    ("2.11.1", "2.19.6"),
    ("3.4.0", "3.8.0"),
    ("7.17.29", "8.19.4"),
    ("8.18.0", "8.19.4"),
)
"""The versions before and after; one from 5 to 9 is of Elasticsearch."""


@dataclass(frozen=True)
class IndexIn:
    """An index of the cluster."""

    name: str
    shards: int
    replicas: int


@dataclass(frozen=True)
class OpenSearchStory(Story):
    """The story of a cluster of OpenSearch."""

    pools: tuple[Pool, ...]
    indices: tuple[IndexIn, ...]
    way: tuple[str, str]
    """The version before, and the one after."""
    on_hosts: bool = False
    """Whether the members are services on hosts of an inventory, and not pods."""

    @property
    def product(self) -> Product:
        """The servers' family."""
        return ELASTICSEARCH if 5 <= int(self.way[0].partition(".")[0]) <= 9 else OPENSEARCH

    @property
    def repository(self) -> str:
        """The repository in which the run takes a snapshot first; empty if it takes none."""
        return str(self.options.get("upgrade_snapshot", ""))

    @property
    def size(self) -> str:
        """The size to which the claims grow; empty if they stay as they are."""
        return SIZE if VOLUMES in self.options else ""

    @property
    def passes(self) -> int:
        """See `Story`: a pass is of one member at least, and every member is taken in each hop."""
        members = sum(pool.replicas for pool in self.pools) * (2 if self.options.get("upgrade_hops") else 1)
        return members if self.options.get("upgrade_wait") is False else 0

    def cluster(self) -> list[str]:
        """See `Story`."""
        pools = ", ".join(f"{pool.replicas} {pool.name} ({'/'.join(pool.roles) or 'no role'})" for pool in self.pools)
        indices = ", ".join(f"{each.name} {each.shards} shards of {1 + each.replicas} copies" for each in self.indices)
        where = "members on hosts" if self.on_hosts else "members"
        return [f"{self.product.name} {' to '.join(self.way)}", f"{where}: {pools}", f"indices: {indices or 'none'}"]

    def with_smaller_cluster(self) -> Iterator[OpenSearchStory]:
        """See `Story`."""
        for without in self.indices:
            yield replace(self, indices=tuple(each for each in self.indices if each is not without))
        for number, pool in enumerate(self.pools):
            others = (*self.pools[:number], *self.pools[number + 1 :])
            if others and any(each.manages for each in others) and any("data" in each.roles for each in others):
                yield replace(self, pools=others)
            for fewer in sorted({max(3, pool.replicas // 2), pool.replicas - 1}):
                if 3 <= fewer < pool.replicas:
                    smaller = replace(pool, replicas=fewer)
                    yield replace(self, pools=(*self.pools[:number], smaller, *self.pools[number + 1 :]))


def story_of(seed: int) -> OpenSearchStory:
    """The story of a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same story each time, and nothing secret
    # Drawn apart, so that the other seeds stay the stories that they were.
    on_hosts = random.Random(f"{seed} on hosts").random() < ON_HOSTS  # noqa: S311
    pools = _pools(chance)
    data = sum(pool.replicas for pool in pools if "data" in pool.roles)
    indices = tuple(
        IndexIn(f"index-{number}", chance.randint(1, 4), _replicas(chance, data))
        for number in range(chance.choice((0, 1, 1, 2, 3)))
    )
    events = events_of(chance, _LIKELY_ON_HOSTS if on_hosts else _LIKELY, LATEST)
    paces, way = drawn(chance) if chance.random() < SLOW else QUICK, chance.choice(WAYS)
    options = _options(chance, indices, paces)
    # Drawn apart for the same cause.
    if "upgrade_batching" in options and random.Random(f"{seed} by machines").random() < BY_MACHINES:  # noqa: S311
        options["upgrade_batching"] = "node"
        if not on_hosts and random.Random(f"{seed} emptied").random() < EMPTIED:  # noqa: S311
            options["upgrade_tasks_emptied"] = [str(TASKS)]
            options.pop("upgrade_allow_quorum_loss", None)  # they exclude each other
    if on_hosts:
        options.pop("upgrade_wait", None)  # a run on hosts is never divided into passes
    elif random.Random(f"{seed} snapshot").random() < SAVED:  # noqa: S311
        options["upgrade_snapshot"] = "backup"
    indices, more, own = _raised(seed, indices)
    grown, quotas = _extra_member(seed, pools) if not on_hosts else ({}, ())
    options = {**options, **more, **grown}
    people = by_person(seed, LATEST)
    events = tuple(sorted((*events, *own, *quotas, *people), key=lambda each: each.act))
    if not on_hosts and EXTRA not in options and random.Random(f"{seed} hops").random() < HOPS:  # noqa: S311
        # Such a run is twice as long.
        way, events = CHAIN, tuple(replace(each, act=2 * each.act) for each in events)
        options["upgrade_hops"] = BETWEEN
    elif not on_hosts and random.Random(f"{seed} claims").random() < GROWN:  # noqa: S311
        options[VOLUMES] = [{"pool": pool.name, "claim": "data", "size": SIZE} for pool in pools]
    return OpenSearchStory(seed, pools, indices, way, on_hosts, options=options, events=events, paces=paces)


def _raised(seed: int, indices: tuple[IndexIn, ...]) -> tuple[tuple[IndexIn, ...], dict[str, Any], tuple[Event, ...]]:
    """Single copies that get a replica for the time of the upgrade, drawn apart: indices, variable and events."""
    chance = random.Random(f"{seed} replicas")  # noqa: S311
    if not indices or chance.random() > RAISED:
        return indices, {}, ()
    single = (replace(indices[0], replicas=0), *indices[1:])
    by_person = Event(chance.randint(1, LATEST), "replicas_by_person", chance.randint(0, 99))
    return single, {"upgrade_raise_replicas": True}, (by_person,) if chance.random() < 0.6 else ()


def _extra_member(seed: int, pools: tuple[Pool, ...]) -> tuple[dict[str, Any], tuple[Event, ...]]:
    """A pool that has one member more for the time of the upgrade, drawn apart: variables, and a quota of a person."""
    chance = random.Random(f"{seed} extra member")  # noqa: S311
    others = [pool.name for pool in pools if not pool.manages]
    if not others or chance.random() > MORE:
        return {}, ()
    quota = Event(chance.randint(1, LATEST), "quota", chance.randint(0, 99), chance.choice((0.0, 20.0, 90.0)))
    policy = chance.choice(("stop", "continue"))
    given = {EXTRA: chance.choice(others), "upgrade_capacity_policy": policy}
    return given, (quota,) if chance.random() < 0.5 else ()


CHAIN, BETWEEN = ("2.11.1", "3.8.0"), "2.19.6"
"""A way that takes a hop between."""
HOPS = 0.06
"""The share of stories of pods that go it."""
VOLUMES, GROWN, SIZE = "upgrade_volumes", 0.08, "2Gi"
"""The variable with which claims grow before the first batch, the share of other stories of pods that have it, and the
size."""
EXTRA, MORE = "upgrade_extra_member", 0.4
"""The variable with which a pool has one member more, and the share of stories with a pool that may that have it."""
RAISED = 0.25
"""The share of stories in which indices without a replica get one for the time of the upgrade."""
ON_HOSTS = 0.1
"""The share of stories whose members are on hosts."""
SAVED = 0.15
"""The share of stories of pods whose run takes a snapshot first."""

BY_MACHINES = 0.4
"""The share of those with other batches than one by one that take the members of a machine together."""
EMPTIED = 0.3
"""The share of those that empty the Kubernetes node of each batch for tasks."""
TASKS = Path(__file__).with_name("emptied.yml")

SLOW = 0.2
"""The share of stories whose servers may be as slow as real ones at their worst, each in its own way."""
PATIENCE = {"upgrade_member_timeout": 120, "upgrade_gate_timeout": 120, "upgrade_batch_timeout": 600}
"""Seconds after which a run gives up, so that stories in which nothing comes back end soon."""
MORE_PATIENCE = {"upgrade_member_timeout": 600, "upgrade_gate_timeout": 600, "upgrade_batch_timeout": 1800}
"""The same where servers are slow."""
_LIKELY: Mapping[str, int] = {
    "kill": 12,
    "api_away": 4,
    "process_killed": 4,
    "never_ready": 3,
    "crash_loop": 2,
    "slow_stop": 2,
    "node_dead": 2,
    "evicted": 3,
    "answer_lost": 5,
    "request_lost": 4,
    "conflict": 4,
    "server_error": 4,
    "setting_by_person": 3,
    "image_by_other_manager": 1,
    "index_without_replicas": 2,
    "busy": 2,
    "controllers_away": 4,
    "cordoned": 2,
    "disk_full": 2,
    "lock_removed": 1,
    "record_removed": 1,
    "settings_cleared": 2,
    "stale_member": 6,
    "second_controller": 4,
}
"""The likelihood of each kind of event."""
_LIKELY_ON_HOSTS: Mapping[str, int] = {
    "kill": 12,
    "process_killed": 5,
    "host_unreachable": 5,
    "host_without_power": 3,
    "service_fails": 5,
    "crash_loop": 2,
    "slow_stop": 3,
    "repository_away": 2,
    "setting_by_person": 2,
    "index_without_replicas": 2,
    "disk_full": 1,
    "lock_removed": 1,
    "record_removed": 1,
    "settings_cleared": 2,
}
"""The same where members are on hosts."""


def _pools(chance: random.Random) -> tuple[Pool, ...]:
    kind = chance.random()
    if kind < 0.5:
        return (Pool("members", chance.choice((3, 3, 3, 4, 5)), COMBINED),)
    if kind < 0.6:
        return (Pool("members", chance.choice((1, 2)), COMBINED),)
    pools = [
        Pool("managers", 3, ("cluster_manager",)),
        Pool("data", chance.choice((2, 3, 3, 4, 6)), ("data", "ingest")),
    ]
    if chance.random() < 0.4:
        pools.append(Pool("coordinating", chance.choice((1, 2)), ()))
    if chance.random() < 0.1:
        pools.append(Pool("warm", chance.choice((6, 12)), ("data",)))
    if chance.random() < 0.01:
        pools.append(Pool("cold", chance.choice((18, 36, 51)), ("data",)))
    return tuple(pools)


def _replicas(chance: random.Random, data: int) -> int:
    """Seldom none, and never more than there is place for."""
    return min(chance.choice((0, 1, 1, 1, 1, 1, 1, 1, 2)), max(0, data - 1))


def _options(chance: random.Random, indices: Sequence[IndexIn], paces: Paces) -> dict[str, Any]:
    may: Mapping[str, tuple[float, Callable[[], Any]]] = {
        "upgrade_batching": (0.4, lambda: chance.choice(("zones", "disjoint"))),
        "upgrade_wait": (0.2, lambda: False),
        "upgrade_hand_over": (0.15, lambda: False),
        "upgrade_allow_quorum_loss": (0.3, lambda: True),
        "upgrade_allow_single_copy": (0.5, lambda: [each.name for each in indices if not each.replicas]),
    }
    found: dict[str, Any] = dict(PATIENCE if paces == QUICK else MORE_PATIENCE)
    found |= {name: give() for name, (share, give) in may.items() if chance.random() < share}
    return {name: value for name, value in found.items() if value != []}
