"""An OpenSearch on the workers of an OpenShift, the gate by which it is asked, and a watch over its members."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.lab.opensearch.layouts import Pool, with_pools
from tests.runs.observer.watching import asking
from tests.runs.turns import OneRun
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, MASTER, POOLS, annotations_of
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.openshift import OpenShift

VERSION, MEMBERS = "3.8.0", 3
COMBINED = ("cluster_manager", "data", "ingest")


class Database:
    """It notes whenever a worker is taken although a member on it cannot be spared.

    A pool that a person or a killed run has let go counts for nothing: no gate can be asked then.
    """

    def __init__(self, here: World, openshift: OpenShift) -> None:
        self._here, self._openshift = here, openshift
        masters = [node.name for pool in openshift.described.pools if pool.name == MASTER for node in pool.nodes]
        for each in masters:
            openshift.resources.change(NODES, "", each, _closed)
        self._workers = [node.name for pool in openshift.described.pools for node in pool.nodes]
        self._workers = [name for name in self._workers if name not in masters]
        self._let_go_by: dict[str, OneRun | None] = {}
        self.cluster = here.cluster(VERSION, with_pools((Pool("data", MEMBERS, COMBINED),)))
        self.cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
        self.cluster.until_green()
        (self.servers,) = here.sandbox.members.clusters_in(self.cluster.namespace)
        self.breaches: list[str] = []
        """Each worker that was taken too early, with the cause."""
        self.moved: set[tuple[str, str]] = set()
        """Members and the Kubernetes nodes on which they have been."""
        openshift.resources.store.listeners.append(self._changed)

    def gate(self, folder: Path | None = None, **more: Any) -> str:
        """The file of the gate."""
        options = {
            "opensearch": {"hosts": [self.cluster.url]},
            "kubernetes": {"kubeconfig": str(self._here.sandbox.kubeconfig("admin"))},
            "namespace": self.cluster.namespace,
            "moment": "before_batch",
            "kubernetes_nodes": "{{ upgrade_batch.members }}",
            "wait_timeout": 3600,
            **more,
        }
        file = (folder or Path(tempfile.mkdtemp())) / "gate.yml"
        file.write_text(json.dumps([{"name": "Ask", "stateful.upgrade.cluster_health_gate": options}]))
        return str(file)

    def places(self) -> dict[str, str]:
        """The Kubernetes node of each member; empty while its pod has none."""
        pods = self._openshift.resources.store.each(PODS, self.cluster.namespace)
        return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in pods}

    def slow_to_return(self, member: str, seconds: float) -> None:
        """A member does not start on its next Kubernetes node for some time."""
        first, faults = self.places()[member], self._here.sandbox.faults
        done = list[str]()

        def changed(change: Change) -> None:
            place = self.places().get(member, first) if change.kind == PODS and not done else first
            if place not in ("", first):
                done.append(place)
                faults.crash_loop(self.cluster.namespace, member)
                self._openshift.clock.later(seconds, lambda: faults.mend(self.cluster.namespace, member))

        self._openshift.resources.store.listeners.append(changed)

    def _changed(self, change: Change) -> None:
        name = change.item["metadata"]["name"]
        if change.kind == PODS:
            self.moved |= {*self.places().items()}
        if change.before is None or change.type == "DELETED":
            return
        if change.kind == POOLS and change.before["spec"].get("paused") and not change.item["spec"].get("paused"):
            writes = self._openshift.observer.writes_of("spec.paused")
            self._let_go_by[name] = None if writes and writes[-1][0] == PERSON else asking()
        if change.kind != NODES or name not in self._workers:
            return
        if annotations_of(change.before).get(DESIRED) != annotations_of(change.item).get(DESIRED):
            run = self._let_go_by.get(self._pool_of(name))
            if run is not None and run.is_at_work:
                self.breaches += [f"{name}: {each}" for each in self._spares(self._taken())]

    def _pool_of(self, node: str) -> str:
        return next(pool.name for pool in self._openshift.described.pools if node in {one.name for one in pool.nodes})

    def _taken(self) -> set[str]:
        """The workers that the machine config operator has taken, and that are not back."""
        notes = {name: annotations_of(self._openshift.node(name)) for name in self._workers}
        return {name for name, found in notes.items() if found[CURRENT] != found[DESIRED]}

    def _spares(self, nodes: set[str]) -> Iterator[str]:
        """The reasons why the members on these Kubernetes nodes cannot be spared, as the servers know them."""
        members = {member for member, node in self.places().items() if node in nodes}
        names = {each.id: each.name for each in self.servers.state.nodes.values() if each.alive}
        yield from (f"{each} is away" for each in {*self.places()} - {*names.values()} - members)
        for index in self.servers.state.indices.values():
            for shard, copies in index.shards.items():
                if not {names.get(each.node or "", "") for each in copies if each.started} - {"", *members}:
                    yield f"shard {shard} of {index.name} has no copy outside of {sorted(members)}"


def _closed(node: Json) -> None:
    """The control plane takes no workloads."""
    taint = {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}
    node["spec"]["taints"] = [*node["spec"].get("taints", ()), taint]
