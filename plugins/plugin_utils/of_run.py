"""The run as a whole, read from the variables of localhost, and the options that the collection's tasks get from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..module_utils.common.verdict import State
from ..module_utils.run.begin_and_end import FROM_SHOWN
from ..module_utils.run.end import NEXT_HOP, NOTICES, End, RunResults, next_hop
from ..module_utils.run.order import GROUP, STARTED, not_begun
from ..module_utils.run.record.phases import Deed, Phase, UpgradeEvent
from ..module_utils.run.record.trying import ENDING
from ..module_utils.run.start.approvals import PAUSED
from ..module_utils.run.start.schedule import WINDOW_OVER
from ..module_utils.run.steps import ASKED_EARLY, in_order, run_waits
from .batch_of_run import LATE, batches_of, known_plan, requested
from .capacity_of_run import added as added_capacity
from .hosts_of_run import HostsOfRun, texts_in
from .registered import OF_SETTLING, of_system, registered
from .run_options import GivenVariables, localhost, of_batch, value_of
from .variables import names

SILENCES = "settle_silenced"
AGREED = "begin_agreed"
"""The fact with the agreed digest, for the next hop of an upgrade over several versions."""
GOES_ON = "Everything is put back, and the next hop follows:"
SHOWN = ("batches", *FROM_SHOWN)
"""The parts of the shown plan that are passed to the plan that is made again under the lock."""
RESULTS = {
    "silences": SILENCES,
    "ended": "finish_ended",
}
"""The variables with the results of the tasks of a run, by the field of `RunResults`."""
OF_HOSTS = {"configurations": "member_configuration", "machines": "member_machine"}
"""The options of plans that come from the hosts of the members, with the fact for each."""
OF_PLANS = {"announce", "confirmed", "lease_duration"}
"""Options of every module that plans, begins and ends the runs of a system."""
LEASE = 900
"""Seconds for which the lock lasts if there are tasks of the user's own.

