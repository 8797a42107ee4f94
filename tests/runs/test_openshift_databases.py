"""An OpenSearch that lives on the workers of an OpenShift, and is asked before each batch of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import Pool, with_pools
from tests.runs import direct
from tests.runs.test_openshift import TARGET, CalledOpenShift
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.habits import KIND, Habits
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, VERSIONS, annotations_of

WORKERS = pool("worker", 6, max_unavailable=2)


class Database:
    """Three members on the workers. It notes whenever a worker is taken that one of them could not be spared on."""

    def __init__(self, here: World, habits: Habits = KIND) -> None:
        self.here = here
        self.openshift = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), WORKERS)), habits)
        for each in ("master-0", "master-1", "master-2"):
            self._close(each)
        self.cluster = here.cluster("3.8.0", with_pools((Pool("data", 3, ("cluster_manager", "data", "ingest")),)))
        self.cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
        self.cluster.until_green()
        (self.servers,) = here.sandbox.members.clusters_in(self.cluster.namespace)
        self.breaches: list[str] = []
        """Each worker that was taken too early, with the cause."""
        self.moved: set[tuple[str, str]] = set()
        """Members and the Kubernetes nodes on which they have been."""
        self.openshift.openshift.resources.store.listeners.append(self._changed)

    def _close(self, node: str) -> None:
        """Masters take no workloads."""
        taint = {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}
        self.openshift.openshift.resources.change(
            NODES, "", node, lambda item: item["spec"].update(taints=[*item["spec"].get("taints", ()), taint])
        )

    def slow_to_return(self, member: str, seconds: float) -> None:
        """A member does not start on its next Kubernetes node for some time."""
        first = self.places()[member]
        clock, faults = self.openshift.openshift.clock, self.here.sandbox.faults
        done = list[str]()

        def changed(change: Change) -> None:
            place = self.places().get(member, first) if change.kind == PODS and not done else first
            if place not in ("", first):
                done.append(place)
                faults.crash_loop(self.cluster.namespace, member)
                clock.later(seconds, lambda: faults.mend(self.cluster.namespace, member))

        self.openshift.openshift.resources.store.listeners.append(changed)

    def gate(self, folder: Path, **more: Any) -> str:
        """The file of the gate."""
        options = {
            "opensearch": {"hosts": [self.cluster.url]},
            "kubernetes": {"kubeconfig": str(self.here.sandbox.kubeconfig("admin"))},
            "namespace": self.cluster.namespace,
            "moment": "before_batch",
            "kubernetes_nodes": "{{ upgrade_batch.members }}",
            "wait_timeout": 3600,
            **more,
        }
        file = folder / "gate.yml"
        file.write_text(json.dumps([{"name": "Ask", "stateful.upgrade.cluster_health_gate": options}]))
        return str(file)

    def places(self) -> dict[str, str]:
        """The Kubernetes node of each member that has one."""
        pods = self.openshift.openshift.resources.store.each(PODS, self.cluster.namespace)
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}

    def _changed(self, change: Change) -> None:
        if change.kind == PODS:
            self.moved |= {*self.places().items()}
        if change.kind != NODES or change.before is None or change.type == "DELETED":
            return
        before, after = annotations_of(change.before), annotations_of(change.item)
        name = change.item["metadata"]["name"]
        if name.startswith("worker") and before.get(DESIRED) != after.get(DESIRED):
            self.breaches += [f"{name}: {each}" for each in self._spares(self._taken())]

    def _taken(self) -> set[str]:
        """The workers that the machine config operator has taken, and that are not back."""
        found = set()
        for each in WORKERS.nodes:
            notes = annotations_of(self.openshift.openshift.node(each.name))
            found |= {each.name} if notes[CURRENT] != notes[DESIRED] else set()
        return found

    def _spares(self, nodes: set[str]) -> Iterator[str]:
        """The reasons why the members on these Kubernetes nodes cannot be spared, as the servers know them."""
        members = {member for member, node in self.places().items() if node in nodes}
        names = {each.id: each.name for each in self.servers.state.nodes.values() if each.alive}
        yield from (f"{each} is away" for each in {*self.places()} - {*names.values()} - members)
        for index in self.servers.state.indices.values():
            for shard, copies in index.shards.items():
                if not {names.get(each.node or "", "") for each in copies if each.started} - {"", *members}:
                    yield f"shard {shard} of {index.name} has no copy outside of {sorted(members)}"


@pytest.fixture
def here() -> Iterator[World]:
    """A world of its own."""
    with world(direct.play) as made:
        yield made


@pytest.mark.parametrize("habits", [KIND, Habits()], ids=["kind", "worst"])
def test_no_worker_is_taken_whose_members_cannot_be_spared(here: World, tmp_path: Path, habits: Habits) -> None:
    database = Database(here, habits)
    database.slow_to_return("opensearch-data-0", 1200.0)
    ended = database.openshift.upgrade(upgrade_workload_gate=database.gate(tmp_path))
    assert ended.code == 0, ended.output
    database.openshift.is_upgraded()
    database.cluster.until_green()
    assert database.breaches == []
    assert re.search(r"waiting 1\d min[^:]*: .*opensearch-data-0", ended.output)
    # They have moved, and were asked for where they had come to.
    assert len(database.moved) > len(database.places())


def test_without_the_gate_a_worker_is_taken_too_early(here: World) -> None:
    database = Database(here)
    database.slow_to_return("opensearch-data-0", 1200.0)
    assert database.openshift.upgrade().code == 0
    assert database.breaches


def test_a_pool_stays_paused_while_a_single_copy_is_on_the_next_worker(here: World, tmp_path: Path) -> None:
    database = Database(here)
    own = {"settings": {"number_of_shards": 3, "number_of_replicas": 0}}

    def is_at_workers(item: Json) -> bool:
        return (item["status"]["history"][0]["version"], item["status"]["history"][0]["state"]) == (TARGET, "Completed")

    def bare() -> None:
        database.cluster.ask("/bare", "PUT", own)

    database.openshift.openshift.faults.when(VERSIONS, is_at_workers, bare)
    gate = database.gate(tmp_path, wait_timeout=60)
    ended = database.openshift.upgrade(upgrade_workload_gate=gate)
    assert ended.code != 0
    assert "bare" in ended.output
    assert database.openshift.paused() == ["worker"]
    assert database.breaches == []
    database.cluster.ask("/bare", "DELETE")
    ended = database.openshift.upgrade(upgrade_workload_gate=gate)
    assert ended.code == 0, ended.output
    database.openshift.is_upgraded()
    assert database.breaches == []
