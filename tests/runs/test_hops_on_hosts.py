"""Upgrades over several versions on plain hosts: the member roles get the version of each hop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, ClusterOnHosts, cluster_on_hosts
from tests.runs.sampled import one_in
from tests.runs.turns import Killed
from tests.runs.world import World, world
from tests.scenarios.playbook import Played, digest_in

FROM, BETWEEN, TO = "2.11.1", "2.19.6", "3.8.0"
NOTHING = '{"persistent": {}, "transient": {}}'
KILLS = (7, 16, 24, 32, 40, 48)
"""The acts of a run after which it is killed: in each hop, and between the two."""
POOL = Pool("members", 3, ("cluster_manager", "data", "ingest"))


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone."""
    with world() as made:
        yield made


@pytest.fixture
def cluster(here: World) -> Iterator[ClusterOnHosts]:
    """Three members, and an index with a copy on two of them."""
    with cluster_on_hosts(here, FROM, (POOL,)) as made:
        made.ask("/orders", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
        made.until_green()
        yield made


def played(here: World, cluster: ClusterOnHosts, *more: str, **own: Any) -> Played:
    """A run whose target is a variable of all hosts, as it has to be."""
    variables = {**cluster.variables(TO), "upgrade_hops": BETWEEN, **own}
    file = cluster.folder / "all.json"
    target = {"target_version": variables.pop("target_version")}
    file.write_text(json.dumps({"all": {"vars": target}}), encoding="utf-8")
    return here.play(PLAYBOOK_OF_HOSTS, variables, *cluster.arguments, "-i", str(file), *more)


def upgraded(here: World, cluster: ClusterOnHosts) -> Played:
    """A run with consent to the present plan, which the check mode shows; that one if it is refused."""
    planned = played(here, cluster, CHECK)
    return planned if planned.code else played(here, cluster, upgrade_confirm=digest_in(planned))


def test_one_run_makes_all_hops_with_one_consent(here: World, cluster: ClusterOnHosts) -> None:
    done = upgraded(here, cluster)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert cluster.ask("/_cluster/settings") == NOTHING
    assert "Hop 1 of 2 is done: every member runs 2.19.6. The next one leads to 3.8.0." in done.output


@pytest.mark.parametrize("number", one_in(2, KILLS))
def test_killed_behind_an_act_and_run_again(here: World, cluster: ClusterOnHosts, number: int) -> None:
    planned = played(here, cluster, CHECK)
    consent = digest_in(planned)
    with here.killing_behind(number), pytest.raises(Killed):
        played(here, cluster, upgrade_confirm=consent)
    done = played(here, cluster, upgrade_confirm=consent)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert cluster.ask("/_cluster/settings") == NOTHING


def test_a_target_that_roles_would_see_in_each_hop_is_refused(here: World, cluster: ClusterOnHosts) -> None:
    variables = {**cluster.variables(TO), "upgrade_hops": BETWEEN}
    refused = here.play(PLAYBOOK_OF_HOSTS, variables, *cluster.arguments)
    assert refused.code != 0
    assert "target_version is given with -e or by a request" in refused.output
