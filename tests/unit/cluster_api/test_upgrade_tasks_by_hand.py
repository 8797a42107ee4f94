"""UpgradeTasks that people have made: which ones a worker takes, in which order, and what it says of the others."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension.claims import Claimant, Claims
from extensions.cluster_api.cluster_api_extension.documents import task_of
from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import Task, done, ended
from extensions.cluster_api.cluster_api_extension.turns import Choice
from extensions.cluster_api.cluster_api_extension.worker import Worker
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import Json
from tests.unit.cluster_api.management import RUNS, DirectApi
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.test_external import request
from tests.unit.cluster_api.test_external_task import POLICY, UPGRADER, Place

BUDGET = policy_of(POLICY).budget


class Hand(Place):
    """Two machines of md-0 and one of md-1, whose upgrade people ask for, and a worker."""

    def __init__(self) -> None:
        super().__init__()
        self.management.owned("three", "md-1")
        self.worker = self.taking()

    def taking(self, clusters: str = "*", **upgrader: str) -> Claims:
        """A worker of these clusters, and of this upgrader, by default that of the policy."""
        api, choice = DirectApi(self.management, RUNS), Choice(clusters, upgrader or UPGRADER, BUDGET)
        claimant = Claimant("run-1", upgrade_tasks=True, choice=choice)
        return Claims(api, Store(api, NAMESPACE), claimant, self.management.now)

    def make(self, name: str, owner: str = "md-0", **spec: Any) -> None:
        """A person makes one; each is a bit younger than the one before."""
        machines = ("one", "two") if owner == "md-0" else ("three",)
        self.management.make_upgrade_task(name, owner, *machines, **spec)
        self.management.clock.advance(1)

    def change(self, name: str, **spec: Any) -> None:
        """A person changes one."""
        self.management.change_upgrade_task(name, lambda item: item["spec"].update(spec))

    async def claimed(self) -> str:
        """The name of the one that the worker claims; empty if it claims none."""
        task = await self.worker.claim_next()
        return task.wanted.name if task else ""

    async def end(self, name: str, kind: str = "", reason: str = "it was bad") -> None:
        """The run of one ends, with a failure if a kind is given."""
        now = self.management.now()

        def change(current: Task) -> Task:
            return ended(current, kind, reason, now) if kind else done(current, now)

        await self.worker.give_back(await self.worker.change(self.of(name), change))

    def of(self, name: str) -> Task:
        """The task of one."""
        found = [task_of(each) for each in self.management.objects(CONFIG_MAPS).values()]
        (task,) = (each for each in found if each.wanted.name == name)
        return task


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Gives the causes in the log, each with the name of its UpgradeTask, since it was asked last."""
    caplog.set_level(logging.INFO)

    def take() -> list[str]:
        found = [each.getMessage() for each in caplog.records if "is left" in each.getMessage()]
        caplog.clear()
        return [each.removeprefix("UpgradeTask default/") for each in found]

    return take


def by_hand(body: Callable[[Hand], Awaitable[None]]) -> None:
    async def run() -> None:
        await body(Hand())

    asyncio.run(run())


def test_one_of_a_person_is_claimed_by_its_own_names_and_limits() -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        task = await place.worker.claim_next()
        assert task is not None
        wanted = task.wanted
        assert (wanted.namespace, wanted.name, wanted.cluster) == ("default", "by-hand", "mem")
        assert (wanted.version, wanted.owner, wanted.control_plane) == ("v1.36.1", "deployment/md-0", False)
        assert (task.budget.attempts, task.budget.deadline) == (2, 2 * 3600)
        assert await place.claimed() == "", "it is claimed once"
        await place.end("by-hand")
        place.answered("by-hand", phase="Complete")
        place.management.clock.advance(3600)
        assert await place.claimed() == ""

    by_hand(body)


def test_a_worker_carries_one_out_by_its_command(tmp_path: Path) -> None:
    file = tmp_path / "said"
    code = f"import pathlib, sys; pathlib.Path({str(file)!r}).write_text(' '.join(sys.argv[1:]))"
    words = ["upgradetask/{namespace}/{upgrade_task}", "{cluster}", "{version}", "{role}"]

    async def body(place: Hand) -> None:
        reference = {"kind": "KubeadmControlPlane", "name": "main"}
        place.make("by-hand", machineDeploymentRef=None, controlPlaneRef=reference, cluster={"name": "shop"})
        worker = Worker(place.worker, [sys.executable, "-c", code, *words], 60, place.management.now)
        assert await worker.work_once()
        assert file.read_text() == "upgradetask/default/by-hand shop 1.36.1 control-plane"
        assert place.management.tasks()["by-hand"]["state"] == "done"
        assert not await worker.work_once()

    by_hand(body)


