"""An upgrade continues on another controller, which does not have its record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.opensearch.layouts import Pool
from tests.runs.on_hosts import CHECK, PLAYBOOK_OF_HOSTS, ClusterOnHosts, cluster_on_hosts
from tests.runs.world import World, world
from tests.scenarios.playbook import Played, digest_in

FROM, TO = "2.19.6", "3.8.0"
APPROVE = "stateful.upgrade.approve"
POINTS = [{"name": "canary", "after": 1}, {"name": "rest", "after": 2}]


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone."""
    with world() as made:
        yield made


@pytest.fixture
def cluster(here: World) -> Iterator[ClusterOnHosts]:
    """Three members on plain hosts."""
    with cluster_on_hosts(here, FROM, (Pool("members", 3, ("cluster_manager", "data", "ingest")),)) as made:
        made.until_green()
        yield made


def upgraded(here: World, cluster: ClusterOnHosts, controller: str) -> Played:
    """A run with points to approve, from the controller of this name, with consent to the present plan."""
    given = cluster.variables(TO, upgrade_approvals=POINTS, **records_of(cluster, controller))
    planned = here.play(PLAYBOOK_OF_HOSTS, given, *cluster.arguments, CHECK)
    assert planned.code == 0, planned.output
    return here.play(PLAYBOOK_OF_HOSTS, {**given, "upgrade_confirm": digest_in(planned)}, *cluster.arguments)


def records_of(cluster: ClusterOnHosts, controller: str) -> dict[str, Any]:
    return {"upgrade_record_path": str(cluster.folder / controller)}


def on_target(cluster: ClusterOnHosts) -> int:
    return sum(host.service.installed == TO for host in cluster.hosts.values())


def test_a_controller_without_the_record_passes_no_point_that_was_reached(here: World, cluster: ClusterOnHosts) -> None:
    """A container loses its record with its end, so each job of such a controller is another one."""
    first = upgraded(here, cluster, "first")
    assert (first.code, on_target(cluster)) == (0, 1), first.output
    second = upgraded(here, cluster, "second")
    assert (second.code, on_target(cluster)) == (0, 1), second.output
    assert "1 member already runs 3.8.0, and there is no record here of an upgrade to it." in second.output
    assert "never stops for the approval" not in second.output
    assert "The upgrade waits for the approval canary" in second.output
    again = upgraded(here, cluster, "second")
    assert "no record here" not in again.output
    where = {"upgrade_groups": [*cluster.groups], **records_of(cluster, "second")}
    approved = here.play(APPROVE, {**where, "upgrade_approval": "canary"}, *cluster.arguments)
    assert approved.code == 0, approved.output
    following = upgraded(here, cluster, "second")
    assert (following.code, on_target(cluster)) == (0, 2), following.output
    assert "The upgrade waits for the approval rest" in following.output
