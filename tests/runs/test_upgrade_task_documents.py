"""UpgradeTasks as documents, for a cluster whose API has no definition of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.machines import CHECK, NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.observer.looking import RECORD
from tests.runs.shipped import rights_of_machines
from tests.runs.upgrade_tasks import EVERY, FROM, OWNER, TO, codes
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.web import Request
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import digest_in


@pytest.fixture
def found() -> Iterator[Machines]:
    """A cluster without the definition of UpgradeTasks."""
    with world() as here, machines(here, FROM, [TO], control_plane=3, workers=2) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield made


def write(place: Path, **spec: Any) -> str:
    """Write a task into a file."""
    own = {"controlPlaneRef": OWNER, "newMachineSpec": {"version": f"v{TO}"}}
    whole = {**own, "machinesRequireUpgrade": [{"name": each} for each in EVERY], **spec}
    body = {"apiVersion": "upgrade.stateful/v1alpha1", "kind": "UpgradeTask", "spec": whole}
    place.write_text(json.dumps(body), encoding="utf-8")
    return str(place)


def variables(found: Machines, source: str) -> dict[str, Any]:
    given = found.variables(TO, USER, upgrade_request=source)
    del given["target_version"]
    return given


def agreed(found: Machines, source: str) -> dict[str, Any]:
    planned = found.here.play(PLAYBOOK, variables(found, source), *found.arguments, CHECK)
    assert planned.code == 0, planned.output
    return {**variables(found, source), "upgrade_confirm": digest_in(planned)}


def phase(found: Machines) -> str:
    """The phase in the record."""
    maps = found.here.sandbox.kubernetes.server.resources.store.each(CONFIG_MAPS, NAMESPACE)
    (record,) = [json.loads(each["data"][RECORD]) for each in maps if RECORD in (each.get("data") or {})]
    return str(record["phase"])


def test_a_document_is_carried_out_like_the_object(found: Machines, tmp_path: Path) -> None:
    source = write(tmp_path / "task.yml")
    ended = found.here.play(PLAYBOOK, agreed(found, source), *found.arguments)
    assert ended.code == 0, ended.output
    kept = {name: each.kubelet.version for name, each in found.machines.items()}
    assert kept == {**dict.fromkeys(EVERY, TO), "worker-2": FROM}
    assert phase(found) == "Completed"
    assert "are only names here" in ended.output


def test_a_document_is_declined_by_the_whole_difference(found: Machines, tmp_path: Path) -> None:
    infra = {"kind": "MetalMachine", "spec": {"size": "m"}}
    required = [{"name": each, "machineSpec": {"infraMachine": infra}} for each in EVERY]
    wanted = {"version": f"v{TO}", "infraMachine": {**infra, "spec": {"size": "l"}}}
    source = write(tmp_path / "task.yml", machinesRequireUpgrade=required, newMachineSpec=wanted)
    declined = found.here.play(PLAYBOOK, variables(found, source), *found.arguments)
    assert codes(declined) == ["machine_differs"], declined.output
    noted = json.loads((tmp_path / "task.yml.state.json").read_text(encoding="utf-8"))
    assert noted["state"] == "refused"
    assert all(f"Machine {name} differs in infraMachine.spec.size" in noted["message"] for name in EVERY)
    wrong = write(tmp_path / "wrong.yml", template={"covres": []})
    refused = found.here.play(PLAYBOOK, variables(found, wrong), *found.arguments)
    assert codes(refused) == ["request_invalid"]
    assert "spec.template.covres is no field of an UpgradeTask" in refused.output


def test_a_document_that_is_aborted_ends_its_run_behind_the_machine_at_hand(found: Machines, tmp_path: Path) -> None:
    source = write(tmp_path / "task.yml")
    given = agreed(found, source)

    def stop(request: Request) -> None:
        if request.method == "PATCH" and request.path.endswith("/nodes/cp-1"):
            found.here.calling.after = lambda _request: None
            write(tmp_path / "task.yml", phase="Abort")

    found.here.calling.after = stop
    ended = found.here.play(PLAYBOOK, given, *found.arguments)
    assert ended.code != 0
    assert "stopped_by_request" in codes(ended), ended.output
    assert phase(found) == "Aborted"
    assert [name for name, each in found.machines.items() if each.kubelet.version == TO] != [*EVERY]
    assert codes(found.here.play(PLAYBOOK, given, *found.arguments)) == ["request_missing"]
