"""Volumes of Longhorn on the workers of an OpenShift, which are asked before each batch of them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.runs.random_runs.openshift.watch import Watch, names_of
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, condition_of
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.longhorn.description import QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE, REPLICAS
from tests.sandbox.longhorn.longhorn import Longhorn

VOLUME = "orders"


class Volumes:
    """A Longhorn on the workers: a volume with two replicas, whose workload leaves each worker that is cordoned."""

    def __init__(self, here: World) -> None:
        self._here = here
        self.openshift = CalledOpenShift(here)
        self.workers = names_of(self.openshift.openshift, masters=False)
        volume = Volume(VOLUME, tuple(self.workers[:2]), attached=self.workers[0])
        there = Described(tuple(map(Machine, self.workers)), (volume,), {"replica-replenishment-wait-interval": "3600"})
        self.longhorn = Longhorn(there, here.sandbox.kubernetes, QUICK)
        self.breaches: list[str] = []
        Watch(self.openshift.openshift, self.spares, self.breaches)
        self.openshift.openshift.resources.store.listeners.append(self._changed)

    def gate(self, folder: Path, **more: int) -> str:
        """The file of the gate."""
        options = {
            "subject": "longhorn",
            "namespace": NAMESPACE,
            "kubernetes": {"kubeconfig": str(self._here.sandbox.kubeconfig("admin"))},
            "moment": "before_batch",
            "kubernetes_nodes": "{{ upgrade_batch.members }}",
            "wait_timeout": 3600,
            **more,
        }
        file = folder / "gate.yml"
        file.write_text(json.dumps([{"name": "Ask", "stateful.upgrade.cluster_health_gate": options}]))
        return str(file)

    def spares(self, nodes: Collection[str]) -> Iterator[str]:
        """The reasons why Longhorn cannot spare these workers, as its objects show."""
        modes = self.longhorn.engine(VOLUME)["status"].get("replicaModeMap") or {}
        replicas = self.longhorn.objects.of_volume(REPLICAS, VOLUME)
        places = {each["spec"]["nodeID"] for each in replicas if modes.get(each["metadata"]["name"]) == "RW"}
        if not places - {*nodes}:
            yield f"volume {VOLUME} has no healthy replica outside of {sorted(nodes)}"

    def _changed(self, change: Change) -> None:
        name = change.item["metadata"]["name"]
        if change.kind != NODES or name not in self.workers or change.before is None or change.type == "DELETED":
            return
        if _is_ready(change.before) != _is_ready(change.item):
            self.longhorn.clock.later(0.0, lambda: self.longhorn.controllers.data_plane_changed(name))
        if change.item["spec"].get("unschedulable") and self.longhorn.volume(VOLUME)["spec"]["nodeID"] == name:
            self.longhorn.clock.later(0.0, self._move)

    def _move(self) -> None:
        """The workload leaves its worker."""
        there = [each for each in self.workers if not self.openshift.openshift.node(each)["spec"].get("unschedulable")]
        self.longhorn.detach(VOLUME)
        self.longhorn.attach(VOLUME, there[0])


def _is_ready(node: Json) -> bool:
    return bool(condition_of(node, "Ready").get("status") == "True")


def test_no_worker_is_taken_while_a_volume_has_a_replica_to_rebuild(here: World, tmp_path: Path) -> None:
    volumes = Volumes(here)
    volumes.longhorn.faults.rebuild_stuck(VOLUME)
    volumes.longhorn.clock.later(1800.0, lambda: volumes.longhorn.faults.rebuild_goes_on(VOLUME))
    ended = volumes.openshift.upgrade(upgrade_workload_gate=volumes.gate(tmp_path))
    assert ended.code == 0, ended.output
    volumes.openshift.is_upgraded()
    assert volumes.breaches == []
    assert re.search(rf"waiting [5-9] min[^:]*: .*{VOLUME}", ended.output), ended.output


def test_without_the_gate_a_worker_is_taken_too_early(here: World) -> None:
    volumes = Volumes(here)
    volumes.longhorn.faults.rebuild_stuck(VOLUME)
    ended = volumes.openshift.upgrade(upgrade_member_timeout=300)
    # Longhorn keeps its own pod there, so that the drain does not end either.
    assert "drain_blocked" in codes(ended)
    assert volumes.breaches


def test_a_pool_stays_paused_while_a_replica_is_not_rebuilt(here: World, tmp_path: Path) -> None:
    volumes = Volumes(here)
    volumes.longhorn.faults.rebuild_stuck(VOLUME)
    gate = volumes.gate(tmp_path, wait_timeout=60)
    ended = volumes.openshift.upgrade(upgrade_workload_gate=gate)
    assert ended.code != 0
    assert VOLUME in ended.output
    assert volumes.openshift.paused() == ["worker"]
    assert len(volumes.openshift.on_target()) == 4
    volumes.longhorn.faults.rebuild_goes_on(VOLUME)
    here.later(300)
    ended = volumes.openshift.upgrade(upgrade_workload_gate=gate)
    assert ended.code == 0, ended.output
    volumes.openshift.is_upgraded()
    assert volumes.breaches == []
