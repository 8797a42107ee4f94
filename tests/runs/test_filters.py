"""Allocation filters that people have left behind: a plan names the copies that could not come back."""

from __future__ import annotations

import pytest

from tests.runs.world import CalledCluster, World, world
from tests.scenarios.playbook import PLAN, PLAYBOOK

FROM, TO = "2.19.6", "3.8.0"
CLUSTER, INDEX = "cluster.routing.allocation.exclude._name", "index.routing.allocation.exclude._name"
INCLUDE, REQUIRE = "cluster.routing.allocation.include._name", "cluster.routing.allocation.require._name"
AWARENESS = "cluster.routing.allocation.awareness.attributes"
ENABLE = "cluster.routing.allocation.enable"


def with_three_copies(here: World) -> CalledCluster:
    """A cluster of three members, each with a copy of the one shard."""
    cluster = here.cluster(FROM)
    cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 2}})
    cluster.until_green()
    return cluster


@pytest.mark.parametrize("setting", [CLUSTER, INDEX, INCLUDE, REQUIRE, AWARENESS])
def test_a_member_that_keeps_copies_against_a_filter_refuses_the_plan_until_it_is_gone(setting: str) -> None:
    """Three copies on three members fit nowhere else, so the cluster stays green."""
    with world() as here:
        cluster = with_three_copies(here)
        member = f"{cluster.name}-members-0"

        def put(value: str | None) -> None:
            if setting == INDEX:
                cluster.ask("/logs/_settings", "PUT", {setting: value})
            else:
                cluster.ask("/_cluster/settings", "PUT", {"persistent": {setting: value}})

        put(member)
        cluster.until_green()
        refused = here.play(PLAN, cluster.variables(TO))
        assert setting in refused.message
        assert "those could not come back after a restart" in refused.message
        put(None)
        done = here.play(PLAYBOOK, here.confirmed(cluster.variables(TO)))
        assert done.code == 0, done.output
        cluster.is_upgraded(TO)


def test_a_restriction_in_the_files_of_the_members_refuses_the_plan_until_the_cluster_hides_it() -> None:
    """With a plan, no replica would have come back to the members of the first batch."""
    with world() as here:
        cluster = here.cluster(FROM, settings={ENABLE: "primaries"})

        def put(value: str | None) -> None:
            cluster.ask("/_cluster/settings", "PUT", {"persistent": {ENABLE: value}})

        put("all")
        cluster.ask("/logs", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 2}})
        cluster.until_green()
        put(None)
        refused = here.play(PLAN, cluster.variables(TO))
        assert f"{ENABLE} is set to primaries" in refused.message
        assert "It is set in opensearch.yml of" in refused.message
        put("all")
        planned = here.play(PLAN, cluster.variables(TO))
        assert planned.code == 0, planned.output
