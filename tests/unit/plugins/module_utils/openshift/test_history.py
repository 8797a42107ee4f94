"""The history in the status of an UpgradeConfig."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import in_seconds
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.history import (
    PHASES,
    history_of,
    with_new,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.conditions import Upgrade
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.milestones import dated
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase

from .named import (
    BEGUN,
    CONTROLLED,
    DONE,
    HALF,
    NAMES,
    NOT_SENT,
    NOW,
    PLANNED,
    ROLLED,
    TAKEN,
    completed,
    pending,
    recorded,
    step,
)

OLD: dict[str, Any] = {"version": "4.18.1", "phase": "Upgraded", "startTime": "2026-01-01T00:00:00Z", "conditions": []}


def test_the_entry_of_an_upgrade_at_its_end() -> None:
    (entry,) = history_of(completed(), [])
    conditions = entry.pop("conditions")
    assert entry == {
        "version": "4.18.2",
        "precedingVersion": "4.18.1",
        "phase": "Upgraded",
        "startTime": BEGUN,
        "completeTime": DONE,
        "workerStartTime": CONTROLLED,
        "workerCompleteTime": ROLLED,
    }
    assert len(conditions) == 17
    assert conditions[0] == {
        "type": "SendCompletedNotification",
        "status": "True",
        "reason": "SendCompletedNotification done",
        "message": f"SendCompletedNotification is completed: {NOT_SENT}",
        "startTime": DONE,
        "completeTime": DONE,
        "lastProbeTime": DONE,
        "lastTransitionTime": DONE,
    }


def test_the_newest_condition_comes_first_and_tells_why_it_stands_still() -> None:
    (entry,) = history_of(recorded(TAKEN, reason="A drain does not end."), [])
    assert entry["conditions"][0] == {
        "type": "AllWorkersUpgraded",
        "status": "False",
        "reason": "AllWorkersUpgraded not done",
        "message": "AllWorkersUpgraded still in progress: A drain does not end.",
        "startTime": CONTROLLED,
        "lastProbeTime": NOW,
        "lastTransitionTime": CONTROLLED,
    }
    assert entry.keys() == {"version", "phase", "startTime", "workerStartTime", "conditions"}


def test_a_step_of_the_user_is_a_condition_at_its_place() -> None:
    waits = step("freeze", "", "The shop still writes.")
    (entry,) = history_of(recorded(PLANNED, step("alerts", BEGUN), waits, reason="The shop still writes."), [])
    newest, *earlier = entry["conditions"]
    assert (newest["type"], newest["status"]) == ("freeze", "False")
    assert newest["message"] == "freeze still in progress: The shop still writes."
    assert [each["type"] for each in earlier] == [*reversed(NAMES[:4])]
    assert {each["status"] for each in earlier} == {"True"}
    after = replace(step("thaw", ROLLED), start_time=ROLLED)
    (entry,) = history_of(completed(step("freeze", BEGUN), after), [])
    names = [each["type"] for each in reversed(entry["conditions"])]
    assert names[:5] == [*NAMES[:4], "freeze"]
    assert names.index("PostUpgradeHealthCheck") < names.index("thaw") < names.index("SendCompletedNotification")
    assert len(names) == 19


@pytest.mark.parametrize("phase", Phase)
def test_each_phase_is_one_that_readers_know(phase: Phase) -> None:
    (entry,) = history_of(recorded(HALF, phase=phase, reason="A cause."), [])
    assert entry["phase"] == ("Upgrading" if phase is Phase.PENDING else PHASES[phase])
    failed = entry["conditions"][0]
    assert (failed["type"] == "FailedUpgrade") == (phase in (Phase.FAILED, Phase.ABORTED))
    assert failed["message"] == "A cause." or failed["type"] != "FailedUpgrade"


def test_an_upgrade_that_waits_for_its_start_has_no_times() -> None:
    (entry,) = history_of(pending(), [])
    assert entry == {"version": "4.18.2", "phase": "Pending"}


def test_earlier_upgrades_stay_and_one_that_never_began_goes() -> None:
    waited = {"version": "4.18.9", "phase": "Pending"}
    newest, *earlier = history_of(recorded(PLANNED), [{"version": "4.18.2", "phase": "New"}, waited, OLD])
    assert (newest["version"], newest["phase"]) == ("4.18.2", "Upgrading")
    assert earlier == [OLD]


def test_an_earlier_entry_is_brought_to_its_end() -> None:
    left = {**OLD, "phase": "Upgrading"}
    done = Upgrade("4.18.1", "Completed", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00.5Z")
    ended = recorded(PLANNED, upgrades=(done, Upgrade("4.18.2", "Upgrading", BEGUN)))
    assert history_of(ended, [left])[1] == {**OLD, "completeTime": "2026-01-01T01:00:00Z"}
    given_up = replace(ended, upgrades=(replace(done, completed=""), ended.upgrades[-1]))
    assert history_of(given_up, [left])[1] == {**OLD, "phase": "Failed"}


def test_a_request_without_a_record_is_new_unless_its_version_is_known() -> None:
    assert with_new("4.18.2", [OLD]) == [{"version": "4.18.2", "phase": "New"}, OLD]
    assert with_new("", [{"phase": "New"}]) == [{"phase": "New"}]
    assert with_new("4.18.1", [OLD]) == [OLD]


def test_a_request_that_is_not_carried_out_has_its_fault_as_condition_and_the_time_of_the_first_one() -> None:
    (first,) = with_new("4.18.2", [], "It is not offered.", "2026-11-20T02:00:00Z")
    (again,) = with_new("4.18.2", [first], "It is not offered.", "2026-11-20T03:00:00Z")
    (unfit,) = again["conditions"]
    assert unfit["message"] == "It is not offered."
    assert (unfit["startTime"], unfit["lastProbeTime"]) == ("2026-11-20T02:00:00Z", "2026-11-20T03:00:00Z")
    assert with_new("4.18.2", [again]) == [{"version": "4.18.2", "phase": "New"}]


def test_the_version_before_is_known_after_the_end() -> None:
    begun = dated(recorded(PLANNED))
    done = dated(replace(begun, phase=Phase.COMPLETED, deployed_version="4.18.2"))
    assert [each.preceding for each in done.upgrades] == ["4.18.1"]


def test_times_are_in_seconds() -> None:
    assert (in_seconds("2026-01-01T01:00:00.123Z"), in_seconds(NOW)) == ("2026-01-01T01:00:00Z", NOW)
