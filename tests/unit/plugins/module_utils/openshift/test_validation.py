"""The ways from one version to another: which are refused, with what, and which take consent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.judge.validation import (
    is_next_minor,
    judge_target,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.release import Release
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.observe.state import Gate, Update, UpdateRisk

from tests.unit.plugins.module_utils.openshift.seen import FALSE, NEW, OLD, under_way, version

NO_MINORS = {"Upgradeable": StatusCondition("False", "AdminAckRequired", "Acknowledge the removal of APIs.")}
RISKS = (UpdateRisk("SlowPods", "Pods are slow.", "https://example.com/slow"), UpdateRisk("NoDNS", "No DNS.", ""))


def codes(found: Any, wanted: str, *accepted: str) -> list[str]:
    return [each.code for each in judge_target(found, wanted, accepted).reasons]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ("4.18.1-rc.1", "not_greater"),
        ("4.17.20", "not_greater"),
        ("4.20.0", "minor_skipped"),
        ("5.0.0", "minor_skipped"),
        ("4.18.9", "update_not_offered"),
        ("latest", "version_unreadable"),
    ],
)
def test_a_version_that_cannot_be_reached_is_refused(wanted: str, code: str) -> None:
    assert codes(version(), wanted) == [code]


def test_a_version_that_is_offered_or_reached_is_allowed() -> None:
    assert codes(version(), OLD) == []
    assert codes(version(), NEW) == []
    assert codes(version(), "4.19.0") == []


def test_only_a_minor_version_needs_an_upgradeable_cluster() -> None:
    assert codes(version(conditions=NO_MINORS), NEW) == []
    assert codes(version(conditions=NO_MINORS), "4.19.0") == ["not_upgradeable"]
    assert judge_target(version(conditions=NO_MINORS), "4.19.0", (), without=("IsUpgradeable",)).passed


def test_another_update_under_way_is_refused_and_the_same_one_gone_on_with() -> None:
    assert codes(under_way(), NEW) == []
    assert codes(under_way(), "4.18.3") == ["update_under_way"]


def test_an_update_that_is_wanted_already_needs_no_offer() -> None:
    assert codes(version(wanted=NEW, updates={}), NEW) == []


def test_a_channel_that_cannot_be_asked_is_named() -> None:
    away = {"RetrievedUpdates": StatusCondition("False", "RemoteFailed", "no route to host")}
    (reason,) = judge_target(version(updates={}, conditions=away), NEW, ()).reasons
    assert "no route to host" in reason.message


@pytest.mark.parametrize("said", [FALSE, StatusCondition()])
def test_each_risk_takes_consent_by_its_name(said: StatusCondition) -> None:
    risky = version(updates={NEW: replace(Update(NEW, "image", RISKS), recommended=said)})
    assert codes(risky, NEW) == ["update_risk", "update_risk"]
    assert codes(risky, NEW, "SlowPods") == ["update_risk_accepted", "update_risk"]
    assert judge_target(risky, NEW, ("SlowPods", "NoDNS")).passed


def test_versions_have_the_order_of_semantic_versions() -> None:
    ordered = [
        "4.18.0-ec.2",
        "4.18.0-rc.1",
        "4.18.0-rc.2",
        "4.18.0-rc.10",
        "4.18.0",
        "4.18.2",
        "4.18.10",
        "4.19.0-rc.0",
        "4.19.0",
    ]
    assert sorted(map(Release.parse, reversed(ordered))) == list(map(Release.parse, ordered))
    assert [str(Release.parse(each)) for each in ordered] == ordered


GATE = Gate("ack-4.18-kube", "Acknowledge the removal of APIs.")
SEVERAL = "Not to be upgraded for multiple reasons: A,B\n* Acknowledge the removal of APIs.\n* etcd is not backed up."


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (GATE.text, ["acknowledgement_missing"]),
        (SEVERAL, ["acknowledgement_missing", "not_upgradeable"]),
        ("", ["acknowledgement_missing", "not_upgradeable"]),
    ],
)
def test_an_acknowledgement_is_said_once_and_other_causes_with_it(message: str, found: list[str]) -> None:
    said = version(conditions={"Upgradeable": StatusCondition("False", "MultipleReasons", message)})
    reasons = judge_target(said, "4.19.0", (), [GATE]).reasons
    assert [each.code for each in reasons] == found
    assert sum(GATE.text in each.message for each in reasons) == 1
    assert judge_target(said, NEW, (), [GATE]).passed


def test_the_command_of_an_acknowledgement_can_be_copied() -> None:
    (reason,) = judge_target(version(), "4.19.0", (), [GATE]).reasons
    assert reason.remedy.endswith(
        """oc -n openshift-config patch cm admin-acks --patch '{"data":{"ack-4.18-kube":"true"}}' --type=merge"""
    )


def test_only_the_first_look_before_another_minor_version_needs_acknowledgements() -> None:
    assert is_next_minor(version(), "4.19.0")
    assert not is_next_minor(version(), NEW)
    assert not is_next_minor(version(), "4.20.0")
    assert not is_next_minor(version(wanted="4.19.0"), "4.19.0")
