"""The observer on whole runs: it finds nothing in runs that are right, and each of the bugs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.runs.observer.bugs import BUGS
from tests.runs.observer.observer import Observer
from tests.runs.world import CalledCluster, Killed, World, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAYBOOK

FROM, TO = "2.19.6", "3.8.0"
SLOW = 30.0


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module."""
    with world() as made:
        yield made


def with_data(here: World, layout: Any = three_combined) -> CalledCluster:
    """A cluster with an index of two shards and some documents."""
    cluster = here.cluster(FROM, layout)
    cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 2, "number_of_replicas": 1}})
    for number in range(4):
        cluster.ask(f"/orders/_doc/{number}", "PUT", {"number": number})
    cluster.until_green()
    return cluster


@pytest.mark.parametrize(
    ("layout", "batching"), [(three_combined, "serial"), (seven_members, "serial"), (seven_members, "zones")]
)
def test_nothing_is_wrong_in_an_upgrade(here: World, layout: Any, batching: str) -> None:
    cluster = with_data(here, layout)
    given = here.confirmed(cluster.variables(TO, upgrade_batching=batching))
    with Observer(here.sandbox, cluster, batching=batching).watching() as observer:
        done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    observer.ended(done.code, target=TO)
    assert observer.violations == []


@pytest.mark.parametrize("number", [5, 12, 20, 29, 38, 47])
def test_nothing_is_wrong_in_a_run_that_was_killed_and_the_next_one(here: World, number: int) -> None:
    cluster = with_data(here)
    given = here.confirmed(cluster.variables(TO))
    with Observer(here.sandbox, cluster).watching() as observer:
        assert here.killed_behind(number, given) is None
        done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    observer.ended(done.code, target=TO)
    assert observer.violations == []


def disturbed(here: World, cluster: CalledCluster, name: str, first: str) -> None:
    """Set up the circumstances in which a bug shows, for the run that comes next."""

    def killed(request: Request) -> None:
        if request.method == "DELETE" and request.path.endswith(first):
            raise Killed

    def evicted(request: Request) -> None:
        """Another pod begins to go after the first proof, and is slow to stop."""
        if request.query.get("dryRun") and (request.body or {}).get("metadata", {}).get("name") == first:
            other = next(each for each in cluster.fingerprint().pods if each != first)
            here.calling.after = lambda _request: None
            here.sandbox.faults.slow_stop(cluster.namespace, other, SLOW)
            with here.sandbox.client() as api:
                client.CoreV1Api(api).delete_namespaced_pod(other, cluster.namespace)

    here.calling.after = {"done_member_again": killed, "going_pod_counts": evicted}.get(name, lambda _request: None)


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(here: World, name: str) -> None:
    cluster = with_data(here)
    given = here.confirmed(cluster.variables(TO))
    bug, broken = BUGS[name]
    observer = Observer(here.sandbox, cluster)
    first = next(iter(cluster.fingerprint().pods))
    with observer.watching(), bug():
        disturbed(here, cluster, name, first)
        try:
            here.play(PLAYBOOK, given)
        except Killed:
            here.calling.after = lambda _request: None
            here.play(PLAYBOOK, given)
    here.sandbox.faults.mend_all()
    print("\n".join(observer.violations))
    assert broken & {each.rule for each in observer.found}
