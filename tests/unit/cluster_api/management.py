"""A management cluster in memory, with the manifests of the service and with Machines, and clients of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from extensions.cluster_api.cluster_api_extension.kubernetes_api import Access, KubernetesApi, content_type
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import ApiServer
from tests.sandbox.kubernetes.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DEFINITIONS,
    LEASES,
    NAMESPACES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)
from tests.sandbox.kubernetes.objects import Kind
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.machines.kinds import Version
from tests.sandbox.web import Answer, Request
from tests.unit.cluster_api.manifests import EXTENSION, NAMESPACE, of_kind

Json = dict[str, Any]

SERVICE, RUNS = "cluster-api-extension", "machine-runs"
GROUP = "cluster.x-k8s.io"
MACHINES = Version("v1beta2").machines
UPGRADE_TASK = EXTENSION.parents[1] / "roles" / "machines" / "files" / "upgrade_task.yml"
KINDS = {
    "Namespace": NAMESPACES,
    "ServiceAccount": SERVICE_ACCOUNTS,
    "ClusterRole": CLUSTER_ROLES,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
}
_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_DEFINITION: Json = {
    "metadata": {"name": f"machines.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "machines", "singular": "machine", "kind": "Machine", "listKind": "MachineList"},
        "versions": [
            {
                "name": "v1beta2",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


class Management:
    """A management cluster, on a clock that tests advance."""

    def __init__(self, server: ApiServer | None = None) -> None:
        """A new one, or one behind a server that has Machines."""
        self.server = server or ApiServer(Clock(), {})
        self.clock = self.server.store.clock
        self.resources = self.server.resources
        if server is None:
            self.resources.create(NAMESPACES, "", {"metadata": {"name": "default"}})
            self.resources.create(DEFINITIONS, "", _DEFINITION)
        for item in of_kind(*KINDS):
            kind = KINDS[item["kind"]]
            self.resources.create(kind, item["metadata"].get("namespace", ""), item, Writing(strict="Strict"))

    def now(self) -> datetime:
        """The time of its clock, in whole seconds."""
        return datetime.fromtimestamp(int(self.clock.now()), timezone.utc)

    def token(self, account: str) -> str:
        """A token of one of the two accounts of the manifests."""
        return self.server.rights.token_for(self.resources.get(SERVICE_ACCOUNTS, NAMESPACE, account))

    def machine(self, name: str, labels: Mapping[str, str] | None = None) -> Json:
        """A new Machine."""
        spec = {"clusterName": "mem", "version": "v1.35.1"}
        return self.resources.create(
            MACHINES, "default", {"metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec}
        )

    def define_upgrade_tasks(self) -> None:
        """Does as `kubectl apply -f roles/machines/files/upgrade_task.yml` does."""
        self.resources.create(DEFINITIONS, "", yaml.safe_load(UPGRADE_TASK.read_text(encoding="utf-8")))

    def make_upgrade_task(self, name: str, deployment: str, *machines: str, **spec: Any) -> None:
        """Makes one for Machines of a MachineDeployment, as a person does."""
        kind = self.resources.kinds.named("upgrade.stateful/v1alpha1", "UpgradeTask")
        assert kind is not None
        whole = {
            "machineDeploymentRef": {"kind": "MachineDeployment", "name": deployment},
            "machinesRequireUpgrade": [{"name": each} for each in machines],
            "newMachineSpec": {"version": "v1.36.1"},
            **spec,
        }
        body = {"apiVersion": "upgrade.stateful/v1alpha1", "kind": "UpgradeTask", "metadata": {"name": name}}
        self.resources.create(kind, "default", {**body, "spec": whole}, Writing("ada", strict="Strict"))

    def upgrade_tasks(self) -> dict[str, Json]:
        """The UpgradeTasks next to the Machines, by name."""
        kind = self.resources.kinds.named("upgrade.stateful/v1alpha1", "UpgradeTask")
        assert kind is not None
        return {each["metadata"]["name"]: each for each in self.server.store.each(kind, "default")}

    def change_upgrade_task(self, name: str, change: Callable[[Json], Any], subresource: str = "") -> None:
        """Changes one, as a person or a run does."""
        kind = self.resources.kinds.named("upgrade.stateful/v1alpha1", "UpgradeTask")
        assert kind is not None
        self.resources.change(kind, "default", name, change, Writing("ada", strict="Strict", subresource=subresource))

    def owned(self, name: str, owner: str) -> None:
        """A Machine of a MachineDeployment, or of a control plane if the owner is KIND/NAME, on a Kubernetes node."""
        kind, _slash, control_plane = owner.rpartition("/")
        labels = {"cluster.x-k8s.io/control-plane-name": control_plane, "cluster.x-k8s.io/control-plane": ""}
        self.machine(name, labels if kind else {"cluster.x-k8s.io/deployment-name": owner})
        reference = {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": kind, "name": control_plane}
        if kind:
            references = [{**reference, "uid": "1", "controller": True}]
            self.resources.change(
                MACHINES, "default", name, lambda item: item["metadata"].update(ownerReferences=references)
            )
        status = {"nodeRef": {"name": f"node-{name}"}}
        self.resources.change(
            MACHINES, "default", name, lambda item: item.update(status=status), Writing("capi", subresource="status")
        )

    def objects(self, kind: Kind) -> dict[str, Json]:
        """The objects of a kind in the namespace of the service, by name."""
        return {each["metadata"]["name"]: each for each in self.server.store.each(kind, NAMESPACE)}

    def tasks(self) -> dict[str, Json]:
        """The content of each task, by the name of its machine."""
        found = [json.loads(each["data"]["task.json"]) for each in self.objects(CONFIG_MAPS).values()]
        return {each["wanted"]["name"]: each for each in found}

    def leases(self) -> list[str]:
        """The names of the Leases."""
        return sorted(self.objects(LEASES))

    def gate(self, cluster: str, **data: str) -> None:
        """Write an answer of a gate over the one before."""
        name = f"gate-default.{cluster}"
        if name in self.objects(CONFIG_MAPS):
            self.resources.delete(CONFIG_MAPS, NAMESPACE, name)
        self.resources.create(CONFIG_MAPS, NAMESPACE, {"metadata": {"name": name}, "data": data})

    def machine_named(self, name: str) -> Json:
        """A Machine."""
        return self.resources.get(MACHINES, "default", name)

    def annotate(self, name: str, key: str, value: str) -> None:
        """Does as `kubectl annotate configmap` does."""
        item = self.objects(CONFIG_MAPS)[name]
        metadata = {**item["metadata"], "annotations": {key: value}}
        self.resources.replace(CONFIG_MAPS, NAMESPACE, name, {**item, "metadata": metadata})


class DirectApi(KubernetesApi):
    """The client without a socket in between; it counts the requests by method."""

    def __init__(self, management: Management, account: str) -> None:
        super().__init__(Access("https://management", Path("token"), None))
        self._management, self._token = management, management.token(account)
        self.asked: Counter[str] = Counter()
        self.bytes = 0

    async def _sent(
        self, method: str, path: str, item: Json | None, params: Mapping[str, str] | None
    ) -> tuple[int, Any]:
        self.asked[method] += 1
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type(method)}
        answer = self._management.server(Request(method, path, dict(params or {}), item, headers))
        assert isinstance(answer, Answer)
        self.bytes += len(answer.text)
        return answer.status, json.loads(answer.text) if answer.status < 300 else None
