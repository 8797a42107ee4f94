"""The gate of a cluster at one moment: looks one after another until all of a batch may go, or a part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..common.arguments import CONNECTIONS, CONSENT, WAIT, Options
from ..common.errors import refusal
from ..common.task import Contract, Task, passed_or_raise
from ..common.timestamps import now_seconds
from ..common.verdict import State, Verdict, combine, remark
from ..common.waiting import Remaining
from ..common.words import enumerate_few
from ..run.colouring import safe_part
from .act.raising import RAISE_REPLICAS
from .act.restricting import RESTRICTING
from .judge.checks import ADDABLE, BEFORE_BATCH, MOMENTS, SKIPPABLE, Selection, judge_selection
from .judge.disk import ZONE
from .judge.gates import UPGRADED, Scope, judge, judge_upgraded
from .judge.last_snapshot import age_of
from .judge.policy import policy_of
from .judge.progress import remaining
from .judge.upgrade_path import target_of
from .kept_members import KeptMembers
from .looking import MANAGED, RECOVERIES, look, polls
from .observe.client import OpenSearchClient
from .observe.copies import copies_move
from .observe.look import Look
from .observe.recoveries import UNKNOWN
from .replica_plan import as_if_raised

JOINED = "joined"
"""The moment that judges only the members, not their shards."""
BEFORE_STOP = "before_stop"
"""The moment that judges only the proof, with allocation restricted."""

SELECTION: Options = {
    "skip_checks": {"type": "list", "elements": "str", "default": [], "choices": list(SKIPPABLE)},
    "add_checks": {"type": "list", "elements": "str", "default": [], "choices": list(ADDABLE)},
    "snapshot_age": {"type": "str"},
}
SNAPSHOT: Options = {"snapshot": {"type": "str"}}
"""The repository in which the run takes a snapshot of its own before its first batch."""

GATE = Contract(
    argument_spec={
        **CONNECTIONS,
        **WAIT,
        **CONSENT,
        **SELECTION,
        **SNAPSHOT,
        "moment": {"type": "str", "required": True, "choices": [*MOMENTS, BEFORE_STOP, JOINED]},
        "expected": {"type": "list", "elements": "str", "default": []},
        "batch": {"type": "list", "elements": "str", "default": []},
        "kubernetes_nodes": {"type": "list", "elements": "str", "default": []},
        "target_version": {"type": "str"},
        "later_versions": {"type": "list", "elements": "str", "default": []},
        "former_processes": {"type": "dict", "default": {}},
        "split_after": {"type": "int"},
        "skip_upgraded": {"type": "bool", "default": False},
        "hands_over": {"type": "bool", "default": False},
        "wait_limit": {"type": "int"},
        "since": {"type": "int"},
        "zone_attribute": {"type": "str", "default": ZONE},
        "batches": {"type": "list", "elements": "list", "default": []},
        "gains": {"type": "dict", "default": {}},
        **RAISE_REPLICAS,
        **RESTRICTING,
    },
    required_if=[
        ("moment", "before_batch", ("batch", "kubernetes_nodes"), True),
        ("moment", "before_batch", ("expected", "kubernetes_nodes"), True),
        ("moment", BEFORE_STOP, ("batch", "kubernetes_nodes"), True),
        ("moment", BEFORE_STOP, ("expected", "kubernetes_nodes"), True),
        ("moment", JOINED, ("batch",)),
        ("moment", "after_batch", ("batch", "expected")),
        ("moment", "after_upgrade", ("expected", "target_version")),
    ],
)

SPLIT = "batch_split"
"""The code of the remark that only a part of the batch may go."""
MEASURED = 30.0
"""Seconds between two questions with long answers: the bytes that recoveries have to copy, and managed indices."""
PACE = 0.2
"""Minimum pause, as a multiple of the look's duration, since a look at a large cluster takes long."""


@dataclass(frozen=True)
class Judged:
    """The last look of a gate, and the verdict on it."""

    seen: Look
    verdict: Verdict
    going: list[str]
    """The members of the batch that may go if the verdict is passed, and only then."""
    green_seconds: int | None
    """Seconds from the option `since` until the first look that found the cluster green."""


def wait_at_gate(
    task: Task, client: OpenSearchClient, scope: Scope, judge_look: Callable[[Look, Scope], Verdict] | None = None
) -> Judged:
    """Look, judge and wait as the options of the module `cluster_health_gate` say. The verdict may be refused.

    `judge_look` gives the verdict on one look, in place of that on the batch.

    Raises:
        Refusal: the answer is missing or unreadable.
    """
    split = _Split(task, scope, judge_look or judge)
    looking = _GateLooks(task, client, scope)

    def left(seen: Look) -> Remaining:
        return remaining(seen.state, seen.explanations, seen.recoveries)

    kept = KeptMembers(task, scope.members | scope.batch)

    def judged(seen: Look) -> Verdict:
        return kept.judge(seen.state, split.judge(seen))

    seen, verdict = task.wait(looking.again, judged, stoppable=True, pace=PACE, remaining=left)
    for reason in verdict.reasons:
        if reason.code in {SPLIT, UPGRADED}:
            task.progress(reason.message)
    return Judged(seen, verdict, split.going, looking.green_after(task.params["since"]))