def left(cause: str, status: str = "", **spec: Any) -> Any:
    return pytest.param(cause, status, spec, id=cause or f"{status or spec}")


SETTLE = "it is aborted or being deleted. The playbook settle puts back what its run may have left."
OTHER = {"upgraderRef": {"apiVersion": "example.com/v1", "kind": "Upgrader", "name": "other"}}
NAMED = "its template.upgraderRef names Upgrader other, and Upgrader metal is that of this worker"
REMEDY = "give that upgrader in the policy (external.upgrader, --policy), or leave upgraderRef out."


@pytest.mark.parametrize(
    ("cause", "status", "spec"),
    [
        left("", "Complete"),
        left("", "Abort", phase="Abort"),
        left(SETTLE, "Ongoing", phase="Abort"),
        left(f"{NAMED}: {REMEDY}", template=OTHER),
        left(
            "it is for Cluster default/other, and this worker has those of default/mem (--cluster).",
            cluster={"name": "other"},
        ),
        left(
            "it names no Cluster, and its first Machine is not there: give spec.cluster.",
            machinesRequireUpgrade=[{"name": "gone"}],
        ),
    ],
)
def test_another_one_is_left_and_the_cause_is_said_once(
    cause: str, status: str, spec: Json, said: Callable[[], list[str]]
) -> None:
    async def body(place: Hand) -> None:
        place.worker = place.taking("default/mem", **UPGRADER)
        place.make("by-hand", **spec)
        if status:
            place.answered("by-hand", phase=status)
        assert await place.claimed() == ""
        assert said() == ([f"by-hand is left: {cause}"] if cause else [])
        assert await place.claimed() == ""
        assert said() == [], "it is said once"
        assert place.management.tasks() == {}

    by_hand(body)


def test_one_that_cannot_have_a_task_keeps_no_other_one_waiting(said: Callable[[], list[str]]) -> None:
    long = "another-" + 55 * "-" + "long"

    async def body(place: Hand) -> None:
        place.make("by-hand", cluster={"name": "no label"})
        place.make(long, "md-1")
        assert await place.claimed() == long
        cause = f"The API server answers POST /api/v1/namespaces/{NAMESPACE}/configmaps with 422."
        assert said() == [f"by-hand is left: {cause}"]

    by_hand(body)


def test_one_that_is_not_next_to_its_machines_is_left(said: Callable[[], list[str]]) -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand", cluster={"namespace": "clusters", "name": "mem"})
        assert await place.claimed() == ""
        assert said() == ["by-hand is left: its Cluster is in namespace clusters: make it there, next to its Machines."]

    by_hand(body)


@pytest.mark.parametrize(
    ("given", "named", "taken"),
    [
        (UPGRADER, None, True),
        (UPGRADER, {"name": "metal"}, True),
        (UPGRADER, {**UPGRADER, "namespace": "any"}, True),
        (UPGRADER, {**UPGRADER, "kind": "Other"}, False),
        ({}, {"name": "metal"}, False),
        ({}, None, True),
    ],
)
def test_its_upgrader_is_that_of_the_policy_or_it_names_none(given: Any, named: Any, taken: bool) -> None:
    async def body(place: Hand) -> None:
        api = DirectApi(place.management, RUNS)
        claimant = Claimant("run-1", upgrade_tasks=True, choice=Choice(upgrader=given))
        place.worker = Claims(api, Store(api, NAMESPACE), claimant, place.management.now)
        template: Json = {"template": {"upgraderRef": named}} if named else {}
        place.make("by-hand", **template)
        assert (await place.claimed() == "by-hand") is taken

    by_hand(body)


def test_one_in_progress_is_finished_before_another_is_chosen_and_then_the_oldest() -> None:
    async def body(place: Hand) -> None:
        place.management.owned("four", "md-2")
        place.make("first")
        assert await place.claimed() == "first"
        place.make("second", "md-1")
        place.make("third", "md-2", machinesRequireUpgrade=[{"name": "four"}])
        await place.end("first", "run_failed")
        assert await place.claimed() == "", "the first one waits for its next attempt, and is in progress"
        place.management.clock.advance(60)
        assert await place.claimed() == "first"
        await place.end("first")
        place.answered("first", phase="Complete")
        assert await place.claimed() == "second"

    by_hand(body)


def test_one_that_a_run_of_a_person_has_begun_is_in_progress() -> None:
    async def body(place: Hand) -> None:
        place.make("older")
        place.make("begun", "md-1")
        place.answered("begun", phase="Ongoing", run="run-of-ada")
        assert await place.claimed() == "begun"
        await place.end("begun", "run_failed")
        assert await place.claimed() == ""
        place.management.clock.advance(60)
        assert await place.claimed() == "begun"
        await place.end("begun", "refused")
        assert await place.claimed() == "older", "one that waits for a person is not in progress"

    by_hand(body)


