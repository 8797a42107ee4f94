"""One machine behind the extension for Cluster API, by the command line of its page."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension.claims import Claimant, Claims
from extensions.cluster_api.cluster_api_extension.policy import Policy
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.worker import Worker
from tests.runs import executor
from tests.runs.owned_machines import OwnedMachines, management, owned
from tests.runs.test_machines_drains import WEB, pod
from tests.runs.upgrade_tasks import FROM, TO, Tasks
from tests.sandbox.kubernetes.kinds import BUDGETS, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played
from tests.unit.cluster_api.management import MACHINES, RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import recorded, with_value

STATISTICS = re.compile(r"^CUSTOM STATS: .*RUN: (\{.*\})", re.M | re.S)
"""The custom statistics, which the callback of the collection writes into a file."""
PAGE = Path(__file__).parents[2] / "docs" / "cluster-api.md"


class Started:
    """A playbook in the place of a process. It ends while its worker waits for it."""

    pid = 0

    def __init__(self, run: Any) -> None:
        self._run = run

    async def wait(self) -> int:
        """The exit code."""
        code: int = self._run()
        return code


class Extension:
    """The service and a worker for the machines of a cluster."""

    def __init__(self, tasks: Tasks, machines: OwnedMachines) -> None:
        self.tasks, self.machines, self.management = tasks, machines, Management()
        self.service = HookService(Policy(), Store(DirectApi(self.management, SERVICE), NAMESPACE), self.management.now)
        self.given = tasks.found.variables(TO, USER, **management(tasks))
        for name in ("target_version", "upgrade_groups", "upgrade_namespace"):
            del self.given[name]
        self.played: list[Played] = []
        self.commands: list[list[str]] = []

    async def _begin(self, command: Sequence[str], environment: Mapping[str, str]) -> Started:
        program, inventory, path, playbook, *more = command
        assert (program, inventory, path) == ("ansible-playbook", "-i", "inventory")
        self.commands.append([*command])

        def run() -> int:
            ended = executor.play(playbook, self.given, *self.tasks.found.arguments, *more)
            self.played.append(ended)
            found = STATISTICS.search(ended.output)
            Path(environment["STATEFUL_UPGRADE_STATS_FILE"]).write_text(found[1] if found else "", encoding="utf-8")
            return ended.code

        return Started(run)

    def upgrade(self, node: str, **more: Any) -> Json:
        """The task of a machine after one attempt of a worker."""
        self.given.update(more)
        asyncio.run(self._upgrade(node))
        return self.management.tasks()[f"m-{node}"]

    def _mirror(self, node: str) -> None:
        """The Machine as Cluster API has it: requests carry no status."""
        if f"m-{node}" not in self.management.tasks():
            self.management.machine(f"m-{node}")
        status = {name: value for name, value in self.machines.machine(node)["status"].items() if name == "nodeRef"}
        writing = Writing("capi", subresource="status")
        resources, kind = self.management.resources, MACHINES
        resources.change(kind, "default", f"m-{node}", lambda item: item.update(status=status), writing)

    async def _upgrade(self, node: str) -> None:
        body = with_value(recorded("updatemachine"), "desired.machine.metadata.name", f"m-{node}")
        body = with_value(body, "desired.machine.spec.version", f"v{TO}")
        self._mirror(node)
        await self.service.update_machine(body)
        api = DirectApi(self.management, RUNS)
        claims = Claims(api, Store(api, NAMESPACE), Claimant("run-1", 60, 1), self.management.now)
        worker = Worker(claims, documented(), 60, self.management.now, self._begin, confirms=True)
        assert await worker.work_once()


def documented() -> list[str]:
    """The command that the page gives to the worker."""
    found = re.search(
        r"work --confirm-plan -- (ansible-playbook(?:[^\n]*\\\n)*[^\n]*)", PAGE.read_text(encoding="utf-8")
    )
    assert found is not None
    return shlex.split(found[1].replace("\\\n", " "))


@pytest.fixture
def extension() -> Iterator[Extension]:
    """Three machines of the control plane and two workers, which Cluster API owns."""
    with owned() as (tasks, machines):
        yield Extension(tasks, machines)


def kubelets(found: Extension) -> dict[str, str]:
    """The version of each kubelet."""
    items = found.tasks.here.sandbox.kubernetes.server.resources.store.list(NODES)
    return {
        each["metadata"]["name"]: each["status"]["nodeInfo"]["kubeletVersion"].removeprefix("v")
        for each in items
        if not each["spec"].get("unschedulable")
    }


def test_each_machine_is_upgraded_alone_by_the_command_of_the_page(extension: Extension) -> None:
    expected = dict.fromkeys(extension.tasks.found.machines, FROM)
    for name in ("cp-1", "cp-2", "cp-3", "worker-1"):
        task = extension.upgrade(name)
        assert task["state"] == "done", extension.played[-1].output
        expected[name] = TO
        assert kubelets(extension) == expected, "this one alone, and none is cordoned"
    for name, machine in extension.tasks.found.machines.items():
        assert [one.split()[2] for one in machine.commands.upgrades] == (["node"] if expected[name] == TO else [])
    saved = {name: len(each.commands.snapshots) for name, each in extension.tasks.found.machines.items()}
    assert saved == {**dict.fromkeys(saved, 0), "cp-1": 1}


def blocked(extension: Extension) -> None:
    """A pod on worker-1 whose budget does not let it go, since the other one is not Ready."""
    sandbox = extension.tasks.here.sandbox
    sandbox.kubernetes.faults.never_ready(WEB, "on-worker-2")
    rule = {"minAvailable": 1, "selector": {"matchLabels": {"app": WEB}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": WEB, "namespace": WEB}}
    pods = [pod(f"worker-{each}") for each in (1, 2)]
    sandbox.apply(
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WEB}}, *pods, {**budget, "spec": rule}]
    )
    extension.tasks.here.later(60)


@pytest.mark.soak
def test_a_budget_that_keeps_a_pod_is_a_drain_that_another_attempt_may_end(extension: Extension) -> None:
    blocked(extension)
    for name in ("cp-1", "cp-2", "cp-3"):
        assert extension.upgrade(name)["state"] == "done"
    task = extension.upgrade("worker-1", upgrade_allow_unmanaged_pods=[WEB])
    assert (task["state"], task["kind"]) == ("waiting", "drain_timeout"), extension.played[-1].output
    assert "PodDisruptionBudget web/web keeps on-worker-1 there" in task["reason"]
    assert kubelets(extension)["worker-1"] == FROM, "it is not cordoned any more"
    extension.tasks.here.sandbox.kubernetes.server.resources.delete(BUDGETS, WEB, WEB)
    extension.management.clock.advance(60)
    assert extension.upgrade("worker-1")["state"] == "done", extension.played[-1].output
    assert kubelets(extension)["worker-1"] == TO


def test_a_worker_before_its_control_plane_is_refused_for_good(extension: Extension) -> None:
    task = extension.upgrade("worker-1")
    assert (task["state"], task["kind"]) == ("failed", "refused")
    assert task["reason"].startswith("The control plane goes first, and cp-1, cp-2, cp-3 would stay behind 1.36.1.")
    assert len(extension.commands) == 1, "its plan was asked for, and nothing else"


def test_a_machine_without_a_kubernetes_node_never_stands_for_all_machines(extension: Extension) -> None:
    def lose(item: Json) -> None:
        del item["status"]["nodeRef"]

    extension.machines.change("cp-1", lose, "status")
    task = extension.upgrade("cp-1")
    assert (task["state"], task["kind"], extension.commands) == ("failed", "bad_command", [])
    assert task["reason"] == "the Machine has no kubernetes_node, so nothing was started"


def test_a_machine_that_cannot_be_reached_is_tried_again(extension: Extension) -> None:
    extension.tasks.found.doors["cp-1"].close()
    task = extension.upgrade("cp-1")
    assert (task["state"], task["kind"]) == ("waiting", "unreachable"), extension.played[-1].output
    assert "hosts that cannot be reached or seen: h-cp-1" in task["reason"]
    assert len(extension.commands) == 1, "its plan was asked for, and nothing else"
    extension.tasks.found.doors["cp-1"].open()
    extension.management.clock.advance(60)
    assert extension.upgrade("cp-1")["state"] == "done", extension.played[-1].output
