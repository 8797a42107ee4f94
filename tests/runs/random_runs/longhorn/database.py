"""A small OpenSearch on the Kubernetes nodes of a Longhorn, and the gate by which it is asked before each of them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.lab.opensearch.layouts import Pool, with_pools
from tests.runs.observer.longhorn.workload import Workload
from tests.runs.random_runs.longhorn.story import LonghornStory
from tests.runs.world import World
from tests.sandbox.kubernetes.cluster import NODES
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json

VERSION, MEMBERS = "3.8.0", 3
COMBINED = ("cluster_manager", "data", "ingest")
WAIT = 60
"""The seconds for which the gate waits without progress."""
BARE = "bare"
"""The index that a person makes without replicas."""


class Database:
    """The database of a story, with the file of the gate."""

    def __init__(self, here: World, story: LonghornStory) -> None:
        resources = here.sandbox.kubernetes.server.resources

        def closed(item: Json) -> None:
            item["spec"]["unschedulable"] = True

        for each in NODES:
            resources.change(KUBERNETES_NODES, "", each, closed)
        self._world = here
        self._cluster = here.cluster(VERSION, with_pools((Pool("members", MEMBERS, COMBINED),)))
        self._cluster.ask("/orders", "PUT", {"settings": {"number_of_shards": 3, "number_of_replicas": 1}})
        self._cluster.until_green()
        (servers,) = here.sandbox.members.clusters_in(self._cluster.namespace)
        pods = here.sandbox.kubernetes.server.store.each(PODS, self._cluster.namespace)
        places = {each["spec"]["nodeName"]: each["metadata"]["name"] for each in pods}
        self.workload = Workload(servers, {node: places[node] for node in story.nodes if node in places})
        self.members = sorted(places.values())
        self.gate = self._written()

    def _written(self) -> Path:
        options = {
            "opensearch": {"hosts": [self._cluster.url]},
            "moment": "before_batch",
            "expected": self.members,
            "batch": "{{ upgrade_batch.members | select('in', member_on) | map('extract', member_on) | list }}",
            "wait_timeout": WAIT,
        }
        task = {
            "name": "Ask the database",
            "stateful.upgrade.cluster_health_gate": options,
            "vars": {"member_on": dict(self.workload.member_on)},
        }
        file = Path(tempfile.mkdtemp()) / "gate.yml"
        file.write_text(json.dumps([task]), encoding="utf-8")
        return file

    def away(self, member: str) -> None:
        """A member ends, and does not come back by itself."""
        self._world.sandbox.faults.crash_loop(self._cluster.namespace, member)
        self.restarts(member)

    def back(self, member: str) -> None:
        """It comes back."""
        self._world.sandbox.faults.mend(self._cluster.namespace, member)

    def restarts(self, member: str) -> None:
        """The process of a member is killed, if there is one."""
        if self.workload.runs(member):
            self._world.sandbox.faults.kill(self._cluster.namespace, member)

    def bare(self) -> None:
        """A person makes an index without replicas."""
        self._ask("PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 0}})

    def covered(self) -> None:
        """It is removed again."""
        self._ask("DELETE")

    def _ask(self, method: str, body: Json | None = None) -> None:
        if any(map(self.workload.answers, self.members)):
            self._cluster.ask(f"/{BARE}", method, body)