def test_one_in_progress_holds_up_no_other_cluster() -> None:
    async def body(place: Hand) -> None:
        place.make("first")
        assert await place.claimed() == "first"
        await place.end("first", "run_failed")
        place.make("second", "md-1", cluster={"name": "other"})
        assert await place.claimed() == "second"

    by_hand(body)


def test_a_newer_one_of_the_same_owner_replaces_it(said: Callable[[], list[str]]) -> None:
    async def body(place: Hand) -> None:
        place.make("older")
        place.make("newer", newMachineSpec={"version": "v1.36.2"})
        assert await place.claimed() == "newer"
        replaced = "older is left: newer was made later for the same owner, and replaces it."
        assert said() == [replaced]

    by_hand(body)


def test_a_failure_waits_for_a_person_who_clears_it(said: Callable[[], list[str]]) -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        await place.claimed()
        await place.end("by-hand", "refused", "the disk is full")
        assert await place.claimed() == ""
        record = place.of("by-hand").wanted.task_name
        clear = f"kubectl annotate -n {NAMESPACE} configmap/{record} upgrade.stateful/clear=NAME"
        cause = f"it has failed: the disk is full. Nothing is done until a person clears it: {clear}"
        assert said() == [f"by-hand is left: {cause}"]
        place.management.annotate(record, "upgrade.stateful/clear", "ada")
        assert await place.claimed() == "by-hand"

    by_hand(body)


def test_a_run_that_died_is_repeated() -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        await place.claimed()
        place.management.clock.advance(61)
        assert await place.claimed() == "", "the loss is noted, and the next attempt waits"
        assert place.of("by-hand").kind == "lost"
        place.management.clock.advance(60)
        assert await place.claimed() == "by-hand"

    by_hand(body)


def test_one_that_is_changed_gets_a_whole_budget() -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        await place.claimed()
        await place.end("by-hand", "run_failed")
        place.change("by-hand", newMachineSpec={"version": "v1.36.2"})
        task = await place.worker.claim_next()
        assert task is not None
        assert (task.wanted.version, task.attempts) == ("v1.36.2", 1)

    by_hand(body)


def test_a_request_of_the_service_for_the_same_owner_aborts_it_and_waits_for_its_run() -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        assert await place.claimed() == "by-hand"
        waits = ("Decline", "A run still works on by-hand, and was asked to end: request it again.")
        assert await place.ask(request("v1.36.2")) == waits
        assert place.phases() == {"v1.36.1": "Abort"}
        await place.end("by-hand", "aborted")
        assert (await place.ask(request("v1.36.2")))[0] == "Accept"
        task = await place.worker.claim_next()
        assert task is not None
        assert task.wanted.version == "v1.36.2"

    by_hand(body)


def test_a_request_that_wants_the_same_is_answered_by_that_of_the_person() -> None:
    async def body(place: Hand) -> None:
        await place.ask()
        wanted = place.only()["spec"]
        kind = place.management.resources.kinds.named("upgrade.stateful/v1alpha1", "UpgradeTask")
        assert kind is not None
        place.management.resources.delete(kind, "default", place.only()["metadata"]["name"])
        place.make("by-hand", **wanted)
        assert await place.claimed() == "by-hand"
        assert (await place.ask())[0] == "Accept"
        assert list(place.management.upgrade_tasks()) == ["by-hand"]
        task = place.of("by-hand")
        assert (task.attempts, task.abort) == (1, False)

    by_hand(body)


def test_a_request_for_its_machines_alone_keeps_it_aborted(said: Callable[[], list[str]]) -> None:
    async def body(place: Hand) -> None:
        place.make("by-hand")
        await place.claimed()
        await place.end("by-hand", "run_failed")
        await HookService(policy_of({}), place.store, place.management.now).external_upgrade(request("v1.36.2"))
        place.management.clock.advance(60)
        assert await place.claimed() == ""
        remedy = f"kubectl delete -n {NAMESPACE} configmap/{place.of('by-hand').wanted.task_name}"
        cause = f"a request for the same owner has aborted it. To have it after all, {remedy}"
        assert said() == [f"by-hand is left: {cause}"]

    by_hand(body)


def test_those_of_the_service_are_taken_by_a_worker_without_a_policy() -> None:
    async def body(place: Hand) -> None:
        await place.ask()
        assert place.only()["spec"]["template"]["upgraderRef"] == UPGRADER
        assert await place.claims().claim_next() is not None

    by_hand(body)


def test_a_worker_of_one_namespace_asks_for_that_alone() -> None:
    assert Choice("shop/*").namespace == "shop"
    assert [Choice(each).namespace for each in ("*", "sh*/main", "*/main")] == ["", "", ""]
