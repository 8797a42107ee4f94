"""Longhorn on a real API server, which holds all that is written to the definitions: each way, whole and killed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.lab import Lab
from tests.lab.longhorn.longhorn import LonghornOnLab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.sandbox.longhorn.description import Described, Machine, Recurring, Volume
from tests.sandbox.longhorn.kinds import CRON_JOBS
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import END, KILLS
from tests.scenarios.longhorn import Upgrades, equip

PLACES = ("node-a1", "node-b1", "node-c1")
VOLUMES = tuple(Volume(f"vol-{node}", PLACES, node, groups=("default",)) for node in PLACES)
JOBS = (Recurring("daily", ("default",)),)
"""Kubernetes itself starts it each minute, as a pod that ends at once."""
OLD, NEW, NEXT = "v1.11.2", "v1.12.0", "v1.12.1"
MOMENT = 120.0
WAYS = {"outside": "", "design": "design", "v1.13": "v1.13"}
MANAGER = "stateful.upgrade"
"""The field manager of the collection."""
IN_PLACE = "v1.13"
OF_TODAY = "outside"
"""The way of the Longhorn that is published; the runs in memory show the others as well."""
HELD = (("nodedataengineupgrades", "upgrading-instance-manager"), ("instancemanagerupgrades", "waiting-for-source-im"))
"""The states in which Longhorn's own upgrades are held while no run lives: the engines have moved away."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name == OF_TODAY else [pytest.mark.soak]) for name in WAYS],
)
def upgrades(
    request: pytest.FixtureRequest, lab: Lab, ansible_environment: Mapping[str, str], equipped: None
) -> Iterator[Upgrades]:
    """A Longhorn for all tests of a way: the first brings it to one version, the others to the next one."""
    machines = tuple(Machine(each) for each in PLACES)
    described = Described(machines, VOLUMES, offers=WAYS[request.param], frontends_outlive=True, jobs=JOBS)
    accepted = [] if described.offers else ["instance_manager_replacement"]
    with LonghornOnLab(lab, lab.directory / "logs", described) as longhorn:
        made = Upgrades(lab, longhorn, ansible_environment, accepted, in_place=request.param == IN_PLACE)
        made.system_is(NEW)
        yield made


@pytest.fixture(scope="module")
def equipped(lab: Lab) -> None:
    """The Kubernetes nodes have no image of the next version yet: its plan proves them with throw-away pods."""
    equip(lab, PLACES, (OLD, NEW))


def test_all_nodes_are_switched(upgrades: Upgrades) -> None:
    variables = upgrades.agreed(NEW)
    played = upgrades.run(variables)
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, NEW, PLACES)
    assert ": Completed, to v1.12.0" in upgrades.status(NEW).output
    (job,) = upgrades.longhorn.all(CRON_JOBS)
    managers = {each["manager"] for each in job["metadata"]["managedFields"] if "f:suspend" in json.dumps(each)}
    assert managers == {MANAGER}, "it was held off, and let go again"


@pytest.mark.soak
@pytest.mark.parametrize("upgrades", [OF_TODAY], indirect=True)
def test_the_gate_of_a_database_holds_the_next_node(upgrades: Upgrades, tmp_path: Path) -> None:
    """Its members live on the Kubernetes nodes of the volumes. One of them is away for a while."""
    cluster = Cluster.start(upgrades.lab, "on-volumes", three_combined, "2.19.6")
    try:
        cluster.ask("/documents", "PUT", {"settings": {"number_of_replicas": 1}})
        cluster.until_green()
        places = member_places(cluster)
        last = max(places)
        nodes = sorted(set(PLACES) - {places[last]})
        gate = tmp_path / "gate.yml"
        gate.write_text(json.dumps([gate_of(cluster, places)]), encoding="utf-8")
        upgrades.system_is(NEXT)
        already, (before,) = len(upgrades.longhorn.said("moved")), {*upgrades.versions().values()}
        run = upgrades.start(upgrades.agreed(NEXT, upgrade_nodes=nodes, upgrade_workload_gate=str(gate)))
        until("the first engine to have moved", lambda: upgrades.longhorn.said("moved")[already:], MOMENT)
        cordon(cluster, places[last], cordoned=True)
        delete_pod(cluster, last)
        sentence = f"Members are missing from the cluster: {last}."
        until("the gate to wait for the member", lambda: sentence in run.so_far or run.ended, MOMENT)
        assert not run.ended, run.so_far
        assert sorted(upgrades.versions().values()) == [before, before, NEXT]
        cordon(cluster, places[last], cordoned=False)
        played = run.wait()
        print(played.output)
        assert played.code == 0, played.message
        is_done(upgrades, NEXT, nodes, already)
    finally:
        cluster.remove()


