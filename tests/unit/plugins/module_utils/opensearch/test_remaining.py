"""The rest of the work that a gate waits for, and that a gate without a stall has no deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import gate as gate_of
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.progress import remaining
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.cluster import observe_recoveries
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.recoveries import (
    UNKNOWN,
    Recoveries,
    parse_recoveries,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

SECONDS = 600
"""The time without progress that the gates of these tests have."""


def recovery(total: int, recovered: int, reused: int = 0, operations: tuple[int, int] = (0, 0)) -> Json:
    """A recovery in `_recovery`."""
    return {
        "index": {"size": {"total_in_bytes": total, "reused_in_bytes": reused, "recovered_in_bytes": recovered}},
        "translog": {"recovered": operations[0], "total": operations[1]},
    }


class Clock:
    """Time that passes only where a task sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Recovering(Servers):
    """Servers with a replica that recovers: so many bytes are left at each second, and with 0 it is started."""

    def __init__(self, clock: Clock, left: Callable[[float], int], **given: Any) -> None:
        super().__init__(**given)
        self.clock, self.left = clock, left

    def _answer(self, method: str, path: str, body: Any) -> Json:
        left = self.left(self.clock.now())
        if path == "/_recovery" and path not in self.denied:
            return {"i": {"shards": [recovery(10**6, 10**6 - left)]}}
        copies = [copy("i", "a", primary=True), copy("i", "b", "INITIALIZING" if left else "STARTED")]
        self.state = state_answer("abc", copies, elected="a", voting=coordination("abc"))
        self.condition["status"] = "yellow" if left else "green"
        return super()._answer(method, path, body)


def gate(monkeypatch: pytest.MonkeyPatch, clock: Clock, servers: Servers, **given: Any) -> Json:
    """The last gate on these servers."""
    monkeypatch.setattr(health_gate, "connect", lambda *_options: servers)
    params = {name: option.get("default") for name, option in health_gate.CONTRACT.argument_spec.items()}
    own = {
        "moment": "after_upgrade",
        "expected": list("abc"),
        "target_version": "2.19.6",
        "wait_timeout": SECONDS,
        "wait_sleep": 10,
    }
    return perform(health_gate.run, Task({**params, **own, **given}, clock=clock))


def test_what_recovers_is_not_given_up_as_long_as_bytes_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    servers = Recovering(clock, lambda second: max(0, 10_000 - int(second)))
    assert gate(monkeypatch, clock, servers)["verdict"]["state"] == "passed"
    assert clock.now() >= 10_000 > 10 * SECONDS
    asked = servers.asked.count(("GET", "/_recovery"))
    assert 300 < asked < 340, "every member is asked for it, so only every half minute"


@pytest.mark.parametrize(("ago", "green"), [(40, 40), (None, None)])
def test_a_gate_tells_how_soon_all_was_green(
    monkeypatch: pytest.MonkeyPatch, ago: int | None, green: int | None
) -> None:
    clock = Clock()
    monkeypatch.setattr(gate_of, "now_seconds", lambda: 1_000_000 + int(clock.now()))
    servers = Recovering(clock, lambda second: max(0, 30 - int(second)))
    since = None if ago is None else 1_000_000 - (ago - 30)
    assert gate(monkeypatch, clock, servers, since=since)["green_seconds"] == green


@pytest.mark.parametrize("denied", [False, True])
def test_what_stands_still_is_given_up(monkeypatch: pytest.MonkeyPatch, denied: bool) -> None:
    """As is what only bytes would show to advance, where the user may not ask for them."""
    clock = Clock()
    servers = Recovering(clock, lambda second: max(500, 1000 - int(second)) + (10**5 - int(second) if denied else 0))
    servers.denied = {"/_recovery": "indices:monitor/recovery"} if denied else {}
    result = gate(monkeypatch, clock, servers)
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["recovering", "timed_out"]
    assert clock.now() <= 500 + SECONDS + gate_of.MEASURED
    assert servers.asked.count(("GET", "/_recovery")) == 1 or not denied


def test_a_gate_lasts_no_longer_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    servers = Recovering(clock, lambda second: 10_000 - int(second))
    result = gate(monkeypatch, clock, servers, wait_limit=2000)
    assert "wait_limit" in result["msg"]
    assert clock.now() == pytest.approx(2000)


def test_what_is_left_of_recoveries() -> None:
    answer = {
        "i": {"shards": [recovery(100, 20, 30), recovery(10, 10, operations=(5, 12))]},
        "j": {"shards": [recovery(7, 0, operations=(0, -1))]},
    }
    assert parse_recoveries(answer) == Recoveries(57, 7)
    assert parse_recoveries({}) == Recoveries(0, 0)


@pytest.mark.parametrize("answer", [{"i": {}}, {"i": {"shards": [{}]}}, {"i": 5}, {"i": {"shards": 5}}])
def test_what_cannot_be_read_is_unknown_and_keeps_no_gate(answer: Json) -> None:
    class Answering:
        def get(self, _path: str, **_params: Any) -> Json:
            return answer

    client: Any = Answering()
    assert observe_recoveries(client) == UNKNOWN
    silent: Any = Servers(cut_off=0)
    with pytest.raises(Unreachable):
        silent.get("/_recovery")
    assert observe_recoveries(silent) == UNKNOWN


def test_shards_come_before_bytes_and_bytes_before_operations() -> None:
    def left(states: list[str], recoveries: Recoveries) -> tuple[float, ...]:
        copies = [
            copy("i", "a", primary=True),
            *(copy("i", name, state) for name, state in zip("bc", states, strict=True)),
        ]
        return remaining(cluster("abc", copies), (), recoveries)["recovering"]

    several = left(["INITIALIZING", "INITIALIZING"], Recoveries(10, 10))
    assert left(["INITIALIZING", "STARTED"], Recoveries(99, 99)) < several
    assert left(["INITIALIZING", "INITIALIZING"], Recoveries(9, 99)) < several
    assert left(["INITIALIZING", "INITIALIZING"], Recoveries(10, 9)) < several
    assert not left(["INITIALIZING", "INITIALIZING"], UNKNOWN) < several


def test_what_has_not_been_explained_yet_is_left_too() -> None:
    state = cluster(
        "ab", [copy("i", "a", primary=True), copy("i", None), copy("j", "a", primary=True), copy("j", None)]
    )
    assert remaining(state, (), UNKNOWN)["unassigned"] == (2.0,)
