"""An OpenSearch on the workers of an OpenShift: real members, moved by real evictions, and asked before each worker."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.openshift.stand_ins import RealPace
from tests.lab.traffic.budgets import KILLED
from tests.lab.waiting import until
from tests.runs.openshift import shipped_rights
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import Described, Graph, KubernetesNode, Pool, Release
from tests.scenarios.cluster import USER, Cluster
from tests.scenarios.load import loaded
from tests.scenarios.openshift import Upgrades
from tests.scenarios.playbook import Playing
from tests.scenarios.preconditions import budget
from tests.scenarios.residents import Look, Residents, taken_too_early
from tests.scenarios.test_longhorn import member_places

CHANNEL, OLD, NEW = "stable-4.13", "4.13.0", "4.13.1"
WORKERS = tuple(f"node-{zone}{number}" for zone in "abc" for number in (1, 2))
"""The Kubernetes nodes of the lab. They are taken zone by zone, and each member moves within its zone."""
DESCRIBED = Described(
    OLD,
    Graph((Release(OLD, (CHANNEL,)), Release(NEW, (CHANNEL,))), ((OLD, NEW),)),
    (pool("master"), Pool("worker", tuple(KubernetesNode(each, each[-2]) for each in WORKERS))),
    channel=CHANNEL,
    operators=("etcd", "machine-config"),
)
REBOOT = RealPace(reboot=3.0)
MOVED, WAITING = 300.0, 180.0
LOOKS = 25
"""Looks at a run that waits: some five seconds."""


@pytest.fixture(scope="module")
def wide_lab() -> Iterator[Lab]:
    """A lab with two Kubernetes nodes in each zone."""
    with Lab.up("workers", lab_directory() / "lab", nodes_per_zone=2) as made:
        yield made


@pytest.mark.soak
def test_no_worker_is_taken_while_a_shard_is_not_safe(
    wide_lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """The first member that is moved does not come back for a while."""
    wide_lab.apply(shipped_rights())
    cluster = Cluster.start(wide_lab, "on-workers", three_combined, "3.8.0")
    with (
        OpenShiftOnLab(wide_lab, wide_lab.directory / "logs", DESCRIBED, pace=REBOOT) as openshift,
        budget(cluster, "members", healthy=2),
        loaded(cluster, tmp_path, KILLED),
        Residents(cluster) as residents,
    ):
        gate = tmp_path / "gate.yml"
        gate.write_text(json.dumps([gate_of(cluster)]), encoding="utf-8")
        upgrades = Upgrades(wide_lab, openshift, ansible_environment, {"upgrade_workload_gate": str(gate)})
        variables, before = upgrades.agreed(NEW), member_places(cluster)
        run = upgrades.start(variables)
        is_held_by_a_member(residents, openshift, run, before)
        played = run.wait()
        print(played.output, *openshift.troubles, sep="\n")
        assert played.code == 0, played.message
        assert upgrades.history()[0] == (NEW, "Completed")
        assert upgrades.left_behind() == []
        assert openshift.audit.breaches() == []
        assert [each for each in openshift.audit.taken() if each[0] in WORKERS] == [[each] for each in WORKERS]
        cluster.until_green()
    assert taken_too_early(residents.looks) == []
    # Each member has left its Kubernetes node, and once more the one to which it had come.
    assert {place for look in residents.looks for place in look.places.values()} >= {*WORKERS}


def is_held_by_a_member(
    residents: Residents, openshift: OpenShiftOnLab, run: Playing, before: Mapping[str, str]
) -> None:
    """The first member that has moved is kept from starting. Fails unless the run waits for it until it may start.

    The one Kubernetes node on which it starts in vain may be taken meanwhile: nothing else is away without it.
    """
    cluster = residents.cluster

    def moved() -> str:
        assert not run.ended, run.so_far
        places = member_places(cluster)
        return next((name for name, place in places.items() if place and place != before[name]), "")

    member, faults = until("the first member to have moved", moved, MOVED), cluster.platform.faults
    faults.crash_loop(cluster.namespace, member)
    faults.back_off(cluster.namespace, member, 2.0)
    sentence = f"Members are missing from the cluster: {member}."
    until("the gate to wait for the member", lambda: sentence in run.so_far or run.ended, WAITING)
    seen = len(residents.looks)
    until("some time of waiting", lambda: len(residents.looks) >= seen + LOOKS, WAITING)
    assert not run.ended, run.so_far
    taken = {name for each in openshift.audit.taken() for name in each if name in WORKERS}
    assert {each[-2] for each in taken} == {before[member][-2]}
    assert not any(member in holders for holders in residents.looks[-1].copies.values())
    faults.mend(cluster.namespace, member)


def gate_of(cluster: Cluster) -> dict[str, Any]:
    """The task that asks whether the members on the next Kubernetes nodes may go down, with the documented Role."""
    options = {
        "opensearch": {"hosts": [cluster.url]},
        "kubernetes": {"kubeconfig": str(cluster.platform.kubeconfig(USER))},
        "namespace": cluster.namespace,
        "moment": "before_batch",
        "kubernetes_nodes": "{{ upgrade_batch.members }}",
        "wait_timeout": 600,
    }
    return {"name": "Ask the database", "stateful.upgrade.cluster_health_gate": options}


def test_the_watch_sees_a_worker_that_is_taken_too_early() -> None:
    places = {"m-0": "node-a1", "m-1": "node-b1"}
    safe, bare = frozenset({"m-0", "m-1"}), frozenset({"m-0"})
    free, gone = frozenset[str](), frozenset({"node-a1"})
    first, second = ("orders", "0"), ("orders", "1")
    looks = [Look(places, {first: bare, second: safe}, each) for each in (free, gone)]
    assert taken_too_early(looks) == ["node-a1: orders/0"]
    assert taken_too_early([Look(places, {first: safe}, free), looks[1]]) == []
    assert taken_too_early([looks[1], looks[0]]) == []
