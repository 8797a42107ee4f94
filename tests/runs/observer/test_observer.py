"""The observer on whole runs: it finds nothing in runs that are right, and each of the bugs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest
import urllib3
from kubernetes import client

from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.runs.observer.bugs import BUGS
from tests.runs.observer.observer import Observer
from tests.runs.random_runs.person import Person
from tests.runs.turns import Killed
from tests.runs.world import CalledCluster, World, world
from tests.sandbox.web import Request
from tests.scenarios.playbook import PLAYBOOK

FROM, TO = "2.19.6", "3.8.0"
SLOW = 30.0
RENEWALS = 5
"""The renewal of the lock behind which allocation is restricted."""


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
    ("layout", "batching"),
    [(three_combined, "serial"), (seven_members, "serial"), (seven_members, "zones"), (seven_members, "node")],
)
def test_nothing_is_wrong_in_an_upgrade(here: World, layout: Any, batching: str) -> None:
    cluster = with_data(here, layout)
    given = here.confirmed(cluster.variables(TO, upgrade_batching=batching))
    with Observer(here.sandbox, cluster, batching=batching).watching() as observer:
        done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    observer.ended(done.code, target=TO)
    assert observer.violations == []


@pytest.mark.parametrize("number", [5, 12, 20, 38])
def test_nothing_is_wrong_in_a_run_that_was_killed_and_the_next_one(here: World, number: int) -> None:
    cluster = with_data(here)
    given = here.confirmed(cluster.variables(TO))
    with Observer(here.sandbox, cluster).watching() as observer:
        assert here.killed_behind(number, given) is None
        done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    observer.ended(done.code, target=TO)
    assert observer.violations == []


def evicting(here: World, cluster: CalledCluster, _observer: Observer) -> Callable[[Request], None]:
    """A function for after a request: once allocation is restricted another pod terminates, slowly."""
    pods, offered, evicted = cluster.fingerprint().pods, [""], list[str]()

    def behind(request: Request) -> None:
        if request.query.get("dryRun"):
            offered.append(request.body["metadata"]["name"])
        text = json.dumps(request.body) if request.method == "PUT" else ""
        if "cluster.routing.allocation.enable" in text and not evicted:
            evicted.append(next(each for each in pods if each != offered[-1]))
            here.sandbox.faults.slow_stop(cluster.namespace, evicted[0], SLOW)
            with here.sandbox.client() as api:
                client.CoreV1Api(api).delete_namespaced_pod(evicted[0], cluster.namespace)

    return behind


def pausing(_here: World, cluster: CalledCluster, observer: Observer) -> Callable[[Request], None]:
    """A function for after a request: once the first member goes, a person pauses the upgrade."""
    asked, person = list[Request](), Person(cluster.variables(TO))
    person.watched_by(observer)

    def behind(request: Request) -> None:
        if request.method == "DELETE" and "/pods/" in request.path and "image-pull" not in request.path and not asked:
            asked.append(request)
            person.pause()

    return behind


def has_primary(cluster: CalledCluster, member: str) -> bool:
    """Whether a member has a primary."""
    shards = json.loads(cluster.ask("/_cat/shards/orders?format=json"))
    return any(each["prirep"] == "p" and each["node"] == member for each in shards)


def take_replicas_away(cluster: CalledCluster) -> None:
    """A person lets the index have none."""
    cluster.ask("/orders/_settings", "PUT", {"index": {"number_of_replicas": 0}})


def lowering(_here: World, cluster: CalledCluster, _observer: Observer) -> Callable[[Request], None]:
    """A function for after a request: before a member with a primary is deleted, a person takes the replicas away."""
    restricted, asked = list[Request](), list[Request]()

    def behind(request: Request) -> None:
        if request.method == "PUT" and "cluster.routing.allocation.enable" in json.dumps(request.body):
            restricted.append(request)
        offered = request.body["metadata"]["name"] if request.query.get("dryRun") and restricted else ""
        if offered and not asked and has_primary(cluster, offered):
            asked.append(request)
            take_replicas_away(cluster)

    return behind


def lowering_late(here: World, cluster: CalledCluster, _observer: Observer) -> Callable[[Request], None]:
    """A function for after a request: a person takes the replicas away once a member with a primary is deleted."""
    asked, pods = list[Request](), cluster.fingerprint().pods
    for pod in pods:
        here.sandbox.faults.slow_stop(cluster.namespace, pod, SLOW)

    def behind(request: Request) -> None:
        name = request.path.rpartition("/")[2]
        if request.method == "DELETE" and name in pods and not asked and has_primary(cluster, name):
            asked.append(request)
            take_replicas_away(cluster)

    return behind


def unlocking(here: World, cluster: CalledCluster, _observer: Observer) -> Callable[[Request], None]:
    """A function for after a request: a person removes the lock behind the run's renewal that is before its act."""
    renewed = list[Request]()

    def behind(request: Request) -> None:
        if request.method == "PATCH" and "/leases/" in request.path:
            renewed.append(request)
            if len(renewed) == RENEWALS:
                with here.sandbox.client() as api:
                    client.CoordinationV1Api(api).delete_collection_namespaced_lease(cluster.namespace)

    return behind


