"""Allocation is restricted between two proofs, in the task that deletes; it is put back where the second fails."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal, refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.voice import Lines
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate, pod_roll, shard_allocation
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.settings import (
    ENABLE,
    EXCLUDE,
    REBALANCE,
    UNDO,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
    info,
    snapshot,
    state_answer,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.servers import Servers
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.pools.world import NAMES, World

LOOK = "/_cluster/state/metadata"
KEPT = [copy("kept", "data-2", primary=True), copy("kept", "data-1")]
MADE = [copy("made", "data-2", primary=True), copy("made", None)]
"""An index made under the restriction, with its primary on the member that is about to go."""
WHOLE = [copy("made", "data-2", primary=True), copy("made", "data-0")]
RECOVERS = [copy("made", "data-2", primary=True), copy("made", "data-0", "INITIALIZING")]


@dataclass
class ServersUnderLoad(Servers):
    """Servers of three members; whenever allocation is restricted, users make an index, as often as said."""

    times: int = 0
    made: Sequence[Json] = tuple(MADE)
    snapshots: Sequence[Json] = ()
    """Those that a policy starts as soon as allocation is restricted."""
    version: str = "2.19.6"

    def __post_init__(self) -> None:
        """All of one version."""
        self.nodes = {identity(name): info(name, self.version) for name in NAMES}
        self._hold(KEPT)

    @property
    def restricted(self) -> bool:
        """Whether replicas are allocated nowhere."""
        return self.settings["persistent"].get(ENABLE) == "primaries"

    def _hold(self, copies: Sequence[Json]) -> None:
        self.state = state_answer(NAMES, copies, elected="data-0")

    def _answer(self, method: str, path: str, body: Any) -> Json:
        before = self.restricted
        answer = super()._answer(method, path, body)
        if self.restricted != before:
            self.times -= self.restricted
            self._hold([*KEPT, *(self.made if self.restricted and self.times >= 0 else WHOLE)])
            self.state |= {"snapshots": {"snapshots": list(self.snapshots)}}
        return answer


class Roll:
    """The batch data-2, rolled by the module on a scripted namespace."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, servers: ServersUnderLoad) -> None:
        self.servers, self.world = servers, World()
        self.world.starts = servers.start
        self.lines: list[str] = []
        self.before = deepcopy(servers.settings)
        self.at_deletion: list[Json] = []
        real = self.world.delete

        def delete(path: str, uid: str) -> bool:
            self.at_deletion.append(deepcopy(servers.settings))
            return real(path, uid)

        self.world.delete = delete  # type: ignore[method-assign]
        for module in (pod_roll, shard_allocation, health_gate):
            monkeypatch.setattr(module, "connect", lambda *_options: servers)
        monkeypatch.setattr(kubernetes, "connect", lambda _options: self.world)

    def run(self, *, check: bool = False, guard: Any = None, **params: Any) -> Json:
        task = {"namespace": "search", "pools": ["data"], "batch": ["data-2"], "expected": list(NAMES)}
        given = {"wait_timeout": 60, "proof_timeout": 15, "allocation": "restrict", "lock": {"run": "night"}}
        params = {**pod_roll.CONTRACT.arguments({}, **task), **given, **params}
        return perform(
            pod_roll.run,
            Task(params, clock=self.world, check_mode=check, guard=guard, voice=Lines(self.lines.append)),
        )

    def allocation(self, state: str, **params: Any) -> Json:
        given = {"state": state, "lock": {"run": "night"}, "flush": False, **params}
        return perform(shard_allocation.run, Task(shard_allocation.CONTRACT.arguments({}, **given), clock=self.world))

    @property
    def deleted(self) -> list[str]:
        return [name for name, _uid in self.world.deleted]

    @property
    def changes(self) -> int:
        return sum(method == "PUT" for method, _path in self.servers.asked)


def acts(result: Json) -> list[str]:
    return [each["action"] for each in result["actions"]]


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_it_is_restricted_between_two_proofs_and_stays_so_while_the_batch_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad())
    result = turn.run()
    assert (result["verdict"]["state"], acts(result)) == ("passed", ["set", "delete_pod"])
    (settings,) = turn.at_deletion
    assert settings["persistent"][ENABLE] == "primaries"
    assert ENABLE in settings["persistent"][UNDO]
    looks = [number for number, (_method, path) in enumerate(turn.servers.asked) if path.startswith(LOOK)]
    (change,) = (number for number, (method, _path) in enumerate(turn.servers.asked) if method == "PUT")
    assert sum(number > change for number in looks) == 1
    assert min(looks) < change
    assert turn.allocation("restored", part="batch")["changed"]
    assert turn.servers.settings == turn.before


