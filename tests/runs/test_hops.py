"""Upgrades over several versions in whole runs: one plan, one consent, hop by hop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.world import CalledCluster, World, world
from tests.scenarios.playbook import PLAN, PLAYBOOK

FROM, BETWEEN, TO = "2.11.1", "2.19.6", "3.8.0"
STATUS = "stateful.upgrade.status"


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


def given(cluster: CalledCluster, **more: Any) -> dict[str, Any]:
    return {**cluster.variables(TO), "upgrade_hops": BETWEEN, **more}


def test_one_run_makes_all_hops_with_one_consent(here: World) -> None:
    cluster = here.cluster(FROM)
    planned = here.play(PLAN, given(cluster))
    assert planned.code == 0, planned.output
    print(planned.output)
    consent = here.confirmed(given(cluster))
    done = here.play(PLAYBOOK, consent)
    print(done.output)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
