"""A machine is kept from being replaced from before the first work on it until its task is done."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from extensions.cluster_api.cluster_api_extension.holds import OURS, SKIP_REMEDIATION
from tests.lab.waiting import until
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import condition_of
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.kubernetes.store import Change
from tests.unit.cluster_api.management import MACHINES
from tests.unit.cluster_api.requests import Json
from tests.unit.cluster_api.test_worker import Place, inside

REFUSES = (
    "import json, os, pathlib; pathlib.Path(os.environ['MACHINE_TASK_RESULT']).write_text("
    "json.dumps({'kind': 'refused', 'reason': 'the disk is full'})); raise SystemExit(2)"
)


def hold(place: Place, name: str = "one") -> str | None:
    annotations: dict[str, str] = place.management.machine_named(name)["metadata"].get("annotations") or {}
    return annotations.get(SKIP_REMEDIATION)


def annotate(place: Place, value: str | None, name: str = "one") -> None:
    """Does as a person does."""

    def changed(item: Json) -> None:
        annotations = item["metadata"].setdefault("annotations", {})
        annotations.pop(SKIP_REMEDIATION, None)
        annotations.update({} if value is None else {SKIP_REMEDIATION: value})

    place.management.resources.change(MACHINES, "default", name, changed, Writing("ada"))


def test_a_machine_is_held_while_its_command_works_and_released_before_its_task_is_done(tmp_path: Path) -> None:
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    code = (
        f"import pathlib, time; pathlib.Path({str(started)!r}).touch()\n"
        f"while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)"
    )

    async def body(place: Place) -> None:
        await place.ask("one")
        assert hold(place) is None, "nothing is done on it while its task waits"
        work = asyncio.ensure_future(place.worker(code).work_once())
        while not started.exists():
            await asyncio.wait({work}, timeout=0.02)
        assert (hold(place), place.task("one")["state"]) == (OURS, "in-progress")
        go_on.touch()
        assert await work
        assert (hold(place), place.task("one")["state"]) == (None, "done")

    inside(body)


def test_a_machine_that_has_failed_stays_held_until_a_person_lets_it_go_or_has_it_done_again() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        await place.worker("raise SystemExit(2)").work_once()
        assert (hold(place), place.task("one")["state"]) == (OURS, "waiting")
        place.management.clock.advance(60)
        await place.worker(REFUSES).work_once()
        assert (hold(place), place.task("one")["state"]) == (OURS, "failed")
        answer = await place.ask("one")
        assert answer["message"].endswith(f"kubectl annotate -n default machine/one {SKIP_REMEDIATION}-")
        (name,) = place.management.objects(CONFIG_MAPS)
        place.management.annotate(name, "upgrade.stateful/clear", "ada")
        await place.ask("one")
        await place.worker("").work_once()
        assert (hold(place), place.task("one")["state"]) == (None, "done")

    inside(body)


@pytest.mark.parametrize("value", ["", "ada", "upgrade.stateful"])
def test_a_hold_of_a_person_or_of_a_playbook_stays(value: str) -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        annotate(place, value)
        await place.worker("").work_once()
        assert (hold(place), place.task("one")["state"]) == (value, "done")

    inside(body)


def test_a_hold_that_a_person_has_taken_off_is_not_missed() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        await place.worker("raise SystemExit(2)").work_once()
        annotate(place, None)
        place.management.clock.advance(60)
        await place.worker("").work_once()
        assert (hold(place), place.task("one")["state"]) == (None, "done")

    inside(body)


def test_a_machine_whose_controllers_write_it_is_held_by_another_attempt() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        place.management.server.faults.answer(409, "PATCH", "machines", times=2)
        await place.worker(REFUSES).work_once()
        assert hold(place) == OURS

    inside(body)


@pytest.mark.parametrize("code", [403, 409, 503])
def test_nothing_is_begun_on_a_machine_that_cannot_be_held(code: int, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def body(place: Place) -> None:
        await place.ask("one")
        place.management.server.faults.answer(code, "PATCH", "machines", times=10)
        await place.worker(f"import pathlib; pathlib.Path({str(begun)!r}).touch()").work_once()
        task = place.task("one")
        assert (task["state"], task["kind"], begun.exists()) == ("waiting", "run_failed", False)
        assert task["reason"].startswith("the Machine could not be kept from being replaced, so nothing was started: ")

    inside(body)


@pytest.mark.parametrize("again", [False, True])
def test_nothing_is_begun_on_a_machine_that_is_gone(again: bool, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def body(place: Place) -> None:
        await place.ask("one")
        place.management.resources.delete(MACHINES, "default", "one")
        if again:
            place.management.machine("one")
        await place.worker(f"import pathlib; pathlib.Path({str(begun)!r}).touch()").work_once()
        (task,) = place.management.tasks().values()
        assert (task["state"], task["kind"], begun.exists()) == ("failed", "gone", False)
        assert "is gone, so nothing was started" in task["reason"]
        if again:
            assert hold(place) is None

    inside(body)


def mark(place: Place, **statuses: str) -> None:
    """Does as a MachineHealthCheck does."""
    found = [{"type": name, "status": status, "message": "It is\n  * lost"} for name, status in statuses.items()]
    change, writing = {"conditions": found}, Writing("capi", subresource="status")
    place.management.resources.change(MACHINES, "default", "one", lambda item: item.update(status=change), writing)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("owner", ["OwnerRemediated", "ExternallyRemediated"])
def test_nothing_is_begun_on_a_machine_that_is_to_be_replaced(owner: str, late: bool, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def body(place: Place) -> None:
        await place.ask("one")

        def looked_before(change: Change) -> None:
            if change.kind.key == MACHINES.key and hold(place) and not condition_of(change.item, owner):
                mark(place, HealthCheckSucceeded="False", **{owner: "False"})

        if late:
            place.management.resources.store.listeners.append(looked_before)
        else:
            mark(place, HealthCheckSucceeded="False", **{owner: "False"})
        await place.worker(f"import pathlib; pathlib.Path({str(begun)!r}).touch()").work_once()
        task = place.task("one")
        assert (task["state"], task["kind"], begun.exists(), hold(place)) == ("failed", "gone", False, None)
        assert task["reason"].endswith("is to be replaced, so nothing was started: It is * lost")

    inside(body)


def test_a_machine_that_is_unhealthy_and_not_replaced_is_worked_on() -> None:
    async def body(place: Place) -> None:
        await place.ask("one")
        mark(place, HealthCheckSucceeded="False", Ready="False")
        await place.worker("").work_once()
        assert (hold(place), place.task("one")["state"]) == (None, "done")

    inside(body)


def test_a_command_ends_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    command = (
        "import pathlib, signal, sys; "
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(ended)!r}).touch(), sys.exit(0))); "
        f"pathlib.Path({str(started)!r}).touch(); signal.pause()"
    )
    code = (
        "import asyncio, os, sys\n"
        "from extensions.cluster_api.cluster_api_extension.worker import as_process\n"
        "async def run(): await (await as_process([sys.executable, '-c', sys.argv[1]], dict(os.environ))).wait()\n"
        "asyncio.run(run())"
    )
    worker = subprocess.Popen([sys.executable, "-c", code, command])
    try:
        until("The command", started.exists, 60)
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    until("The end of the command", ended.exists, 60)
