"""An UpgradeTask as request: the variables that it gives, and its faults; and its status from the record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood, Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.requested import judge_changes
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.upgrade_task import (
    faults_in,
    variables_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.node_updates import (
    FailureKind,
    NodePhase,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading_tasks import (
    node_update,
    upgrade_task,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.task_status import (
    ended_status,
    requested_status,
    status_of,
    with_decision,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.upgrade_task import UpgradeTask
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.batches import BatchRecord
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import (
    EventKind,
    RecordedEvent,
    happened,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase, UpgradeEvent
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import Requested

AT, LATER = "2026-11-28T01:00:00Z", "2026-11-28T02:00:00Z"
GOOD: dict[str, Any] = {
    "controlPlaneRef": {"kind": "KubeadmControlPlane", "name": "main"},
    "machinesRequireUpgrade": [{"name": "m-0", "nodeName": "cp-0"}, {"name": "cp-1"}],
    "newMachineSpec": {"version": "v1.36.1"},
}


def seen(**own: Any) -> Any:
    spec = {name: value for name, value in {**GOOD, **own}.items() if value is not None}
    return upgrade_task({"metadata": {"name": "next", "uid": "7"}, "spec": spec})


def test_a_good_one_gives_its_variables() -> None:
    assert variables_of(seen()) == {"target_version": "1.36.1", "upgrade_only": ["cp-0", "cp-1"]}
    assert list(faults_in(seen())) == []
    assert seen().owner == "KubeadmControlPlane//main"


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"controlPlaneRef": None}, "spec names no owner"),
        ({"machineDeploymentRef": {"name": "workers"}}, "spec names no owner, or two"),
        ({"newMachineSpec": {"version": "latest"}}, "spec.newMachineSpec.version is no version"),
        ({"newMachineSpec": {}}, "spec.newMachineSpec.version is no version"),
        ({"machinesRequireUpgrade": []}, "spec.machinesRequireUpgrade names no machine"),
        (
            {"machinesRequireUpgrade": [{"name": "a"}, {"name": "b", "nodeName": "a"}]},
            "spec.machinesRequireUpgrade names",
        ),
    ],
)
def test_each_fault_is_one_sentence(own: dict[str, Any], said: str) -> None:
    (fault,) = faults_in(seen(**own))
    assert fault.startswith(said)


def test_a_difference_that_cannot_be_known_is_no_pass() -> None:
    wanted = {"version": "v1.36.1", "infraMachine": {"spec": {"size": "l"}}}
    asked = seen(newMachineSpec=wanted)
    assert [each.message.split()[5] for each in judge_changes(asked, {}).reasons] == ["m-0", "cp-1"]
    present = {"m-0": {"version": "v1.35.1", "infraMachine": {"spec": {"size": "m"}}}}
    found = [each.message for each in judge_changes(asked, present).reasons]
    assert "Machine m-0 differs in infraMachine.spec.size, which cannot be changed in place." in found
    assert judge_changes(seen(), {}).passed


def test_what_was_read_counts_and_not_what_the_task_says_of_its_machines() -> None:
    wanted = {"version": "v1.36.1", "infraMachine": {"spec": {"size": "l"}}}
    asked = seen(machinesRequireUpgrade=[{"name": "m-0", "machineSpec": wanted}], newMachineSpec=wanted)
    assert judge_changes(asked, {}).passed
    there = {"m-0": {"infraMachine": {"spec": {"size": "m"}}}}
    assert [each.code for each in judge_changes(asked, there).reasons] == ["machine_differs"]


def test_without_any_namespace_it_is_refused() -> None:
    options: dict[str, Any] = {"kubernetes": {}, "namespace": None}
    with pytest.raises(Refusal, match="no namespace is given"):
        UpgradeTask.named("upgradetask/next", lambda _options: None, options)
    found = UpgradeTask.named("upgradetask/there/next", lambda _options: None, options)
    assert (found.namespace, found.name) == ("there", "next")


def batch(name: str, state: str, **own: Any) -> BatchRecord:
    return BatchRecord(name, ("workers",), (name,), state=state, started=AT, **own)


def record(*batches: BatchRecord, phase: Phase = Phase.UPGRADING, **own: Any) -> Record:
    plain = {"cluster": "machines", "target_version": "1.36.1", "digest": "p", "run": "r", "who": "w", "reason": ""}
    return Record(**{**plain, "phase": phase, "started": AT, "updated": LATER, "batches": batches, **own})


def told(status: dict[str, Any]) -> dict[str, str]:
    return {each["nodeName"]: each["conditions"][0]["reason"] for each in status["machines"]}


def test_each_machine_is_told_as_its_batch_stands() -> None:
    found = record(batch("w-0", "done", ended=LATER), batch("w-1", "upgrading"), batch("w-2", "pending"))
    status = status_of(found, ["w-0", "w-1", "w-2", "w-3"], {})
    assert told(status) == {
        "w-0": "UpToDate",
        "w-1": "ExternalUpgradeInProgress",
        "w-2": "Waiting",
        "w-3": "UpToDate",
    }
    assert (status["phase"], status["conditions"][-1]["reason"]) == ("Ongoing", "ExternalUpgradeInProgress")
    assert status_of(found, ["w-0", "w-1", "w-2", "w-3"], status) == status


def test_a_machine_has_failed_with_its_cause_and_counts_as_lost_once_its_drain_has_begun() -> None:
    stopped = record(batch("w-0", "failed", ended=LATER), reason="It broke.")
    (condition,) = status_of(stopped, ["w-0"], {})["machines"][0]["conditions"]
    assert (condition["status"], condition["reason"]) == ("Unknown", "ExternalUpgradeFailed")
    assert condition["message"] == "Stopped before its drain. It broke."
    assert status_of(stopped, ["w-0"], {})["conditions"][-1]["status"] == "Unknown"
    paused = replace(stopped, phase=Phase.PAUSED)
    assert told(status_of(paused, ["w-0"], {})) == {"w-0": "ExternalUpgradeInProgress"}, "nothing has failed"
    drained = replace(stopped, events=(happened(EventKind.CHANGED, AT, "r", "Node w-0", "changed"),))
    status = status_of(drained, ["w-0"], {})
    assert told(status) == {"w-0": "ExternalUpgradeFailed"}
    assert status["conditions"][-1]["status"] == "False"
    planned = record(batch("w-0", "pending"))
    assert told(status_of(planned, ["w-0"], status)) == {"w-0": "ExternalUpgradeFailed"}, "until it is worked on again"


def test_a_machine_that_is_planned_anew_is_as_its_last_try_has_left_it() -> None:
    def again(state: str, kind: UpgradeEvent) -> tuple[str, str]:
        left = batch("w-0", state, run="before", ended=LATER)
        end = RecordedEvent(LATER, "before", "Upgrading", "It broke. More of it.", kind=kind.value)
        found = record(replace(batch("w-0", "pending"), started="", tries=(left,)), events=(end,))
        (condition,) = status_of(found, ["w-0"], {})["machines"][0]["conditions"]
        assert condition["lastTransitionTime"] == LATER
        return condition["reason"], condition["message"]

    said = "Stopped before its drain. It broke."
    assert again("failed", UpgradeEvent.STOPPED) == ("ExternalUpgradeFailed", said)
    assert again("failed", UpgradeEvent.PAUSED) == ("ExternalUpgradeInProgress", said)
    assert again("upgrading", UpgradeEvent.AGREED) == ("ExternalUpgradeInProgress", ""), "its run was killed"


def test_a_record_has_the_status_of_the_document_that_has_requested_it() -> None:
    found = record(batch("w-0", "done", ended=LATER), batch("w-1", "pending"))
    assert requested_status(found) is None
    assert requested_status(replace(found, request=Requested("task.yml", "d"))) is None, "a request of variables"
    status = requested_status(replace(found, request=Requested("task.yml", "d", "o", ("w-0", "w-1"))))
    assert status is not None
    assert told(status) == {"w-0": "UpToDate", "w-1": "Waiting"}


def test_a_machine_in_several_batches_of_a_chain_is_done_with_the_last() -> None:
    def progress(first: str, last: str) -> str:
        one = replace(batch("w-0", first), target_version="1.35.4")
        return told(status_of(record(one, batch("w-0", last)), ["w-0"], {}))["w-0"]

    assert progress("pending", "pending") == "Waiting"
    assert progress("upgrading", "pending") == "ExternalUpgradeInProgress"
    assert progress("done", "pending") == "Waiting"
    assert progress("done", "upgrading") == "ExternalUpgradeInProgress"
    assert progress("done", "done") == "UpToDate"


def test_a_drain_for_the_version_before_is_none_of_this_one() -> None:
    one = replace(batch("w-0", "done"), target_version="1.35.4")
    drained = happened(EventKind.CHANGED, AT, "r", "Node w-0", "changed")
    for at, expected in ((LATER, "Unknown"), (AT, "False")):
        failed = replace(batch("w-0", "failed"), started=at)
        whole = record(one, failed, events=(drained,))
        assert status_of(whole, ["w-0"], {})["conditions"][-1]["status"] == expected


def test_an_aborted_task_has_no_conditions_of_machines_and_keeps_its_decision() -> None:
    status = status_of(record(batch("w-0", "upgrading")), ["w-0"], with_decision({}, "started", "", AT))
    aborted = status_of(record(batch("w-0", "failed"), phase=Phase.ABORTED), ["w-0"], status)
    assert aborted == ended_status(status)
    assert [each["type"] for each in aborted["conditions"]] == ["Accepted"]
    assert (aborted["phase"], aborted["machines"]) == ("Abort", [])
    assert status_of(record(batch("w-0", "done"), phase=Phase.COMPLETED), ["w-0"], status)["phase"] == "Complete"


def test_a_decision_keeps_its_time_until_it_changes() -> None:
    declined = with_decision({}, "invalid", "All of it.", AT)
    assert with_decision(declined, "invalid", "All of it.", LATER) == declined
    accepted = with_decision(declined, "started", "", LATER)
    assert [each["lastTransitionTime"] for each in accepted["conditions"]] == [LATER]


def test_a_node_update_is_read_strictly() -> None:
    spec = {"nodeName": "w-0", "digest": "p", "attempt": 2, "retried": {"Transient": 1}, "deadline": AT}
    metadata = {"name": "w-0-after-drain", "uid": "7", "resourceVersion": "1"}
    found = node_update({"metadata": metadata, "spec": spec})
    assert (found.phase, found.is_at_work, found.failure) == (NodePhase.PENDING, True, FailureKind.TERMINAL)
    assert found.retried[FailureKind.TRANSIENT] == 1
    with pytest.raises(NotUnderstood, match="Finished"):
        node_update({"metadata": metadata, "spec": spec, "status": {"phase": "Finished"}})
