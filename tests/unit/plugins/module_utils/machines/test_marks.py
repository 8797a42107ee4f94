"""Marks of Machines: which of them hinder, and which are taken off."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.marks import (
    MarkRelease,
    home_of,
    judge_markable,
    judge_unmarked,
    progress_of,
    release_of,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.up_to_date import MachineProgress
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.owned_look import owned_machine
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.owned_machines import (
    MARK_PATH,
    SKIP_PATH,
    OwnedMachine,
    is_mark,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change

from tests.unit.plugins.module_utils.machines.seen import cluster, machine

HOME, OWN = "clusters/main", "upgrades/next"
NO, REPLACED = StatusCondition("False", "UnhealthyNode", "It is\n  * lost"), ["machine_to_be_replaced"]
SEEN = cluster(*(machine(name, cluster=HOME) for name in ("w-0", "w-1")))


def owned(reason: str | None = None, **own: Any) -> OwnedMachine:
    """The Machine of w-0, with a condition of this reason."""
    conditions = {"MachineUpToDate": StatusCondition("Unknown", reason)} if reason else {}
    given = {"namespace": "clusters", "name": "m-0", "uid": "u", "kubernetes_node": "w-0", "going": False}
    return OwnedMachine(**{**given, "mark": "", "skip": None, "undo": None, "conditions": conditions, **own})


def test_the_cluster_is_that_of_the_annotations() -> None:
    assert home_of(SEEN) == ("clusters", "main")
    assert home_of(cluster()) is None
    with pytest.raises(Refusal, match="several Clusters"):
        home_of(cluster(machine("w-0", cluster=HOME), machine("w-1", cluster="clusters/other")))


@pytest.mark.parametrize(
    ("found", "ended", "codes"),
    [
        (owned(), (), []),
        (owned(mark=OWN), (), []),
        (owned(mark="20261121-020000-3f2a5b6c"), (), []),
        (owned(mark="upgrades/other"), (), ["machine_marked"]),
        (owned(mark="upgrades/other"), ("upgrades/other",), []),
        (owned(going=True), (), ["machine_leaving"]),
        (owned(mark=OWN, conditions={"HealthCheckSucceeded": NO, "OwnerRemediated": NO}), (), REPLACED),
        (owned(skip="ada", conditions={"HealthCheckSucceeded": NO, "ExternallyRemediated": NO}), (), REPLACED),
        (owned(conditions={"HealthCheckSucceeded": NO}), (), []),
        (owned(conditions={"HealthCheckSucceeded": StatusCondition("True"), "OwnerRemediated": NO}), (), []),
        (None, (), ["machine_unmatched"]),
    ],
)
def test_a_machine_may_be_marked(found: OwnedMachine | None, ended: tuple[str, ...], codes: list[str]) -> None:
    there = {"w-0": found} if found else {}
    verdict = judge_markable(SEEN, there, ["w-0", "w-2"], OWN, ended)
    assert [each.code for each in verdict.reasons] == codes, "and w-2 is none of Cluster API"


def test_a_machine_that_is_to_be_replaced_is_named_with_the_cause() -> None:
    found = owned(conditions={"HealthCheckSucceeded": NO, "OwnerRemediated": NO})
    (reason,) = judge_markable(SEEN, {"w-0": found}, ["w-0"], OWN, ()).reasons
    assert reason.message.endswith("during work on it: It is * lost.")


def test_conditions_that_v1beta1_of_the_api_keeps_apart_count() -> None:
    """The remediation by another controller is in no other place (cluster-api, `api/v1beta1/machine_types.go`)."""
    failed = {"status": "False", "reason": "UnhealthyNode", "message": "It is lost"}
    status = {
        "nodeRef": {"name": "w-0"},
        "conditions": [{"type": "HealthCheckSucceeded", **failed}, {"type": "Ready", "status": "True"}],
        "v1beta2": {
            "conditions": [{"type": "ExternallyRemediated", **failed}, {"type": "Ready", "status": "False"}],
        },
    }
    found = owned_machine({"metadata": {"namespace": "clusters", "name": "m-0", "uid": "u"}, "status": status})
    assert [each.code for each in judge_markable(SEEN, {"w-0": found}, ["w-0"], OWN, ()).reasons] == REPLACED
    assert found.conditions["Ready"].true


FLAGS = [*product((True, False), repeat=4)]


@pytest.mark.parametrize(("ready", "begun", "ours", "ended"), FLAGS)
def test_a_machine_that_no_work_was_done_on_is_let_go_whatever_is(
    ready: bool, begun: bool, ours: bool, ended: bool
) -> None:
    for reason in (None, "Waiting", "UpToDate", "SomethingElse"):
        found = release_of(owned(reason), ready=ready, begun=begun, ours=ours, ended=ended)
        assert found is MarkRelease.ALL


@pytest.mark.parametrize(("ready", "begun", "ours", "ended"), FLAGS)
@pytest.mark.parametrize("reason", ["ExternalUpgradeInProgress", "ExternalUpgradeFailed"])
def test_a_machine_is_never_let_go_before_it_is_ready(
    reason: str, ready: bool, begun: bool, ours: bool, ended: bool
) -> None:
    found = release_of(owned(reason), ready=ready, begun=begun, ours=ours, ended=ended)
    if not ready:
        assert found is (MarkRelease.ALL_BUT_HOLD if ended else MarkRelease.NOTHING)
    elif found is not MarkRelease.ALL:
        assert found is MarkRelease.NOTHING
        assert begun, "its own run has not seen it back"
        assert ours
        assert not ended


def test_a_machine_that_failed_before_its_drain_keeps_its_mark_and_no_hold() -> None:
    at_work = owned("ExternalUpgradeInProgress")
    for ready, begun, ours, ended in FLAGS:
        given = {"ready": ready, "begun": begun, "ours": ours, "ended": ended}
        alone = (ready, begun, ours, ended) == (True, False, True, False)
        expected = MarkRelease.HOLD if alone else release_of(at_work, **given)
        assert release_of(at_work, **given, failed=True) is expected
        assert release_of(owned("Waiting"), **given, failed=True) is MarkRelease.ALL


def test_the_progress_is_that_of_a_known_reason() -> None:
    assert progress_of(owned("Waiting")) is MachineProgress.WAITING
    assert progress_of(owned("SomethingElse")) is None


@pytest.mark.parametrize(
    ("change", "known"),
    [
        (Change(MARK_PATH, None, OWN), True),
        (Change(MARK_PATH, "run-1", OWN), True),
        (Change(MARK_PATH, None, None), False),
        (Change(SKIP_PATH, None, "upgrade.stateful"), True),
        (Change(SKIP_PATH, "", "upgrade.stateful"), False),
        (Change(SKIP_PATH, None, "another"), False),
        (Change(("spec", "version"), None, "v1"), False),
    ],
)
def test_an_undo_holds_the_marks_of_runs_alone(change: Change, known: bool) -> None:
    assert is_mark(change) is known


def test_machines_of_cluster_api_without_its_connection_are_a_remark() -> None:
    assert [each.code for each in judge_unmarked(SEEN, ["w-0", "w-2"], connected=False).reasons] == [
        "machines_unmarked"
    ]
    assert not judge_unmarked(SEEN, ["w-0"], connected=True).reasons
    assert not judge_unmarked(SEEN, ["w-2"], connected=False).reasons
