"""A batch that goes part by part, and one that is started again because its last proof did not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Reason, Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate, in_parts, pod_roll
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.gate import Judged
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.in_parts import IN_PARTS
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import Json, cluster, info
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.test_restricting import (
    MADE,
    RECOVERS,
    Roll,
    ServersUnderLoad,
    acts,
    codes,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import NAMES

GATE = {name: option.get("default") for name, option in IN_PARTS["gate"]["options"].items()}
MISSING = waiting("last_started_copy", "made[0] has no started copy.", "Wait.")
BUDGET = waiting("disruption_budget", "Budget data leaves no room.", "")
UNFINISHED = waiting("hand_over_unfinished", "data-0 has not handed over.", "")


class Night:
    """A batch whose gate lets through what a script says, and whose attempts end as it says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lets_through: Sequence[Collection[str]] = ()) -> None:
        self.now_at, self.lets_through = 0.0, [*lets_through]
        self.went: list[list[str]] = []
        self.put_back: list[str] = []
        self.gates: list[Json] = []
        self.gate_takes = self.try_takes = 0.0
        self.since: list[float | None] = []
        self.flushed: list[Collection[str]] = []
        self.refuses: Reason | None = None
        self.not_carried_out = ""
        monkeypatch.setattr(in_parts, "wait_at_gate", self.gate)
        monkeypatch.setattr(in_parts, "carry_out", self.carry_out)
        monkeypatch.setattr(in_parts, "flush", lambda _task, _client, indices, _way: self.flushed.append(indices))

    def now(self) -> float:
        return self.now_at

    def sleep(self, seconds: float) -> None:
        self.now_at += seconds

    def carry_out(self, task: Task, _client: object) -> Outcome:
        self.put_back.append(f"{task.params['state']} {' '.join(task.params['batch'])}".strip())
        # A wait that runs out is a verdict, too.
        slow = refused("shards_left", "Shards are left on it.", "")
        return Outcome(Verdict((slow,) if task.params["state"] == self.not_carried_out else ()))

    def gate(self, task: Task, _client: object, scope: Any) -> Judged:
        self.gates.append({**task.params})
        self.now_at += self.gate_takes
        going = [name for name in task.params["batch"] if not self.lets_through or name in self.lets_through[0]]
        self.lets_through = self.lets_through[1:]
        seen: Any = type("Seen", (), {"state": cluster({"data-0": info("data-0", "2.19.6")}, [])})
        assert set(scope.batch) == set(task.params["batch"])
        # A gate gives its refusal as its verdict.
        return Judged(seen, Verdict((self.refuses,) if self.refuses else ()), going, None)

    def run(
        self, first: Sequence[str], ends: Callable[[Sequence[str], int], Verdict], gate: Json | None = None, **more: Any
    ) -> list[Outcome]:
        given = {"batch": ["data-2", "data-1", "data-0"], "expected": list(NAMES), "gate": {**GATE, **(gate or {})}}
        params = {**pod_roll.CONTRACT.arguments({}, **given), "wait": True, **more}

        def go(task: Task, names: Sequence[str], _gate: Judged | None) -> tuple[Outcome, Collection[str]]:
            self.went.append([*names])
            self.since.append(task.tried_since)
            self.now_at += self.try_takes
            verdict = ends(names, len(self.went))
            return Outcome(verdict), names if verdict.passed else ()

        client: Any = Servers()
        return in_parts.in_parts(Task(params, clock=self), client, first, go)


def well(_names: Sequence[str], _number: int) -> Verdict:
    return Verdict()


def test_the_rest_of_a_divided_batch_goes_after_it_through_a_gate_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch, [["data-1"], ["data-0"]])
    outcomes = night.run(["data-2"], well, {"split_after": 60})
    assert night.went == [["data-2"], ["data-1"], ["data-0"]]
    assert [gate["batch"] for gate in night.gates] == [["data-1", "data-0"], ["data-0"]]
    assert [gate["split_after"] for gate in night.gates] == [60, 60]
    # Members that are back recover while the rest waits.
    assert night.put_back == ["restored data-2 data-1 data-0"] * 2
    assert [outcome.verdict.passed for outcome in outcomes] == [True, True, True]