@pytest.mark.parametrize("times", [1, 3])
def test_for_an_index_made_meanwhile_it_is_put_back_at_once_and_begun_again(
    monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=times))
    result = turn.run()
    assert (result["verdict"]["state"], turn.deleted) == ("passed", ["data-2"])
    assert acts(result) == [*["set", "restored"] * times, "set", "delete_pod"]
    paused = [each["seconds"] for each in result["waited"] if each["code"] == "begun_in_vain"]
    assert paused == [(2**times - 1) / 2]
    assert "waiting: Allocation is put back, and the batch starts again in 0.5 s (attempt 2)." in turn.lines


def test_where_indices_are_made_without_a_break_it_ends_with_nothing_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=99))
    result = turn.run()
    assert (codes(result), turn.deleted) == (["begun_in_vain"], [])
    assert "started 12 times" in result["msg"]
    assert "made[0]" in result["msg"]
    assert (turn.changes, turn.servers.settings) == (24, turn.before)
    assert turn.world.now() == pytest.approx(0.5 + 1 + 2 + 4 + 8 + 6 * 10)


@pytest.mark.parametrize(
    ("made", "params", "seconds"), [(MADE, {"wait": False}, 0), (RECOVERS, {}, 15), (RECOVERS, {"wait": False}, 0)]
)
def test_what_only_others_can_cure_is_handed_back_with_allocation_put_back(
    monkeypatch: pytest.MonkeyPatch, made: Sequence[Json], params: Json, seconds: float
) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=1, made=made))
    result = turn.run(**params)
    assert (result["verdict"]["state"], turn.deleted) == ("waiting", [])
    assert turn.world.now() == pytest.approx(seconds)
    assert turn.servers.settings == turn.before


SAVES = snapshot("one", ("kept", "INIT", "data-2"))
SAVES_ELSEWHERE = snapshot("one", ("kept", "SUCCESS", "data-2"), ("made", "INIT", "data-0"))


def test_a_snapshot_that_starts_after_the_gate_is_handed_back_with_allocation_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(snapshots=[SAVES]))
    result = turn.run()
    assert (result["verdict"]["state"], codes(result), turn.deleted) == ("waiting", ["snapshot_running"], [])
    assert acts(result) == ["set", "restored"]
    assert turn.world.now() == pytest.approx(15)
    assert turn.servers.settings == turn.before


@pytest.mark.parametrize(
    ("found", "params"), [(SAVES, {"skip_checks": ["snapshots"]}), (SAVES_ELSEWHERE, {"skip_checks": ["tasks"]})]
)
def test_a_snapshot_that_needs_nothing_of_the_batch_or_is_not_to_count_lets_it_go(
    monkeypatch: pytest.MonkeyPatch, found: Json, params: Json
) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(snapshots=[found]))
    result = turn.run(**params)
    assert (result["verdict"]["state"], turn.deleted) == ("passed", ["data-2"])


def test_a_proof_that_is_refused_under_the_restriction_puts_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=1, made=[copy("made", "data-2", primary=True)]))
    result = turn.run()
    assert (result["verdict"]["state"], turn.deleted) == ("refused", [])
    assert turn.servers.settings == turn.before


def test_what_holds_for_the_run_and_what_is_drained_stays_when_it_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad())
    turn.allocation("prepared", rebalance="none")
    turn.allocation("drained", batch=["data-0"], wait=False)
    turn.before = deepcopy(turn.servers.settings)
    assert turn.before["persistent"].keys() == {UNDO, REBALANCE, EXCLUDE}
    turn.allocation("restricted")
    assert turn.allocation("unrestricted")["changed"]
    assert turn.servers.settings == turn.before
    assert not turn.allocation("unrestricted")["changed"]


def test_no_replica_is_waited_for_of_an_index_that_may_be_red(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=1))
    turn.servers.state = state_answer(NAMES, [*KEPT, *MADE], elected="data-0")
    result = turn.run(allow_red_indices=["made"])
    assert (result["verdict"]["state"], acts(result)) == ("passed", ["set", "delete_pod"])
    assert "allocating" not in [each["code"] for each in result["waited"]]


