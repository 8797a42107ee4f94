"""A thousand machines: a call and a claim cost the same at the last machine as at the first."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from datetime import timedelta

from extensions.cluster_api.cluster_api_extension.claims import Claimant, Claims
from extensions.cluster_api.cluster_api_extension.documents import config_map_of, task_of
from extensions.cluster_api.cluster_api_extension.policy import Policy
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import TaskState, done, in_progress
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.unit.cluster_api.management import MACHINES as MACHINE_KIND
from tests.unit.cluster_api.management import RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import Json, recorded

MACHINES = 1000
PER_MACHINE = {"GET": 12, "POST": 2, "PUT": 3, "DELETE": 1}
"""The requests of a whole upgrade of one machine: three calls of the hook, a claim, two changes and its end."""


class Fleet:
    """The service and one worker, without sockets."""

    def __init__(self) -> None:
        self.management = Management()
        self.of_service, self.of_runs = DirectApi(self.management, SERVICE), DirectApi(self.management, RUNS)
        self.store = Store(self.of_service, NAMESPACE)
        self.service = HookService(Policy(), self.store, self.management.now)
        store = Store(self.of_runs, NAMESPACE)
        self.claims = Claims(self.of_runs, store, Claimant("run-1"), self.management.now)
        self.template = recorded("updatemachine")

    async def ask(self, name: str) -> Json:
        """One call of UpdateMachine."""
        body = copy.deepcopy(self.template)
        body["desired"]["machine"]["metadata"]["name"] = name
        return await self.service.update_machine(body)

    async def upgrade(self, name: str) -> tuple[dict[str, int], int]:
        """A whole upgrade of one machine; gives its requests, and the bytes of their answers."""
        self.management.machine(name)
        before, size = self.asked(), self.of_service.bytes + self.of_runs.bytes
        assert (await self.ask(name))["retryAfterSeconds"] == 15
        task = await self.claims.claim_next()
        assert task is not None
        assert task.wanted.name == name
        await self.claims.change(task, lambda current: in_progress(current, self.management.now()))
        assert "in progress by run-1" in (await self.ask(name))["message"]
        await self.claims.change(task, lambda current: done(current, self.management.now()))
        await self.claims.give_back(task)
        assert (await self.ask(name))["retryAfterSeconds"] == 0
        after = self.asked()
        more = {method: after[method] - before.get(method, 0) for method in after}
        return more, self.of_service.bytes + self.of_runs.bytes - size

    def asked(self) -> dict[str, int]:
        """The requests up to now, by method."""
        return dict(self.of_service.asked + self.of_runs.asked)


def test_a_machine_costs_the_same_after_a_thousand_others_as_before_them() -> None:
    fleet = Fleet()

    async def run() -> list[tuple[dict[str, int], int]]:
        return [await fleet.upgrade("first"), await after_others(fleet, TaskState.DONE)]

    (first, first_size), (last, last_size) = asyncio.run(run())
    assert len(fleet.management.tasks()) == MACHINES + 2
    assert fleet.management.leases() == []
    assert first == last == PER_MACHINE
    assert held(fleet.service) == held(Fleet().service)
    # The numbers in resourceVersions grow by a few digits.
    assert last_size < first_size * 1.1


def held(service: HookService) -> int:
    """The number of things that the service keeps in memory."""
    return sum(len(value) for value in vars(service).values() if isinstance(value, dict | list | set))


async def after_others(fleet: Fleet, state: TaskState) -> tuple[dict[str, int], int]:
    """The cost of one machine more, after a thousand with tasks in a state."""
    (item,) = fleet.management.objects(CONFIG_MAPS).values()
    task = task_of(item)
    for number in range(MACHINES):
        wanted = replace(task.wanted, uid=f"uid-{number}", name=f"machine-{number}")
        other = config_map_of(replace(task, wanted=wanted, state=state), NAMESPACE)
        fleet.management.resources.create(CONFIG_MAPS, NAMESPACE, other)
    return await fleet.upgrade("last")


def test_a_thousand_machines_at_once_get_a_task_each_by_as_many_requests() -> None:
    fleet = Fleet()

    async def run() -> None:
        for number in range(MACHINES):
            fleet.management.machine(f"machine-{number:04}")
        await asyncio.gather(*(fleet.ask(f"machine-{number:04}") for number in range(MACHINES)))
        assert fleet.asked() == {"GET": 2 * MACHINES, "POST": MACHINES}
        task = await fleet.claims.claim_next()
        assert task is not None
        assert fleet.asked()["GET"] == 2 * MACHINES + 3

    asyncio.run(run())


def test_old_tasks_that_were_done_or_have_no_machine_are_swept_away_and_others_stay() -> None:
    fleet = Fleet()

    async def run() -> None:
        await fleet.upgrade("old")
        for name in ("gone", "made-again", "waiting"):
            fleet.management.machine(name)
            await fleet.ask(name)
        for name in ("gone", "made-again"):
            fleet.management.resources.delete(MACHINE_KIND, "default", name)
        fleet.management.machine("made-again")
        assert await fleet.store.sweep(fleet.management.now(), timedelta(days=30)) == 0
        fleet.management.clock.advance(31 * 86_400)
        await fleet.upgrade("new")
        assert await fleet.store.sweep(fleet.management.now(), timedelta(days=30)) == 3

    asyncio.run(run())
    assert sorted(fleet.management.tasks()) == ["new", "waiting"]
    assert len(fleet.management.objects(CONFIG_MAPS)) == 2
