# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tests.demo`: sets everything up, upgrades a real cluster under traffic, prints the cost, cleans up."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.demo.figures import Figures
from tests.figures import member_times
from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.traffic import Traffic, check, seed
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, PLAYBOOK, confirmed, play
from tests.stage import LAYOUTS, environment, parser, perform, raised, step

RATE = 40.0
"""Operations a second, so that every gap is seen."""


def main(argv: list[str]) -> int:
    """Run the demo and give its exit code: 0 only when the upgrade succeeded and nothing is missing."""
    options = parser("demo", __doc__).parse_args(argv)
    return perform("demo", lambda directory: _demonstrate(options, directory))


def _demonstrate(options: argparse.Namespace, directory: Path) -> int:
    with raised("demo", directory, options.origin, options.target) as lab:
        with step(f"an OpenSearch {options.origin} cluster ({options.members} members)"):
            cluster = Cluster.start(lab, "search", LAYOUTS[options.members], options.origin)
        figures = _upgrade(lab, cluster, options, directory)
    print(figures.table())
    return 0 if figures.good else 1


def _upgrade(lab: Lab, cluster: Cluster, options: argparse.Namespace, directory: Path) -> Figures:
    with step(f"{options.documents} documents"):
        seed(cluster.target, directory, documents=options.documents)
    variables = cluster.variables(options.target)
    surroundings = {**environment(), "ANSIBLE_STDOUT_CALLBACK": "stateful.upgrade.concise"}
    print(f"\n$ ansible-playbook {PLAN} -e target_version={options.target} …\n")
    if play(PLAN, variables, surroundings, live=True).code != 0:
        raise LabError("The plan was refused, for the reasons above")
    consented = confirmed(variables, surroundings)
    print(
        f"\n$ ansible-playbook {PLAYBOOK} -e target_version={options.target} "
        f"-e upgrade_confirm={consented['upgrade_confirm']} …   (writes and searches run all along)\n"
    )
    with Traffic.start(cluster.target, directory, rate=RATE) as traffic:
        began = time.monotonic()
        played = play(PLAYBOOK, consented, surroundings, live=True)
        ended = time.monotonic()
        traffic.stop()
    events = [event for event in lab.events() if began <= event["monotonic"] <= ended]
    return Figures(
        code=played.code,
        seconds=ended - began,
        members=member_times(events, cluster.namespace),
        report=check(cluster.target, directory),
        versions=cluster.versions(),
        health=cluster.health()["status"],
        target=options.target,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
