"""The progress of each machine of an UpgradeTask as document: at its ConfigMap, and in the playbook status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.machines import NAMESPACE, Machines, serve
from tests.runs.task_documents import agreed, document, play, record, serving, write
from tests.runs.turns import Killed
from tests.runs.upgrade_tasks import EVERY, codes
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import STATUS

STATUS_NOTE = "upgrade.stateful/request-status"
BROKEN = "[ERROR ImagePull]: it is not found"


@pytest.fixture
def found() -> Iterator[Machines]:
    """A cluster without the definition of UpgradeTasks."""
    with serving() as made:
        yield made


def request(found: Machines, **spec: Any) -> str:
    """A task in a ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "task", "namespace": NAMESPACE}}
    found.here.sandbox.apply([{**body, "data": {"request.yml": document(**spec)}}])
    return "configmap/task"


def status(found: Machines) -> dict[str, Any]:
    """The status at the ConfigMap; empty before there is one."""
    item = found.here.sandbox.kubernetes.server.resources.get(CONFIG_MAPS, NAMESPACE, "task")
    return dict(json.loads(item["metadata"].get("annotations", {}).get(STATUS_NOTE, "{}")))


def progress(found: Machines) -> dict[str, str]:
    """The reason of the condition of each machine."""
    return {each["nodeName"]: each["conditions"][0]["reason"] for each in status(found).get("machines", ())}


def shown(found: Machines) -> dict[str, str]:
    """The lines about machines of the playbook status, by machine."""
    lines = serve(found, STATUS, USER).output.splitlines()
    said = [line.strip(' ",').removeprefix("machine ") for line in lines if "MachineUpToDate" in line]
    return dict(line.split(": ", 1) for line in said)


def test_each_machine_is_answered_at_the_config_map(found: Machines) -> None:
    given, seen = agreed(found, request(found)), list[tuple[str, ...]]()
    assert status(found) == {}, "a plan changes nothing"

    def look(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/configmaps/task"):
            seen.append(tuple(progress(found).values()))

    found.here.calling.after = look
    ended = play(found, given)
    assert ended.code == 0, ended.output
    assert max(row.count("ExternalUpgradeInProgress") for row in seen) == 1, "one machine at a time"
    done = [row.count("UpToDate") for row in seen if row]
    assert done == sorted(done)
    assert {*done} == {0, 1, 2, 3, 4}
    assert (status(found)["phase"], progress(found)) == ("Complete", dict.fromkeys(EVERY, "UpToDate"))
    assert status(found)["conditions"][0]["message"] == "All 4 are up to date."
    assert [*shown(found)] == [*EVERY]
    assert all(said.startswith("MachineUpToDate True, UpToDate, ") for said in shown(found).values())


def test_a_failure_is_answered_at_its_machine_until_it_is_worked_on_again(found: Machines, tmp_path: Path) -> None:
    source = write(tmp_path / "task.yml")
    for name in ("cp-1", "cp-2", "cp-3"):
        found.machines[name].commands.upgrade_fails = BROKEN
    assert play(found, agreed(found, source)).code != 0
    ((failed, said),) = [(name, said) for name, said in shown(found).items() if "ImagePull" in said]
    assert said.startswith("MachineUpToDate Unknown, ExternalUpgradeFailed, "), "it serves as before"
    assert "Stopped before its drain." in said
    assert sum("Unknown, Waiting, " in each for each in shown(found).values()) == 3

    def stop(request: Request) -> None:
        if request.method == "PATCH" and "/configmaps/stateful-upgrade-" in request.path:
            raise Killed

    given, first = agreed(found, source), record(found)["run"]
    found.here.calling.after = stop
    with pytest.raises(Killed):
        play(found, given)
    found.here.calling.after = lambda _request: None
    assert record(found)["run"] != first
    assert shown(found)[failed] == said, "the next run has only planned it"
    for each in found.machines.values():
        each.commands.upgrade_fails = ""
    found.here.later(900)
    ended = play(found, agreed(found, source))
    assert ended.code == 0, ended.output
    assert all(each.startswith("MachineUpToDate True, UpToDate, ") for each in shown(found).values())


def test_a_config_map_that_is_deleted_aborts_its_upgrade(found: Machines) -> None:
    given = agreed(found, request(found))

    def stop(asked: Request) -> None:
        if asked.method == "PATCH" and asked.path.endswith("/nodes/cp-1"):
            found.here.calling.after = lambda _request: None
            found.here.sandbox.kubernetes.server.resources.delete(CONFIG_MAPS, NAMESPACE, "task")

    found.here.calling.after = stop
    ended = play(found, given)
    assert "stopped_by_request" in codes(ended), ended.output
    assert record(found)["phase"] == "Aborted"


def test_a_document_that_was_aborted_answers_no_machine(found: Machines) -> None:
    given = agreed(found, request(found))

    def stop(asked: Request) -> None:
        if asked.method == "PATCH" and asked.path.endswith("/nodes/cp-1"):
            found.here.calling.after = lambda _request: None
            request(found, phase="Abort")

    found.here.calling.after = stop
    assert play(found, given).code != 0
    assert (status(found)["phase"], progress(found), shown(found)) == ("Abort", {}, {})