def test_without_a_gate_and_in_one_pass_the_caller_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch)
    night.run(["data-2"], well, wait=False)
    client: Any = Servers()
    params = {**pod_roll.CONTRACT.arguments({}, batch=["data-2"], expected=[]), "wait": True}
    in_parts.in_parts(Task(params, clock=night), client, ["data-2"], lambda *_g: (Outcome(Verdict((MISSING,))), ()))
    assert (night.went, night.gates, night.put_back) == ([["data-2"]], [], [])


def test_a_batch_that_is_begun_in_vain_pauses_longer_each_time_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch)
    *_earlier, last = night.run(["data-2"], lambda _names, _number: Verdict((MISSING,)))
    (reason,) = last.verdict.reasons
    assert (reason.code, len(night.went), len(night.gates)) == ("begun_in_vain", 12, 11)
    assert "started 12 times" in reason.message
    assert "made[0] has no started copy. Wait." in reason.message
    assert night.now_at == 1 + 2 + 4 + 8 + 7 * 10


def test_what_ends_by_itself_is_not_counted_but_ends_with_the_time_of_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    night = Night(monkeypatch)
    *_earlier, last = night.run(["data-2"], lambda _names, _number: Verdict((MISSING, BUDGET)), {"wait_limit": 60})
    (reason,) = last.verdict.reasons
    assert reason.code == "batch_out_of_time"
    assert reason.message.startswith("The time of the batch is over, so data-0, data-1, data-2 stay up. made[0] has")
    assert "Budget data leaves no room." in reason.message
    assert len(night.went) > 12
    assert [gate["wait_limit"] for gate in night.gates[:3]] == [59, 58, 57]


def test_the_count_begins_anew_once_a_part_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch)

    def ends(names: Sequence[str], number: int) -> Verdict:
        return Verdict((MISSING,)) if number in {*range(1, 9), *range(10, 19)} else Verdict()

    assert night.run(["data-2"], ends)[-1].verdict.passed
    night = Night(monkeypatch, [["data-2"]] * 8)
    assert night.run(["data-2"], ends)[-1].verdict.passed
    assert night.went[-1] == ["data-1", "data-0"]


def test_the_seconds_of_a_part_that_is_tried_again_count_from_its_first_try(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch, [["data-1"]] * 2)
    night.now_at, night.try_takes = 100.0, 14.0
    night.run(["data-2"], lambda _names, number: Verdict((MISSING,)) if number < 3 else Verdict())
    assert night.went == [["data-2"], ["data-1"], ["data-1"], ["data-2", "data-0"]]
    gone = 100 + 3 * 14 + 1 + 2
    assert night.since == [100, 100, 100, gone]


def test_what_is_shown_of_a_wait_that_is_tried_again_does_not_start_again(world: Callable[..., Roll]) -> None:
    turn = world(times=6, made=RECOVERS)
    turn.run(gate=GATE)
    shown = [int(said) for line in turn.lines for said in re.findall(r"^waiting (\d+) s: ", line)]
    assert shown == sorted(shown)
    assert shown[-1] > 15, "a proof takes 15 s at most"


def test_a_hand_over_that_did_not_happen_is_not_counted_on_again(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch, [["data-2"]])
    night.run(["data-2"], lambda _names, number: Verdict((UNFINISHED,)) if number == 1 else Verdict())
    assert [gate["hands_over"] for gate in night.gates] == [False, True]


@pytest.mark.parametrize(
    ("of_module", "of_gate", "judged"),
    [("3.8.0", None, "3.8.0"), (None, "3.8.0", "3.8.0"), ("3.8.0", "3.8.0", "3.8.0"), (None, None, None)],
)
def test_the_gate_knows_the_version_also_if_members_may_join_on_any(
    monkeypatch: pytest.MonkeyPatch, of_module: str | None, of_gate: str | None, judged: str | None
) -> None:
    """Otherwise a replica that only upgraded members may hold would be waited for."""
    night = Night(monkeypatch)
    night.run(["data-2"], well, {"target_version": of_gate}, target_version=of_module)
    assert [gate["target_version"] for gate in night.gates] == [judged]