def test_a_killed_run_is_gone_on_with(upgrades: Upgrades) -> None:
    """The run ends when an engine has just moved away. Longhorn's own upgrade does not end before the next run."""
    already = len(upgrades.longhorn.said("moved"))
    upgrades.system_is(NEXT)
    node = next(node for node, version in sorted(upgrades.versions().items()) if version != NEXT)
    variables = upgrades.agreed(NEXT, upgrade_nodes=[node])
    for kind, state in HELD:
        upgrades.longhorn.make("upgrade_stalls", kind, state)
    run = upgrades.start(variables)
    until("the first engine to have moved", lambda: upgrades.longhorn.said("moved")[already:], MOMENT)
    KILLS["SIGKILL to its process group"](run)
    until("the controller's end", lambda: run.ended, END)
    run.abandon()
    assert upgrades.left_behind()
    again = upgrades.start(variables)
    found = (f"node {node}: ", "is degraded")
    until("the next run to look", lambda: any(each in again.so_far for each in found) or again.ended, MOMENT)
    upgrades.longhorn.make("mend_all")
    played = again.wait()
    print(played.output)
    assert played.code == 0, played.message
    is_done(upgrades, NEXT, [node], already)


def gate_of(cluster: Cluster, places: Mapping[str, str]) -> dict[str, Any]:
    """The task that asks whether the member on the next Kubernetes node may go down."""
    options = {
        "opensearch": {"hosts": [cluster.url]},
        "kubernetes": {"kubeconfig": str(cluster.platform.kubeconfig("admin"))},
        "namespace": cluster.namespace,
        "moment": "before_batch",
        "kubernetes_nodes": "{{ upgrade_batch.members }}",
        # Its set is made smaller, so that nothing else would say that a member is missing.
        "expected": sorted(places),
    }
    return {"name": "Ask the database", "stateful.upgrade.cluster_health_gate": options}


def member_places(cluster: Cluster) -> dict[str, str]:
    """Member → Kubernetes node."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        found = core.list_namespaced_pod(cluster.namespace).items
    return {each.metadata.name: each.spec.node_name for each in found}


def cordon(cluster: Cluster, node: str, *, cordoned: bool) -> None:
    """Let a Kubernetes node take no further pods, or take them again."""
    with cluster.platform.client() as api:
        client.CoreV1Api(api).patch_node(node, {"spec": {"unschedulable": cordoned}})


def delete_pod(cluster: Cluster, name: str) -> None:
    """Delete the pod of a member."""
    with cluster.platform.client() as api:
        client.CoreV1Api(api).delete_namespaced_pod(name, cluster.namespace)


def is_done(upgrades: Upgrades, version: str, nodes: Sequence[str], already: int = 0) -> None:
    """Fails unless these nodes run the version, each engine there went away once and came home, and all is put back."""
    versions = upgrades.versions()
    assert {node: versions[node] for node in nodes} == dict.fromkeys(nodes, version)
    assert upgrades.left_behind() == []
    moved = [each.split() for each in upgrades.longhorn.said("moved")[already:]]
    went = {each.name: [place for _moved, name, _to, place in moved if name == each.name] for each in VOLUMES}
    for each in VOLUMES:
        assert len(went[each.name]) == 2 * (each.attached in nodes), moved
        assert went[each.name][-1:] in ([], [each.attached]), moved
    assert upgrades.longhorn.said("lost") == []
