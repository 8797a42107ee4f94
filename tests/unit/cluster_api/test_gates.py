"""Lifecycle hooks hold an upgrade while a gate says no, or says nothing."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from extensions.cluster_api.cluster_api_extension.gates import SKIP, gate_answer_of, gated, skipped
from extensions.cluster_api.cluster_api_extension.policy import GateRule
from tests.unit.cluster_api.requests import recorded, with_value

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
RULE = GateRule(("BeforeWorkersUpgrade",), max_age=600, poll=30)
SEEN = "2026-11-28T11:59:00Z"


def held(data: dict[str, str], now: datetime = NOW) -> str:
    answer = gated("BeforeWorkersUpgrade", "default/mem", RULE, gate_answer_of(data), now, "gate")
    assert (answer["kind"], answer["status"]) == ("BeforeWorkersUpgradeResponse", "Success")
    assert answer["retryAfterSeconds"] == (30 if answer["message"] else 0)
    return str(answer["message"])


def test_a_gate_that_says_yes_lets_the_upgrade_pass() -> None:
    assert held({"fit": "yes", "reason": "", "seen": SEEN}) == ""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"fit": "no", "reason": "The index orders is yellow.", "seen": SEEN}, "The index orders is yellow."),
        ({"fit": "no", "reason": "red\x1b[2J", "seen": SEEN}, "red [2J."),
        ({"fit": "no", "reason": "", "seen": SEEN}, "It says no."),
        ({"fit": "yes", "reason": "", "seen": "2026-11-28T11:49:59Z"}, "Its answer is older than 600 s."),
        ({"fit": "yes", "reason": "", "seen": "2026-11-28T12:02:00Z"}, "The time of its answer is in the future."),
        (
            {"fit": "yes", "reason": "", "seen": "2026-11-28T11:59:00"},
            "The time in the field seen of the gate has no zone.",
        ),
        ({"fit": "yes", "reason": ""}, "The record of the gate has no field seen with a time."),
        ({"fit": "true", "seen": SEEN}, "The record of the gate has no field fit with yes or no."),
        ({}, "The record of the gate has no field fit with yes or no."),
    ],
)
def test_any_other_answer_holds_it_and_the_message_does_not_change(data: dict[str, str], why: str) -> None:
    message = held(data)
    assert message == (
        f"The upgrade of default/mem is held at BeforeWorkersUpgrade by the gate gate: {why} "
        f"To pass without it, annotate the Cluster with {SKIP} and the cause."
    )
    assert held(data, NOW + timedelta(seconds=15)) == message


def test_the_rule_names_hooks_and_clusters() -> None:
    rule = GateRule(("BeforeWorkersUpgrade",), ("shop/*",))
    assert rule.asks("BeforeWorkersUpgrade", "shop/one")
    assert not rule.asks("AfterWorkersUpgrade", "shop/one")
    assert not rule.asks("BeforeWorkersUpgrade", "bank/one")


def test_a_person_lets_one_cluster_pass_by_an_annotation_with_a_cause() -> None:
    body = recorded("beforeworkersupgrade")
    assert skipped(body) == ""
    assert skipped(with_value(body, "cluster.metadata.annotations", {SKIP: "the gate is out of order"})) == (
        "the gate is out of order"
    )
    assert skipped(with_value(body, "cluster.metadata.annotations", {SKIP: ""})) == ""
