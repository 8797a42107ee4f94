"""Upgrades of members on plain hosts, in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.observer.on_hosts import ObserverOfHosts
from tests.runs.observer.sight import Consents
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, ClusterOnHosts, cluster_on_hosts
from tests.runs.over_ssh import SSH, USER_AGENT
from tests.runs.turns import Killed
from tests.runs.world import World, world
from tests.sandbox.plain_hosts.jobs import PATH
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played, digest_in

FROM, TO = "2.19.6", "3.8.0"
NOTHING = '{"persistent": {}, "transient": {}}'
KILLS = (7, 16, 24)
"""The acts of a run after which it is killed."""
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


def upgraded(here: World, cluster: ClusterOnHosts) -> Played:
    """A run with consent to the present plan, which the check mode shows; that one if it is refused."""
    given = cluster.variables(TO)
    planned = here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments, CHECK)
    if planned.code:
        return planned
    return here.play(PLAYBOOK_OF_HOSTS, {**given, "upgrade_confirm": digest_in(planned)}, *cluster.arguments)


def stops(here: World) -> dict[str, int]:
    """The number of times that the service of each host was asked to stop."""
    return dict(Counter(path for method, path in here.acts() if path.startswith(PATH) and path.endswith("/systemd")))


def test_three_hosts_are_upgraded(here: World, cluster: ClusterOnHosts) -> None:
    done = upgraded(here, cluster)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert cluster.ask("/_cluster/settings") == NOTHING
    # Each was stopped and started once.
    assert [*stops(here).values()] == [2, 2, 2]


@pytest.mark.parametrize("number", KILLS)
def test_killed_behind_an_act_and_run_again(here: World, cluster: ClusterOnHosts, number: int) -> None:
    with here.killing_behind(number), pytest.raises(Killed):
        upgraded(here, cluster)
    done = upgraded(here, cluster)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)
    assert cluster.ask("/_cluster/settings") == NOTHING


def test_a_host_that_cannot_be_reached_and_a_service_that_does_not_start_end_the_run_until_they_can(
    here: World, cluster: ClusterOnHosts
) -> None:
    names = [*cluster.hosts]
    cluster.doors[names[0]].close()
    refused = upgraded(here, cluster)
    assert "Nothing was begun, since members would be taken down on hosts that cannot be reached" in refused.message
    assert not stops(here)
    cluster.doors[names[0]].open()
    cluster.hosts[names[2]].service.fails = True
    failed = upgraded(here, cluster)
    assert "Start OpenSearch: Unable to start service" in failed.message
    assert sorted(cluster.versions().values()) == [FROM, FROM]
    cluster.hosts[names[2]].service.fails = False
    done = upgraded(here, cluster)
    assert done.code == 0, done.output
    cluster.is_upgraded(TO)


def test_the_observer_sees_what_is_stopped_on_a_host(here: World, cluster: ClusterOnHosts) -> None:
    stop = {"name": "opensearch", "state": "stopped"}
    observer = ObserverOfHosts(here.sandbox, cluster, TO, Consents(), "serial")
    with observer.watching():
        for name in [*cluster.hosts][:2]:
            door = cluster.doors[name]
            path = f"{PATH}{door.host}/modules/systemd"
            here.calling.called(door.host, SSH, Request("POST", path, body=stop, headers=USER_AGENT))
    assert {each.rule for each in observer.found} >= {"lock", "proof", "batch", "quorum", "served"}


def test_a_run_on_hosts_breaks_no_rule_of_the_observer(here: World, cluster: ClusterOnHosts) -> None:
    observer = ObserverOfHosts(here.sandbox, cluster, TO, Consents(), "serial")
    with observer.watching():
        done = upgraded(here, cluster)
        observer.ended(done.code, target=TO)
    assert observer.violations == []