@pytest.mark.parametrize("lost_answer", [False, True])
def test_cut_off_at_any_request_settle_leaves_all_as_it_was_and_what_was_deleted_was_restricted_for(
    monkeypatch: pytest.MonkeyPatch, lost_answer: bool
) -> None:
    whole = Roll(monkeypatch, ServersUnderLoad(times=1))
    whole.run()
    left = 0
    for number in range(len(whole.servers.asked) + 1):
        turn = Roll(monkeypatch, ServersUnderLoad(times=1, cut_off=number, lost_answer=lost_answer))
        turn.run(wait_sleep=10)
        assert all(each["persistent"].get(ENABLE) == "primaries" for each in turn.at_deletion)
        assert turn.servers.restricted is (ENABLE in turn.servers.settings["persistent"].get(UNDO, ""))
        left += turn.servers.restricted and not turn.deleted
        turn.servers.cut_off = None
        turn.allocation("restored", lock={"run": "morning"})
        assert turn.servers.settings == turn.before
    assert left


class Guard:
    """The lock of the run, lost after so many acts."""

    def __init__(self, acts: int) -> None:
        self.acts = acts

    def before_look(self, _doing: str, stoppable: bool) -> None:
        """Looks are not tested here."""

    def before_act(self) -> None:
        if not self.acts:
            raise refusal("lock_lost", "Run night no longer holds the lock.", "")
        self.acts -= 1


@pytest.mark.parametrize(("left", "done"), [(0, []), (1, ["set"]), (2, ["set", "restored"])])
def test_without_the_lock_nothing_more_is_changed(monkeypatch: pytest.MonkeyPatch, left: int, done: list[str]) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=9))
    result = turn.run(guard=Guard(left))
    assert (codes(result), acts(result), turn.deleted) == (["lock_lost"], done, [])


def test_nothing_is_restricted_where_nothing_goes_or_it_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad())
    assert turn.run(allocation="unchanged")["verdict"]["state"] == "passed"
    assert turn.deleted == ["data-2"]
    # Its pod is of the new revision now: someone has upgraded it.
    result = turn.run()
    assert (result["verdict"]["state"], result["changed"], turn.changes) == ("passed", False, 0)


def test_check_mode_tells_it_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad())
    result = turn.run(check=True)
    assert (acts(result), turn.changes, turn.deleted) == (["set", "delete_pod"], 0, [])
    (told, _deletion) = result["actions"]
    assert (told["target"], told["value"]) == (f"persistent {ENABLE}", "primaries")


def test_a_restriction_of_another_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad())
    turn.allocation("restricted", lock={"run": "evening"})
    turn.servers.settings["persistent"][ENABLE] = "none"
    result = turn.run()
    assert (codes(result), turn.deleted) == (["undo_left"], [])


@pytest.mark.parametrize(("times", "attempts", "state"), [(0, 1, "passed"), (2, 3, "passed"), (99, 12, "refused")])
def test_the_last_gate_before_the_members_of_plain_hosts_stop_does_the_same(
    monkeypatch: pytest.MonkeyPatch, times: int, attempts: int, state: str
) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(times=times))
    given = {"moment": "before_stop", "batch": ["data-2"], "expected": list(NAMES), "allocation": "restrict"}
    params = health_gate.CONTRACT.arguments({}, **given, lock={"run": "night"})
    result = perform(health_gate.run, Task(params, clock=turn.world))
    assert (result["verdict"]["state"], acts(result).count("set")) == (state, attempts)
    assert result["changed"]
    assert turn.servers.restricted is (state == "passed")


def test_that_gate_waits_for_a_snapshot_of_its_batch_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad(snapshots=[SAVES]))
    given = {"moment": "before_stop", "batch": ["data-2"], "expected": list(NAMES), "allocation": "restrict"}
    params = health_gate.CONTRACT.arguments({}, **given, lock={"run": "night"})
    result = perform(health_gate.run, Task(params, clock=turn.world))
    assert (result["verdict"]["state"], codes(result)) == ("waiting", ["snapshot_running"])
    assert not turn.servers.restricted


def test_refusals_of_the_servers_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Roll(monkeypatch, ServersUnderLoad())

    def put(path: str, body: Any, **_params: Any) -> Json:
        raise Refusal(*refusal("opensearch_rights", "OpenSearch does not allow it.", "Give it.").verdict.reasons)

    turn.servers.put = put  # type: ignore[method-assign]
    result = turn.run()
    assert (codes(result), turn.deleted) == (["opensearch_rights"], [])