class _GateLooks:
    """The looks of one gate, one after another."""

    def __init__(self, task: Task, client: OpenSearchClient, scope: Scope) -> None:
        self._task, self._clock, self._client, self._scope = task, task.clock, client, scope
        self._held = polls(scope.moment)
        self._before: Look | None = None
        self._measured = self._asked = -math.inf
        self._green_at: int | None = None

    def green_after(self, since: int | None) -> int | None:
        """Seconds from `since`, a time in seconds since 1970, until the first look that found the cluster green."""
        return None if since is None or self._green_at is None else max(0, self._green_at - since)

    def again(self) -> Look:
        """The next look. It asks for the progress of recoveries only now and then, since every member has to answer."""
        now = self._clock.now()
        measures = self._before is not None and now - self._measured >= MEASURED
        asks = now - self._asked >= MEASURED
        if asks:
            self._asked = now
        self._before = look(
            self._client,
            self._scope.moment,
            next(self._held),
            self._scope.selection,
            self._before,
            due={*((RECOVERIES,) if measures else ()), *((MANAGED,) if asks else ())},
            snapshot_age=self._scope.snapshot_age,
        )
        self._before = replace(self._before, state=as_if_raised(self._task, self._before.state))
        if self._green_at is None and self._before.health.green:
            self._green_at = now_seconds()
        if measures and copies_move(self._before.state):
            # If the right or the answer is missing, it is not asked for again.
            self._measured = math.inf if self._before.recoveries == UNKNOWN else self._clock.now()
        return self._before


class _Split:
    """Judges a batch; once the proof of the whole has failed for long enough, the part of it that may go."""

    def __init__(self, task: Task, scope: Scope, judge_look: Callable[[Look, Scope], Verdict]) -> None:
        self.going: list[str] = list(task.params["batch"])
        """The members that may go, once the verdict is passed."""
        self._task, self._scope, self._judge = task, scope, judge_look
        self._whole, self._since = list(task.params["batch"]), task.clock.now()
        self._skips_upgraded = task.params["skip_upgraded"] and scope.moment == BEFORE_BATCH

    def judge(self, seen: Look) -> Verdict:
        """The verdict of the whole batch, or of the part that may go."""
        if self._skips_upgraded:
            upgraded = judge_upgraded(seen.state, self._scope)
            if upgraded.reasons:
                return upgraded
        verdict = self._judge(seen, self._scope)
        if verdict.passed or not self._may_split(verdict):
            return verdict
        part = safe_part(self._whole, lambda names: self._of(seen, names).passed)
        if not part:
            return self._waiting_part(seen, verdict)
        self.going = part
        left = enumerate_few(name for name in self._whole if name not in part)
        why = next(iter(verdict.deciding())).message
        divided = remark(SPLIT, f"{left} cannot go with the others of the batch, which go first: {why}")
        return combine((self._of(seen, part), Verdict((divided,))))

    def _waiting_part(self, seen: Look, verdict: Verdict) -> Verdict:
        """The verdict of a member that time may fix, if time does not fix the whole batch; else that of the batch."""
        if verdict.state is not State.REFUSED:
            return verdict
        why = next(iter(verdict.deciding())).message
        for name in self._whole:
            alone = self._of(seen, [name])
            if alone.state is State.WAITING:
                divided = remark(SPLIT, f"The batch cannot go as a whole, so {name} is waited for: {why}")
                return combine((alone, Verdict((divided,))))
        return verdict

    def _may_split(self, verdict: Verdict) -> bool:
        after = self._task.params["split_after"]
        if after is None or self._scope.moment != BEFORE_BATCH or len(self._whole) < 2:
            return False
        return verdict.state is State.REFUSED or self._task.clock.now() - self._since >= after

    def _of(self, seen: Look, names: Sequence[str]) -> Verdict:
        return self._judge(seen, replace(self._scope, batch=frozenset(names)))


def scope_of(task: Task) -> Scope:
    """The scope of the gate from the arguments.

    Raises:
        Refusal: the target is no version, or checks are to be skipped that cannot be.
    """
    params = task.params
    passed_or_raise(judge_selection(params["skip_checks"], params["add_checks"]))
    return Scope(
        moment=params["moment"],
        members=frozenset(params["expected"]),
        batch=frozenset(params["batch"]),
        target=target_of(params["target_version"]) if params["target_version"] else None,
        later=tuple(target_of(version) for version in params["later_versions"]),
        policy=policy_of(params, hands_over=params["hands_over"]),
        selection=Selection(frozenset(params["skip_checks"]), frozenset(params["add_checks"])),
        snapshot_age=age_of(params["snapshot_age"]),
        takes=params["snapshot"] or "",
        zone=params["zone_attribute"],
        batches=tuple(tuple(map(str, batch)) for batch in params["batches"]),
        gains=_gains_in(params["gains"]),
    )


def _gains_in(given: Mapping[str, Any]) -> dict[str, int]:
    for name, gain in given.items():
        if not str(gain).isdecimal():
            said = f"gains has {gain!r} for member {name}, which is no number of bytes."
            raise refusal("gains_unreadable", said, "Give the bytes as a whole number, such as 10737418240.")
    return {str(name): int(gain) for name, gain in given.items()}
