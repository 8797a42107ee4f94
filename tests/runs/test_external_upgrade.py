"""An ExternalUpgrade from its request to its end: the service makes the UpgradeTask, and a run carries it out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import OWNERS
from tests.runs.owned_machines import CLUSTERS, OwnedMachines, management, owned
from tests.runs.test_upgrade_task_objects import give, spec_of, versions
from tests.runs.upgrade_tasks import EVERY, FROM, TO, Tasks, codes
from tests.sandbox.kubernetes.objects import Json
from tests.unit.cluster_api.management import SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE

CONTROLLERS = EVERY[:3]
POLICY = {"external": {"upgrade_task": True}, "fields": {"infrastructureMachine": ["spec.size"]}}
(LABEL,) = (label for label, word in OWNERS.items() if word == "control-plane")


class External:
    """The service next to the Machines of a cluster."""

    def __init__(self, tasks: Tasks, machines: OwnedMachines) -> None:
        self.tasks, self.machines = tasks, machines
        for name in CONTROLLERS:
            machines.change(name, _of_control_plane)
        there = Management(tasks.server)
        store = Store(DirectApi(there, SERVICE), NAMESPACE)
        self.service = HookService(policy_of(POLICY), store, there.now)

    def ask(self, version: str = TO, size: str = "l") -> tuple[str, str]:
        """The result and the message of a request for the control plane, with its Machines as they are."""
        body = {
            "machinesRequireUpgrade": [self._objects(name) for name in CONTROLLERS],
            "newMachineSpec": {"machine": {"version": f"v{version}"}, "infrastructureMachine": {"size": size}},
        }
        answer = asyncio.run(self.service.external_upgrade(body))
        return answer["result"], answer["message"]

    def _objects(self, node: str) -> Json:
        found = self.tasks.resources.get(self.machines.kind("SandboxMachine"), CLUSTERS, f"m-{node}")
        return {"machine": self.machines.machine(node), "infrastructureMachine": found}

    def made(self) -> dict[str, Json]:
        """The UpgradeTasks next to the Machines, by name."""
        found = self.tasks.resources.store.each(self.tasks.kind, CLUSTERS)
        return {each["metadata"]["name"]: each for each in found}

    def variables(self, name: str) -> dict[str, Any]:
        """The name of one as a run takes it, and the connection to the Machines."""
        named = name if self.tasks.namespace == CLUSTERS else f"{CLUSTERS}/{name}"
        return {"name": named, **management(self.tasks)}


def _of_control_plane(item: Json) -> None:
    """Label and refer as Cluster API does."""
    item["metadata"]["labels"].update({LABEL: "main", "cluster.x-k8s.io/control-plane": ""})
    item["metadata"]["ownerReferences"][0]["apiVersion"] = "controlplane.cluster.x-k8s.io/v1beta2"


@pytest.fixture(params=[False, True], ids=["its own management cluster", "another management cluster"])
def external(request: pytest.FixtureRequest) -> Iterator[External]:
    """Three machines of a control plane, and the service."""
    with owned(separate=request.param) as made:
        yield External(*made)


def test_an_external_upgrade_makes_an_upgrade_task_that_a_run_carries_out_to_the_new_specs(external: External) -> None:
    tasks, machines = external.tasks, external.machines
    give(machines, TO, **{"cluster.x-k8s.io/paused": ""})
    result, message = external.ask()
    (name,) = external.made()
    assert (result, message.partition(":")[0]) == ("Accept", f"UpgradeTask {CLUSTERS}/{name} (not started)")
    ended = tasks.play(tasks.agreed(**external.variables(name)))
    assert ended.code == 0, ended.output
    kept = {name: each.kubelet.version for name, each in tasks.found.machines.items()}
    assert kept == {**dict.fromkeys(CONTROLLERS, TO), "worker-1": FROM, "worker-2": FROM}
    assert versions(machines) == {each: f"v{version}" for each, version in kept.items()}
    for each in CONTROLLERS:
        assert spec_of(machines, "SandboxMachine", each) == {"size": "l", "providerID": f"sandbox://{each}"}
    assert external.ask() == ("Accept", f"UpgradeTask {CLUSTERS}/{name} (Complete): All 3 are up to date.")
    assert list(external.made()) == [name]


def test_a_task_that_another_request_has_aborted_is_taken_by_no_run(external: External) -> None:
    tasks = external.tasks
    external.ask(size="m")
    (first,) = external.made()
    tasks.here.later(5)
    assert external.ask()[0] == "Accept"
    phases = {name: each["spec"]["phase"] for name, each in external.made().items()}
    (second,) = (name for name in phases if name != first)
    assert phases == {first: "Abort", second: "Ongoing"}
    variables = external.variables(first)
    assert codes(tasks.play(tasks.variables(**variables))) == ["request_missing"]
    ended = tasks.play(tasks.agreed(**external.variables(second)))
    assert ended.code == 0, ended.output
    found = {name: each["status"]["phase"] for name, each in external.made().items()}
    assert found == {first: "Abort", second: "Complete"}
