# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo, as the README starts it: in a process of its own, with a lab of its own, and few documents."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.scenarios.playbook import PATIENCE

ROOT = Path(__file__).parents[2]


def test_the_demo_upgrades_a_cluster_and_says_what_it_cost() -> None:
    command = [sys.executable, "-m", "tests.demo", "--documents", "500"]
    demo = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=PATIENCE)
    print(demo.stdout, demo.stderr, sep="\n")

    assert demo.returncode == 0
    assert "TASK [" not in demo.stdout
    assert re.search(r"^ 3\. opensearch-members-\d \(2\.19\.6\) .*hands over first\.$", demo.stdout, re.M)
    assert re.search(r"^Upgraded in \d+\.\d s$", demo.stdout, re.M)
    members = re.findall(r"^opensearch-members-\d +3\.8\.0 +\d+\.\d s +\d+\.\d s +\d+\.\d s$", demo.stdout, re.M)
    assert len(members) == 3
    assert demo.stdout.rstrip().endswith(
        "The cluster is green, every member runs 3.8.0, and no acknowledged document is missing."
    )
