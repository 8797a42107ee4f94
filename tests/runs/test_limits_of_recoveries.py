"""Limits of recoveries that people have left at 0: a plan names them, and a wait names what it may be."""

from __future__ import annotations

import pytest

from tests.runs.test_filters import TO, with_three_copies
from tests.runs.world import world
from tests.scenarios.playbook import PLAN, PLAYBOOK

ROUTING = "cluster.routing.allocation"


@pytest.mark.parametrize("way", ["incoming", "outgoing"])
def test_a_limit_of_zero_refuses_the_plan_until_it_is_gone(way: str) -> None:
    with world() as here:
        cluster = with_three_copies(here)
        limit = f"{ROUTING}.node_concurrent_{way}_recoveries"
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {limit: "0"}})
        refused = here.play(PLAN, cluster.variables(TO))
        assert f"{limit} is set to 0, so no replica recovers" in refused.message
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {limit: None}})
        assert here.play(PLAN, cluster.variables(TO)).code == 0


def test_a_wait_for_copies_that_are_throttled_names_the_limits() -> None:
    """The limit of both directions is not raised with `upgrade_recoveries=0`."""
    with world() as here:
        cluster = with_three_copies(here)
        limit = f"{ROUTING}.node_concurrent_recoveries"
        cluster.ask("/_cluster/settings", "PUT", {"persistent": {limit: "0"}})
        given = {**cluster.variables(TO), "upgrade_recoveries": 0}
        failed = here.play(PLAYBOOK, here.confirmed(given))
        assert failed.code != 0
        assert "a limit of recoveries is 0" in failed.output
        assert limit in failed.output
