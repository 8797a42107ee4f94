# SPDX-License-Identifier: GPL-3.0-or-later
"""Real servers under traffic, upgraded by runs that are killed: the upgrade completes, and nothing goes twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.ground import Ground
from tests.scenarios.interruptions import KILLS, Siege, conclude
from tests.scenarios.load import loaded

FROM, TO = "2.19.6", "3.8.0"


@pytest.mark.parametrize("name", ["SIGKILL to the controller"])
def test_killed_while_a_member_is_down(
    name: str, ground: Ground, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(ground, "killed", three_combined, FROM)
    try:
        with loaded(cluster, tmp_path):
            siege = Siege.lay(cluster, TO, ansible_environment)
            for act, after in (("restrict", True), ("delete", True), ("restore", False)):
                assert siege.killed_at(act, after=after, kill=KILLS[name]), siege.outputs[-1]
            conclude(siege)
    finally:
        cluster.remove()
