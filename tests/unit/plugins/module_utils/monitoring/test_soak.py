"""The first batch of an upgrade proves itself: a gate that fails stops the upgrade, and a silent one does not pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import (
    State,
    Verdict,
    remark,
    waiting,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.soak import (
    Limit,
    Soak,
    SoakMeasurement,
    judge_soak,
    limits_in,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.canary_soak import end_of, soaking
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.events import RecordedEvent
from ansible_collections.stateful.upgrade.plugins.plugin_utils.monitoring_inputs import faults_of_monitoring
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import batch_of, record_of

ERRORS, LATENCY = Limit("errors", "sum(errors)", None, 1.5), Limit("latency", "max(latency)", 0.8, None)
WELL = Soak(
    ("canary",),
    0.0,
    "2026-11-21T02:15:00Z",
    Verdict(),
    [("https://shop", "")],
    [SoakMeasurement(ERRORS, 1.5, 1.0), SoakMeasurement(LATENCY, 0.8, None)],
)
DONE = batch_of("a", state="done", run="night", started="10:00", ended="10:05")
NEXT = batch_of("b")
RECORD = record_of(DONE, NEXT, run="day", started="09:59", updated="11:00")


def test_it_passes_once_its_time_is_over_and_all_gates_hold() -> None:
    assert judge_soak(WELL).passed
    early = judge_soak(replace(WELL, left=12.3))
    assert [each.message for each in early.reasons] == [
        "canary went first, and has to prove itself until 2026-11-21T02:15:00Z."
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"alerts": Verdict((waiting("alert_firing", "The alert Lost fires."),))}, "The alert Lost fires."),
        ({"probes": [("https://shop", "it answers 503")]}, "https://shop is not available: it answers 503."),
        ({"measured": [SoakMeasurement(ERRORS, 1.6, 1.0)]}, "errors is 1.6, and may be 1.5 times 1 at most"),
        ({"measured": [SoakMeasurement(LATENCY, 0.9, None)]}, "latency is 0.9, and may be 0.8 at most."),
    ],
)
@pytest.mark.parametrize("left", [0.0, 60.0])
def test_a_gate_that_fails_stops_the_upgrade_at_any_time(change: dict[str, Any], said: str, left: float) -> None:
    verdict = judge_soak(replace(WELL, left=left, **change))
    assert verdict.state is State.REFUSED
    assert said in verdict.deciding()[0].message


@pytest.mark.parametrize(
    "measured",
    [SoakMeasurement(ERRORS, None, 1.0), SoakMeasurement(ERRORS, 1.0, None), SoakMeasurement(LATENCY, None, None)],
)
def test_a_value_that_cannot_be_had_is_waited_for(measured: SoakMeasurement) -> None:
    verdict = judge_soak(replace(WELL, measured=[measured]))
    assert [each.code for each in verdict.reasons] == ["soak_not_measured"]


def test_an_alert_that_stops_nothing_is_told() -> None:
    assert judge_soak(replace(WELL, alerts=Verdict((remark("alert_ignored", "It is."),)))).passed


def test_it_is_due_while_no_other_batch_has_begun() -> None:
    assert soaking(RECORD) is DONE
    failed = replace(NEXT, state="failed")
    assert soaking(replace(RECORD, batches=(DONE, failed))) is DONE
    begun = replace(NEXT, state="failed", started="10:06")
    assert soaking(replace(RECORD, batches=(DONE, begun))) is None
    assert soaking(replace(RECORD, batches=(replace(DONE, state="upgrading"), NEXT))) is None
    assert soaking(replace(RECORD, batches=(NEXT,))) is None


def test_every_batch_is_due_until_the_next_one_has_begun() -> None:
    second = replace(NEXT, state="done", started="10:06", ended="10:10")
    third = batch_of("c")
    assert soaking(replace(RECORD, batches=(DONE, second, third)), every=True) is second
    assert soaking(replace(RECORD, batches=(second, DONE, third)), every=True) is second, "by the time of its start"
    assert soaking(replace(RECORD, batches=(DONE, second, third))) is None
    # A run that continues on another controller, whose clock is behind.
    behind = replace(second, run=RECORD.run, started="09:50", ended="09:55")
    before = replace(DONE, run="another")
    assert soaking(replace(RECORD, batches=(before, behind, third)), every=True) is behind
    begun = replace(third, state="upgrading", started="10:11")
    assert soaking(replace(RECORD, batches=(DONE, second, begun)), every=True) is None
    assert soaking(RECORD, every=True) is DONE
    said = [each.message for each in judge_soak(replace(WELL, left=2.0, first=False)).reasons]
    assert said == ["canary went last, and has to prove itself until 2026-11-21T02:15:00Z."]


def test_a_batch_that_the_next_run_found_done_is_done_since_then() -> None:
    found = replace(DONE, ended="")
    history = (
        RecordedEvent("09:59", "night", "Pending", ""),
        RecordedEvent("10:20", "day", "Upgrading", ""),
        RecordedEvent("10:40", "x", "", ""),
    )
    assert end_of(replace(RECORD, events=history), DONE) == "10:05"
    assert end_of(replace(RECORD, events=history), found) == "10:20"
    assert end_of(RECORD, found) == "10:00"


def test_a_limit_that_limits_nothing_is_a_fault() -> None:
    with pytest.raises(Refusal, match="has neither most nor ratio"):
        limits_in([{"name": "errors", "query": "up"}], "upgrade_soak_limits")
    given: dict[str, Any] = {
        "upgrade_prometheus_url": "http://a",
        "upgrade_soak_limits": [{"name": "errors", "query": "up"}],
        "upgrade_soak_probes": ["shop"],
        "upgrade_record_kept_in": "none",
        "upgrade_soak_time": 60,
    }
    assert len([*faults_of_monitoring(given)]) == 3
    good = [{"name": "errors", "query": "up", "most": "2"}]
    assert [*faults_of_monitoring({"upgrade_prometheus_url": "http://a", "upgrade_soak_limits": good})] == [
        "upgrade_soak_limits does nothing without upgrade_soak_time or upgrade_soak_batches=every: give one of them, or"
        " take it out."
    ]
    of_every: dict[str, Any] = {"upgrade_soak_batches": "every", "upgrade_prometheus_url": "http://a"}
    assert [*faults_of_monitoring({**of_every, "upgrade_soak_limits": good})] == []
    assert [*faults_of_monitoring({**of_every, "upgrade_record_kept_in": "none"})] == [
        "upgrade_soak_batches needs a record, and upgrade_record_kept_in=none keeps none: keep a record."
    ]


def test_addresses_that_nobody_can_be_asked_at_are_refused_by_their_variable() -> None:
    given = {"upgrade_dependencies": "https://shop,shop", "upgrade_soak_probes": ["tcp://a"], "upgrade_soak_time": 60}
    remedy = "Write https://…, http://…, tcp://HOST:PORT, dns://NAME or registry://HOST."
    assert [*faults_of_monitoring(given)] == [
        f"upgrade_dependencies: shop is not a dependency that can be checked: its kind is not known. {remedy}",
        f"upgrade_soak_probes: tcp://a is not a dependency that can be checked: it names no port. {remedy}",
    ]
