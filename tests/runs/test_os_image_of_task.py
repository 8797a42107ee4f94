"""The image of the operating system, as the specification of a machine names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs.machines import CHECK, PLAYBOOK
from tests.runs.owned_machines import CLUSTERS, OwnedMachines, management, owned
from tests.runs.upgrade_tasks import TO, Tasks
from tests.sandbox.kubernetes.objects import Json
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import digest_in

TWO = ("cp-1", "cp-2")
OLD = {"url": "https://images.example.com/old.raw", "sha256": "cd" * 32}
NEW = {"url": "https://images.example.com/os-1.36.1.raw", "sha256": "ab" * 32}
GIVEN: dict[str, Any] = {
    "upgrade_member_role": "stateful.upgrade.member_os_image",
    "member_os_image_command": ["osagent"],
    "member_os_image_interval": 30,
    "member_os_image_field": "infraMachine.spec.image",
}


@pytest.fixture
def both() -> Iterator[tuple[Tasks, OwnedMachines]]:
    """A cluster, and another one with its Machines and its UpgradeTasks."""
    with owned(separate=True) as made:
        yield made


def submitted(tasks: Tasks) -> dict[str, list[Any]]:
    """The images that the agents of machines were given."""
    found = {name: [each["image"] for each in one.agent.documents] for name, one in tasks.found.machines.items()}
    return {name: images for name, images in found.items() if images}


def wanting(tasks: Tasks, image: Any) -> None:
    """Request two machines with an image."""
    wanted = {"kind": "SandboxMachine", "spec": {"size": "m", **({"image": image} if image else {})}}
    covers = {"covers": ["infraMachine.spec.image.*"]}
    tasks.request(machines=TWO, newMachineSpec={"version": f"v{TO}", "infraMachine": wanted}, template=covers)


def test_the_image_of_an_upgrade_task_goes_before_that_of_the_variable(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    wanting(tasks, NEW)
    ended = tasks.play(tasks.agreed(**GIVEN, **management(tasks), member_os_image_image=OLD))
    assert ended.code == 0, ended.output
    assert submitted(tasks) == {"cp-1": [NEW, NEW], "cp-2": [NEW, NEW]}
    assert {tasks.found.machines[name].agent.image for name in TWO} == {NEW["sha256"]}


def test_a_task_without_an_image_leaves_it_to_the_variable_or_is_refused_before_any_work(
    both: tuple[Tasks, OwnedMachines],
) -> None:
    tasks, _machines = both
    wanting(tasks, None)
    given = tasks.agreed(**GIVEN, **management(tasks))
    refused = tasks.play(given)
    assert refused.code != 0
    assert "Give member_os_image_image (or member_os_image_field of the specification) with url" in refused.output
    assert submitted(tasks) == {}
    ended = tasks.play({**given, "member_os_image_image": OLD})
    assert ended.code == 0, ended.output
    assert submitted(tasks) == {"cp-1": [OLD, OLD], "cp-2": [OLD, OLD]}


def names(tasks: Tasks, machines: OwnedMachines, node: str, image: dict[str, str]) -> None:
    """Have the object of a Machine name an image, as Cluster API does before an update in place."""

    def change(item: Json) -> None:
        item["spec"].update(image=image)

    tasks.resources.change(machines.kind("SandboxMachine"), CLUSTERS, f"m-{node}", change)


def test_without_a_task_the_image_is_that_of_the_object_of_each_machine(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, machines = both
    names(tasks, machines, "cp-1", NEW)
    names(tasks, machines, "cp-2", OLD)
    given = tasks.found.variables(TO, USER, upgrade_only=[*TWO], **GIVEN, **management(tasks))
    planned = tasks.here.play(PLAYBOOK, given, *tasks.found.arguments, CHECK)
    ended = tasks.play({**given, "upgrade_confirm": digest_in(planned)})
    assert ended.code == 0, ended.output
    assert submitted(tasks) == {"cp-1": [NEW, NEW], "cp-2": [OLD, OLD]}


def test_a_field_of_no_object_is_refused_by_name(both: tuple[Tasks, OwnedMachines]) -> None:
    tasks, _machines = both
    wanting(tasks, NEW)
    refused = tasks.play(tasks.agreed(**{**GIVEN, "member_os_image_field": "version"}, **management(tasks)))
    assert refused.code != 0
    assert "version is not a field of a specification of machines. Give one below bootstrapConfig" in refused.output
    assert submitted(tasks) == {}
