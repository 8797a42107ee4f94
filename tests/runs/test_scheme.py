"""A run that switches TLS on or off is killed after any of its acts, and the next one ends with one scheme."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.turns import Killed
from tests.runs.world import World, world
from tests.scenarios.branches.test_restart import MEMBERS, RESTART
from tests.scenarios.cluster import Cluster
from tests.scenarios.schemes import answering, plain_cluster, variables

SHIFT = 900
"""Seconds until the lock of a killed run has lapsed."""


@pytest.fixture
def here() -> Iterator[World]:
    with world() as found:
        yield found


def confirmed(here: World, cluster: Cluster, on: bool) -> dict[str, Any]:
    """The variables with consent to the plan."""
    found = here.confirmed({**variables(cluster, on), "upgrade_system": RESTART})
    return {name: value for name, value in found.items() if name != "upgrade_system"}


@pytest.mark.parametrize(
    "number",
    [pytest.param(each, marks=() if each in {9, 15} else pytest.mark.soak) for each in range(3, 40, 3)],
)
@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_killed_behind_an_act_and_run_again(here: World, number: int, on: bool) -> None:
    cluster = plain_cluster(here.sandbox, "search")
    if not on:
        assert here.play(RESTART, confirmed(here, cluster, on=True)).code == 0
    old, new = ("http", "https") if on else ("https", "http")
    given = confirmed(here, cluster, on)
    with here.killing_behind(number), pytest.raises(Killed):
        here.play(RESTART, given)
    here.later(SHIFT)
    ended = here.play(RESTART, given)
    assert ended.code == 0, ended.output
    assert (answering(cluster, new), answering(cluster, old)) == ({*MEMBERS}, set())
    assert cluster.health()["status"] == "green"
