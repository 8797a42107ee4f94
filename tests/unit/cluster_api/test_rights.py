"""The rights of the manifests are those that are used: none is missing, and none is too much."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

from extensions.cluster_api.cluster_api_extension.claims import Claimant, Claims
from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import TaskState, done
from tests.sandbox.kubernetes.rights import Attributes, User
from tests.unit.cluster_api.management import RUNS, SERVICE
from tests.unit.cluster_api.manifests import NAMESPACE, of_kind
from tests.unit.cluster_api.test_external import request
from tests.unit.cluster_api.test_thousand import Fleet

Right = tuple[str, str, str]


def given(account: str) -> Iterator[Right]:
    for binding in of_kind("RoleBinding", "ClusterRoleBinding"):
        if binding["subjects"][0]["name"] == account:
            (role,) = (each for each in of_kind(binding["roleRef"]["kind"]) if each["metadata"]["name"] == account)
            for rule in role["rules"]:
                yield from ((account, verb, resource) for verb in rule["verbs"] for resource in rule["resources"])


def complete(fleet: Fleet, version: str) -> None:
    """A run completes the UpgradeTask for a version."""
    for name, item in fleet.management.upgrade_tasks().items():
        if item["spec"]["newMachineSpec"]["version"] == version:
            fleet.management.change_upgrade_task(name, lambda task: task.update(status={"phase": "Complete"}), "status")


def test_each_right_is_used_and_no_other_is_needed() -> None:
    fleet = Fleet()
    used: set[Right] = set()
    demand = fleet.management.server.rights.demand

    def noted(user: User, wanted: Attributes) -> None:
        used.add((user.name.rpartition(":")[2], wanted.verb, wanted.resource))
        demand(user, wanted)

    fleet.management.server.rights.demand = noted  # type: ignore[method-assign]

    async def run() -> None:
        await fleet.upgrade("one")
        fleet.management.machine("two")
        await fleet.ask("two")
        task = await fleet.claims.claim_next()
        assert task is not None
        assert (await fleet.claims.renew(task)).state is TaskState.CLAIMED
        await fleet.claims.holds.hold(task.wanted)
        # A run that died: the service writes the task.
        fleet.management.clock.advance(120)
        await fleet.ask("two")
        fleet.management.define_upgrade_tasks()
        fleet.management.owned("three", "md-0")
        service = HookService(policy_of({"external": {"upgrade_task": True}}), fleet.store, fleet.management.now)
        for version in ("v1.36.1", "v1.36.2", "v1.36.3"):
            assert (await service.external_upgrade(request(version, names=("three",))))["result"] == "Accept"
            complete(fleet, "v1.36.2")
        complete(fleet, "v1.36.3")
        # A person makes one, for which a run makes the task.
        fleet.management.owned("four", "md-1")
        fleet.management.make_upgrade_task("by-hand", "md-1", "four")
        store = Store(fleet.of_runs, NAMESPACE)
        claims = Claims(fleet.of_runs, store, Claimant("run-2", upgrade_tasks=True), fleet.management.now)
        task = await claims.claim_next()
        assert task is not None
        assert task.wanted.name == "by-hand"
        await claims.change(task, lambda current: done(current, fleet.management.now()))
        assert await fleet.store.upgrade_tasks.sweep(1) == 1
        fleet.management.clock.advance(timedelta(days=31).total_seconds())
        assert await fleet.store.sweep(fleet.management.now(), timedelta(days=30)) == 4

    asyncio.run(run())
    assert used == {*given(SERVICE), *given(RUNS)}
