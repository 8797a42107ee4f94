"""A story: a cluster, an upgrade of it, and what happens to it on the way. The same story happens in one way only."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.lab.opensearch.layouts import ELASTICSEARCH, OPENSEARCH, Pool, Product
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
class Event:
    """Something that happens behind an act of the controller, counted over all of its runs."""

    act: int
    kind: str
    """A name in `tests.runs.random_runs.events.KINDS`."""
    subject: int = 0
    """The number of the member, the Kubernetes node or the kind of request, counted round."""
    seconds: float = 0.0
    """The time after which it is over; 0 if it stays until all is mended."""

    def text(self) -> str:
        """One line."""
        lasting = f" for {self.seconds:g} s" if self.seconds else ""
        return f"behind act {self.act}: {self.kind} ({self.subject}){lasting}"


@dataclass(frozen=True)
class Story:
    """All that decides what happens."""

    seed: int
    pools: tuple[Pool, ...]
    indices: tuple[IndexIn, ...]
    way: tuple[str, str]
    """The version before, and the one after."""
    options: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    paces: Paces = QUICK
    """The time that the servers take."""

    @property
    def product(self) -> Product:
        """The servers' family."""
        return ELASTICSEARCH if 5 <= int(self.way[0].partition(".")[0]) <= 9 else OPENSEARCH

    @property
    def members(self) -> int:
        """Their number."""
        return sum(pool.replicas for pool in self.pools)

    def text(self) -> str:
        """The story, for a person."""
        pools = ", ".join(f"{pool.replicas} {pool.name} ({'/'.join(pool.roles) or 'no role'})" for pool in self.pools)
        indices = ", ".join(f"{each.name} {each.shards} shards of {1 + each.replicas} copies" for each in self.indices)
        options = ", ".join(f"{name}={value}" for name, value in self.options.items() if name not in PATIENCE)
        way = f"{self.product.name} {' to '.join(self.way)}{'' if self.paces == QUICK else ', slow servers'}"
        lines = [f"seed {self.seed}: {way}", f"  members: {pools}", f"  indices: {indices or 'none'}"]
        return "\n".join([*lines, f"  variables: {options or 'none'}", *(f"  {each.text()}" for each in self.events)])


def story_of(seed: int) -> Story:
    """The story of a seed."""
    chance = random.Random(seed)  # noqa: S311 - the same story each time, and nothing secret
    pools = _pools(chance)
    data = sum(pool.replicas for pool in pools if "data" in pool.roles)
    indices = tuple(
        IndexIn(f"index-{number}", chance.randint(1, 4), _replicas(chance, data))
        for number in range(chance.choice((0, 1, 1, 2, 3)))
    )
    kinds = [*_LIKELY]
    events = tuple(
        Event(
            chance.randint(1, LATEST),
            chance.choices(kinds, [_LIKELY[kind] for kind in kinds])[0],
            chance.randint(0, 99),
            chance.choice((0.0, 1.0, 5.0, 20.0, 90.0)),
        )
        for _number in range(chance.choice((0, 1, 1, 2, 2, 3, 4)))
    )
    ordered = tuple(sorted(events, key=lambda each: each.act))
    paces = drawn(chance) if chance.random() < SLOW else QUICK
    return Story(seed, pools, indices, chance.choice(WAYS), _options(chance, indices, paces), ordered, paces)


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
}
"""The likelihood of each kind of event."""


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
    if chance.random() < 0.03:
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
