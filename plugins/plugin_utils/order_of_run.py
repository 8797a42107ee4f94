"""The order of a run, from the variables of localhost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..module_utils.run.order import (
    RunFacts,
    RunStage,
    is_reserved,
    lined_up,
    lost_hosts,
    parts,
    sizes,
    unconsented,
    unconsented_later,
)
from ..module_utils.run.steps import StepPoint, means_yes
from .capacity_of_run import grown
from .hosts_of_run import known_hosts, texts_in
from .of_run import AGREED, OF_HOSTS, Run
from .run_options import GivenVariables
from .settling_of_run import pools_to_settle
from .silences_of_run import all_silences
from .step_of_run import steps_of


@dataclass(frozen=True)
class OrderOfRun:
    """The order of the run with these variables. `given` returns one with templates filled in; None if undefined."""

    given: GivenVariables
    variables: Mapping[str, Any]
    clock: Callable[[], float] = time.time

    def asked(self, question: str, about: Any = None) -> Any:
        """The answer to a question about the run: a stage, whose parts are given, or one of `ANSWERS`.

        Raises:
            KeyError: there is no such question.
        """
        if question in {each.value for each in RunStage}:
            return parts(RunStage(question), self.standing)
        return ANSWERS[question](self, about)

    @property
    def run(self) -> Run:
        """The run."""
        return Run(self.given, self.variables)

    @property
    def plan(self) -> Mapping[str, Any]:
        """The plan; empty before there is one."""
        return self.run.plan

    @property
    def standing(self) -> RunFacts:
        """The facts that decide on the next parts."""
        plan, given = self.plan, self.given
        batches = bool(plan.get("batches"))
        return RunFacts(
            reserved=bool(self.reserved()),
            on_hosts=bool(given("upgrade_groups")),
            supersedes=means_yes(given("upgrade_supersede")),
            awaits=bool((given("begin_request") or {}).get("awaits")),
            checks=bool(self.variables.get("ansible_check_mode")),
            planned=bool(plan),
            refused="msg" in plan,
            agreeable="digest" in plan,
            waits=(plan.get("verdict") or {}).get("state") == "waiting",
            passed_over=given("begin_waiting") is not None,
            lost=bool(self.lost()),
            stopped=self.run.stopped,
            batches=batches,
            commenced=bool(plan.get("commenced")),
            silences=bool(all_silences(given)),
            asks=(batches or bool(plan.get("asks_without_batches"))) and self._consent() != plan.get("digest"),
            listens=self.run.listens,
            steps_before=bool(plan) and bool(steps_of(given, StepPoint.BEFORE)),
            steps_after=bool(plan) and bool(steps_of(given, StepPoint.AFTER)),
            own_tasks_after=bool(texts_in(given("upgrade_tasks_after"))),
        )

    def reserved(self) -> str:
        """The group of the inventory, with hosts, whose name is reserved for the batches; empty if there is none."""
        groups = self.variables.get("groups", {})
        return next((name for name, hosts in groups.items() if hosts and is_reserved(name)), "")

    def hosts(self) -> list[dict[str, Any]]:
        """The hosts of the next play; none if a step has failed, or waits."""
        if self.run.stopped:
            return []
        until = int(self.clock()) + int(self.given("upgrade_run_timeout") or 0)
        return lined_up(self.plan, self.run.hosts.places(), until, taken=known_hosts(self.variables))

    def lost(self) -> list[str]:
        """The hosts that cannot be reached or seen, of the members that go down, or that the plan has not seen."""
        down = [name for each in self.plan.get("batches") or () for name in each["members"]]
        return self.run.hosts.lost([*down, *self.run.hosts.unseen(OF_HOSTS["configurations"])])

    def statistics(self) -> dict[str, Any]:
        """The custom statistics of the end of a run."""
        return {**self.run.end().statistics(), "upgrade_record": (self.plan.get("lock") or {}).get("name", "")}

    def unconsented(self, answer: Any) -> dict[str, Any]:
        """The refusal of a plan that was not agreed to; empty if it was."""
        return unconsented(str(self.plan["digest"]), self._consent(), str(answer or ""))

    def not_begun(self) -> dict[str, Any]:
        """The end of a run whose plan waits, or is refused. One that waits says if a later run would lack consent."""
        end = self.run.not_begun()
        if self.standing.waits and self.standing.asks and not self.given("begin_refused"):
            end["sentences"] = [*end["sentences"], unconsented_later(str(self.plan["digest"]), self._consent())]
        return end

    def _consent(self) -> str:
        return str(self.given("upgrade_confirm") or self.given(AGREED) or "")


ANSWERS: Mapping[str, Callable[[OrderOfRun, Any], Any]] = {
    "hosts": lambda order, _about: order.hosts(),
    "lost": lambda order, _about: lost_hosts(order.lost()),
    "reserved": lambda order, _about: order.reserved(),
    "sizes": lambda order, _about: sizes(order.plan, order.run.hosts.places()),
    "had_batches": lambda order, _about: order.standing.had_batches,
    "keeps_capacity": lambda order, _about: order.run.keeps_capacity(),
    "keeps_silences": lambda order, _about: bool(order.run.waiting()) and order.run.failure is None,
    "stopped": lambda order, _about: order.run.stopped,
    "waits": lambda order, _about: order.run.leaves_marks(),
    "grown": lambda order, _about: grown(order.given),
    "pools_to_settle": lambda order, _about: pools_to_settle(order.given, order.run),
    "own_tasks_after": lambda order, _about: order.run.own_tasks_after(),
    "statistics": lambda order, _about: order.statistics(),
    "not_begun": lambda order, _about: order.not_begun(),
    "unconsented": lambda order, about: order.unconsented(about),
}
"""The answers by question; the second argument is what the question is about."""
