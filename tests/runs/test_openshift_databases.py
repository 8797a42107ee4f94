"""An OpenSearch or Elasticsearch that lives on the workers of an OpenShift, and is asked before each batch of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import ELASTICSEARCH
from tests.runs.openshift import PLAYBOOK
from tests.runs.random_runs.openshift.database import Database
from tests.runs.random_runs.openshift.watch import names_of
from tests.runs.random_runs.resident import Resident
from tests.runs.test_openshift import TARGET, CalledOpenShift
from tests.runs.test_openshift_disturbed import labelled
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.habits import KIND, Habits
from tests.sandbox.openshift.kinds import CURRENT, DONE, POOLS, STATE, VERSIONS, annotations_of, rendered

ELASTIC = ("8.19.4", ELASTICSEARCH)
GATE, NAMED = "gate", "named"


def is_back(item: Json, name: str) -> bool:
    """Whether a worker is updated, and back."""
    its = annotations_of(item)
    is_done = its[CURRENT] == rendered("worker", TARGET) and its[STATE] == DONE
    return item["metadata"]["name"] == name and is_done and not item["spec"].get("unschedulable")


class Tenanted:
    """An OpenShift of six workers, two at a time, with a database on them."""

    def __init__(self, here: World, habits: Habits = KIND, *kind: Any) -> None:
        workers = pool("worker", 6, max_unavailable=2)
        self.openshift = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), workers)), habits)
        self.database = Database(here, self.openshift.openshift, *kind)

    def asked(self, by: str, folder: Path, wait_timeout: int = 1800) -> dict[str, Any]:
        """The variables with which a run asks the database: by a file of tasks, or by its name."""
        if by == GATE:
            return {"upgrade_workload_gate": self.database.gate(folder, wait_timeout=wait_timeout)}
        return {"upgrade_workloads": [self.database.workload()], "upgrade_gate_timeout": wait_timeout}


@pytest.mark.parametrize(
    ("habits", "kind", "by"),
    [(KIND, (), GATE), (KIND, (), NAMED), (Habits(), (), GATE), (KIND, ELASTIC, NAMED)],
    ids=["gate", "named", "worst", "elasticsearch"],
)
def test_no_worker_is_taken_whose_members_cannot_be_spared(
    here: World, tmp_path: Path, habits: Habits, kind: tuple[Any, ...], by: str
) -> None:
    tenanted = Tenanted(here, habits, *kind)
    database = tenanted.database
    member = sorted(database.places())[0]
    database.slow_to_return(member, 1200.0)
    ended = tenanted.openshift.upgrade(**tenanted.asked(by, tmp_path))
    assert ended.code == 0, ended.output
    assert "nothing asks" not in ended.output
    tenanted.openshift.is_upgraded()
    database.cluster.until_green()
    assert database.breaches == []
    assert re.search(rf"waiting 1\d min[^:]*: .*{member}", ended.output)
    # They have moved, and were asked for where they had come to.
    assert len(database.moved) > len(database.places())


def test_without_the_gate_a_worker_is_taken_too_early(here: World) -> None:
    tenanted = Tenanted(here)
    tenanted.database.slow_to_return(sorted(tenanted.database.places())[0], 1200.0)
    assert tenanted.openshift.upgrade().code == 0
    assert tenanted.database.breaches


@pytest.mark.parametrize(("kind", "by"), [((), NAMED), (ELASTIC, GATE)], ids=["opensearch-named", "elasticsearch-gate"])
def test_a_pool_stays_paused_while_a_single_copy_is_on_the_next_worker(
    here: World, tmp_path: Path, kind: tuple[Any, ...], by: str
) -> None:
    tenanted = Tenanted(here, KIND, *kind)
    openshift, database = tenanted.openshift, tenanted.database
    own = {"settings": {"number_of_shards": 3, "number_of_replicas": 0}}

    def is_at_workers(item: Json) -> bool:
        return (item["status"]["history"][0]["version"], item["status"]["history"][0]["state"]) == (TARGET, "Completed")

    def bare() -> None:
        database.cluster.ask("/bare", "PUT", own)

    openshift.openshift.faults.when(VERSIONS, is_at_workers, bare)
    asked = tenanted.asked(by, tmp_path, 60)
    ended = openshift.upgrade(**asked)
    assert ended.code != 0
    assert "bare" in ended.output
    assert openshift.paused() == ["worker"]
    assert database.breaches == []
    database.cluster.ask("/bare", "DELETE")
    ended = openshift.upgrade(**asked)
    assert ended.code == 0, ended.output
    openshift.is_upgraded()
    assert database.breaches == []


def test_a_pool_that_something_else_lets_go_while_a_database_is_asked_is_paused_again(here: World) -> None:
    tenanted = Tenanted(here)
    openshift, database = tenanted.openshift.openshift, tenanted.database
    member = sorted(database.places())[0]
    database.slow_to_return(member, 1200.0)
    clock, times = openshift.clock, list[float]()

    def let_go() -> None:
        times.append(clock.now())
        openshift.faults.person_unpauses("worker")

    def is_held(item: Json) -> bool:
        if len(times) == 1 and item["metadata"]["name"] == "worker" and item["spec"].get("paused"):
            times.append(clock.now())
        return False

    # The member is away for longer than its Kubernetes node, so the next batch is held up by the database alone.
    place = database.places()[member]
    openshift.faults.when(NODES, lambda item: is_back(item, place), lambda: clock.later(120.0, let_go))
    openshift.faults.when(POOLS, is_held, lambda: None)
    ended = tenanted.openshift.upgrade(**tenanted.asked(NAMED, Path()))
    assert ended.code == 0, ended.output
    let_go_at, held_at = times
    assert held_at - let_go_at <= 15
    assert "MachineConfigPool worker was open, so that the machine config operator takes further" in ended.output
    tenanted.openshift.is_upgraded()


class Compact:
    """An OpenShift whose control plane takes workloads, since there is no worker, with a database on it."""

    def __init__(self, here: World) -> None:
        self.openshift = CalledOpenShift(here, replace(SMALL, pools=(pool("master"),)))
        resources = self.openshift.openshift.resources
        for name in names_of(self.openshift.openshift, masters=True):
            # As the scheduler of OpenShift has it with `mastersSchedulable`.
            resources.change(NODES, "", name, lambda node: node["spec"].update(taints=[]), Writing("kubelet"))
        self.database = Resident(here, resources, ())
        self.asked = {"upgrade_workloads": [self.database.workload()], "upgrade_gate_timeout": 300}


def test_a_control_plane_with_a_database_goes_if_each_of_its_kubernetes_nodes_can_be_spared(here: World) -> None:
    compact = Compact(here)
    assert {*compact.database.places().values()} == {"master-0", "master-1", "master-2"}
    ended = compact.openshift.upgrade(**compact.asked)
    assert ended.code == 0, ended.output
    assert "could not go now" not in ended.output
    assert "is asked only before the first of them" in ended.output
    compact.openshift.is_upgraded()


def test_a_control_plane_stays_as_it_is_while_the_single_copy_of_a_shard_is_on_it(here: World) -> None:
    compact = Compact(here)
    given = compact.openshift.agreed(**compact.asked)
    own = {"settings": {"number_of_shards": 1, "number_of_replicas": 0}}
    compact.database.cluster.ask("/bare", "PUT", own)
    ended = here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert "bare" in ended.output
    assert "desiredUpdate" not in compact.openshift.openshift.version()["spec"]


def test_nothing_is_asked_of_a_database_once_the_control_plane_goes_by_itself(here: World) -> None:
    """An answer would change nothing, and a member may be away by then."""
    compact = Compact(here)
    given = compact.openshift.agreed(**compact.asked)
    compact.openshift.openshift.faults.person_wants(TARGET)
    ended = here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    assert "On master-0: opensearch-data-0" not in ended.output
    compact.openshift.is_upgraded()


def test_a_master_and_a_kubernetes_node_of_a_pool_that_goes_with_it_have_to_be_spared_together(here: World) -> None:
    """Two of three members would be away at once. With batches of its own the pool has a gate before each."""
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("infra", 2))))
    resources = cluster.openshift.resources
    resources.change(NODES, "", "master-2", lambda node: node["spec"].update(taints=[]), Writing("kubelet"))
    database = Resident(here, resources, ())
    assert {*database.places().values()} == {"master-2", "infra-0", "infra-1"}
    asked = {"upgrade_workloads": [database.workload()], "upgrade_gate_timeout": 300}
    labelled(cluster, "infra")
    ended = cluster.upgrade(**asked)
    assert ended.code != 0
    assert "Kubernetes nodes infra-0, master-2 may be away at once" in ended.output
    assert "desiredUpdate" not in cluster.openshift.version()["spec"]
    labelled(cluster, "infra", there=False)
    ended = cluster.upgrade(**asked)
    assert ended.code == 0, ended.output
    cluster.is_upgraded()
