"""What an UpgradeTask names, as the management cluster has it."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.reference import ObjectReference
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.requested import judge_upgrader
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.reading_tasks import upgrade_task
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.requested import NamedUpgrader

METAL = ObjectReference("example.com", "Upgrader", "os", "metal")
TASK = upgrade_task({"metadata": {"name": "next", "namespace": "upgrades", "uid": "u1"}, "spec": {}})


@pytest.mark.parametrize("named", [None, NamedUpgrader(METAL, exists=True)])
def test_an_upgrader_that_is_there_or_not_named_is_no_matter(named: NamedUpgrader | None) -> None:
    assert judge_upgrader(TASK, named).reasons == ()


def test_an_upgrader_that_is_not_there_declines_the_task_by_its_name() -> None:
    (reason,) = judge_upgrader(TASK, NamedUpgrader(METAL, exists=False)).reasons
    assert (reason.code, reason.state.value) == ("task_reference_missing", "refused")
    assert reason.message == (
        "UpgradeTask next names Upgrader os/metal in spec.template.upgraderRef, which the management cluster does not"
        " have."
    )
    assert "Correct spec.template.upgraderRef" in reason.remedy


def test_an_upgrader_that_was_not_looked_for_is_named_with_the_cause() -> None:
    named = NamedUpgrader(METAL, exists=False, unread="this user may not get it")
    (reason,) = judge_upgrader(TASK, named).reasons
    assert (reason.code, reason.state.value) == ("task_references_unread", "passed")
    assert "Upgrader os/metal" in reason.message
    assert reason.message.endswith("since this user may not get it.")
