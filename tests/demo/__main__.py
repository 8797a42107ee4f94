"""`python -m tests.demo`: sets everything up, upgrades a real cluster under traffic, prints the cost, cleans up."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tests.demo.figures import Figures
from tests.figures import member_times
from tests.lab.errors import LabError
from tests.lab.lab import Lab
from tests.lab.traffic import Traffic, seed
from tests.lab_command import LAYOUTS, environment, fetching, parser, perform, raised, step
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAN, PLAYBOOK, play

RATE = 40.0
"""Operations a second, so that every gap is seen."""
DIGEST = re.compile(r"\bp[0-9a-f]{11}\b")
"""The digest of a plan, by which it is confirmed."""


def main(argv: list[str]) -> int:
    """Run the demo and give its exit code: 0 only when the upgrade succeeded and nothing is missing."""
    described = parser("demo", __doc__)
    described.add_argument(
        "--control-plane", action="store_true", help="the real control plane, built once per machine"
    )
    options = described.parse_args(argv)
    return perform("demo", lambda directory: _demonstrate(options, directory))


def _demonstrate(options: argparse.Namespace, directory: Path) -> int:
    in_memory = not options.control_plane
    with raised("demo", directory, options.origin, in_memory=in_memory) as lab, fetching(options.target) as fetched:
        with step(f"an OpenSearch {options.origin} cluster ({options.members} members)"):
            cluster = Cluster.start(lab, "search", LAYOUTS[options.members], options.origin)
        figures = _upgrade(lab, cluster, options, directory, fetched)
    print(figures.table(), "", figures.next(), sep="\n")
    return 0 if figures.good else 1


def _upgrade(
    lab: Lab, cluster: Cluster, options: argparse.Namespace, directory: Path, fetched: Future[Path]
) -> Figures:
    with step(f"{options.documents} documents"):
        seed(cluster.target, directory, documents=options.documents)
        cluster.until_ready()
    with step(f"OpenSearch {options.target}"):
        fetched.result()
    variables = cluster.variables(options.target)
    quiet = {"ANSIBLE_LOCALHOST_WARNING": "no", "ANSIBLE_INVENTORY_UNPARSED_WARNING": "no"}
    surroundings = {**environment(), **quiet, "ANSIBLE_STDOUT_CALLBACK": "stateful.upgrade.concise"}
    consented = {**variables, "upgrade_confirm": _planned(variables, surroundings)}
    print(
        f"\n$ ansible-playbook {PLAYBOOK} -e target_version={options.target} "
        f"-e upgrade_confirm={consented['upgrade_confirm']} …   (writes and searches run all along)\n"
    )
    with Traffic.start(cluster.target, directory, rate=RATE) as traffic:
        began = time.monotonic()
        played = play(PLAYBOOK, consented, surroundings, live=True)
        ended = time.monotonic()
        report = traffic.stop()
    events = [event for event in lab.events() if began <= event["monotonic"] <= ended]
    return Figures(
        code=played.code,
        seconds=ended - began,
        members=member_times(events, cluster.namespace),
        report=report,
        versions=cluster.versions(),
        health=cluster.health()["status"],
        target=options.target,
    )


def _planned(variables: Mapping[str, Any], surroundings: Mapping[str, str]) -> str:
    """Show the plan, and give its digest, which confirms exactly this plan."""
    print(f"\n$ ansible-playbook {PLAN} -e target_version={variables['target_version']} …\n")
    played = play(PLAN, variables, surroundings, live=True)
    found = DIGEST.search(played.output)
    if played.code != 0 or found is None:
        raise LabError("The plan was refused, for the reasons above")
    return found[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
