"""A batch of which some cannot go with the others any more: the others go first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import gate as gate_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.look import Look
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import Settings
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    cluster,
    coordination,
    copy,
    health,
    info,
)

Json = dict[str, Any]
NAMES = "abcde"
DATA = [copy("i", "a", primary=True), copy("i", "b")]


class Virtual:
    """A clock that goes on only while it is slept."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Json, float]]:
    """The gate before a batch on a cluster with these copies, and how long it took."""

    def asked(copies: list[Json], **given: Any) -> tuple[Json, float]:
        members = {name: info(name, "2.19.6") for name in NAMES}
        seen = Look(
            cluster(members, copies, voting=coordination("cde"), elected="e"), health("yellow"), Settings({}, {})
        )
        monkeypatch.setattr(health_gate, "connect", lambda *_options: None)
        monkeypatch.setattr(gate_of, "look", lambda *_asked, **_measures: seen)
        spec = health_gate.CONTRACT.argument_spec
        params = {name: option.get("default") for name, option in spec.items()}
        clock = Virtual()
        params |= {
            "moment": "before_batch",
            "expected": list(NAMES),
            "wait": True,
            "wait_timeout": 600,
            "wait_sleep": 1,
        }
        return perform(health_gate.run, Task({**params, **given}, clock=clock)), clock.now()

    return asked


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_a_batch_that_may_go_is_not_split(gate: Callable[..., tuple[Json, float]]) -> None:
    result, seconds = gate(DATA, batch=["a", "c"], split_after=60)
    assert (result["verdict"]["state"], result["going"], seconds) == ("passed", ["a", "c"], 0)
    assert "batch_split" not in codes(result)


def test_what_time_does_not_cure_is_split_at_once(gate: Callable[..., tuple[Json, float]]) -> None:
    result, seconds = gate(DATA, batch=["a", "b", "c"], split_after=60)
    assert (result["verdict"]["state"], result["going"], seconds) == ("passed", ["a", "c"], 0)
    (told,) = [reason for reason in result["verdict"]["reasons"] if reason["code"] == "batch_split"]
    assert told["message"].startswith("b cannot go with the others of the batch, which go first: Every copy of i[0]")


def test_what_time_may_cure_is_waited_for_first(gate: Callable[..., tuple[Json, float]]) -> None:
    recovering = [copy("i", "a", primary=True), copy("i", "b", state="INITIALIZING")]
    result, seconds = gate(recovering, batch=["a", "c"], split_after=60)
    assert (result["verdict"]["state"], result["going"]) == ("passed", ["c"])
    assert 59 <= seconds <= 61
    whole, over = gate(recovering, batch=["a", "c"])
    assert (whole["verdict"]["state"], over) == ("refused", 600)


def test_where_together_never_and_alone_not_yet_may_go_what_time_cures_is_waited_for(
    gate: Callable[..., tuple[Json, float]],
) -> None:
    crossed = [
        copy("i", "a", primary=True),
        copy("i", "b", state="INITIALIZING"),
        copy("j", "b", primary=True),
        copy("j", "a", state="INITIALIZING"),
    ]
    now, _seconds = gate(crossed, batch=["a", "b"], split_after=60, wait=False)
    assert now["verdict"]["state"] == "waiting"
    assert "batch_split" in codes(now)
    result, seconds = gate(crossed, batch=["a", "b"], split_after=60)
    assert (result["verdict"]["state"], seconds) == ("refused", 600)
    assert "timed_out" in codes(result)


def test_where_nobody_may_go_the_verdict_of_the_whole_stays(gate: Callable[..., tuple[Json, float]]) -> None:
    lost = [copy("i", None, primary=True, state="UNASSIGNED"), copy("i", None, state="UNASSIGNED")]
    result, _seconds = gate(lost, batch=["a", "c"], split_after=60)
    assert result["verdict"]["state"] == "refused"
    assert "batch_split" not in codes(result)
