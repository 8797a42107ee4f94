"""The demo, as the README starts it: by make, with the packages of its own lock, its own lab, and few documents."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.demo.figures import MEANING, NEXT
from tests.scenarios.playbook import PATIENCE

ROOT = Path(__file__).parents[2]


def test_the_demo_upgrades_a_cluster_and_says_what_it_cost() -> None:
    # Nothing of a make that runs the tests: it would pass its own options to this one.
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", "demo", "ARGS=--documents 500"]
    demo = subprocess.run(
        command, cwd=ROOT, env=surroundings, check=False, capture_output=True, text=True, timeout=PATIENCE
    )
    print(demo.stdout, demo.stderr, sep="\n")

    assert demo.returncode == 0
    assert "TASK [" not in demo.stdout
    assert re.search(r"^  \d   opensearch-members-\d   data with manager   .*hands over first$", demo.stdout, re.M)
    assert len(re.findall(r"^✔ \d/3 opensearch-members-\d   \d+ (?:s|min)\b", demo.stdout, re.M)) == 3
    said = re.findall(r"^(?:✔ |  )\d/3 .*", demo.stdout, re.M)
    # A wait that goes on is said again as a sign of life, with the seconds that it has lasted.
    once = [line for line in said if "   waiting" not in line]
    assert len(set(once)) == len(once)
    assert len([line for line in said if " goes down" in line]) == 3
    # A slow machine waits more often, and elects another manager in that time, which hands over as well.
    assert [line for line in said if " has handed over to " in line]
    rest = [line for line in said if not re.search(r"^✔| goes down|   waiting| has handed over to ", line)]
    assert not rest, "no more lines for a member than those"
    assert re.search(r"^Upgraded in \d+\.\d s$", demo.stdout, re.M)
    members = re.findall(r"^opensearch-members-\d +3\.8\.0 +\d+\.\d s +\d+\.\d s +\d+\.\d s$", demo.stdout, re.M)
    assert len(members) == 3
    verdict = "The cluster is green, every member runs 3.8.0, and no acknowledged document is missing."
    assert demo.stdout.rstrip().endswith(f"{verdict}\n\n{NEXT}")
    # Without a failed operation there is nothing to explain.
    assert (MEANING in demo.stdout) == bool(re.search(r"^    \d+x ", demo.stdout, re.M))
