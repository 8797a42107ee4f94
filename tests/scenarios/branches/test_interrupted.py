# SPDX-License-Identifier: GPL-3.0-or-later
"""Killed at every act and at random, in every way, and started again at once: the upgrade completes, nothing twice."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.ground import Ground
from tests.scenarios.interruptions import KILLS, Siege, conclude, named_acts
from tests.scenarios.load import loaded

FROM, TO = "2.19.6", "3.8.0"
RANDOM_KILLS = int(os.environ.get("STATEFUL_UPGRADE_RANDOM_KILLS", "30"))
"""How many runs are killed at random."""
LONGEST = 11.0
"""Seconds that a whole run takes about, so that kills fall anywhere in it."""


def test_killed_at_every_act(ground: Ground, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(ground, "killed-at-acts", three_combined, FROM)
    try:
        with loaded(cluster, tmp_path):
            siege = Siege.lay(cluster, TO, ansible_environment)
            for act, after, name in named_acts():
                reached = siege.killed_at(act, after=after, kill=KILLS[name])
                print(f"{name} {'after' if after else 'before'} {act}")
                assert reached, f"no run came to {act}\n{siege.outputs[-1]}"
            conclude(siege)
    finally:
        cluster.remove()


def test_cancelled_by_ansible_runner(ground: Ground, tmp_path: Path, ansible_environment: Mapping[str, str]) -> None:
    cluster = Cluster.start(ground, "cancelled", three_combined, FROM)
    try:
        siege = Siege.lay(cluster, TO, ansible_environment)
        for act in ("restrict", "delete", "restore"):
            assert siege.cancelled_at(act, tmp_path / act), siege.outputs[-1]
        conclude(siege)
    finally:
        cluster.remove()


def test_killed_at_random(ground: Ground, ansible_environment: Mapping[str, str]) -> None:
    chance = random.Random(19150)  # noqa: S311 - the same kills each time, and nothing secret
    names, left, number = [*KILLS], RANDOM_KILLS, 0
    while left:
        number += 1
        cluster = Cluster.start(ground, f"killed-at-random-{number}", three_combined, FROM)
        try:
            siege, going = Siege.lay(cluster, TO, ansible_environment), True
            while left and going:
                seconds, name = chance.uniform(0.5, LONGEST), names[left % len(names)]
                going = siege.killed_after(seconds, KILLS[name])
                print(f"cluster {number}: {name} after {seconds:.1f} s{'' if going else ', when it had ended already'}")
                left -= going
            conclude(siege)
        finally:
            cluster.remove()
