"""ExternalUpgrade by an UpgradeTask: made, asked for again, superseded, declined, and carried out by a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.requested import judge_changes
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.upgrade_task import (
    faults_in,
    variables_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading_tasks import upgrade_task

from extensions.cluster_api.cluster_api_extension.claims import Claimant, Claims
from extensions.cluster_api.cluster_api_extension.policy import policy_of
from extensions.cluster_api.cluster_api_extension.service import HookService
from extensions.cluster_api.cluster_api_extension.store import Store
from extensions.cluster_api.cluster_api_extension.tasks import done, ended
from tests.unit.cluster_api.management import MACHINES, RUNS, SERVICE, DirectApi, Management
from tests.unit.cluster_api.manifests import NAMESPACE
from tests.unit.cluster_api.requests import Json
from tests.unit.cluster_api.test_external import request

UPGRADER = {"apiVersion": "example.com/v1", "kind": "Upgrader", "name": "metal"}
POLICY = {
    "external": {"upgrade_task": True, "upgrader": UPGRADER},
    "fields": {"infrastructureMachine": ["spec.image"]},
    "budget": {"attempts": 2, "deadline": 3600, "pause": 60, "poll": 15},
}


class Place:
    """The service and a worker of UpgradeTasks on one management cluster."""

    def __init__(self, defined: bool = True) -> None:
        self.management = Management()
        if defined:
            self.management.define_upgrade_tasks()
        for name in ("one", "two"):
            self.management.owned(name, "md-0")
        self.store = Store(DirectApi(self.management, SERVICE), NAMESPACE)
        self.service = HookService(policy_of(POLICY), self.store, self.management.now)

    def claims(self, upgrade_tasks: bool = True) -> Claims:
        """The claims of one worker."""
        api = DirectApi(self.management, RUNS)
        claimant = Claimant("run-1", upgrade_tasks=upgrade_tasks)
        return Claims(api, Store(api, NAMESPACE), claimant, self.management.now)

    async def ask(self, body: Json | None = None) -> tuple[str, str]:
        """The result and the message."""
        answer = await self.service.external_upgrade(body or request())
        assert (answer["kind"], answer["status"]) == ("ExternalUpgradeResponse", "Success")
        return answer["result"], answer["message"]

    def only(self) -> Json:
        """The one UpgradeTask."""
        (found,) = self.management.upgrade_tasks().values()
        return found

    def phases(self) -> dict[str, str]:
        """The phase that each is to have, by its version."""
        found = self.management.upgrade_tasks().values()
        return {each["spec"]["newMachineSpec"]["version"]: each["spec"]["phase"] for each in found}

    def answered(self, name: str, **status: Any) -> None:
        """A run writes its status."""
        self.management.change_upgrade_task(name, lambda item: item.update(status=status), "status")


def inside(body: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        await body(Place())

    asyncio.run(run())


def condition(kind: str, status: str, reason: str, message: str) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def test_a_request_makes_one_upgrade_task_with_all_that_is_wanted_and_the_product_takes_it() -> None:
    async def body(place: Place) -> None:
        result, message = await place.ask()
        task = place.only()
        name = task["metadata"]["name"]
        assert task["spec"] == {
            "phase": "Ongoing",
            "cluster": {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "Cluster",
                "namespace": "default",
                "name": "mem",
            },
            "machineDeploymentRef": {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "MachineDeployment",
                "namespace": "default",
                "name": "md-0",
            },
            "machinesRequireUpgrade": [
                {"name": each, "namespace": "default", "nodeName": f"node-{each}"} for each in ("one", "two")
            ],
            "newMachineSpec": {"version": "v1.36.1"},
            "template": {"upgraderRef": UPGRADER},
        }
        waits = "The upgrade to v1.36.1 waits for a run to claim it."
        assert (result, message) == ("Accept", f"UpgradeTask default/{name} (not started): {waits}")
        seen = upgrade_task(task)
        assert list(faults_in(seen)) == []
        assert variables_of(seen) == {"target_version": "1.36.1", "upgrade_only": ["node-one", "node-two"]}
        assert (seen.upgrader, seen.ends) == (UPGRADER, False)

    inside(body)


def test_the_control_plane_is_named_by_the_reference_of_its_machines_in_a_name_that_dns_takes() -> None:
    async def body(place: Place) -> None:
        owner = f"{'a' * 45}.b"
        place.management.owned("three", f"KubeadmControlPlane/{owner}")
        assert (await place.ask(request(names=("three",))))[0] == "Accept"
        task = place.only()
        assert task["spec"]["controlPlaneRef"]["kind"] == "KubeadmControlPlane"
        assert task["spec"]["controlPlaneRef"]["name"] == owner
        name = task["metadata"]["name"]
        assert name.startswith(f"{'a' * 45}-")
        assert len(name) <= 63
        assert upgrade_task(task).owner == f"KubeadmControlPlane/default/{owner}"

    inside(body)


def test_asked_again_there_is_no_second_one_and_the_answer_has_its_progress() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        name = place.only()["metadata"]["name"]
        claims = place.claims()
        task = await claims.claim_next()
        assert task is not None
        assert (task.wanted.name, task.budget.deadline) == (name, 7200)
        progress = condition("MachineUpToDate", "Unknown", "ExternalUpgradeInProgress", "1 of 2 is up to date.")
        place.answered(name, phase="Ongoing", conditions=[progress])
        again = request()
        again["machinesRequireUpgrade"].reverse()
        claimed = "The upgrade to v1.36.1 is claimed by run-1, attempt 1 of 2."
        assert await place.ask(again) == (
            "Accept",
            f"UpgradeTask default/{name} (Ongoing): {claimed} 1 of 2 is up to date.",
        )
        await claims.change(task, lambda current: done(current, place.management.now()))
        unwritten = "Its run has ended as done, and has not written that it is complete."
        assert unwritten in (await place.ask())[1]
        place.answered(name, phase="Complete", conditions=[{**progress, "message": "All 2 are up to date."}])
        assert await place.ask() == ("Accept", f"UpgradeTask default/{name} (Complete): All 2 are up to date.")
        assert place.only()["metadata"]["name"] == name

    inside(body)


def test_another_request_aborts_the_one_before_and_waits_for_its_run() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        first = place.only()["metadata"]["name"]
        claims = place.claims()
        task = await claims.claim_next()
        assert task is not None
        waits = ("Decline", f"A run still works on {first}, and was asked to end: request it again.")
        assert await place.ask(request("v1.36.2")) == waits
        assert place.phases() == {"v1.36.1": "Abort"}
        assert await place.ask(request("v1.36.2")) == waits
        now = place.management.now()
        await claims.change(task, lambda current: ended(current, "refused", "asked to end", now))
        await claims.give_back(task)
        assert (await place.ask(request("v1.36.2")))[0] == "Accept"
        assert place.phases() == {"v1.36.1": "Abort", "v1.36.2": "Ongoing"}
        other = await claims.claim_next()
        assert other is not None
        assert other.wanted.version == "v1.36.2"

    inside(body)


def test_what_was_superseded_and_is_wanted_again_gets_a_task_of_its_own() -> None:
    async def body(place: Place) -> None:
        for version in ("v1.36.1", "v1.36.2", "v1.36.1"):
            assert (await place.ask(request(version)))[0] == "Accept"
            place.management.clock.advance(5)
        found = place.management.upgrade_tasks().values()
        assert sorted((each["spec"]["newMachineSpec"]["version"], each["spec"]["phase"]) for each in found) == [
            ("v1.36.1", "Abort"),
            ("v1.36.1", "Ongoing"),
            ("v1.36.2", "Abort"),
        ]

    inside(body)


def test_one_that_is_complete_answers_until_another_of_its_owner_was_made() -> None:
    async def body(place: Place) -> None:
        for version in ("v1.36.1", "v1.36.2"):
            await place.ask(request(version))
            place.management.clock.advance(5)
            for name, each in place.management.upgrade_tasks().items():
                if each["spec"]["newMachineSpec"]["version"] == version:
                    place.answered(name, phase="Complete")
        assert place.phases() == {"v1.36.1": "Ongoing", "v1.36.2": "Ongoing"}
        assert "(Complete)" in (await place.ask(request("v1.36.2")))[1]
        assert "(not started)" in (await place.ask(request("v1.36.1")))[1]
        assert len(place.management.upgrade_tasks()) == 3

    inside(body)


def test_one_that_a_person_has_aborted_is_not_made_again() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        name = place.only()["metadata"]["name"]
        place.management.change_upgrade_task(name, lambda item: item["spec"].update(phase="Abort"))
        result, message = await place.ask()
        assert (result, list(place.management.upgrade_tasks())) == ("Decline", [name])
        assert f"{name} was aborted. To have it after all, kubectl delete -n default upgradetask {name}" in message
        assert await place.claims().claim_next() is None

    inside(body)


def test_tasks_of_other_owners_stay() -> None:
    async def body(place: Place) -> None:
        place.management.owned("three", "md-1")
        await place.ask(request("v1.36.2", names=("three",)))
        await place.ask()
        assert place.phases() == {"v1.36.1": "Ongoing", "v1.36.2": "Ongoing"}

    inside(body)


def test_a_task_of_the_same_owner_is_aborted_however_a_person_has_named_that() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        task = place.only()
        place.management.change_upgrade_task(
            task["metadata"]["name"],
            lambda item: item["spec"].update(machineDeploymentRef={"name": "md-0"}),
        )
        assert (await place.ask())[0] == "Accept"
        assert sorted(each["spec"]["phase"] for each in place.management.upgrade_tasks().values()) == [
            "Abort",
            "Ongoing",
        ]

    inside(body)


def test_a_request_that_is_not_covered_is_declined_with_all_fields_after_the_abort() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        changed = request("v1.36.2", bootstrapConfig={"format": "ignition", "users": []})
        uncovered = "bootstrapConfig.spec.format, bootstrapConfig.spec.users"
        assert await place.ask(changed) == ("Decline", f"The allow-list does not cover {uncovered}.")
        assert place.phases() == {"v1.36.1": "Abort"}

    inside(body)


def test_objects_that_the_allow_list_covers_are_in_the_task_and_the_product_covers_them() -> None:
    async def body(place: Place) -> None:
        wanted = request(infrastructureMachine={"image": {"tag": "2"}})
        for each in wanted["machinesRequireUpgrade"]:
            name = each["machine"]["metadata"]["name"]
            spec = {"image": {"tag": "1"}, "size": "m", "providerID": f"metal://{name}"}
            each["infrastructureMachine"] = {"apiVersion": "example.com/v1", "kind": "Metal", "spec": spec}
        assert (await place.ask(wanted))[0] == "Accept"
        task = place.only()
        metal = {"apiVersion": "example.com/v1", "kind": "Metal", "spec": {"image": {"tag": "2"}, "size": "m"}}
        assert task["spec"]["newMachineSpec"] == {"version": "v1.36.1", "infraMachine": metal}
        assert task["spec"]["template"]["covers"] == ["infraMachine.spec.image", "infraMachine.spec.image.**"]
        here = {
            each["machine"]["metadata"]["name"]: {"version": "v1.35.1", "infraMachine": each["infrastructureMachine"]}
            for each in wanted["machinesRequireUpgrade"]
        }
        assert judge_changes(upgrade_task(task), here).reasons == ()
        for each in wanted["machinesRequireUpgrade"]:
            each["infrastructureMachine"]["spec"]["image"]["tag"] = "2"
        await place.ask(wanted)
        assert place.only() == task, "the machines as the run has left them are the same request"

    inside(body)


def fault(sentence: str, names: tuple[str, ...] = ("one", "two"), **more: Any) -> Any:
    return pytest.param(sentence, names, more, id=sentence)


@pytest.mark.parametrize(
    ("sentence", "names", "more"),
    [
        fault("The machines belong to several owners (md-0, md-1): request those of each", ("one", "three")),
        fault("No control plane and no MachineDeployment owns free: leave them out.", ("free",)),
        fault("Without a Kubernetes node (status.nodeRef) are free: request them once they have one.", ("free",)),
        fault("The request names one more than once.", ("one", "one")),
        fault("An UpgradeTask has no field for machine.spec.failureDomain", machine={"failureDomain": "a"}),
        fault("The machines would not all have one version such as v1.36.1", machine={"version": "latest"}),
        fault(
            "would differ in bootstrapConfig.spec.token: request them singly.",
            bootstrapConfig={"format": "cloud-config"},
        ),
    ],
)
def test_a_request_that_no_upgrade_task_can_carry_is_declined_with_the_cause(
    sentence: str, names: tuple[str, ...], more: Json
) -> None:
    async def body(place: Place) -> None:
        place.management.owned("three", "md-1")
        place.management.machine("free")
        wanted = request(names=names, **{"machine": {"version": "v1.36.1"}, **more})
        for number, each in enumerate(wanted["machinesRequireUpgrade"]):
            each["bootstrapConfig"]["spec"]["token"] = f"secret-{number}"
        result, message = await place.ask(wanted)
        assert result == "Decline"
        assert sentence in message
        assert "secret-" not in message
        assert place.management.upgrade_tasks() == {}

    inside(body)


def test_without_the_definition_it_is_declined_with_the_remedy() -> None:
    place = Place(defined=False)
    remedy = "run kubectl apply -f roles/machines/files/upgrade_task.yml, and request it again."
    assert asyncio.run(place.ask()) == ("Decline", f"The management cluster has no definition of UpgradeTask: {remedy}")
    assert place.management.tasks() == {}


def test_one_that_others_write_is_declined_and_asked_for_again() -> None:
    async def body(place: Place) -> None:
        place.management.server.faults.answer(409, "POST", "upgradetasks", times=3)
        written = "The UpgradeTasks of the same owner are being written by others: request it again."
        assert await place.ask() == ("Decline", written)
        place.management.server.faults.answer(409, "POST", "upgradetasks")
        assert (await place.ask())[0] == "Accept"
        name = place.only()["metadata"]["name"]
        place.management.server.faults.answer(409, "PATCH", "upgradetasks")
        written = f"The UpgradeTask default/{name} is being written by others: request it again."
        assert await place.ask(request("v1.36.2")) == ("Decline", written)
        assert place.phases() == {"v1.36.1": "Ongoing"}

    inside(body)


def test_a_machine_that_is_gone_is_declined_and_nothing_is_aborted() -> None:
    async def body(place: Place) -> None:
        await place.ask()
        place.management.resources.delete(MACHINES, "default", "two")
        gone = "The Machine default/two is being deleted, so nothing is done."
        assert await place.ask(request("v1.36.2")) == ("Decline", gone)
        assert place.phases() == {"v1.36.1": "Ongoing"}

    inside(body)


def test_a_machine_that_has_a_task_of_its_own_gives_it_up() -> None:
    async def body(place: Place) -> None:
        before = HookService(policy_of({}), place.store, place.management.now)
        await before.external_upgrade(request())
        assert (await place.ask())[0] == "Accept"
        assert [place.management.tasks()[name]["abort"] for name in ("one", "two")] == [True, True]
        assert await place.claims(upgrade_tasks=False).claim_next() is None

    inside(body)
