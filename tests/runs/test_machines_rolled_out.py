"""Owners of machines that Cluster API rolls out while a run upgrades their machines in place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import CLUSTERS, OwnedMachines, management, owned
from tests.runs.upgrade_tasks import TO, Tasks
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played, digest_in

WORKERS = ("worker-1", "worker-2")
LONG = 300.0
"""Seconds of a rollout."""


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster whose workers are of one MachineDeployment."""
    with owned() as (tasks, found):
        found.make("MachineDeployment", "workers", found.deployment("workers"))
        for name in WORKERS:
            found.own(name, "MachineSet", "workers-a", "workers")
        yield tasks, found


def status(found: OwnedMachines, kind: str, name: str, total: int, up_to_date: int) -> None:
    """Write how many machines of an owner are as it wants them to be."""
    counted = {"status": {"replicas": total, "upToDateReplicas": up_to_date}}
    writing = Writing("capi", subresource="status")
    found.resources.change(found.kind(kind), CLUSTERS, name, lambda item: item.update(counted), writing)


def upgraded(tasks: Tasks) -> Played:
    """A run with consent."""
    given = tasks.found.variables(TO, USER, **management(tasks))
    planned = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    return tasks.here.play(PLAYBOOK, {**given, "upgrade_confirm": digest_in(planned)}, *tasks.found.arguments)


def test_no_machine_goes_while_its_machine_deployment_is_rolled_out(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, found = both
    rolls, gone, clock = list[bool](), list[str](), found.workload.store.clock

    def ended() -> None:
        rolls.append(False)
        status(found, "MachineDeployment", "workers", 2, 2)

    def look(request: Request) -> None:
        if request.method != "PATCH" or "/api/v1/nodes/" not in request.path:
            return
        name = request.path.rpartition("/")[2]
        if name == "cp-3" and not rolls:
            rolls.append(True)
            status(found, "MachineDeployment", "workers", 2, 0)
            clock.later(LONG, ended)
        if name in WORKERS:
            assert rolls[-1:] == [False], "it goes before the rollout has ended"
            gone.append(name)

    tasks.here.calling.after = look
    done = upgraded(tasks)
    assert done.code == 0, done.output
    assert {*gone} == {*WORKERS}
    assert "MachineDeployment clusters/workers is being rolled out" in done.output


def test_no_machine_of_the_control_plane_goes_while_cluster_api_replaces_its_machines(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, found = both
    rolls, gone, clock = list[bool](), list[str](), found.workload.store.clock

    def ended() -> None:
        rolls.append(False)
        status(found, "KubeadmControlPlane", "main", 3, 3)

    def look(request: Request) -> None:
        if request.method != "PATCH" or "/api/v1/nodes/" not in request.path:
            return
        name = request.path.rpartition("/")[2]
        if name not in gone:
            gone.append(name)
        if len(gone) == 1 and not rolls:
            # A person has changed its template, so that Cluster API replaces all of its machines.
            rolls.append(True)
            status(found, "KubeadmControlPlane", "main", 3, 0)
            clock.later(LONG, ended)
        if len(gone) > 1:
            assert rolls[-1:] == [False], "it goes before the rollout has ended"

    tasks.here.calling.after = look
    done = upgraded(tasks)
    assert done.code == 0, done.output
    assert len(gone) == 5
    assert "KubeadmControlPlane clusters/main is being rolled out" in done.output
