"""A worker claims tasks by Lease, and runs a real command for each."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from extensions.cluster_api.cluster_api_extension.claims import Claimant, ClaimLost, Claims
from extensions.cluster_api.cluster_api_extension.kubernetes_api import Unanswered
from extensions.cluster_api.cluster_api_extension.policy import Policy, policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import in_progress
from extensions.cluster_api.cluster_api_extension.worker import Worker, filled, result_of
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, LEASES
from tests.unit.cluster_api.management import MACHINES, RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import Json, recorded, with_value
from tests.unit.cluster_api.test_hostile import BODIES

SECONDS = 60


class Place:
    """The service, and as many workers as a test wants, on one management cluster."""

    def __init__(self) -> None:
        self.management = Management()
        self.service = HookService(Policy(), Store(DirectApi(self.management, SERVICE), NAMESPACE), self.management.now)

    async def ask(self, name: str, version: str = "v1.36.1", cluster: str = "mem") -> Json:
        """One call of UpdateMachine, for a Machine that is made if there is none."""
        if name not in self.machines():
            self.management.machine(name)
        body = with_value(recorded("updatemachine"), "desired.machine.metadata.name", name)
        body = with_value(body, "desired.machine.spec.clusterName", cluster)
        return await self.service.update_machine(with_value(body, "desired.machine.spec.version", version))

    def machines(self) -> set[str]:
        """The names of the Machines."""
        return {each["metadata"]["name"] for each in self.management.server.store.each(MACHINES, "default")}

    def claims(self, holder: str, side_by_side: int = 1) -> Claims:
        """The claims of one worker."""
        api = DirectApi(self.management, RUNS)
        claimant = Claimant(holder, SECONDS, side_by_side)
        return Claims(api, Store(api, NAMESPACE), claimant, self.management.now)

    def worker(self, code: str, seconds: float = SECONDS) -> Worker:
        """A worker whose command is this Python code."""
        command = [sys.executable, "-c", code, "{version}", "{machine}"]
        return Worker(self.claims("run-1"), command, seconds, self.management.now)

    def task(self, name: str) -> Json:
        """The content of a task."""
        return self.management.tasks()[name]


def inside(body: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        await body(Place())

    asyncio.run(run())


def test_a_command_gets_the_machine_and_its_success_is_the_end_of_the_task(tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = (
        "import os, sys, pathlib; "
        f"pathlib.Path({str(said)!r}).write_text(' '.join([*sys.argv[1:], os.environ['MACHINE_TASK_CLUSTER']]))"
    )

    async def body(place: Place) -> None:
        await place.ask("one")
        assert await place.worker(code).work_once()
        assert said.read_text() == "1.36.1 one mem"
        assert (await place.ask("one"))["message"] == "The machine has v1.36.1."
        assert (place.task("one")["attempts"], place.management.leases()) == (1, [])
        assert not await place.worker(code).work_once()

    inside(body)


def test_a_command_that_fails_is_repeated_after_a_pause_as_often_as_the_budget_says() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        worker = place.worker("raise SystemExit(2)")
        for _attempt in range(3):
            assert await worker.work_once()
            assert not await worker.work_once()
            place.management.clock.advance(60)
        answer = await place.ask("one")
        assert answer["status"] == "Failure"
        assert "attempt 3 of 3 failed: the command ended with code 2." in answer["message"]
        place.management.clock.advance(10_000)
        assert not await worker.work_once()

    inside(body)


def test_a_command_may_say_that_its_failure_is_for_good() -> None:
    code = (
        "import json, os, pathlib; pathlib.Path(os.environ['MACHINE_TASK_RESULT']).write_text("
        "json.dumps({'kind': 'refused', 'reason': 'the disk is full'})); raise SystemExit(2)"
    )

    async def body(place: Place) -> None:
        await place.ask("one")
        await place.worker(code).work_once()
        assert "has failed: the disk is full." in (await place.ask("one"))["message"]
        assert place.task("one")["attempts"] == 1

    inside(body)


def test_a_program_that_does_not_exist_fails_for_good_at_once() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        await Worker(place.claims("run-1"), ["/nonexistent"], SECONDS, place.management.now).work_once()
        assert place.task("one")["kind"] == "bad_command"

    inside(body)


@pytest.mark.parametrize(
    ("code", "written", "kind"),
    [(2, "", "run_failed"), (4, "", "unreachable"), (5, "", "bad_command"), (2, "no json", "run_failed")],
)
def test_the_kind_of_a_failure_without_a_word_of_the_command(code: int, written: str, kind: str) -> None:
    assert result_of(code, written) == (kind, f"the command ended with code {code}")


def test_braces_that_are_no_placeholder_stay() -> None:
    assert filled(["-e", '{"a": "{version}"}'], {"version": "1.36.1"}) == ["-e", '{"a": "1.36.1"}']


def test_two_workers_never_have_one_task_and_one_cluster_has_one_machine_at_a_time() -> None:
    async def body(place: Place) -> None:
        for name in ("one", "two"):
            await place.ask(name)
        await place.ask("three", cluster="other")
        first, second = place.claims("run-1"), place.claims("run-2")
        task, other = await first.claim_next(), await second.claim_next()
        assert task is not None
        assert other is not None
        assert {task.wanted.cluster, other.wanted.cluster} == {"mem", "other"}
        assert await second.claim_next() is None
        assert await place.claims("run-3", side_by_side=2).claim_next() is not None

    inside(body)


def test_a_worker_that_dies_loses_its_claim_and_its_task_goes_to_another_one() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        dead, alive = place.claims("run-1"), place.claims("run-2")
        task = await dead.claim_next()
        assert task is not None
        await dead.change(task, lambda current: in_progress(current, place.management.now()))
        place.management.clock.advance(SECONDS - 1)
        assert "in progress by run-1" in (await place.ask("one"))["message"]
        place.management.clock.advance(1)
        assert "waits for a run to repeat it; attempt 1 of 3 failed" in (await place.ask("one"))["message"]
        assert await alive.claim_next() is None
        place.management.clock.advance(60)
        assert (await alive.claim_next()) is not None
        with pytest.raises(ClaimLost):
            await dead.renew(task)
        with pytest.raises(ClaimLost):
            await dead.change(task, lambda current: current)
        await dead.give_back(task)
        assert len(place.management.leases()) == 1

    inside(body)


def test_a_claim_lives_as_long_as_it_is_renewed() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        claims = place.claims("run-1")
        task = await claims.claim_next()
        assert task is not None
        for _sign in range(5):
            place.management.clock.advance(40)
            assert (await claims.renew(task)).state is task.state
            assert "is claimed by run-1" in (await place.ask("one"))["message"]

    inside(body)


def test_another_target_lets_the_run_come_to_its_end_and_then_takes_its_place() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        claims = place.claims("run-1")
        task = await claims.claim_next()
        assert task is not None
        waits = await place.ask("one", "v1.36.2")
        assert waits["message"] == "The upgrade to v1.36.2 waits for the end of the one to v1.36.1 by run-1."
        assert (await claims.renew(task)).abort
        await place.worker("").work_once()
        assert place.task("one")["wanted"]["version"] == "v1.36.1"
        place.management.clock.advance(SECONDS)
        assert "waits for a run to claim it" in (await place.ask("one", "v1.36.2"))["message"]
        assert await place.worker("").work_once()
        assert (await place.ask("one", "v1.36.2"))["message"] == "The machine has v1.36.2."

    inside(body)


def test_a_deadline_that_passes_meanwhile_is_not_undone_by_the_end_of_the_run() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        claims = place.claims("run-1")
        task = await claims.claim_next()
        assert task is not None
        for _sign in range(180):
            place.management.clock.advance(40)
            await claims.renew(task)
        assert (await place.ask("one"))["status"] == "Failure"
        with pytest.raises(ClaimLost, match="The task is failed"):
            await claims.renew(task)

    inside(body)


def test_a_command_is_asked_to_end_when_the_claim_of_its_worker_is_lost(tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    code = (
        "import pathlib, signal, sys; "
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(ended)!r}).touch(), sys.exit(0))); "
        f"pathlib.Path({str(started)!r}).touch(); signal.pause()"
    )

    async def body(place: Place) -> None:
        await place.ask("one")
        work = asyncio.ensure_future(place.worker(code, seconds=0.3).work_once())
        while not started.exists():
            await asyncio.wait({work}, timeout=0.02)
        (name,) = place.management.objects(LEASES)
        place.management.resources.delete(LEASES, NAMESPACE, name)
        assert await work
        assert ended.exists()
        assert place.task("one")["state"] == "in-progress"

    inside(body)


def test_a_claim_that_cannot_be_read_counts_as_held_and_is_named_to_whoever_asks() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        assert await place.claims("run-1").claim_next()
        (name,) = place.management.objects(LEASES)
        lease = {**place.management.objects(LEASES)[name], "spec": {"holderIdentity": "ada"}}
        place.management.resources.replace(LEASES, NAMESPACE, name, lease)
        answer = await place.ask("one")
        assert answer["message"] == f"The Lease {name} has a holder, but no times: delete it."
        await place.ask("two")
        assert await place.claims("run-2").claim_next() is None
        task = await place.claims("run-2", side_by_side=2).claim_next()
        assert task is not None
        assert task.wanted.name == "two"

    inside(body)


def test_a_task_that_others_wrote_is_left_alone_and_named_to_whoever_asks() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        (name,) = place.management.objects(CONFIG_MAPS)
        item = place.management.objects(CONFIG_MAPS)[name]
        place.management.resources.replace(CONFIG_MAPS, NAMESPACE, name, {**item, "data": {"task.json": "[]"}})
        answer = await place.ask("one")
        assert answer["message"] == (
            f"The ConfigMap {name} holds no task that can be read: delete it, and it is made again."
        )
        assert await place.claims("run-1").claim_next() is None

    inside(body)


def test_a_conflict_is_no_failure_and_an_outage_is_one_sentence() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        place.management.server.faults.answer(409, "PUT", "configmaps")
        claims = place.claims("run-1")
        assert await claims.claim_next() is None
        assert place.management.leases() == []
        assert await claims.claim_next() is not None
        place.management.server.faults.answer(503, "*", "", times=10)
        with pytest.raises(Unanswered):
            await claims.claim_next()
        assert json.dumps(place.management.tasks()["one"])

    inside(body)


def test_two_replicas_make_one_task_and_one_that_is_always_too_late_says_so() -> None:
    async def body(place: Place) -> None:
        place.management.server.faults.answer(409, "POST", "configmaps")
        assert (await place.ask("one"))["message"].endswith("waits for a run to claim it.")
        place.management.server.faults.answer(409, "POST", "configmaps", times=3)
        answer = await place.ask("two")
        assert (answer["status"], answer["retryAfterSeconds"]) == ("Success", 15)
        assert answer["message"] == "The task of default/two is being written by others."
        assert list(place.management.tasks()) == ["one"]

    inside(body)


class Silent(DirectApi):
    """A management cluster that takes requests and never answers."""

    async def _sent(self, *_request: object) -> tuple[int, object]:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("hook", "more"),
    [
        ("updatemachine", {"status": "Success", "retryAfterSeconds": 15}),
        ("beforeworkersupgrade", {"status": "Success", "retryAfterSeconds": 15}),
        ("externalupgrade", {"status": "Success", "result": "Decline"}),
    ],
)
def test_an_answer_comes_in_time_although_the_management_cluster_gives_none(hook: str, more: Json) -> None:
    management = Management()
    policy = policy_of({"gate": {"hooks": ["BeforeWorkersUpgrade"]}})
    service = HookService(policy, Store(Silent(management, SERVICE), NAMESPACE), management.now)
    answer = asyncio.run(service.answer(hook, json.dumps(BODIES[hook]).encode(), 0.05))
    assert {name: answer[name] for name in more} == more
    assert answer["message"] == "The management cluster has not answered in time."
