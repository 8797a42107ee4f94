"""`python -m tests.benchmarks.fleet`: the cost of the controller for each cluster of a fleet.

The clusters are in memory, so that the controller is what is measured: its seconds of a core for each cluster, for the
plan and for the upgrade, and the memory of its largest process. Members and their recoveries take no time here.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import conftest  # noqa: F401  # makes the collection importable; pylint: disable=unused-import

# isort: split
from tests.lab.opensearch.layouts import three_combined
from tests.lab_command import environment, perform
from tests.sandbox.sandbox import Sandbox
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PATIENCE, Played, command_of

ADOPT = 36
"""PR_SET_CHILD_SUBREAPER of Linux: processes below this one that lose their parent become its children."""
FLEET = "stateful.upgrade.fleet"
FROM, TO = "2.19.6", "3.8.0"
DIGEST = re.compile(r"^Plan (f[0-9a-f]{11})", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """The cost of a run of the fleet."""

    seconds: float
    of_a_core: float
    """Seconds of a core that all processes of the controller took."""

    def line(self, what: str, clusters: int) -> str:
        """The cost for people."""
        each = self.of_a_core / clusters
        return f"| {what} | {self.seconds:.0f} s | {self.of_a_core:.0f} s | {each:.1f} s |"


def main(argv: list[str]) -> int:
    """Measure, and give the exit code: 0 only if every cluster is upgraded."""
    options = argparse.ArgumentParser(prog="benchmark-fleet", description=__doc__)
    options.add_argument("--clusters", type=int, default=100, help="clusters, of three members each")
    options.add_argument("--forks", type=int, default=4, help="clusters that are upgraded at the same time")
    chosen = options.parse_args(argv)
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    return perform("benchmark-fleet", lambda directory: _measure(chosen.clusters, chosen.forks, directory))


def _measure(number: int, forks: int, directory: Path) -> int:
    with Sandbox() as sandbox:
        clusters = {
            f"cluster-{each}": Cluster.start(sandbox, f"cluster-{each}", three_combined, FROM) for each in range(number)
        }
        inventory = directory / "clusters.yml"
        hosts = {name: cluster.variables(TO) for name, cluster in clusters.items()}
        inventory.write_text(yaml.safe_dump({"clusters": {"hosts": hosts}}))
        given = {
            "upgrade_fleet_path": str(directory / "fleet"),
            "upgrade_fleet_canary": "cluster-0",
            "upgrade_fleet_waves": ["10%", "100%"],
        }
        surroundings = environment()
        words = ("--inventory", str(inventory), "--forks", str(forks))
        planned, of_plan = _timed(given, surroundings, (*words, "--check"))
        found = DIGEST.search(planned.output)
        if found is None:
            print(planned.output)
            return 1
        done, of_run = _timed({**given, "upgrade_fleet_confirm": found[1]}, surroundings, words)
        upgraded = sum({*cluster.versions().values()} == {TO} for cluster in clusters.values())
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{upgraded} of {number} clusters are upgraded, {forks} at a time; the largest process has {largest:.0f} MiB")
    print("| run | seconds | seconds of a core | of a core, for each cluster |\n|---|---|---|---|")
    print(of_plan.line("plans alone", number), of_run.line("plans and upgrades", number), sep="\n")
    return 0 if done.code == 0 and upgraded == number else 1


def _timed(given: Mapping[str, Any], surroundings: Mapping[str, str], words: Sequence[str]) -> tuple[Played, Cost]:
    began, before = time.monotonic(), _of_a_core()
    # A process of its own, as users start it: those that tests share are no children of this one, so that the kernel
    # does not count their seconds here.
    done = subprocess.run(
        command_of(FLEET, given, *words),
        env={**surroundings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    # The process of which the playbooks are forks has lost its parent, and ends after the run.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return Played(done.returncode, done.stdout), Cost(time.monotonic() - began, _of_a_core() - before)


def _of_a_core() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
