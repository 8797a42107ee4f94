"""`python -m tests.benchmarks.plans`: the cost of planning the upgrade of a large cluster, from the servers' answers.

The answers are made up in the shape of real ones: indices of ten shards with one replica, spread by chance, and across
zones where there are any.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.batches import (
    Batch,
    Cutting,
    batches_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.pools import Member, Pool
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.proof import Proofs, placement_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import parse_state
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.version import Version

NEW = Version(3, 8, 0)
CREATED = 136408427
"""The version id of 2.19.6."""
SHARDS = 10


@dataclass(frozen=True)
class Cost:
    """The cost of one plan. Seconds, and megabytes of JSON."""

    batches: tuple[Batch, ...]
    answers: float
    reading: float
    cutting: float
    proving: float


def main(argv: list[str]) -> int:
    """Print the cost of plans for a cluster without zones and with three."""
    options = argparse.ArgumentParser(prog='make benchmark-plans ARGS="…"', description=__doc__)
    options.add_argument("--members", type=int, default=1000)
    options.add_argument("--shards", type=int, default=50_000)
    given = options.parse_args(argv)
    print(f"{given.members} members, {given.shards} shards with one replica, batching: disjoint\n")
    print("zones  batches  largest   answers  reading  cutting   proofs     plan")
    for zones in (0, 3):
        cost = measure(given.members, given.shards, zones)
        seconds = [f"{each:6.2f} s" for each in (cost.reading, cost.cutting, cost.proving, cost.cutting + cost.proving)]
        largest = max(len(batch.members) for batch in cost.batches)
        print(f"{zones:>5} {len(cost.batches):>8} {largest:>8} {cost.answers:6.1f} MB {' '.join(seconds)}")
    print(f"\nmost memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


def measure(members: int, shards: int, zones: int) -> Cost:
    """Read the answers of such a cluster, cut the batches, prove each."""
    names = [f"data-{number}" for number in range(members)]
    zone_of = {name: f"zone-{number % zones}" if zones else "" for number, name in enumerate(names)}
    nodes, text = _nodes(names, zone_of), json.dumps(_state(names, shards, zone_of))
    marks = [time.perf_counter()]
    state = parse_state(nodes, json.loads(text))
    marks.append(time.perf_counter())
    pool = Pool("data", tuple(_member(name, zone_of[name]) for name in names), "opensearch", "o:2", "o:3", "OnDelete")
    batches = batches_of([pool], NEW, (), Cutting("disjoint"), placement_of(state))
    marks.append(time.perf_counter())
    proofs = Proofs(state)
    for batch in batches:
        proofs.of(batch.members)
    marks.append(time.perf_counter())
    reading, cutting, proving = (later - earlier for earlier, later in pairwise(marks))
    return Cost(batches, len(text) / 1e6, reading, cutting, proving)


def _member(name: str, zone: str) -> Member:
    return Member(name, "data", Version(2, 19, 6), manager_eligible=False, holds_data=True, zone=zone)


def _nodes(names: list[str], zone_of: dict[str, str]) -> dict[str, Any]:
    return {
        name: {"name": name, "version": "2.19.6", "roles": ["data"], "attributes": {"zone": zone_of[name]}}
        for name in names
    }


def _state(names: list[str], shards: int, zone_of: dict[str, str]) -> dict[str, Any]:
    chance = random.Random(7)  # noqa: S311 - the same cluster on every run
    table: dict[str, Any] = {}
    for number in range(shards):
        index, shard = f"index-{number // SHARDS}", number % SHARDS
        one, other = chance.sample(names, 2)
        while zone_of[one] and zone_of[one] == zone_of[other]:
            other = chance.choice(names)
        copies = [
            {"index": index, "shard": shard, "primary": node == one, "state": "STARTED", "node": node}
            for node in (one, other)
        ]
        table.setdefault(index, {"shards": {}})["shards"][str(shard)] = copies
    metadata = {
        "state": "open",
        "settings": {
            "index": {
                "version": {"created": str(CREATED)},
                "number_of_shards": str(SHARDS),
                "number_of_replicas": "1",
            }
        },
    }
    return {
        "cluster_uuid": "uuid",
        "version": 1,
        "cluster_manager_node": "manager",
        "nodes": {name: {"name": name, "ephemeral_id": name} for name in names},
        "metadata": {
            "cluster_coordination": {
                "last_committed_config": ["manager"],
                "last_accepted_config": ["manager"],
                "voting_config_exclusions": [],
            },
            "indices": dict.fromkeys(table, metadata),
        },
        "routing_table": {"indices": table},
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
