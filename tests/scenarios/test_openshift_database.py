"""An OpenSearch on the workers of an OpenShift: real members, moved by real evictions, and asked before each worker."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lab.fixtures import lab_directory
from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.openshift.stand_ins import RealPace
from tests.lab.traffic.budgets import AWAY, KILLED, Budget
from tests.lab.waiting import until
from tests.runs.openshift import shipped_rights
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import Described, Graph, KubernetesNode, Pool, Release
from tests.scenarios.cluster import CLUSTER_USER, ROLE, Cluster, bound
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


@dataclass(frozen=True)
class Tenanted:
    """An OpenShift with a cluster on its workers, under traffic."""

    cluster: Cluster
    openshift: OpenShiftOnLab
    upgrades: Upgrades
    residents: Residents
    before: Mapping[str, str]
    """The first Kubernetes node of each member."""

    def taken(self) -> list[str]:
        """The workers that were taken, one after the other."""
        return [name for each in self.openshift.audit.taken() for name in each if name in WORKERS]

    def hold_back(self, run: Playing) -> str:
        """Keep the first member that moves from starting. It gives its name."""

        def moved() -> str:
            assert not run.ended, run.so_far
            places = member_places(self.cluster)
            return next((name for name, place in places.items() if place and place != self.before[name]), "")

        member, faults = until("the first member to have moved", moved, MOVED), self.cluster.platform.faults
        faults.crash_loop(self.cluster.namespace, member)
        faults.back_off(self.cluster.namespace, member, 2.0)
        return member

    def is_upgraded_by(self, run: Playing) -> None:
        """Fails unless the run ends well, and all workers were taken one by one."""
        played = run.wait()
        print(played.output, *self.openshift.troubles, sep="\n")
        assert played.code == 0, played.message
        assert self.upgrades.history()[0] == (NEW, "Completed")
        assert self.upgrades.left_behind() == []
        assert self.openshift.audit.breaches() == []
        assert self.taken() == [*WORKERS]
        self.cluster.until_green()


@contextlib.contextmanager
def tenanted(
    lab: Lab, folder: Path, environment: Mapping[str, str], namespace: str, limits: Budget = KILLED
) -> Iterator[Tenanted]:
    """One in a namespace of its own, for the length of a block. It fails where a document is missing at the end."""
    lab.apply(shipped_rights(CLUSTER_USER))
    cluster = Cluster.start(lab, namespace, three_combined, "3.8.0")
    lab.apply(bound(ROLE, namespace, CLUSTER_USER))
    try:
        with (
            OpenShiftOnLab(lab, folder, DESCRIBED, pace=REBOOT) as openshift,
            budget(cluster, "members", healthy=2),
            loaded(cluster, folder, limits),
            Residents(cluster) as residents,
        ):
            # A shard whose member is away is not copied anew before that is back.
            later = {"index.unassigned.node_left.delayed_timeout": "15m"}
            cluster.ask("/_all/_settings", "PUT", later)
            yield Tenanted(cluster, openshift, Upgrades(lab, openshift, environment), residents, member_places(cluster))
    finally:
        cluster.remove()


@pytest.mark.soak
def test_no_worker_is_taken_while_a_shard_is_not_safe(
    wide_lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """The first member that is moved does not come back for a while."""
    with tenanted(wide_lab, tmp_path, ansible_environment, "on-workers") as found:
        gate = tmp_path / "gate.yml"
        gate.write_text(json.dumps([gate_of(found.cluster)]), encoding="utf-8")
        run = found.upgrades.start(found.upgrades.agreed(NEW, upgrade_workload_gate=str(gate)))
        member = found.hold_back(run)
        sentence = f"Members are missing from the cluster: {member}."
        until("the gate to wait for the member", lambda: sentence in run.so_far or run.ended, WAITING)
        seen = len(found.residents.looks)
        until("some time of waiting", lambda: len(found.residents.looks) >= seen + LOOKS, WAITING)
        assert not run.ended, run.so_far
        # The one on which it fails to start may be taken: nothing else goes away with that.
        assert {each[-2] for each in found.taken()} == {found.before[member][-2]}
        assert not any(member in holders for holders in found.residents.looks[-1].copies.values())
        wide_lab.faults.mend(found.cluster.namespace, member)
        found.is_upgraded_by(run)
    assert taken_too_early(found.residents.looks) == []
    # Each member has left its Kubernetes node, and once more the one to which it had come.
    assert {place for look in found.residents.looks for place in look.places.values()} >= {*WORKERS}


@pytest.mark.soak
def test_without_the_gate_a_worker_is_taken_too_early(
    wide_lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """The watch sees it. A PodDisruptionBudget asks for Ready pods alone, so that the cluster is red for a while."""
    with tenanted(wide_lab, tmp_path, ansible_environment, "without-gate", AWAY) as found:
        run = found.upgrades.start(found.upgrades.agreed(NEW))
        member = found.hold_back(run)
        until("a worker to be taken too early", lambda: taken_too_early([*found.residents.looks]), WAITING)
        wide_lab.faults.mend(found.cluster.namespace, member)
        found.is_upgraded_by(run)


def gate_of(cluster: Cluster) -> dict[str, Any]:
    """The task that asks whether the members on the next Kubernetes nodes may go down, by the connection of the run."""
    options = {
        "opensearch": {"hosts": [cluster.url]},
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
