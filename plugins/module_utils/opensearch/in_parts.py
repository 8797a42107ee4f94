"""A batch that goes down part by part, each part once a gate lets it through.

A batch is divided when its gate lets only some members through, or when the proof does not hold any more while some are
being deleted. It starts again when the proof does not hold immediately before members would be stopped. Each time
allocation is put back first, so that the cluster can recover while the gate waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.arguments import Options
from ..common.errors import Refusal, refusal
from ..common.task import Outcome, Task, passed_or_raise
from ..common.verdict import State, Verdict, waiting
from ..common.waiting import Patience
from ..common.words import enumerate_few
from .act.allocation import CONTRACT as ALLOCATION
from .act.allocation import carry_out
from .act.flush import AGAIN_AFTER, flush, indices_on
from .gate import GATE, Judged, scope_of, wait_at_gate
from .judge.checks import BEFORE_BATCH
from .observe.client import OpenSearchClient

IN_PARTS: Options = {
    "gate": {
        "type": "dict",
        "options": {
            "wait_timeout": {"type": "int", "default": 1800},
            "wait_limit": {"type": "int", "default": 7200},
            "split_after": {"type": "int"},
            "skip_upgraded": {"type": "bool", "default": False},
            "waited": {"type": "float", "default": 0.0},
            "drained": {"type": "list", "elements": "str", "default": []},
            "target_version": {"type": "str"},
        },
    }
}

ATTEMPTS = 12
"""The most times that a batch is started in vain; with the pauses in between that takes some minutes."""
LONGEST_PAUSE = 10.0
"""The most seconds between two attempts. The pauses start at one second, and double."""
COUNTED = frozenset({"last_started_copy", "member_unrecognised"})
"""The causes that may never end: a copy that a recovery has not made yet, or a pod that is Ready and no member, whose
server may have another name. Another cause, such as a spent budget, ends by itself or with the time of the batch."""
_OPTION = re.compile(r"\b(wait_timeout|wait_limit)\b")

Go = Callable[[Task, Sequence[str], "Judged | None"], tuple[Outcome, Collection[str]]]
"""Takes these members down in this task once it is proven immediately before that they may go. It is given the
judgement of their gate, or None for the first part, whose gate the caller has asked. It gives the outcome, and the
members that went."""


def in_parts(task: Task, client: OpenSearchClient, first: Sequence[str], go: Go) -> list[Outcome]:
    """Take the batch down, first these members, and give the outcome of each attempt, the last one at the end.

    Without the option `gate`, or in one pass, only the first attempt is made: the caller goes on.
    """
    began, given = task.clock.now(), task.params["gate"]
    rest = _Rest(replace(task, tried_since=began), client, list(task.params["batch"]), began)
    outcome, gone = go(rest.task, first, None)
    outcomes = [outcome]
    while given and task.params["wait"] and not task.check_mode and rest.is_left(outcome.verdict, gone):
        try:
            judged = rest.next(outcome.verdict)
            outcome, gone = go(rest.task, judged.going, judged)
        except Refusal as error:
            return [*outcomes, Outcome(task.verdict_of(error))]
        outcomes.append(outcome)
    return outcomes


@dataclass
class _Rest:
    """The part of a batch that has not gone yet."""

    task: Task
    """The task, which knows since when the present part is tried."""
    client: OpenSearchClient
    left: list[str]
    began: float
    """The start of the task, in seconds of its clock."""
    attempts: int = 0

    def is_left(self, verdict: Verdict, gone: Collection[str]) -> bool:
        """Whether something is left to do after an attempt with this verdict, in which these members went."""
        self.left = [name for name in self.left if name not in gone]
        if gone:
            self.attempts = 0
            self.task = replace(self.task, tried_since=self.task.clock.now())
        elif {reason.code for reason in verdict.deciding()} <= COUNTED:
            self.attempts += 1
        return bool(self.left) and verdict.state is not State.REFUSED

    def next(self, verdict: Verdict) -> Judged:
        """Put allocation back, pause after an attempt in vain, and wait at the gate for the rest.

        Raises:
            Refusal: allocation is not put back, the batch started too often, its time is over, shards have not moved
                away, or its gate does not let it through.
        """
        self._carry_out(state="restored", part="batch")
        if verdict.state is State.WAITING:
            self._judge_attempts(verdict)
            self._pause(verdict)
        self._judge_time(verdict)
        drained = [name for name in self.task.params["gate"]["drained"] if name in self.left]
        if drained:
            self._carry_out(state="drained", batch=drained, wait_timeout=self._seconds_left())
        return self._gate({reason.code for reason in verdict.reasons})

    def _gate(self, codes: Collection[str]) -> Judged:
        params, since = self.task.params, self.task.clock.now()
        gate = {name: params["gate"][name] for name in ("wait_timeout", "split_after", "skip_upgraded")}
        # If no member took over the election, the others go first, and the elected manager goes alone.
        hands_over = params.get("hand_over", params.get("hands_over")) and "hand_over_unfinished" not in codes
        own: dict[str, Any] = {"moment": BEFORE_BATCH, "batch": self.left, "hands_over": hands_over, **gate}
        # Broken members that are replaced first may join on any version; yellow is still judged by that of the upgrade.
        own["target_version"] = params["gate"]["target_version"] or params["target_version"]
        arguments = GATE.arguments(params, **own, wait_limit=self._seconds_left())
        task = replace(self.task, params={**arguments, "namespace": params.get("namespace")})
        judged = _passed(lambda: wait_at_gate(task, self.client, scope_of(task)))
        if self.task.clock.now() - since > AGAIN_AFTER:
            state = judged.seen.state
            oldest = min(member.version for member in state.members.values())
            indices = indices_on(state.ids(judged.going), state.copies)
            flush(self.task, self.client, indices, state.product.flush_of(oldest))
        return judged

    def _carry_out(self, **own: Any) -> None:
        params = ALLOCATION.arguments(self.task.params, **own)
        passed_or_raise(carry_out(replace(self.task, params=params, tried_since=None), self.client).verdict)

    def _judge_attempts(self, verdict: Verdict) -> None:
        if self.attempts < ATTEMPTS:
            return
        said = " ".join(reason.sentence() for reason in verdict.deciding())
        raise refusal(
            "begun_in_vain",
            f"The batch was started {self.attempts} times. Each time the proof that it may go down did not hold"
            " immediately before its members would have been stopped. No further member of it was stopped. The last"
            f" time: {said}",
            "Fix the cause, then run again: finished members are left alone.",
        )

    def _pause(self, verdict: Verdict) -> None:
        seconds = min(2.0 ** max(self.attempts - 1, 0), LONGEST_PAUSE)
        said = " ".join(reason.message for reason in verdict.deciding())
        paused = Verdict((waiting("begun_in_vain", f"The batch starts again in {seconds:g} s. {said}"),))
        self.task.wait_apart(
            lambda: None, lambda _seen: paused, Patience(seconds, 1.0, hands_back=True), stoppable=True
        )

    def _seconds_left(self) -> int:
        """Seconds until no further member goes down. The run still waits for one that is down."""
        limit = int(self.task.params["gate"]["wait_limit"])
        return max(1, int(self.began + limit - self.task.clock.now()))

    def _judge_time(self, verdict: Verdict) -> None:
        if self._seconds_left() > 1:
            return
        stays = "stays" if len(self.left) == 1 else "stay"
        said = "".join(f" {reason.message}" for reason in verdict.deciding() if reason.state is State.WAITING)
        raise refusal(
            "batch_out_of_time",
            f"The time of the batch is over, so {enumerate_few(self.left)} {stays} up.{said}",
            "Run again to continue: finished members are left alone. The limit is gate.wait_limit.",
        )


def _passed(wait: Callable[[], Judged]) -> Judged:
    """The judgement of a gate that lets something through.

    Raises:
        Refusal: it does not. The reasons name the options of this module.
    """
    try:
        judged = wait()
        passed_or_raise(judged.verdict)
        return judged
    except Refusal as error:
        renamed = (
            replace(each, message=_OPTION.sub(r"gate.\1", each.message), remedy=_OPTION.sub(r"gate.\1", each.remedy))
            for each in error.verdict.reasons
        )
        raise type(error)(*renamed) from error
