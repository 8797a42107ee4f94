"""ExternalUpgrade: the machines of one owner at once, accepted or declined."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from extensions.cluster_api.cluster_api_extension.bodies import BadBody
from extensions.cluster_api.cluster_api_extension.claims import Claimant, Claims
from extensions.cluster_api.cluster_api_extension.policy import Policy
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import done, ended
from tests.unit.cluster_api.management import RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import Json, with_value

NAMES = ("one", "two")
LABELS = {"cluster.x-k8s.io/deployment-name": "md-0"}


def machine(name: str) -> Json:
    spec = {"clusterName": "mem", "version": "v1.35.1"}
    return {
        "machine": {"kind": "Machine", "metadata": {"name": name, "namespace": "default"}, "spec": spec},
        "bootstrapConfig": {"kind": "KubeadmConfig", "spec": {"format": "cloud-config"}},
    }


def request(version: str = "v1.36.1", names: tuple[str, ...] = NAMES, **more: Any) -> Json:
    new = {"machine": {"version": version}, **more}
    return {"machinesRequireUpgrade": [machine(name) for name in names], "newMachineSpec": new}


class Place:
    def __init__(self) -> None:
        self.management = Management()
        for name in NAMES:
            self.management.machine(name, LABELS)
        self.service = HookService(Policy(), Store(DirectApi(self.management, SERVICE), NAMESPACE), self.management.now)
        api = DirectApi(self.management, RUNS)
        self.claims = Claims(api, Store(api, NAMESPACE), Claimant("run-1"), self.management.now)

    async def ask(self, body: Json) -> tuple[str, str]:
        answer = await self.service.external_upgrade(body)
        assert (answer["kind"], answer["status"]) == ("ExternalUpgradeResponse", "Success")
        return answer["result"], answer["message"]


def inside(body: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        await body(Place())

    asyncio.run(run())


def test_each_machine_gets_a_task_and_the_answer_has_the_state_of_all() -> None:
    async def body(place: Place) -> None:
        assert await place.ask(request()) == ("Accept", "2 machines: 2 waiting.")
        task = await place.claims.claim_next()
        assert task is not None
        assert task.wanted.owner == "deployment/md-0"
        await place.claims.change(task, lambda current: done(current, place.management.now()))
        await place.claims.give_back(task)
        other = await place.claims.claim_next()
        assert other is not None
        now = place.management.now()
        await place.claims.change(other, lambda current: ended(current, "refused", "the disk is full", now))
        answer = await place.ask(request())
        assert answer == ("Accept", f"2 machines: 1 failed, 1 done. {other.wanted.name}: the disk is full.")

    inside(body)


def test_a_change_that_is_not_covered_is_declined_with_the_fields_and_no_task_is_made() -> None:
    async def body(place: Place) -> None:
        changed = request(bootstrapConfig={"format": "ignition"})
        assert await place.ask(changed) == ("Decline", "The allow-list does not cover bootstrapConfig.spec.format.")
        assert place.management.tasks() == {}

    inside(body)


def test_a_new_request_aborts_what_runs_for_the_same_owner_before_it_is_decided() -> None:
    async def body(place: Place) -> None:
        await place.ask(request())
        task = await place.claims.claim_next()
        assert task is not None
        declined = ("Decline", f"A run still works on {task.wanted.name}, and was asked to end: request it again.")
        assert await place.ask(request("v1.36.2")) == declined
        assert all(each["abort"] for each in place.management.tasks().values())
        now = place.management.now()
        await place.claims.change(task, lambda current: ended(current, "aborted", "asked to end", now))
        await place.claims.give_back(task)
        place.management.clock.advance(60)
        assert await place.claims.claim_next() is None
        assert await place.ask(request("v1.36.2")) == ("Accept", "2 machines: 2 waiting.")
        assert {each["wanted"]["version"] for each in place.management.tasks().values()} == {"v1.36.2"}

    inside(body)


def test_machines_that_are_no_longer_wanted_are_aborted() -> None:
    async def body(place: Place) -> None:
        await place.ask(request())
        assert await place.ask(request(names=("one",))) == ("Accept", "1 machine: 1 waiting.")
        assert {name: each["abort"] for name, each in place.management.tasks().items()} == {"one": False, "two": True}

    inside(body)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"machinesRequireUpgrade": []}, "has no list machinesRequireUpgrade"),
        ({"machinesRequireUpgrade": [machine("one")] * 1001}, "has more than 1000 machines"),
        ({"newMachineSpec": None}, "has no object newMachineSpec"),
        (
            {"newMachineSpec": {"infrastructureMachine": {"size": "large"}}},
            "wants another infrastructureMachine, but has no current one",
        ),
    ],
)
def test_a_request_that_cannot_be_compared_is_no_request(wrong: Json, sentence: str) -> None:
    async def body(place: Place) -> None:
        with pytest.raises(BadBody, match=sentence):
            await place.service.external_upgrade({**request(), **wrong})

    inside(body)


def test_a_machine_that_is_gone_is_declined() -> None:
    async def body(place: Place) -> None:
        gone = with_value(request(), "machinesRequireUpgrade", [machine("three")])
        assert (await place.ask(gone))[0] == "Decline"

    inside(body)
