"""Runs of UpgradeTasks that an ExternalUpgrade has made: claimed, carried out, and their failures."""

from __future__ import annotations

import sys
from pathlib import Path

from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.tasks import ended
from extensions.cluster_api.cluster_api_extension.worker import Worker
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.test_external import request
from tests.unit.cluster_api.test_external_task import Place, condition, inside


def test_what_its_run_has_declined_is_declined_and_a_failure_waits_for_a_person() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        name = place.only()["metadata"]["name"]
        claims = place.claims()
        task = await claims.claim_next()
        assert task is not None
        now = place.management.now()
        await claims.change(task, lambda current: ended(current, "refused", "the disk is full", now))
        await claims.give_back(task)
        result, message = await place.ask()
        assert (result, "has failed: the disk is full. Nothing is done until a person" in message) == ("Accept", True)
        place.answered(name, conditions=[condition("Accepted", "False", "Declined", "Machine one differs in x.")])
        result, message = await place.ask()
        record = f"upgrade-task-{place.only()['metadata']['uid']}"
        clearing = f"kubectl annotate -n {NAMESPACE} configmap/{record} upgrade.stateful/clear=NAME"
        said = f"The run has declined UpgradeTask default/{name}: Machine one differs in x. Fix it, then {clearing}"
        assert (result, message) == ("Decline", f"{said}, and request it again.")
        place.management.annotate(record, "upgrade.stateful/clear", "ada")
        assert (await place.ask())[0] == "Accept"
        assert await claims.claim_next() is not None

    inside(body)


def test_a_worker_carries_it_out_by_a_command_with_its_names(tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = f"import os, pathlib, sys; pathlib.Path({str(said)!r}).write_text(' '.join(sys.argv[1:]))"
    words = ["upgradetask/{namespace}/{upgrade_task}", "{cluster}", "{version}", "{role}"]

    async def body(place: Place) -> None:
        await place.ask()
        name = place.only()["metadata"]["name"]
        place.management.owned("three", "md-1")
        of_machine = HookService(policy_of({}), place.store, place.management.now)
        await of_machine.external_upgrade(request(names=("three",)))
        worker = Worker(place.claims(), [sys.executable, "-c", code, *words], 60, place.management.now)
        assert await worker.work_once()
        assert said.read_text() == f"upgradetask/default/{name} mem 1.36.1 worker"
        assert not await worker.work_once(), "the task of a machine is for another worker"
        assert place.management.tasks()[name]["state"] == "done"
        assert "annotations" not in place.management.machine_named("one")["metadata"], "its run holds the Machines"
        assert place.management.leases() == []

    inside(body)


def test_a_command_for_a_machine_is_not_run_for_an_upgrade_task() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        name = place.only()["metadata"]["name"]
        await Worker(place.claims(), ["false", "{machine}"], 60, place.management.now).work_once()
        reason = place.management.tasks()[name]["reason"]
        assert reason == "the UpgradeTask has no machine, so nothing was started"

    inside(body)
