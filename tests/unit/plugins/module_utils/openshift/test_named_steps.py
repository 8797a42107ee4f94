"""The seventeen named steps, each in each of its states, as a record shows them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.named_steps import (
    STEPS,
    Progress,
    conditions_of_steps,
    steps_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record

from .named import (
    BEGUN,
    COMMENCED,
    COMMENCING,
    CONTROL,
    CONTROLLED,
    DONE,
    HALF,
    LATER,
    NAMES,
    NO_ALERTS,
    NO_SILENCES,
    NOT_SENT,
    NOW,
    PLANNED,
    ROLLED,
    TAKEN,
    WHOLE,
    batch,
    completed,
    pending,
    recorded,
    step,
)

SILENCED = step("silences", BEGUN)
WORKERS = (batch("worker", "upgrading", LATER),)
"""The control plane was upgraded before."""
STOPPED = (*WHOLE, batch("infra", "failed", ROLLED))
"""A pool was paused by a person in its batch, and left out by the run that has completed the upgrade."""
LEFT = "the others are gone, or a person has paused their MachineConfigPool"


def test_they_are_those_of_the_managed_upgrade_in_its_order() -> None:
    assert [each.name for each in STEPS] == NAMES


@pytest.mark.parametrize(
    ("name", "record", "expected"),
    [
        ("SendStartedNotification", pending(), None),
        ("SendStartedNotification", recorded(PLANNED), Progress(BEGUN)),
        ("SendStartedNotification", recorded(PLANNED, told="started"), Progress(BEGUN, LATER)),
        ("SendStartedNotification", recorded(COMMENCING), Progress(BEGUN, BEGUN, NOT_SENT)),
        ("UpgradeDelayedCheck", pending(), None),
        (
            "UpgradeDelayedCheck",
            pending(delayed=NOW),
            Progress(NOW, "", f"late since {NOW}, it was to start at {LATER}"),
        ),
        (
            "UpgradeDelayedCheck",
            recorded(COMMENCING, start=pending(delayed=NOW).start),
            Progress(BEGUN, BEGUN, f"late since {NOW}, it was to start at {LATER}"),
        ),
        ("UpgradeDelayedCheck", recorded(PLANNED, start=pending().start), None),
        ("UpgradeDelayedCheck", recorded(COMMENCING, start=pending().start), Progress(BEGUN, BEGUN)),
        ("UpgradeDelayedCheck", recorded(COMMENCING), Progress(BEGUN, BEGUN, "it was not late")),
        ("IsUpgradeable", recorded(PLANNED, deployed_version="4.17.9"), None),
        ("IsUpgradeable", recorded(COMMENCING, deployed_version="4.17.9"), Progress(BEGUN, BEGUN)),
        ("IsUpgradeable", recorded(COMMENCING), Progress(BEGUN, BEGUN, "the minor version stays")),
        ("IsUpgradeable", recorded(COMMENCING, deployed_version=""), Progress(BEGUN, BEGUN, "the minor version stays")),
        ("PreUpgradeHealthCheck", pending(), None),
        ("PreUpgradeHealthCheck", pending(checked=NOW), Progress(NOW, "", "the early look found nothing")),
        (
            "PreUpgradeHealthCheck",
            pending(checked=NOW, findings=("One.", "Two.")),
            Progress(NOW, "", "the early look has found: One. Two."),
        ),
        ("PreUpgradeHealthCheck", recorded(PLANNED), None),
        (
            "PreUpgradeHealthCheck",
            recorded(PLANNED, step("alerts", LATER), step("nodes", "", "One is cordoned.")),
            Progress(BEGUN, "", "One is cordoned."),
        ),
        ("PreUpgradeHealthCheck", recorded(PLANNED, step("alerts", LATER)), Progress(BEGUN, LATER)),
        ("PreUpgradeHealthCheck", recorded(PLANNED, step("nodes", LATER)), Progress(BEGUN, LATER, NO_ALERTS)),
        ("PreUpgradeHealthCheck", recorded(COMMENCING), Progress(BEGUN, BEGUN, NO_ALERTS)),
        ("ExternalDependencyAvailabilityCheck", recorded(PLANNED), None),
        ("ExternalDependencyAvailabilityCheck", recorded(PLANNED, step("dependencies")), Progress(BEGUN)),
        ("ExternalDependencyAvailabilityCheck", recorded(PLANNED, step("dependencies", NOW)), Progress(BEGUN, NOW)),
        (
            "ExternalDependencyAvailabilityCheck",
            recorded(COMMENCING),
            Progress(LATER, LATER, "none was given (upgrade_dependencies)"),
        ),
        ("EnsureExtraUpgradeWorkers", recorded(PLANNED), None),
        ("EnsureExtraUpgradeWorkers", recorded(PLANNED, step("capacity", "", "Two.")), Progress(BEGUN, "", "Two.")),
        ("EnsureExtraUpgradeWorkers", recorded(PLANNED, step("capacity", NOW)), Progress(BEGUN, NOW)),
        (
            "EnsureExtraUpgradeWorkers",
            recorded(PLANNED, step("capacity", NOW, "None came.", skipped=True)),
            Progress(BEGUN, NOW, "None came."),
        ),
        ("EnsureExtraUpgradeWorkers", recorded(COMMENCING), Progress(LATER, LATER, "no capacity was to be added")),
        ("CreateControlPlaneMaintWindow", recorded(PLANNED), None),
        ("CreateControlPlaneMaintWindow", recorded(PLANNED, step("silences")), Progress(BEGUN)),
        ("CreateControlPlaneMaintWindow", recorded(PLANNED, SILENCED), Progress(BEGUN, BEGUN)),
        ("CreateControlPlaneMaintWindow", recorded(COMMENCING), Progress(LATER, LATER, NO_SILENCES)),
        ("CommenceUpgrade", recorded(PLANNED), None),
        ("CommenceUpgrade", recorded(COMMENCING), Progress(LATER)),
        ("CommenceUpgrade", recorded(CONTROL), Progress(LATER, COMMENCED)),
        ("CommenceUpgrade", recorded(WORKERS), Progress(LATER, LATER, "the control plane was upgraded before")),
        ("ControlPlaneUpgraded", recorded(COMMENCING), None),
        ("ControlPlaneUpgraded", recorded(CONTROL), Progress(COMMENCED)),
        ("ControlPlaneUpgraded", recorded(HALF), Progress(COMMENCED, CONTROLLED)),
        ("ControlPlaneUpgraded", recorded(WORKERS), Progress(LATER, LATER, "the control plane was upgraded before")),
        ("RemoveControlPlaneMaintWindow", recorded(CONTROL, SILENCED), None),
        ("RemoveControlPlaneMaintWindow", recorded(HALF, SILENCED), Progress(CONTROLLED, CONTROLLED)),
        ("RemoveControlPlaneMaintWindow", recorded(TAKEN), Progress(CONTROLLED, CONTROLLED, NO_SILENCES)),
        ("CreateWorkerMaintWindow", recorded(HALF, SILENCED), None),
        ("CreateWorkerMaintWindow", recorded(TAKEN, SILENCED), Progress(CONTROLLED, CONTROLLED)),
        ("CreateWorkerMaintWindow", recorded(TAKEN), Progress(CONTROLLED, CONTROLLED, NO_SILENCES)),
        (
            "CreateWorkerMaintWindow",
            completed(SILENCED, batches=HALF[:1]),
            Progress(CONTROLLED, CONTROLLED, "no Kubernetes node was left"),
        ),
        ("AllWorkersUpgraded", recorded(HALF), None),
        ("AllWorkersUpgraded", recorded(TAKEN), Progress(CONTROLLED, "", "0 of 1 Kubernetes nodes")),
        ("AllWorkersUpgraded", recorded(WHOLE), Progress(CONTROLLED, ROLLED, "1 of 1 Kubernetes nodes")),
        (
            "AllWorkersUpgraded",
            recorded((*WHOLE, batch("infra", "upgrading", ROLLED))),
            Progress(CONTROLLED, "", "worker: 1 of 1 Kubernetes nodes, infra: 0 of 1 Kubernetes nodes"),
        ),
        (
            "AllWorkersUpgraded",
            completed(batches=HALF[:1]),
            Progress(CONTROLLED, CONTROLLED, "no Kubernetes node was left"),
        ),
        (
            "AllWorkersUpgraded",
            completed(batches=STOPPED),
            Progress(CONTROLLED, ROLLED, f"worker: 1 of 1 Kubernetes nodes, infra: 0 of 1 Kubernetes nodes, {LEFT}"),
        ),
        (
            "AllWorkersUpgraded",
            completed(batches=(*HALF[:1], batch("worker", "failed", LATER))),
            Progress(LATER, DONE, f"0 of 1 Kubernetes nodes, {LEFT}"),
        ),
        ("RemoveExtraScaledNodes", recorded(TAKEN), None),
        ("RemoveExtraScaledNodes", recorded(WHOLE, step("capacity_after")), Progress(BEGUN)),
        ("RemoveExtraScaledNodes", recorded(WHOLE, step("capacity_after", NOW)), Progress(BEGUN, NOW)),
        ("RemoveExtraScaledNodes", completed(), Progress(ROLLED, ROLLED, "no capacity was added")),
        ("RemoveMaintWindow", recorded(TAKEN, SILENCED), None),
        ("RemoveMaintWindow", recorded(WHOLE, SILENCED), Progress(ROLLED, ROLLED)),
        ("RemoveMaintWindow", completed(), Progress(ROLLED, ROLLED, NO_SILENCES)),
        ("PostUpgradeHealthCheck", recorded(TAKEN), None),
        ("PostUpgradeHealthCheck", recorded(WHOLE), Progress(ROLLED)),
        (
            "PostUpgradeHealthCheck",
            recorded(WHOLE, step("alerts_after", "", "One fires.")),
            Progress(ROLLED, "", "One fires."),
        ),
        ("PostUpgradeHealthCheck", completed(), Progress(ROLLED, DONE, NO_ALERTS)),
        ("PostUpgradeHealthCheck", completed(batches=STOPPED), Progress(ROLLED, DONE, NO_ALERTS)),
        ("PostUpgradeHealthCheck", completed(step("alerts_after", NOW)), Progress(ROLLED, DONE)),
        ("PostUpgradeProcedures", recorded(WHOLE), None),
        ("PostUpgradeProcedures", recorded(WHOLE, step("file_integrity")), Progress(BEGUN)),
        ("PostUpgradeProcedures", completed(step("file_integrity", NOW)), Progress(BEGUN, NOW)),
        ("PostUpgradeProcedures", recorded(WHOLE, step("upgrade_tasks_after")), Progress(BEGUN)),
        (
            "PostUpgradeProcedures",
            recorded(WHOLE, step("file_integrity", NOW), step("upgrade_tasks_after", "", "It has failed.")),
            Progress(BEGUN, "", "It has failed."),
        ),
        (
            "PostUpgradeProcedures",
            completed(),
            Progress(DONE, DONE, "none was asked for (upgrade_tasks_after, upgrade_fedramp)"),
        ),
        ("SendCompletedNotification", recorded(WHOLE), None),
        ("SendCompletedNotification", recorded(WHOLE, told="completed"), Progress(LATER, LATER)),
        ("SendCompletedNotification", completed(), Progress(DONE, DONE, NOT_SENT)),
    ],
)
def test_each_step_in_each_of_its_states(name: str, record: Record, expected: Progress | None) -> None:
    assert {each.name: each.progress for each in steps_of(record)}.get(name) == expected


def test_they_are_told_up_to_the_last_that_has_begun() -> None:
    assert steps_of(recorded(PLANNED, run="", start=None)) == []
    for record, count in ((recorded(PLANNED), 1), (recorded(COMMENCING), 8), (recorded(TAKEN), 12), (completed(), 17)):
        assert [each.name for each in steps_of(record)] == NAMES[:count]


def test_a_step_that_is_left_out_is_not_told() -> None:
    left_out = happened(EventKind.SKIPPED, BEGUN, "night", "IsUpgradeable", by="ops")
    record = completed().with_events(left_out)
    assert [each.name for each in steps_of(record)] == [name for name in NAMES if name != "IsUpgradeable"]


def test_a_batch_that_a_killed_run_has_left_has_its_times_from_what_is_known() -> None:
    tried = batch("master", "upgrading", LATER, COMMENCED)
    again = batch("master", "done", CONTROLLED)
    (found,) = [
        each.progress
        for each in steps_of(recorded((replace(again, tries=(tried,)),)))
        if each.name == "CommenceUpgrade"
    ]
    assert found == Progress(LATER, COMMENCED)


def test_each_step_has_a_state_also_before_it_has_begun() -> None:
    skips = happened(EventKind.SKIPPED, BEGUN, "", "IsUpgradeable")
    record = replace(recorded(COMMENCING), events=(skips,), reason="An operator is not well.")
    found = {each.type: each for each in conditions_of_steps(record)}
    assert list(found) == NAMES
    assert found["IsUpgradeable"].reason == "skipped"
    assert (found["UpgradeDelayedCheck"].reason, found["UpgradeDelayedCheck"].message) == (
        "completed",
        "it was not late",
    )
    under_way = found["CommenceUpgrade"]
    assert (under_way.status, under_way.reason, under_way.message) == ("False", "in_progress", record.reason)
    assert {found[name].reason for name in NAMES[NAMES.index("ControlPlaneUpgraded") :]} == {"pending"}
