"""The start and the end of a run: what is done under the lock, given back wherever the run cannot start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Refusal
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome, Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused, remark, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import (
    emptied_nodes,
    grown_volumes,
    pool_order,
    shard_allocation,
    upgrade_plan,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run import runs
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import Lock
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record import kept_in, upgrade_record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.phases import Phase
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record import Record
from ansible_collections.stateful.upgrade.plugins.module_utils.run.record.record_keeping import Nowhere
from ansible_collections.stateful.upgrade.plugins.module_utils.run.runs import consents_in, contract_of, work_of
from ansible_collections.stateful.upgrade.plugins.modules.upgrade_plan import CONTRACT
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.records import record_of
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.run.stores import (
    OTHER,
    Runs,
    nothing,
    out_of_reach,
)

Json = dict[str, Any]
PLAN: Json = {
    "digest": "p1",
    "cluster_uuid": "uuid",
    "target_version": "3.8.0",
    "product": "OpenSearch",
    "pools": [],
    "batches": [{"name": "batch-01.data-0", "pools": [], "members": ["data-0"]}],
}
BEFORE = {"data-0": "2.19.6"}
PUT_BACK = {"persistent cluster.routing.allocation.enable": "primaries"}
PARTS: dict[str, tuple[Any, Contract, Outcome]] = {
    "plan": (pool_order, pool_order.CONTRACT, Outcome(Verdict(), False, BEFORE, next="begin", more=PLAN)),
    "restored": (shard_allocation, shard_allocation.CONTRACT, Outcome(Verdict(), True, PUT_BACK, {}, "nothing")),
    "record": (
        upgrade_record,
        upgrade_record.CONTRACT,
        Outcome(Verdict(), True, more={"record": {"phase": "Upgrading"}}),
    ),
}


class Begins(Runs):
    """The module on a lock in memory, with others in place of what it is made of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lock: Lock | None = None) -> None:
        super().__init__(lock)
        self.made: list[tuple[str, Mapping[str, Any], str | None]] = []
        """The parts in order, with their arguments and who held the lock then."""
        self.fails: dict[str, Verdict] = {}
        self.raises: dict[str, Verdict] = {}
        self.acts = False
        """Whether each part notes an act."""
        self.then: dict[str, Callable[[], None]] = {}
        """The acts of others once a part is asked."""
        self.counts: dict[str, int] | Refusal = {"logs": 3}
        self.records: dict[str, Record] = {}
        self.silent = 0
        """How often the records cannot be read from now on."""
        monkeypatch.setattr(kept_in, "store_of", lambda _params: Nowhere())
        monkeypatch.setattr(runs, "read_records", lambda _store: self._read())
        monkeypatch.setattr(upgrade_plan, "uuid_for", lambda _task: "uuid")
        monkeypatch.setattr(upgrade_plan, "connect", lambda *_options: None)
        monkeypatch.setattr(upgrade_plan, "count_documents", lambda _client: self._counted())
        for further in (emptied_nodes, grown_volumes):
            monkeypatch.setattr(further, "run", lambda _task: Outcome(Verdict()))
        for name, (room, contract, outcome) in PARTS.items():
            monkeypatch.setattr(room, "run", self._standing_for(name, contract, outcome))

    def _standing_for(self, name: str, contract: Contract, outcome: Outcome) -> Callable[[Task], Outcome]:
        def run(task: Task, *_more: object) -> Outcome:
            assert set(contract.argument_spec) <= set(task.params)
            task.may_look()
            self.made.append((name, task.params, self.held_by()))
            if self.acts:
                task.journal.did("put_back", name)
            self.then.get(name, nothing)()
            if name in self.raises:
                raise Refusal(*self.raises[name].reasons)
            return Outcome(self.fails[name]) if name in self.fails else outcome

        return run

    def _read(self) -> tuple[dict[str, Record], Verdict]:
        if self.silent:
            self.silent -= 1
            raise out_of_reach()
        return self.records, Verdict()

    def _counted(self) -> dict[str, int]:
        if isinstance(self.counts, Refusal):
            raise Refusal(*self.counts.verdict.reasons)
        return self.counts

    def plan(self, state: str, check_mode: bool = False, parts: Mapping[str, Any] | None = None, **params: Any) -> Json:
        spec = CONTRACT.argument_spec
        given = {name: option.get("default") for name, option in spec.items()}
        given |= {"state": state, "namespace": "search", "confirmed": "p1", "wait_sleep": 1.0, **params}
        here = replace(upgrade_plan.SYSTEM, lock_store=lambda _params: self.store, **(parts or {}))
        return perform(work_of(here), Task(given, check_mode, clock=self.clock, in_controller=True))

    def names(self) -> list[str]:
        return [name for name, _params, _holder in self.made]


