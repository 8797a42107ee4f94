"""Upgrades of OpenShift whose pools let more Kubernetes nodes go at a time than a batch has."""

from __future__ import annotations

from dataclasses import replace

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import CalledOpenShift
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.kinds import DESIRED, POOLS, STATE, WORKING, annotations_of


class Taken:
    """The workers that are taken at the same time, one set after the other."""

    def __init__(self, cluster: CalledOpenShift) -> None:
        self._clock, self._at = cluster.openshift.clock, 0.0
        self.sets = list[set[str]]()
        cluster.openshift.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        name = change.item["metadata"]["name"]
        if change.kind != NODES or change.before is None or not name.startswith("worker"):
            return
        if annotations_of(change.before).get(DESIRED) != annotations_of(change.item).get(DESIRED):
            if self._clock.now() - self._at > 60:
                self.sets.append(set())
            self._at = self._clock.now()
            self.sets[-1].add(name)


def is_at_work(item: Json) -> bool:
    """Whether the control plane is updated."""
    return item["metadata"]["name"] == "master-0" and annotations_of(item)[STATE] == WORKING


def test_no_more_are_taken_than_the_batch_has_if_a_person_raises_the_limit_of_their_pool(here: World) -> None:
    cluster = CalledOpenShift(here)
    taken, given = Taken(cluster), cluster.agreed()

    def raised() -> None:
        cluster.openshift.write(POOLS, "worker", {"maxUnavailable": 3})

    cluster.openshift.faults.when(NODES, is_at_work, raised)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert taken.sets == [{"worker-0"}, {"worker-1"}, {"worker-2"}]
    cluster.is_upgraded()
    assert cluster.openshift.pool("worker")["spec"]["maxUnavailable"] == 3


def test_another_one_is_not_taken_in_place_of_one_of_a_batch_that_is_gone(here: World) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 6, max_unavailable=2))))
    taken, given = Taken(cluster), cluster.agreed()

    def removed() -> None:
        cluster.openshift.resources.delete(NODES, "", "worker-3")

    cluster.openshift.faults.when(NODES, is_at_work, removed)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert taken.sets == [{"worker-0"}, {"worker-1", "worker-4"}, {"worker-2", "worker-5"}]
    assert cluster.openshift.pool("worker")["spec"]["maxUnavailable"] == 2
    assert cluster.openshift.observer.leftovers() == []
