"""`make benchmark-run`: a whole upgrade of a large cluster in memory, with the cost of each batch.

    make benchmark-run ARGS="--members 300 --shards 15000 --at-once 10%"

The cluster has three dedicated managers and three pools of data members over three zones, in proven batches that share
no last copy. Seconds are of a core, for the controller and all servers together; memory is that of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tests.runs.prepared  # noqa: F401 - it prepares this process before ansible-core is imported

# isort: split
from tests.lab.opensearch.layouts import with_pools
from tests.runs import direct
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.opensearch.large import fill, pools_of, register_nodes
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAN, PLAYBOOK, digest_in

START = 1_800_000_000.0
FROM, TO = "2.19.6", "3.8.0"


@dataclass(frozen=True)
class Cost:
    """The cost of a part of the run."""

    members: int
    seconds: float
    """Of a core."""
    requests: int
    record: int
    """Bytes of the record at its end."""
    memory: float
    """MiB of the process at its end."""


@dataclass
class Costs:
    """The costs of a run, batch by batch, as its record has them."""

    world: World
    plan: Cost | None = None
    batches: list[Cost] = field(default_factory=list)
    _seconds: float = field(default_factory=time.process_time)
    _requests: int = 0
    _done: int = 0

    def cost(self, members: int, record: str = "") -> Cost:
        """The cost since the last question."""
        seconds, requests = time.process_time(), len(self.world.calling.answered)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found = Cost(members, seconds - self._seconds, requests - self._requests, len(record), memory)
        self._seconds, self._requests = seconds, requests
        return found

    def after(self, request: Request) -> None:
        """See `Calling.after`."""
        record = ((request.body or {}).get("data") or {}).get("record.json") if request.method == "PATCH" else None
        if not record:
            return
        done = [len(each["members"]) for each in json.loads(record)["batches"] if each["state"] == "done"]
        if len(done) > self._done:
            self.batches.append(self.cost(sum(done[self._done :]), record))
            self._done = len(done)


def upgrade(members: int, shards: int, **options: Any) -> Costs:
    """Upgrade a cluster of this size.

    Raises:
        AssertionError: it is not upgraded, or its copies are not what they were.
    """
    with world(direct.play, START) as here:
        cluster = _risen(here, members, shards)
        costs = Costs(here)
        given = cluster.variables(TO, upgrade_batching="disjoint", **options)
        planned = here.play(PLAN, given)
        assert planned.code == 0, planned.output
        costs.plan = costs.cost(members)
        here.calling.after = costs.after
        ended = here.play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned)})
        assert ended.code == 0, ended.output
        cluster.is_upgraded(TO)
        assert sum(each.members for each in costs.batches) == members
        return costs


def _risen(here: World, members: int, shards: int) -> CalledCluster:
    register_nodes(here.sandbox, members)
    cluster = here.cluster(FROM, with_pools(pools_of(members)))
    (servers,) = here.sandbox.members.clusters_in(cluster.namespace)
    fill(servers, shards)
    cluster.until_green()
    return cluster


def main(argv: Sequence[str]) -> int:
    """Print the cost of the plan and of each batch."""
    options = argparse.ArgumentParser(prog='make benchmark-run ARGS="…"', description=__doc__)
    options.add_argument("--members", type=int, default=300)
    options.add_argument("--shards", type=int, default=15_000)
    options.add_argument("--at-once", default="", help="upgrade_max_unavailable: members of a pool in one batch")
    given = options.parse_args(argv)
    more = {"upgrade_max_unavailable": given.at_once} if given.at_once else {}
    costs = upgrade(given.members, given.shards, **more)
    assert costs.plan is not None
    print(f"{given.members} members, {given.shards} shards with one replica: {len(costs.batches)} batches\n")
    print("           members   seconds  requests   each   record    memory")
    for name, cost in [("plan", costs.plan), *((f"batch {at}", each) for at, each in enumerate(costs.batches, 1))]:
        each = cost.requests / cost.members
        print(
            f"{name:<10} {cost.members:7} {cost.seconds:9.1f} {cost.requests:9} {each:6.1f}"
            f" {cost.record:8} {cost.memory:5.0f} MiB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