@pytest.fixture
def begins(monkeypatch: pytest.MonkeyPatch) -> Begins:
    return Begins(monkeypatch)


NO = Verdict((refused("no", "It says no.", "Fix it."),))


def codes(result: Json) -> list[str]:
    return [reason["code"] for reason in result["verdict"]["reasons"]]


def test_all_of_it_is_done_under_the_lock_and_in_order(begins: Begins) -> None:
    result = begins.plan("begun")
    assert begins.names() == ["plan", "restored", "record"]
    assert {holder for _name, _params, holder in begins.made} == {result["lock"]["run"]} == {begins.held_by()}
    recorded = begins.made[-1][1]
    assert (recorded["state"], recorded["plan"]["before"], recorded["lock"]) == ("begun", BEFORE, result["lock"])
    assert begins.made[1][1]["state"] == "restored"
    # Putting back is the change; the rest is the plan.
    assert (result["changed"], result["before"], result["digest"], result["next"]) == (True, BEFORE, "p1", "begin")
    assert [action["action"] for action in result["actions"]] == ["take_lock"]


def test_what_is_restored_and_recorded_is_not_narrowed_to_the_members_of_the_run(begins: Begins) -> None:
    begins.plan("begun", members=["data-0"])
    plan, restored, record = (params for _name, params, _holder in begins.made)
    assert (plan["members"], restored["batch"], record["batch"]) == (["data-0"], [], None)


def test_another_plan_than_the_confirmed_one_ends_the_run_before_it_acts(begins: Begins) -> None:
    result = begins.plan("begun", confirmed="p0")
    assert (result["failed"], codes(result), begins.names()) == (True, ["plan_changed"], ["plan"])
    assert "it was p0 and is p1 now" in result["msg"]
    assert ("lock" in result, begins.held_by()) == (False, None)


def test_what_was_aborted_since_its_plan_was_shown_does_not_begin(begins: Begins) -> None:
    """The playbook abort finds no run while a person thinks about the plan. Its record may be out of reach at first."""
    begins.records["here"] = record_of(phase=Phase.ABORTED, reason="Aborted on request.")
    begins.silent = 1
    result = begins.plan("begun")
    assert (result["failed"], codes(result), begins.names()) == (True, ["aborted_on_request"], ["plan"])
    assert begins.held_by() is None
    assert codes(begins.plan("begun", supersede=True)) == []


def test_what_no_longer_fits_into_its_window_does_not_begin(begins: Begins) -> None:
    """A person may take an hour to agree."""
    at = (utc_now() - timedelta(minutes=60)).isoformat()
    given: Json = {"at": at, "window": 120, "window_policy": "must_fit"}
    late = begins.plan("begun", **given, shown={"predicted_seconds": 4_000})
    assert (codes(late), begins.names(), begins.held_by()) == (["window_too_short"], ["plan"], None)
    assert codes(begins.plan("begun", **given, shown={"predicted_seconds": 3_000})) == []


@pytest.mark.parametrize(
    ("part", "how"),
    [("plan", "raises"), ("restored", "fails"), ("restored", "raises"), ("record", "fails"), ("record", "raises")],
)
def test_the_lock_is_given_back_wherever_the_run_cannot_begin(begins: Begins, part: str, how: str) -> None:
    getattr(begins, how)[part] = NO
    result = begins.plan("begun")
    assert (result["failed"], "no" in codes(result)) == (True, True)
    assert (begins.names()[-1], "lock" in result, begins.held_by()) == (part, False, None)