def test_members_that_lose_their_data_are_drained_before_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch)
    night.run(["data-2"], well, {"drained": ["data-2", "data-1"]})
    assert night.put_back == ["restored data-2 data-1 data-0", "drained data-1"]


@pytest.mark.parametrize("state", ["restored", "drained"])
def test_what_comes_before_the_gate_and_is_not_done_ends_it(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    night = Night(monkeypatch)
    night.not_carried_out = state
    _first, last = night.run(["data-2"], well, {"drained": ["data-1"]})
    assert [reason.code for reason in last.verdict.reasons] == ["shards_left"]
    assert (night.went, night.gates) == ([["data-2"]], [])


@pytest.mark.parametrize(("seconds", "flushes"), [(59, 0), (61, 1)])
def test_after_a_long_wait_at_the_gate_it_is_flushed_again(
    monkeypatch: pytest.MonkeyPatch, seconds: float, flushes: int
) -> None:
    night = Night(monkeypatch)
    night.gate_takes = seconds
    night.run(["data-2"], well)
    assert len(night.flushed) == flushes


def test_a_gate_that_refuses_ends_it_and_names_the_options_of_this_module(monkeypatch: pytest.MonkeyPatch) -> None:
    night = Night(monkeypatch)
    night.refuses = refused("timed_out", "This did not change within 60 s (wait_timeout).", "Give more wait_limit.")
    _first, last = night.run(["data-2"], well)
    (reason,) = last.verdict.reasons
    assert night.went == [["data-2"]]
    assert reason.sentence() == "This did not change within 60 s (gate.wait_timeout). Give more gate.wait_limit."


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Roll]:
    """The module itself on scripted servers, whose gates let everything through."""

    def made(**servers: Any) -> Roll:
        night = Night(monkeypatch)
        monkeypatch.undo()
        monkeypatch.setattr(in_parts, "wait_at_gate", night.gate)
        return Roll(monkeypatch, ServersUnderLoad(**servers))

    return made


def test_the_module_begins_again_and_tells_each_member_once(world: Callable[..., Roll]) -> None:
    turn = world(times=1, made=RECOVERS)
    result = turn.run(gate=GATE)
    assert (result["verdict"]["state"], turn.deleted) == ("passed", ["data-2"])
    assert acts(result) == ["set", "restored", "set", "delete_pod"]
    assert [each["action"] for each in result["members"]] == ["replaced"]
    assert result["before"]["pods"]["data-2"] != result["before"]["revision"]
    assert "last_started_copy" in [each["code"] for each in result["waited"]]


def test_members_that_went_are_told_though_the_rest_is_refused(
    world: Callable[..., Roll], monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = world()

    def gate(*_arguments: Any) -> Judged:
        raise refusal("indices_red", "made is red.", "Fix it.")

    monkeypatch.setattr(in_parts, "wait_at_gate", gate)
    result = turn.run(batch=["data-2", "data-1"], going=["data-2"], gate=GATE)
    assert (codes(result), turn.deleted) == (["indices_red"], ["data-2"])
    assert [(each["name"], each["action"]) for each in result["members"]] == [("data-2", "replaced")]
    assert result["changed"]


@pytest.mark.parametrize(("times", "made", "proofs"), [(0, MADE, 1), (1, RECOVERS, 2)])
def test_the_last_gate_of_plain_hosts_begins_again(
    world: Callable[..., Roll], times: int, made: Sequence[Json], proofs: int
) -> None:
    turn = world(times=times, made=made)
    given = {"moment": "before_stop", "batch": ["data-2"], "expected": list(NAMES), "allocation": "restrict"}
    params = health_gate.CONTRACT.arguments({}, **given, lock={"run": "night"}, gate=GATE, hands_over=True)
    outcome = health_gate.run(Task(params, clock=turn.world))
    assert outcome.verdict.passed
    assert outcome.changed
    assert turn.servers.restricted
    assert set(outcome.before["members"]) == set(NAMES)
    assert sum(method == "PUT" for method, _path in turn.servers.asked) == 2 * proofs - 1
