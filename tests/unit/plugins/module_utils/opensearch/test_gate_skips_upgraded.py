"""A batch that someone else has upgraded needs no gate, where whoever asks proves by itself what it takes down."""

from __future__ import annotations

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.test_waiting import VirtualClock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    info,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

OLD, NEW = "2.19.6", "3.8.0"
LAST = [copy("i", "a", primary=True), copy("i", None)]
"""The member a holds the last started copy, so a gate for it waits."""


def gate(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], **given: object) -> tuple[Json, list[str]]:
    """The gate before the batch a and b: its result, and what it said."""
    servers, lines = Servers(state=state_answer("abc", LAST, elected="c")), list[str]()
    servers.nodes = {identity(name): info(name, version) for name, version in versions.items()}
    monkeypatch.setattr(health_gate, "connect", lambda *_options: servers)
    own = {"moment": "before_batch", "batch": ["a", "b"], "expected": list("abc"), "target_version": NEW}
    params = health_gate.CONTRACT.arguments({}, **{**own, "skip_upgraded": True, "wait_timeout": 60, **given})
    return perform(health_gate.run, Task(params, clock=VirtualClock(), voice=Lines(lines.append))), lines


def codes(result: Json) -> set[str]:
    return {reason["code"] for reason in result["verdict"]["reasons"]}


def test_a_batch_that_somebody_else_has_upgraded_is_passed_over_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    result, lines = gate(monkeypatch, {"a": NEW, "b": NEW, "c": OLD})
    assert (result["verdict"]["state"], result["waited"]) == ("passed", [])
    (line,) = lines
    assert line.startswith("Someone else has upgraded a, b: every member of the batch runs 3.8.0 already, ")
    # The task that replaces it looks at its pods all the same.
    assert result["going"] == ["a", "b"]


@pytest.mark.parametrize(
    ("versions", "given"),
    [
        ({"a": NEW, "b": OLD, "c": OLD}, {}),
        ({"a": NEW, "b": NEW, "c": OLD}, {"skip_upgraded": False}),
        ({"a": NEW, "b": NEW, "c": OLD}, {"target_version": None}),
        ({"a": NEW, "b": NEW, "c": OLD}, {"moment": "after_batch"}),
    ],
)
def test_any_other_batch_is_gated(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], given: dict[str, object]
) -> None:
    result, _lines = gate(monkeypatch, versions, **given)
    assert result["verdict"]["state"] == "refused"
    assert "batch_upgraded" not in codes(result)


def test_a_member_of_it_that_is_away_keeps_it_from_being_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _lines = gate(monkeypatch, {"a": NEW, "b": NEW, "c": OLD}, batch=["a", "b", "d"])
    assert "batch_upgraded" not in codes(result)
