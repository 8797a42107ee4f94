"""Killed at random, in every way, and started again at once: the upgrade completes, nothing twice."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import KILLS, UpgradeRuns, conclude
from tests.scenarios.platforms import Platform

pytestmark = [pytest.mark.own_process, pytest.mark.real_servers]

FROM, TO = "2.19.6", "3.8.0"
RANDOM_KILLS = int(os.environ.get("STATEFUL_UPGRADE_RANDOM_KILLS", "4"))
"""The number of runs that are killed at random."""
LONGEST = 11.0
"""Seconds that a whole run takes about, so that kills fall anywhere in it."""


def test_killed_at_random(platform: Platform, ansible_environment: Mapping[str, str]) -> None:
    chance = random.Random(19150)  # noqa: S311 - the same kills each time, and nothing secret
    names, left, number = [*KILLS], RANDOM_KILLS, 0
    while left:
        number += 1
        cluster = Cluster.start(platform, f"killed-at-random-{number}", three_combined, FROM)
        try:
            upgrade_runs, going = UpgradeRuns.begin(cluster, TO, ansible_environment), True
            while left and going:
                seconds, name = chance.uniform(0.5, LONGEST), names[left % len(names)]
                going = upgrade_runs.killed_after(seconds, KILLS[name])
                print(f"cluster {number}: {name} after {seconds:.1f} s{'' if going else ', when it had ended already'}")
                left -= going
            conclude(upgrade_runs)
        finally:
            cluster.remove()