def test_a_lock_that_could_not_be_given_back_is_told_beside_the_cause(begins: Begins) -> None:
    begins.fails["restored"] = NO
    begins.then["restored"] = lambda: setattr(begins.store, "away", True)
    assert codes(begins.plan("begun"))[:2] == ["no", "lock_not_given_back"]


def test_a_run_that_lives_keeps_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = Begins(monkeypatch, OTHER)
    begins.clock.on_tick = [begins.renewed] * 400
    result = begins.plan("begun")
    assert (result["failed"], begins.names(), begins.held_by()) == (True, [], OTHER.run)


def test_the_lock_of_an_earlier_run_is_not_taken_for_ours(begins: Begins) -> None:
    result = begins.plan("begun", lock={"run": "of-another-cluster", "name": "x", "kept_in": "kubernetes"})
    assert result["lock"]["run"] != "of-another-cluster"


def test_one_pass_waits_all_the_same(begins: Begins) -> None:
    begins.plan("begun", wait=False)
    assert {params["wait"] for _name, params, _holder in begins.made} == {True}


def test_in_check_mode_no_lock_is_taken_and_nothing_recorded(begins: Begins) -> None:
    result = begins.plan("begun", check_mode=True)
    assert (begins.names(), begins.store.asked, "lock" in result) == (["plan", "restored"], [], False)
    begins.raises["plan"] = NO
    assert begins.plan("begun", check_mode=True)["failed"]


def test_without_a_namespace_there_is_a_record_too(begins: Begins) -> None:
    result = begins.plan("begun", namespace=None, groups={"data": ["data-0"]}, kept_in="opensearch", lease_duration=900)
    assert (begins.names(), result["lock"]["lease_duration"]) == (["plan", "restored", "record"], 900)


def test_the_end_is_recorded_under_the_lock_which_is_given_back(begins: Begins) -> None:
    lock = begins.plan("begun")["lock"]
    result = begins.plan("ended", lock=lock, event="completed", summary="Done.")
    name, params, holder = begins.made[-1]
    assert (name, params["state"], params["event"], params["summary"]) == ("record", "ended", "completed", "Done.")
    assert (holder, begins.held_by()) == (lock["run"], None)
    assert (result["verdict"]["state"], result["record"]) == ("passed", {"phase": "Upgrading"})


@pytest.mark.parametrize("event", ["paused", "completed"])
@pytest.mark.parametrize("denied", [False, True])
def test_documents_are_counted_at_the_begin_and_when_the_upgrade_is_completed(
    begins: Begins, denied: bool, event: str
) -> None:
    """No upgrade ends for a figure."""
    words = {"things": "documents", "parts": "indices"}
    if denied:
        begins.counts = Refusal(*NO.reasons)
    found = {**words, "missing": "It says no."} if denied else {**words, "each": {"logs": 3}}
    lock = begins.plan("begun")["lock"]
    assert begins.made[-1][1]["counted"] == found
    assert begins.plan("ended", lock=lock, event=event)["verdict"]["state"] == "passed"
    assert begins.made[-1][1]["counted"] == (found if event == "completed" else {})


