"""The last look before a batch goes down: the proof alone, and whether waiting for it is in vain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate, shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.safety import needs_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import ENABLE
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.common.test_waiting import VirtualClock
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    copy,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers

KEPT = [copy("kept", "a", primary=True), copy("kept", "b")]
MADE = [copy("made", "a", primary=True), copy("made", None)]
"""An index made after allocation was restricted, with its primary on the member that is about to go."""
ELSEWHERE = [copy("made", "b", primary=True), copy("made", None)]
RECOVERING = [copy("made", "a", primary=True), copy("made", "b", "INITIALIZING")]
LONE = [copy("made", "a", primary=True)]
RESTRICTED, ALLOWED = {ENABLE: "primaries"}, {ENABLE: "all"}
"""The settings of a run while a batch is away."""

Gate = Callable[..., tuple[Json, float]]


@pytest.mark.parametrize(
    ("copies", "batch", "needed"),
    [
        (KEPT, "a", set()),
        (MADE, "a", {"made[0]"}),
        (ELSEWHERE, "a", set()),
        (RECOVERING, "a", set()),
        (LONE, "a", set()),
        ([copy("made", "a", "INITIALIZING", primary=True), copy("made", None)], "a", {"made[0]"}),
        ([*MADE, copy("made", "b", "INITIALIZING")], "a", set()),
        ([copy("lost", None, primary=True), copy("lost", None)], "a", set()),
        ([copy("i", "a", primary=True), copy("i", "b"), copy("i", None)], "ab", {"i[0]"}),
        ([*KEPT, copy("kept", None, search_only=True)], "a", set()),
        ([*KEPT, copy("kept", "c", search_only=True), copy("kept", None, search_only=True)], "c", {"kept[0]"}),
    ],
)
def test_which_shards_need_an_allocation(copies: Sequence[Json], batch: str, needed: set[str]) -> None:
    assert needs_allocation(cluster("abc", copies), list(batch)) == needed


@pytest.fixture
def last_look(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """The gate before_stop for the batch `a`: its result, and the seconds that it took."""

    def asked(copies: Sequence[Json], settings: dict[str, Any], **given: Any) -> tuple[Json, float]:
        servers, clock = Servers(state=state_answer("abc", copies, elected="b")), VirtualClock()
        servers.settings["persistent"].update(settings)
        monkeypatch.setattr(health_gate, "connect", lambda *_options: servers)
        params = {name: option.get("default") for name, option in health_gate.CONTRACT.argument_spec.items()}
        params |= {"moment": "before_stop", "expected": list("abc"), "batch": ["a"], "wait_timeout": 15, **given}
        result = perform(health_gate.run, Task(params, clock=clock))
        assert not {path for _method, path in servers.asked} & {"/_cluster/health", "/_cluster/allocation/explain"}
        return result, clock.time

    return asked


@pytest.mark.parametrize(
    ("copies", "settings", "state", "seconds"),
    [
        (KEPT, RESTRICTED, "passed", 0),
        (ELSEWHERE, RESTRICTED, "passed", 0),
        (MADE, RESTRICTED, "waiting", 0),
        (MADE, ALLOWED, "waiting", 15),
        (RECOVERING, RESTRICTED, "waiting", 15),
        (LONE, RESTRICTED, "refused", 0),
    ],
)
def test_what_the_restriction_keeps_away_is_given_back_and_not_refused(
    last_look: Gate, copies: Sequence[Json], settings: dict[str, Any], state: str, seconds: float
) -> None:
    result, took = last_look([*KEPT, *copies] if copies is not KEPT else KEPT, settings)
    assert (result["verdict"]["state"], took, result.get("failed", False)) == (state, seconds, state == "refused")
    assert result["before"]["processes"]["a"] == "ephemeral-a"


def test_a_look_that_waits_in_vain_says_what_for_and_what_to_do(last_look: Gate) -> None:
    result, _seconds = last_look(MADE, RESTRICTED)
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["last_started_copy"]
    assert result["next"] == "put allocation back, and begin again"


class Busy(Servers):
    """An index is made, whose replica is allocated only after so many looks."""

    left = 0

    def get(self, path: str, **params: Any) -> Json:
        if path.startswith("/_cluster/state") and not path.endswith("/blocks"):
            self.left -= 1
            self.state = state_answer("abc", [*KEPT, *(MADE if self.left > 0 else RECOVERING)], elected="b")
        return super().get(path, **params)


@pytest.mark.parametrize(("looks", "seconds"), [(1, 0), (3, 0.2), (1_000, 5)])
def test_allocation_is_restricted_in_a_moment_that_keeps_no_replica_away(
    monkeypatch: pytest.MonkeyPatch, looks: int, seconds: float
) -> None:
    servers, clock = Busy(), VirtualClock()
    servers.left = looks
    monkeypatch.setattr(shard_allocation, "connect", lambda *_options: servers)
    params = {name: option.get("default") for name, option in shard_allocation.CONTRACT.argument_spec.items()}
    params |= {"state": "restricted", "batch": ["a"], "flush": False}
    result = perform(shard_allocation.run, Task(params, clock=clock))
    assert result["verdict"]["state"] == "passed"
    assert servers.settings["persistent"][ENABLE] == "primaries"
    assert clock.time == pytest.approx(seconds)
    assert (servers.left <= 0) == (seconds < 5)


@pytest.mark.parametrize("moment", ["before_batch", "before_stop"])
@pytest.mark.parametrize(
    ("batch", "expected", "found"),
    [
        (["a.example.com"], "abc", ["batch_unknown"]),
        (["a", "x"], "abc", ["batch_unknown"]),
        (["a"], "", []),
        (["x"], "abcx", []),
    ],
)
def test_a_batch_has_the_names_of_members(
    monkeypatch: pytest.MonkeyPatch, moment: str, batch: list[str], expected: str, found: list[str]
) -> None:
    """A name of the inventory may be another one than that of the member, for which nothing would be proven."""
    servers = Servers(state=state_answer("abc", KEPT, elected="b"))
    servers.settings["persistent"].update(RESTRICTED)
    monkeypatch.setattr(health_gate, "connect", lambda *_options: servers)
    own = {"moment": moment, "expected": list(expected), "batch": batch, "wait_timeout": 1}
    result = perform(health_gate.run, Task(health_gate.CONTRACT.arguments({}, **own), clock=VirtualClock()))
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == found
