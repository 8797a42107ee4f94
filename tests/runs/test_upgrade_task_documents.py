"""UpgradeTasks as documents, for a cluster whose API has no definition of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.machines import Machines
from tests.runs.task_documents import agreed, play, record, serving, variables, write
from tests.runs.upgrade_tasks import EVERY, FROM, TO, codes
from tests.sandbox.web import Request


@pytest.fixture
def found() -> Iterator[Machines]:
    """A cluster without the definition of UpgradeTasks."""
    with serving() as made:
        yield made


def test_a_document_is_carried_out_like_the_object(found: Machines, tmp_path: Path) -> None:
    source = write(tmp_path / "task.yml")
    ended = play(found, agreed(found, source))
    assert ended.code == 0, ended.output
    kept = {name: each.kubelet.version for name, each in found.machines.items()}
    assert kept == {**dict.fromkeys(EVERY, TO), "worker-2": FROM}
    assert record(found)["phase"] == "Completed"
    assert "are only names here" in ended.output


def test_a_document_is_declined_by_the_whole_difference(found: Machines, tmp_path: Path) -> None:
    infra = {"kind": "MetalMachine", "spec": {"size": "m"}}
    required = [{"name": each, "machineSpec": {"infraMachine": infra}} for each in EVERY]
    wanted = {"version": f"v{TO}", "infraMachine": {**infra, "spec": {"size": "l"}}}
    source = write(tmp_path / "task.yml", machinesRequireUpgrade=required, newMachineSpec=wanted)
    declined = play(found, variables(found, source))
    assert codes(declined) == ["machine_differs"], declined.output
    noted = json.loads((tmp_path / "task.yml.state.json").read_text(encoding="utf-8"))
    assert noted["state"] == "refused"
    assert all(f"Machine {name} differs in infraMachine.spec.size" in noted["message"] for name in EVERY)
    wrong = write(tmp_path / "wrong.yml", template={"covres": []})
    refused = play(found, variables(found, wrong))
    assert codes(refused) == ["request_invalid"]
    assert "spec.template.covres is not a field of an UpgradeTask" in refused.output


@pytest.mark.parametrize("deleted", [False, True])
def test_a_document_that_is_aborted_or_deleted_ends_its_run_behind_the_machine_at_hand(
    found: Machines, tmp_path: Path, deleted: bool
) -> None:
    source = write(tmp_path / "task.yml")
    given = agreed(found, source)

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/cp-1"):
            found.here.calling.after = lambda _request: None
            (tmp_path / "task.yml").unlink() if deleted else write(tmp_path / "task.yml", phase="Abort")

    found.here.calling.after = stop
    ended = play(found, given)
    assert ended.code != 0
    assert "stopped_by_request" in codes(ended), ended.output
    assert record(found)["phase"] == "Aborted"
    assert [name for name, each in found.machines.items() if each.kubelet.version == TO] != [*EVERY]
    assert codes(play(found, given)) == ["request_missing"]