An expired lock stays with its run until another run takes it (tested in `test_guard.py`), so longer tasks lose it only
to a run on another machine. After a kill, such a run waits this long; a run on the same machine sees that the processes
are gone.
"""


@dataclass(frozen=True)
class Run:
    """A run, read from its variables. `given` returns one with its templates filled in; None if it is not defined."""

    given: GivenVariables
    variables: Mapping[str, Any]

    @property
    def plan(self) -> Mapping[str, Any]:
        """The plan; empty before there is one."""
        return self.given("begin_plan") or {}

    @property
    def version(self) -> Any:
        """The version that its batches lead to: in a chain of upgrades, that of the hop."""
        return (self.plan.get("hop") or {}).get("version") or self.plan.get("target_version")

    @property
    def hosts(self) -> HostsOfRun:
        """The hosts of its members, if they are on hosts of the inventory."""
        return HostsOfRun(self.given, self.variables)

    @property
    def listens(self) -> bool:
        """Whether there is a receiver of notices."""
        return self.given("begin_request") is not None or bool(value_of("upgrade_webhook", self.given))

    @property
    def failure(self) -> Mapping[str, Any] | None:
        """The failure of a batch, or of a step before the first one; None without one."""
        found: Mapping[str, Any] | None = self.given("roll_failure") or self.given("begin_failure")
        return found

    @property
    def _gate(self) -> Mapping[str, Any]:
        """The last gate; empty before it."""
        return of_system(self.given, "gate") or {}

    @property
    def failed(self) -> bool:
        """Whether a step or a batch has failed, or the last gate."""
        return self.failure is not None or bool(self._gate.get("msg"))

    @property
    def stopped(self) -> bool:
        """Whether a step or a batch has failed, or waits."""
        return self.failure is not None or bool(self.waiting())

    def _gave_up(self) -> str:
        """The cause with which it has failed; empty if it has not, or was only asked to end."""
        found = self.failure or {}
        return "" if ENDING & {*found.get("codes", ())} else str(found.get("message") or "")

    def waiting(self) -> list[Any]:
        """The reasons why the pass waits, before the first batch or at the last one that has started."""
        last = (each.so_far.held_up() for each in batches_of(self.variables) if each.so_far.results)
        return self.given("steps_waiting") or next(last, [])

    def _following(self) -> list[Any]:
        """The reason to continue with the next hop, once the present one is proven."""
        hop, gate = self.plan.get("hop") or {}, self._gate
        proven = (gate.get("verdict") or {}).get("state") == State.PASSED.value and not gate.get("skipped")
        return [next_hop(hop).as_result()] if hop.get("following") and proven and not self.failed else []

    def _health(self) -> str:
        """The cluster as the last gate has found it, in words."""
        status = (self._gate.get("before") or {}).get("status")
        return f"the cluster is {status}" if status else ""

    def _took(self) -> list[Any]:
        """The outcome of each member, if there is no record of it."""
        if (self.given("finish_ended") or {}).get("record") or self.variables.get("ansible_check_mode"):
            return []
        done = [each.so_far for each in batches_of(self.variables) if "roll_recorded" in each.variables]
        return [each for batch in reversed(done) if not batch.held_up() for each in batch.members()]

    def options(self, module: str, options: Collection[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The options that it gives to a task of the collection; `options` are the names of all that the module has."""
        if set(options) >= OF_PLANS:
            state = arguments.get("state", "planned")
            own = self._to_begin(options) if state == "planned" else self._to_end() if state == "ended" else {}
            source = (localhost(self.variables).get("begin_request") or {}).get("source") or ""
            of_source = {"task_source": source} if "task_source" in options else {}
            stopped = {"stopped": self._gave_up()} if "stopped" in options and state == "restored" else {}
            return {"groups": self.hosts.members(), **of_source, **stopped, **own}
        if module == "upgrade_notice":
            request = self.given("begin_request") or {}
            noted = request.get("source") if request.get("noted") else None
            return {**self.notice(), "plan": self.plan, "source": noted}
        if module == "tell" and "lines" not in arguments and self.plan:
            ending = self.ending()
            words = {"unit": self.plan.get("unit"), "deed": self.plan.get("deed")}
            return {**words, "last_words": ending.pop("last_words"), "ending": ending}
        if module == "cluster_health_gate" and arguments.get("moment") == "after_upgrade":
            gone = self.plan.get("removed") or ()
            stay = [name for name in self.plan.get("members") or () if name not in gone]
            of_plan = {"expected": stay, "target_version": self.version}
            return {"since": self._last_done(), **of_plan}
        return {}

    def end(self) -> End:
        """The end of the run, or of settling without one, from the results of its tasks so far."""
        results = {field: self.given(name) for field, name in RESULTS.items()}
        results |= {"failure": self.failure, "gate": of_system(self.given, "gate")}
        found: dict[str, Any] = {field: value for field, value in results.items() if value is not None}
        own, step = self.given("finish_own_failure"), self.given("steps_failure")
        if own is not None:
            said = f"A task of upgrade_tasks_after has failed ({own['task']}): {own['message']}"
            found |= {"own_failures": [said], "own_codes": own["codes"]}
        elif step is not None and "failure" not in found:
            said = f"The step {step['step']} has failed ({step['task']}): {step['message']}"
            found |= {"own_failures": [said], "own_codes": step["codes"]}
        found |= {"waiting": [*self.waiting(), *self._following()]}
        put_back = [each for _name, each in registered(self.variables, OF_SETTLING, without={SILENCES})]
        # What the next run needs is left in place after a run; without a run, it is named as left over.
        left = [{"verdict": each["left"]} for each in put_back if "left" in each and not self.plan]
        deed = Deed(self.plan.get("deed") or Deed.UPGRADE)
        added = added_capacity(self.given, self.variables)
        return End(RunResults(**found, put_back=[*put_back, *left], added=added, deed=deed))

    def goes_on(self) -> bool:
        """Whether the next hop follows in the same playbook: this one has succeeded, and the run may wait."""
        if self.variables.get("ansible_check_mode") or not run_waits(self.given("upgrade_wait")):
            return False
        return self.end().statistics()["upgrade_reasons"] == [NEXT_HOP] and self.given("finish_ended") is not None

    def ending(self) -> dict[str, Any]:
        """The facts of the end for people, in the words of the system."""
        plan, end = self.plan, self.end()
        shown = end.proven and not self.variables.get("ansible_check_mode")
        return {
            **end.shown(),
            "target_version": self.version,
            "put_back": of_system(self.given, "put_back") or "",
            "waiting_lead": GOES_ON if self.goes_on() else of_system(self.given, "pass_over") or "",
            "planned": bool(plan.get("batches")),
            "found": (of_system(self.given, "found") or self._health()) if shown else "",
            "record": (self.given("finish_ended") or {}).get("record", {}),
            "record_name": (plan.get("lock") or {}).get("name", ""),
            "took": self._took(),
            "outdated": plan.get("outdated", []),
        }

    def notice(self) -> dict[str, Any]:
        """The `state`, the `cause` and the `codes` of the notice that is due.

        It is that of the late batch, of the current step, of the end in the role finish, or else of the start or of the
        refusal in the role begin; the loop variables of these roles show which.
        """
        part = self.given("begin_part")
        if (late := self.given(LATE)) is not None:
            found: Mapping[str, Any] = late
        elif self.given("steps_step") is not None:
            found = (self.given("steps_noted") or {}).get("step", {}).get("notice") or {}
        elif self.given("finish_part") is not None:
            end = self.end()
            found = {"state": NOTICES[end.event], "cause": end.summary, "codes": end.codes}
        else:
            found = {"state": "started"} if part == STARTED else self.not_begun()
        return {"state": found.get("state", ""), "cause": found.get("cause", ""), "codes": found.get("codes", [])}

    def not_begun(self) -> dict[str, Any]:
        """The end of a run that is refused or waits, from the plan or from a later result (`begin_refused`)."""
        return not_begun(self.given("begin_refused") or self.plan)

    @property
    def missed(self) -> bool:
        """Whether the window ended before the first batch, so that nothing stays for a next run."""
        return WINDOW_OVER in (self.failure or {}).get("codes", ())

    def keeps_capacity(self) -> bool:
        """Whether the capacity that was added stays: until the upgrade is completed, or misses its window."""
        return not self.missed and (bool(self.plan.get("adds")) or self.failed or bool(self.waiting()))

    def waits_for_settling(self) -> bool:
        """Whether putting back is waited for. A failed run does not wait again."""
        return not self.failed and run_waits(self.given("upgrade_wait"))

    def leaves_marks(self) -> bool:
        """Whether the next pass continues from what this one leaves. A person may end a pause only days later."""
        reasons = self.waiting()
        return bool(reasons) and not any(each["code"] == PAUSED for each in reasons)

    def own_tasks_after(self) -> list[str]:
        """The files of the user's own tasks after the last batch, if all is well.

        Without a batch, they are due if an earlier run did not complete the upgrade, or if that could not be asked:
        they may run again at any time, and no later run would make up for them.
        """
        known = self.given("finish_known") or {"records": ()}
        name, over = (self.plan.get("lock") or {}).get("name"), Phase.COMPLETED.value
        # What has no phase is the lock of this run, without a record.
        unfinished = "records" not in known or any(
            each["name"] == name and each.get("phase", over) != over for each in known["records"]
        )
        due = self.end().event is UpgradeEvent.COMPLETED and (bool(self.plan.get("batches")) or unfinished)
        return texts_in(self.given("upgrade_tasks_after")) if due else []

    def _to_begin(self, options: Collection[str]) -> dict[str, Any]:
        """A run waits for its start, and announces itself; a plan that is only shown does not."""
        acts = bool(self.given("begin_acts"))
        own = any(self.given(name) for name in names(lambda each: each.holds_tasks)) or bool(self.hosts.groups)
        begins = self.given("begin_state") == "begun"
        return {
            "state": self.given("begin_state"),
            "announce": acts,
            "at": self.given("upgrade_at") if acts else None,
            "confirmed": self.plan["digest"] if begins else None,
            "lease_duration": LEASE if own else None,
            "request": requested(self.given("begin_request")),
            "show": bool(self.given("begin_shows")),
            "early_steps": self._early_steps(),
            "shown": {name: self.plan[name] for name in SHOWN if name in self.plan} if begins else None,
            **{option: self.hosts.noted(fact) for option, fact in OF_HOSTS.items() if option in options},
        }

    def _early_steps(self) -> list[str]:
        """The steps whose questions a pass before the start asks: those of the collection that are not skipped."""
        found = in_order(self.given("upgrade_steps") or [])
        return [each.name for each in found if each.name in ASKED_EARLY and not each.own]

    def _to_end(self) -> dict[str, Any]:
        return {**self.end().recorded(), "plan": known_plan(self.variables)}

    def _last_done(self) -> str:
        """The time at which the last batch was done; empty if none was."""
        hosts = self.variables.get("groups", {}).get(GROUP, [])[-1:]
        last = next((of_batch(self.variables, host).get("roll_recorded") or {} for host in hosts), {})
        return str(last.get("at") or "")


def words_of_notice(module: str, run: Run) -> dict[str, Any]:
    """The variable with the words of a notice, for content that the user defines."""
    return {"upgrade_notice": run.notice()} if module == "upgrade_notice" else {}
