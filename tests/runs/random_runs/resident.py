"""A database on the Kubernetes nodes of a platform, the gate by which it is asked, and a watch over its members."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tests.lab.opensearch.layouts import OPENSEARCH, Pool, Product, with_pools
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.kubernetes.store import Change

VERSION, MEMBERS = "3.8.0", 3
PASSWORD = "not-for-any-eyes"
COMBINED = ("cluster_manager", "data", "ingest")


class Resident:
    """It notes whenever a Kubernetes node goes although a member on it cannot be spared, as a platform reports."""

    def __init__(
        self,
        here: World,
        resources: Resources,
        masters: Collection[str],
        version: str = VERSION,
        product: Product = OPENSEARCH,
    ) -> None:
        self._here, self._resources, self._system = here, resources, product.name
        for each in masters:
            resources.change(NODES, "", each, _closed)
        self.cluster = here.cluster(version, with_pools((Pool("data", MEMBERS, COMBINED),)), product=product)
        self.cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
        self.cluster.until_green()
        (self.servers,) = here.sandbox.members.clusters_in(self.cluster.namespace)
        self.breaches: list[str] = []
        """Each Kubernetes node that was taken too early, with the cause."""
        self.moved: set[tuple[str, str]] = set()
        """Members and the Kubernetes nodes on which they have been."""
        resources.store.listeners.append(self._followed)

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

    def workload(self, **more: Any) -> dict[str, Any]:
        """The cluster as one of the `upgrade_workloads`."""
        own = {"hosts": [self.cluster.url], "username": "someone", "password": PASSWORD}
        return {"system": self._system, "namespace": self.cluster.namespace, "opensearch": own, **more}

    def changed_settings(self) -> dict[str, Any]:
        """The settings of the cluster that some run has changed and not put back, and its undo."""
        found = json.loads(self.cluster.ask("/_cluster/settings?flat_settings=true"))
        return {name: value for scope in ("persistent", "transient") for name, value in found.get(scope, {}).items()}

    def places(self) -> dict[str, str]:
        """The Kubernetes node of each member; empty while its pod has none."""
        pods = self._resources.store.each(PODS, self.cluster.namespace)
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
                self._here.sandbox.kubernetes.clock.later(seconds, lambda: faults.mend(self.cluster.namespace, member))

        self._resources.store.listeners.append(changed)

    def _followed(self, change: Change) -> None:
        if change.kind == PODS:
            self.moved |= {*self.places().items()}

    def spares(self, nodes: Collection[str]) -> Iterator[str]:
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
