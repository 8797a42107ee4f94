"""Upgrades that have ended: no run continues them by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import EventKind, happened
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start.request import requested_in
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import record_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.test_upgrade_plan import (
    MORE,
    Modules,
    codes,
    moment,
)


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Modules:
    return Modules(monkeypatch)


def in_phase(phase: Phase, target: str = "3.8.0", **more: Any) -> Record:
    """A record of this cluster."""
    return record_of(target_version=target, phase=phase, reason="Aborted on request.", **more)


def test_an_aborted_upgrade_waits_to_be_resumed_unless_another_takes_its_place(modules: Modules) -> None:
    modules.records["here"] = in_phase(Phase.ABORTED)
    assert codes(modules.plan()) == ["aborted_on_request"]
    assert codes(modules.plan(supersede=True)) == []
    assert codes(modules.plan(target_version="3.9.0")) == codes(modules.plan())
    modules.records["here"] = in_phase(Phase.ABORTED, target="3.7.0")
    assert codes(modules.plan()) == []
    modules.records["here"] = in_phase(Phase.PAUSED)
    assert codes(modules.plan()) == []


@pytest.mark.parametrize("seconds", [-60, 600])
def test_an_aborted_upgrade_is_not_said_to_start_at_its_time(modules: Modules, seconds: int) -> None:
    modules.records["here"] = in_phase(Phase.ABORTED)
    for waits in (False, True):
        assert codes(modules.plan(at=moment(seconds), wait=waits)) == ["aborted_on_request"]
    assert codes(modules.plan(at=moment(600), wait=False, supersede=True)) == ["starts_later"]


@pytest.mark.parametrize(("seconds", "said"), [(600, ["starts_later"]), (-60, [])])
def test_a_run_without_batches_waits_for_its_start_too(
    modules: Modules, monkeypatch: pytest.MonkeyPatch, seconds: int, said: list[str]
) -> None:
    # The user's own tasks of an upgrade that was planned would follow at once.
    monkeypatch.setitem(MORE, "batches", [])
    modules.records["here"] = replace(in_phase(Phase.PENDING), run="")
    assert codes(modules.plan(at=moment(seconds), wait=False)) == said


def test_a_paused_upgrade_says_so_also_before_its_start(modules: Modules) -> None:
    paused = in_phase(Phase.PENDING).with_events(happened(EventKind.HELD, "t1", by="ops"))
    modules.records["here"] = replace(paused, run="")
    assert codes(modules.plan(at=moment(600), wait=False)) == ["paused_on_request", "starts_later"]


def test_a_request_that_was_carried_out_does_nothing_more(modules: Modules) -> None:
    of = {"source": "configmap/next", "digest": "d1"}
    modules.records["here"] = in_phase(Phase.COMPLETED, request=requested_in(of))
    assert codes(modules.plan(request=of)) == ["request_carried_out"]
    assert codes(modules.plan(request={**of, "digest": "d2"})) == []
    assert codes(modules.plan()) == []
    modules.records["here"] = in_phase(Phase.UPGRADING, request=requested_in(of))
    assert codes(modules.plan(request=of)) == []


def test_the_points_to_approve_are_part_of_what_is_agreed_to(modules: Modules) -> None:
    points = [{"name": "canary", "after": 1}]
    agreed = modules.plan(approvals=points)
    assert agreed["approvals"] == points
    without = modules.plan(confirmed=agreed["digest"])
    assert codes(without) == ["plan_changed"]
    assert codes(modules.plan(approvals=points, confirmed=agreed["digest"])) == []
    assert modules.plan()["digest"] == "p1"
