"""Start and end of a run of a system that the engine has never heard of: lamps, of which each room keeps one lit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import (
    Refusal,
    Unreachable,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State, Verdict, refused, waiting
from ansible_collections.stateful.upgrade.plugins.module_utils.run.begin_and_end import (
    Counting,
    Parts,
    begin,
    counted,
    end,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Placement, disjoint

NO = refused("lamp_broken", "Lamp 2 is broken.", "Change it.")
NOT_YET = waiting("lamp_warming", "Lamp 2 is warming up.")


@dataclass(frozen=True)
class Lamp:
    """A unit."""

    name: str
    group: str


LAMPS = [Lamp("1", "hall"), Lamp("2", "hall"), Lamp("3", "cellar"), Lamp("4", "cellar")]


@dataclass
class House:
    """The system, and who holds its lock."""

    holder: str = ""
    asked: list[str] = field(default_factory=list)
    fails: dict[str, Verdict] = field(default_factory=dict)
    raises: dict[str, BaseException] = field(default_factory=dict)
    recorded: list[Any] = field(default_factory=list)

    def _part(self, name: str, made: Callable[[Task], Outcome]) -> Callable[[Task], Outcome]:
        def run(task: Task) -> Outcome:
            self.asked.append(name)
            if name in self.raises:
                raise self.raises[name]
            return Outcome(self.fails[name]) if name in self.fails else made(task)

        return run

    def _hold(self, task: Task) -> Outcome:
        self.holder = "night"
        task.journal.did("take_lock", "house")
        return Outcome(Verdict(), True, more={"lock": {"run": "night", "name": "house"}})

    def _release(self, task: Task) -> Outcome:
        self.holder = ""
        return Outcome(Verdict(), True)

    def _plan(self, task: Task) -> Outcome:
        rooms = Placement([frozenset({"1", "2"}), frozenset({"3", "4"})])
        batches = disjoint(LAMPS, {"hall": None, "cellar": None}, rooms)
        named = [{"members": [lamp.name for lamp in batch]} for batch in batches]
        return Outcome(Verdict(), before={"1": "old"}, next="begin", more={"digest": "p1", "batches": named})

    def _note(self, task: Task) -> Outcome:
        self.recorded.append(task.params.get("event"))
        return Outcome(Verdict(), True)

    def _note_begin(self, task: Task, plan: Outcome) -> Outcome:
        self.recorded.append(plan.more["batches"])
        record = {"record": {"batches": [{"name": "of an earlier run"}, *plan.more["batches"]]}}
        return self._part("note_begin", lambda _task: Outcome(Verdict(), True, more=record))(task)

    def parts(self) -> Parts:
        """The system as the engine is given it."""
        return Parts(
            hold=self._part("hold", self._hold),
            under_lock=lambda task: task,
            plan=self._part("plan", self._plan),
            put_back=self._part("put_back", lambda _task: Outcome(Verdict(), True, {"1": "dimmed"}, {"1": "lit"})),
            note_begin=self._note_begin,
            note_end=self._part("note_end", self._note),
            release=self._part("release", self._release),
        )


def _task(**params: Any) -> Task:
    return Task({"confirmed": "p1", "wait": False, "wait_timeout": 1, **params})


def test_a_run_begins_as_a_whole_and_ends() -> None:
    house = House()
    begun = begin(_task(), house.parts(), 5)
    assert (begun.verdict.passed, begun.changed, house.holder) == (True, True, "night")
    assert house.asked == ["hold", "plan", "put_back", "note_begin"]
    assert house.recorded == [[{"members": ["1", "3"]}, {"members": ["2", "4"]}]]
    assert [batch["place"] for batch in begun.more["batches"]] == ["2/3", "3/3"]
    assert (begun.more["digest"], begun.more["before"], begun.next) == ("p1", {"1": "old"}, "begin")
    assert end(_task(event="completed"), house.parts(), 5).verdict.passed
    assert (house.holder, house.recorded[-1]) == ("", "completed")


@pytest.mark.parametrize("left", [[], ["lamp 1"]])
def test_the_start_has_changed_something_only_if_something_was_put_back(left: list[str]) -> None:
    """The lock and the record are no changes of the cluster, so a second run with nothing to do changes nothing."""

    def put_back(task: Task) -> Outcome:
        for lamp in left:
            task.act("lit", lamp, lambda: None)
        return Outcome(Verdict(), bool(task.journal.as_result()))

    task = _task()
    begun = begin(task, replace(House().parts(), put_back=put_back), 5)
    assert begun.changed == bool(left)
    assert [act["target"] for act in task.journal.as_result()] == ["house", *left]


@pytest.mark.parametrize("part", ["plan", "put_back", "note_begin"])
@pytest.mark.parametrize("said", [NO, NOT_YET])
def test_what_does_not_begin_gives_its_lock_back_and_is_refused(part: str, said: Any) -> None:
    house = House(raises={part: Refusal(said)})
    begun = begin(_task(), house.parts(), 5)
    assert (begun.verdict.state, house.holder, house.asked[-1]) == (State.REFUSED, "", "release")


def test_another_plan_than_the_confirmed_one_changes_nothing() -> None:
    house = House()
    begun = begin(_task(confirmed="p0"), house.parts(), 5)
    assert [reason.code for reason in begun.verdict.reasons] == ["plan_changed"]
    assert (house.asked, house.holder) == (["hold", "plan", "release"], "")


def test_an_interruption_gives_the_lock_back_and_goes_on() -> None:
    house = House(raises={"put_back": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        begin(_task(), house.parts(), 5)
    assert house.holder == ""


def test_the_lock_is_given_back_though_the_record_cannot_be_written() -> None:
    house = House(holder="night", raises={"note_end": Refusal(NO)})
    ended = end(_task(event="completed"), house.parts(), 5)
    assert (ended.verdict.state, house.holder) == (State.REFUSED, "")


def test_in_check_mode_no_lock_is_taken_and_nothing_recorded() -> None:
    house = House()
    begun = begin(Task({"confirmed": "p1"}, check_mode=True), house.parts(), 5)
    assert (begun.verdict.passed, house.asked, house.recorded) == (True, ["plan", "put_back"], [])


@dataclass
class Busy:
    """A guard whose store of the lock turns so many requests away."""

    times: int

    def before_look(self, _doing: str, stoppable: bool) -> None:
        """See `Guard`."""
        if self.times:
            self.times -= 1
            raise Unreachable(refused("kubernetes_unreachable", "The API answered 503.", "Wait."))

    def before_act(self) -> None:
        """See `Guard`."""


def test_a_refused_renewal_before_the_last_count_is_made_again() -> None:
    task = Task({"wait": True, "wait_timeout": 5, "wait_sleep": 0.1}, guard=Busy(1))
    counting = Counting("documents", "indices", lambda _task: {"orders": 3})
    assert counted(task, counting)["each"] == {"orders": 3}