def test_what_is_no_verdict_gives_the_lock_back_too(begins: Begins) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    begins.then["restored"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        begins.plan("begun")
    assert begins.held_by() is None
    del begins.then["restored"]
    lock = begins.plan("begun")["lock"]
    begins.then["record"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        begins.plan("ended", lock=lock, event="completed")
    assert begins.held_by() is None


def test_what_is_still_waited_for_has_not_begun(begins: Begins) -> None:
    begins.fails["restored"] = Verdict((waiting("busy", "It is busy.", ""),))
    result = begins.plan("begun")
    assert (result["failed"], result["verdict"]["state"], begins.held_by()) == (True, "refused", None)


def test_what_was_done_before_a_refusal_is_a_change(begins: Begins) -> None:
    begins.raises["record"] = NO
    assert not begins.plan("begun")["changed"]
    begins.acts = True
    assert begins.plan("begun")["changed"]


def test_from_whom_the_lock_was_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    begins = Begins(monkeypatch, OTHER)
    assert codes(begins.plan("begun", take_over=OTHER.run)) == ["lock_taken_over"]


@pytest.mark.parametrize("how", ["fails", "raises"])
def test_the_lock_is_given_back_whatever_becomes_of_the_record(begins: Begins, how: str) -> None:
    lock = begins.plan("begun")["lock"]
    getattr(begins, how)["record"] = NO
    result = begins.plan("ended", lock=lock, event="stopped")
    assert (result["failed"], codes(result), begins.held_by()) == (True, ["no"], None)


def test_a_run_that_lost_its_lock_records_nothing_and_takes_nothing_away(begins: Begins) -> None:
    lock = begins.plan("begun")["lock"]
    begins.store.set(OTHER)
    result = begins.plan("ended", lock=lock, event="completed")
    assert begins.names() == ["plan", "restored", "record"]
    assert (begins.held_by(), result["failed"]) == (OTHER.run, True)
    assert "lock_not_ours" in codes(result)


def test_remarks_do_not_stand_in_the_way(begins: Begins) -> None:
    begins.fails["record"] = Verdict((remark("record_missing", "There is none."),))
    assert codes(begins.plan("begun")) == ["record_missing"]


@pytest.mark.parametrize("event", ["paused", "completed"])
def test_what_has_served_a_run_is_removed_before_its_end_is_recorded(begins: Begins, event: str) -> None:
    """The upgrade is done, so anything that stays is a remark."""

    def clean_up(task: Task) -> Outcome:
        task.may_look()
        begins.made.append(("clean_up", {}, begins.held_by()))
        return Outcome(Verdict((remark("ladder_stays", "The ladder is still there."),)))

    lock = begins.plan("begun")["lock"]
    result = begins.plan("ended", lock=lock, event=event, parts={"clean_up": clean_up})
    cleaned = ["clean_up"] if event == "completed" else []
    assert begins.names()[3:] == [*cleaned, "record"]
    assert {holder for _name, _params, holder in begins.made[3:]} == {lock["run"]}
    assert (result["verdict"]["state"], codes(result)) == ("passed", ["ladder_stays"] if cleaned else [])
    assert begins.held_by() is None


def test_a_state_that_only_the_system_has_is_reached_under_the_lock(begins: Begins) -> None:
    def dim(task: Task) -> Outcome:
        task.act("dim", ", ".join(task.params["batch"]), lambda: begins.made.append(("dim", {}, begins.held_by())))
        return Outcome(Verdict(), True)

    own: Json = {"states": {"dimmed": dim}}
    assert contract_of(replace(upgrade_plan.SYSTEM, **own)).argument_spec["state"]["choices"][3:] == ["dimmed"]
    lock = begins.plan("begun")["lock"]
    result = begins.plan("dimmed", lock=lock, batch=["1", "2"], parts=own)
    assert [(each["action"], each["target"]) for each in result["actions"]] == [("dim", "1, 2")]
    assert begins.made[-1] == ("dim", {}, lock["run"])
    begins.store.set(OTHER)
    assert codes(begins.plan("dimmed", lock=lock, batch=["1"], parts=own)) == ["lock_lost"]
    assert begins.names().count("dim") == 1


@pytest.mark.parametrize(("given", "skipped"), [({}, []), ({"skip_checks": ["disk", "images"]}, ["disk", "images"])])
def test_the_record_gets_the_checks_that_are_left_out(begins: Begins, given: Json, skipped: list[str]) -> None:
    begins.plan("begun", **given)
    assert begins.made[-1][1]["plan"]["skipped"] == skipped


def test_the_record_gets_the_options_that_accept_a_risk() -> None:
    given: Json = {
        "allow_single_copy": ["logs-*", "-logs-keep"],
        "allow_quorum_loss": True,
        "allow_left_behind": False,
        "allow_red_indices": [],
        "accept_unverified": ["replacement"],
        "take_over": "night",
        "supersede": True,
        "namespace": "search",
    }
    assert consents_in(given) == {
        "allow_single_copy": "logs-*, -logs-keep",
        "allow_quorum_loss": "",
        "accept_unverified": "replacement",
        "take_over": "night",
        "supersede": "",
    }
    assert consents_in({"take_over": "", "supersede": False}) == {}
