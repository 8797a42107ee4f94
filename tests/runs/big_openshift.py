"""`make benchmark-passes`: the upgrade of a large OpenShift in memory, pass by pass, with the cost of each.

    make benchmark-passes ARGS="--nodes 500 --at-once 10%"

Three masters and one pool of workers over three zones. Passes are five minutes apart. Seconds are of a core, for the
controller and the API server together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import tests.runs.prepared  # noqa: F401 - it prepares this process before ansible-core is imported

# isort: split
from tests.runs import direct
from tests.runs.big_run import START, Cost, Costs
from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import CalledOpenShift
from tests.runs.world import world
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.habits import KIND

BETWEEN = 300.0
"""Seconds between two passes."""
MOST = 400
"""Passes after which an upgrade is taken to stand still."""


@dataclass(frozen=True)
class CostOfPass:
    """The cost of one pass, and how many Kubernetes nodes were on the target when it started."""

    done: int
    cost: Cost


def passes(nodes: int, at_once: str) -> tuple[Cost, list[CostOfPass]]:
    """Upgrade an OpenShift with so many workers: the cost of its plan, and of each pass.

    Raises:
        AssertionError: it is not upgraded.
    """
    with world(direct.play, START) as here:
        workers = pool("worker", nodes, max_unavailable=at_once)
        cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), workers)), KIND)
        costs = Costs(here)
        given = cluster.agreed(upgrade_wait=False)
        plan = costs.cost(nodes)
        found: list[CostOfPass] = []
        for _number in range(MOST):
            done = len(cluster.on_target())
            ended = here.play(PLAYBOOK, given)
            assert ended.code == 0, ended.output
            found.append(CostOfPass(done, costs.cost(nodes)))
            if '"upgrade_state": "done"' in ended.output:
                break
            cluster.openshift.clock.advance(BETWEEN)
            costs.cost(nodes)
        cluster.is_upgraded()
        return plan, found


def main(argv: Sequence[str]) -> int:
    """Print the cost of the plan and of each pass."""
    options = argparse.ArgumentParser(prog='make benchmark-passes ARGS="…"', description=__doc__)
    options.add_argument("--nodes", type=int, default=500)
    options.add_argument("--at-once", default="10%", help="maxUnavailable of the workers")
    given = options.parse_args(argv)
    plan, found = passes(given.nodes, given.at_once)
    print(f"{given.nodes} workers, {given.at_once} at once: {len(found)} passes\n")
    print("              done   seconds  requests")
    print(f"{'plan':<12} {0:5} {plan.seconds:9.2f} {plan.requests:9}")
    for number, each in enumerate(found, 1):
        print(f"{f'pass {number}':<12} {each.done:5} {each.cost.seconds:9.2f} {each.cost.requests:9}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
