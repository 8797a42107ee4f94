"""A cluster of Cluster API, the extension and a worker, as the scenarios see and change them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kubernetes import config

from extensions.cluster_api.cluster_api_extension.discovery import discovered
from extensions.cluster_api.cluster_api_extension.documents import CLEAR, CLEARED, TASK_LABEL
from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.store import gate_name
from tests.lab.api import MERGE
from tests.lab.cluster_api.cluster_api import CORE_GROUP, ClusterApiOnLab, condition
from tests.lab.cluster_api.definitions import Wanted, cluster
from tests.lab.longhorn.requests import ask
from tests.lab.waiting import moment, until
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.scenarios.cluster_api.extension import Extension
from tests.unit.cluster_api.manifests import NAMESPACE

DISCOVERED, BEGUN, FAILED, UPGRADED = 60.0, 120.0, 120.0, 300.0
ASKED_AGAIN = 3
CONFIG = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/stateful-upgrade"
BOOTSTRAP = "/apis/bootstrap.cluster.x-k8s.io/v1beta2"
TEMPLATE = "kubeadmconfigtemplates/in-memory-default-worker-bootstraptemplate"
NOTE = "upgrade.stateful/note"
Json = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """The management cluster that the scenarios share."""

    cluster_api: ClusterApiOnLab
    extension: Extension
    folder: Path


@dataclass(frozen=True)
class CommandRun:
    """One run of the command: its Kubernetes node, its process, its start and its end; None if it was killed."""

    node: str
    pid: str
    start: float
    end: float | None
    waited: bool
    """Whether it has stayed in the middle of its work."""


class Story:
    """One cluster. Whatever an earlier story has asked of the extension does not count here."""

    def __init__(self, place: Place, wanted: Wanted) -> None:
        self.api, self.extension, self._wanted = place.cluster_api, place.extension, wanted
        self.namespace, self.name = wanted.namespace, wanted.name
        self.folder = place.folder / wanted.namespace
        self.folder.mkdir()
        self._said_before = len(self.extension.said())
        self._calls_before = self.api.calls()
        self.api.whole(wanted)
        (self.folder / "kubeconfig").write_bytes(self.api.workload_kubeconfig(self.namespace, self.name))

    def serve(self, policy: Json) -> None:
        """Have the service run with this policy, and Cluster API know its hooks."""
        self.extension.serve(policy)
        hooks = {each["requestHook"]["hook"] for each in discovered(policy_of(policy))["handlers"]}
        note = {"metadata": {"annotations": {NOTE: moment(0)}}}
        self.api.server.ask("PATCH", CONFIG, note, MERGE)
        until("The discovery of the extension", lambda: self._discovered() == hooks, DISCOVERED)

    def _discovered(self) -> set[str]:
        self.api.ready()
        found = self.api.server.ask("GET", CONFIG)
        known = found.get("status", {}).get("handlers") or []
        return {each["requestHook"]["hook"] for each in known} if condition(found, "Discovered") == "True" else set()

    def work(self) -> None:
        """Have a worker run the command of this story."""
        module = [sys.executable, "-m", "tests.lab.cluster_api.upgrade"]
        self.extension.work([*module, str(self.folder), "{kubernetes_node}", "{version}"])

    def upgrade(self, version: str) -> None:
        """Ask Cluster API for a version of Kubernetes."""
        self.api.change(self.namespace, "clusters", self.name, {"spec": {"topology": {"version": version}}})

    def change_workers(self, value: str) -> None:
        """Ask Cluster API for another option of the workers' kubelets."""
        options = [{"name": "eviction-hard", "value": f"nodefs.available<{value}"}]
        change = {"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": options}}}
        path = f"{BOOTSTRAP}/namespaces/{self.namespace}/{TEMPLATE}"
        self.api.server.ask("PATCH", path, {"spec": {"template": {"spec": change}}}, MERGE)
        # Cluster API does not watch templates of a class.
        self.annotate("clusters", self.name, NOTE, value)

    def replace_at_once(self, number: int) -> None:
        """Let Cluster API replace so many unhealthy workers at the same time."""
        self.extension.lab.apply([cluster(replace(self._wanted, in_flight=number))])

    def gate(self, fit: str, reason: str = "") -> None:
        """Have the gate of the cluster answer."""
        about = {"name": gate_name(self.namespace, self.name), "namespace": NAMESPACE}
        data = {"fit": fit, "reason": reason, "seen": moment(0)}
        self.extension.lab.apply([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}])

    def says(self, *words: str) -> bool:
        """Whether a condition of the Cluster has all these words."""
        conditions = self.api.cluster(self.namespace, self.name).get("status", {}).get("conditions") or []
        return any(all(word in each.get("message", "") for word in words) for each in conditions)

    def said(self) -> str:
        """All that the service has said in this story."""
        return self.extension.said()[self._said_before :]

    def calls(self, hook: str, *statuses: str) -> int:
        """The calls of a hook in this story with one of these statuses, as the managers have counted them."""
        found = self.api.calls() - self._calls_before
        return sum(number for (name, status), number in found.items() if name == hook and status in statuses)

    def machines(self) -> list[Json]:
        """The Machines."""
        return self.api.machines(self.namespace)

    def uids(self) -> dict[str, str]:
        """The UIDs of all Machines that are not being deleted, by name."""
        items = [each["metadata"] for each in self.machines()]
        return {each["name"]: each["uid"] for each in items if not each.get("deletionTimestamp")}

    def uids_of_workers(self) -> dict[str, str]:
        """The UIDs of the Machines that are workers, by name."""
        workers = {each["metadata"]["name"] for each in self.machines() if not of_control_plane(each)}
        return {name: uid for name, uid in self.uids().items() if name in workers}

    def versions(self) -> set[str]:
        """The versions that Machines are to have."""
        return {str(each["spec"].get("version")) for each in self.machines()}

    def machine_of(self, node: str) -> Json:
        """The Machine of a Kubernetes node."""
        (found,) = (each for each in self.machines() if node_of(each) == node)
        return found

    def task(self, machine: Json) -> Json:
        """The task of a Machine."""
        path = CONFIG_MAPS.path(NAMESPACE, f"machine-{machine['metadata']['uid']}")
        found: Json = json.loads(self.api.server.ask("GET", path)["data"]["task.json"])
        return found

    def journal(self) -> list[CommandRun]:
        """The runs of the command up to now."""
        file = self.folder / "journal"
        lines = [each.split() for each in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
        begun, waits, ends = (
            {(node, pid): float(time) for what, node, pid, time in lines if what == word}
            for word in ("begins", "waits", "ends")
        )
        return [CommandRun(*each, start, ends.get(each), each in waits) for each, start in begun.items()]

    def midway(self, number: int) -> CommandRun:
        """The run of this number, once it stays in the middle of its work."""

        def found() -> CommandRun | None:
            return next((each for each in self.journal()[number - 1 : number] if each.waited), None)

        return until(f"Run {number}", found, BEGUN)

    def go(self, node: str) -> None:
        """Let the runs on a Kubernetes node continue."""
        (self.folder / f"go-{node}").touch()

    def clear(self, machine: Json) -> None:
        """Clear the failure of a Machine, as a person does."""
        path = CONFIG_MAPS.path(NAMESPACE, f"machine-{machine['metadata']['uid']}")
        self.api.server.ask("PATCH", path, {"metadata": {"annotations": {CLEAR: "ada"}}}, MERGE)
        self.ask_again(machine)

    def ask_again(self, machine: Json) -> None:
        """Cluster API asks less and less often; a change of the Machine has it ask at once."""
        self.annotate("machines", machine["metadata"]["name"], CLEARED, moment(0))

    def annotate(self, plural: str, name: str, key: str, value: str | None) -> None:
        """Do as `kubectl annotate` does."""
        self.api.change(self.namespace, plural, name, {"metadata": {"annotations": {key: value}}})

    def names(self, plural: str) -> list[str]:
        """The names of the objects of a kind of the core group."""
        found = self.api.server.ask("GET", f"{CORE_GROUP}/namespaces/{self.namespace}/{plural}")
        return [str(each["metadata"]["name"]) for each in found["items"]]

    def lose(self, node: str) -> None:
        """Make a kubelet look as if it has not answered for a minute."""
        lost = {"type": "Ready", "status": "False", "reason": "Lost", "message": "", "lastTransitionTime": moment(-60)}
        with config.new_client_from_config(config_file=str(self.folder / "kubeconfig")) as api:
            path = f"/api/v1/nodes/{node}"
            conditions = ask(api, "GET", path)["status"].get("conditions") or []
            others = [each for each in conditions if each["type"] != "Ready"]
            ask(api, "PATCH", path, {"status": {"conditions": [*others, lost]}}, MERGE)

    def is_settled(self) -> bool:
        """Whether all Machines are up to date and available, and none is being updated."""
        wanted = {"Available": "True", "UpToDate": "True", "Updating": "False"}
        machines = self.machines()
        return len(machines) == self._wanted.control_plane + self._wanted.workers and all(
            condition(each, name) == status for each in machines for name, status in wanted.items()
        )

    def is_at(self, version: str) -> bool:
        """Whether the cluster is settled in a version."""
        kubelets = {each.get("status", {}).get("nodeInfo", {}).get("kubeletVersion") for each in self.machines()}
        return self.versions() == kubelets == {version} and self.is_settled()

    def settles(self, version: str = "") -> None:
        """Wait until the cluster is settled, in a version if one is given."""
        until("The upgrade", lambda: self.is_at(version) if version else self.is_settled(), UPGRADED)

    def end(self) -> None:
        """Cluster API leaves the cluster alone from now on, and no worker takes a task that a failed test has left."""
        self.extension.end("worker")
        self.api.change(self.namespace, "clusters", self.name, {"spec": {"paused": True}})
        self.api.server.ask("DELETE", f"{CONFIG_MAPS.path(NAMESPACE)}?labelSelector={TASK_LABEL}=true")


def of_control_plane(machine: Json) -> bool:
    """Whether a Machine is one of the control plane."""
    return "cluster.x-k8s.io/control-plane" in machine["metadata"]["labels"]


def node_of(machine: Json) -> str:
    """The Kubernetes node of a Machine; empty if it has none yet."""
    return str((machine.get("status", {}).get("nodeRef") or {}).get("name", ""))


def at_a_time(runs: Sequence[CommandRun]) -> int:
    """The most runs that went on at the same time; one without an end goes on for ever."""
    return max(
        sum(one.start <= each.start < (math.inf if one.end is None else one.end) for one in runs) for each in runs
    )