Happens = Callable[[World, CalledCluster, Observer], Callable[[Request], None]]
WITH: Mapping[str, Happens] = {"going_pod_counts": evicting, "pause_ignored": pausing}
"""What happens in the run that a bug is found in."""


def nothing(_here: World, _cluster: CalledCluster, _observer: Observer) -> Callable[[Request], None]:
    """A function for after a request that does nothing."""
    return lambda _request: None


def found_in_a_run(here: World, bug: AbstractContextManager[None], happens: Happens = nothing) -> Observer:
    """The observer of a run with a bug, which is killed as soon as something is found."""
    cluster = with_data(here)
    given = here.confirmed(cluster.variables(TO))
    observer = Observer(here.sandbox, cluster)
    behind = happens(here, cluster, observer)

    def after(request: Request) -> None:
        behind(request)
        if observer.found:
            raise Killed

    here.calling.after = after
    with observer.watching(), bug, contextlib.suppress(Killed):
        here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    here.sandbox.faults.mend_all()
    return observer


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(here: World, name: str) -> None:
    bug, broken = BUGS[name]
    observer = found_in_a_run(here, bug(), WITH.get(name, nothing))
    assert broken & {each.rule for each in observer.found}, observer.violations


def test_nothing_is_wrong_if_a_pod_is_evicted_while_there_is_no_bug(here: World) -> None:
    assert found_in_a_run(here, contextlib.nullcontext(), evicting).violations == []


class Rogue:
    """A controller that keeps no rule at all."""

    def __init__(self, here: World, cluster: CalledCluster) -> None:
        self._here, self._cluster = here, cluster

    def ask(self, path: str, body: Any = None) -> None:
        """Look at the cluster, or change it."""
        headers = {"Content-Type": "application/json", "User-Agent": "stateful.upgrade"}
        asked: dict[str, Any] = {"body": json.dumps(body) if body else None, "headers": headers}
        urllib3.PoolManager().request("PUT" if body else "GET", self._cluster.url + path, **asked)

    def pods(self, *deleted: str) -> None:
        """Look at the pods, or delete some."""
        with self._here.sandbox.client() as api:
            api.user_agent = "stateful.upgrade"
            core = client.CoreV1Api(api)
            if not deleted:
                core.list_namespaced_pod(self._cluster.namespace)
            for name in deleted:
                core.delete_namespaced_pod(name, self._cluster.namespace)


def test_copies_that_go_between_the_proof_and_the_deletion_are_no_fault_of_the_run(here: World) -> None:
    # Found by seed 2035.
    assert found_in_a_run(here, contextlib.nullcontext(), lowering).violations == []


def test_copies_that_a_person_takes_away_while_members_go_are_no_fault_of_the_run(here: World) -> None:
    # Found by seed 400449.
    assert found_in_a_run(here, contextlib.nullcontext(), lowering_late).violations == []


def test_an_act_directly_behind_a_renewal_of_a_lock_that_is_then_removed_is_no_fault_of_the_run(here: World) -> None:
    # Found by seed 400166.
    assert found_in_a_run(here, contextlib.nullcontext(), unlocking).violations == []


def test_no_batch_starts_in_a_pause_while_there_is_no_bug(here: World) -> None:
    observer = found_in_a_run(here, contextlib.nullcontext(), pausing)
    assert observer.violations == []
    assert observer.is_paused()


def test_a_controller_without_rules_breaks_them_all(here: World) -> None:
    cluster = with_data(here)
    rogue, observer, faults = Rogue(here, cluster), Observer(here.sandbox, cluster), here.sandbox.faults
    one, two, three = cluster.fingerprint().pods
    with observer.watching():
        faults.crash_loop(cluster.namespace, three)
        observer.foreign(three)
        here.sandbox.kubernetes.clock.advance(1.0)
        rogue.ask("/_cluster/state/nodes,routing_table")
        rogue.pods()
        rogue.ask("/_cluster/settings", {"persistent": {"cluster.routing.allocation.enable": "primaries"}})
        rogue.pods(one, two)
        at_once = {each.rule for each in observer.found}
        here.sandbox.kubernetes.clock.advance(1.0)
    observer.ended(0, target=TO)
    faults.mend_all()
    assert at_once == {"undo", "lock", "uid", "twice", "others", "proof", "copies", "batch"}
    assert {each.rule for each in observer.found} == at_once | {"served", "quorum", "end"}
    assert all(
        said.startswith(f"{each.at:.3f} s, behind ")
        for each, said in zip(observer.found, observer.violations, strict=True)
    )
