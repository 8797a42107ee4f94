"""The work of the part `health_figures`: the cluster's own health is measured before the first batch, and after it.

As a step before the first batch it measures the figures for a minute. After a batch, it compares the cluster with
them. All that it knows is in the record, so a later run continues where a killed one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..common.arguments import CONNECTIONS, RECORD, WAIT
from ..common.errors import Refusal
from ..common.task import Contract, Outcome, Task
from ..common.timestamps import now_text, timestamp_of, utc_now
from ..common.verdict import State, Verdict, remark
from .canary_soak import EVERY, soaking
from .health_figures import (
    MEASURED,
    AcceptedFigure,
    HealthComparison,
    HealthFigures,
    HealthJudge,
    HealthLook,
    accepted_in,
    measuring,
)
from .record.events import EventKind, happened
from .record.health_record import HealthRecord, first_look, increases, lifetime, with_before
from .record.kept_in import store_of
from .record.record import Record
from .record.record_keeping import RecordStore, change_record, unwritten

OPTION = "accept_worse"
ACCEPTED = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "figure": {"type": "str", "required": True},
        "reason": {"type": "str", "required": True},
        "owner": {"type": "str", "required": True},
        "until": {"type": "str", "required": True},
    },
}
"""The option with the figures that may be worse."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **RECORD,
        **WAIT,
        "namespace": {"type": "str"},
        "target_version": {"type": "str"},
        "batches": {"type": "str", "choices": ["first", EVERY], "default": "first"},
        OPTION: ACCEPTED,
        "step": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 1800},
        "wait_sleep": {"type": "float", "default": 5.0},
    },
    required_if=[("record_kept_in", "kubernetes", ("namespace",))],
)


def measure(task: Task, systems: Mapping[str, HealthFigures]) -> Outcome:
    """Measure the figures of the system that the record names; `systems` has those by name. Only the record changes.

    Raises:
        Refusal: there is no answer, or the record cannot be read.
    """
    accepted = accepted_in(task.params[OPTION], OPTION)
    name, store = (task.params["lock"] or {}).get("name") or "", store_of(task.params)
    kept = None if task.check_mode else task.ask(lambda: store.read(name))
    record = kept.record() if kept is not None else None
    health = systems.get(record.system) if record is not None else None
    if record is None or health is None:
        return Outcome(Verdict())
    this = _Measurement(task, store, name, health, accepted, record.who)
    if task.params["step"]:
        return this.before(record.figures)
    batch = soaking(record, every=task.params["batches"] == EVERY)
    if batch is None:
        return Outcome(Verdict())
    if record.figures is None or not record.figures.measured:
        said = "The cluster's health was not measured before the first batch, so it cannot be compared."
        return Outcome(Verdict((remark("health_not_measured", said),)))
    judge = HealthJudge(health.figures, record.figures, accepted, batch.members, utc_now().date())
    return this.after(judge)


@dataclass(frozen=True)
class _HealthAt:
    look: HealthLook
    at: str
    seconds: float
    """The time since the last look in the record."""


@dataclass(frozen=True)
class _Measurement:
    """One measurement of a task."""

    task: Task
    store: RecordStore
    name: str
    health: HealthFigures
    accepted: Sequence[AcceptedFigure]
    who: str

    def before(self, known: HealthRecord | None) -> Outcome:
        """Measure the figures before the first batch, unless an earlier run of the upgrade has."""
        if known is not None and known.measured:
            return Outcome(Verdict())
        if known is None or _is_to_come(known.since):
            known = self._first(self._seen("").look)
            if (remarks := self._write(known)).reasons:
                return Outcome(remarks)
        first = known

        def judge(seen: _HealthAt) -> Verdict:
            left = MEASURED - seen.seconds
            rated = any(figure.rate for figure in self.health.figures)
            return Verdict((measuring(left),)) if rated and left > 0 else Verdict()

        seen, verdict = self.task.wait(lambda: self._seen(first.since), judge, stoppable=True)
        if not verdict.passed:
            return Outcome(verdict)
        rates = self._rates_before(first, seen)
        remarks = self._write(with_before(first, self._first(seen.look), seen.look.levels, rates))
        return Outcome(remarks, bool(self.task.journal.as_result()))

    def after(self, judge: HealthJudge) -> Outcome:
        """Compare the figures after a batch. The next comparison counts from this one, however it ends."""
        if _is_to_come(judge.known.since):
            judge = replace(judge, known=judge.known.noted(self._first(self._seen("").look), ()))
            if (remarks := self._write(judge.known)).reasons:
                return Outcome(remarks)
        compared: list[HealthComparison] = []

        def verdict_of(seen: _HealthAt) -> Verdict:
            compared[:] = [judge.compare(seen.look, seen.at, seen.seconds)]
            return compared[0].verdict

        seen, verdict = self.task.wait(lambda: self._seen(judge.known.since), verdict_of, stoppable=True)
        if verdict.state is State.WAITING:
            return Outcome(verdict)
        rows = compared[0].rows
        written = self._write(judge.known.noted(self._first(seen.look), rows))
        verdict = Verdict((*verdict.reasons, *written.reasons))
        return Outcome(verdict, bool(self.task.journal.as_result()), more={"figures": [vars(row) for row in rows]})

    def _seen(self, since: str) -> _HealthAt:
        look, at = self.health.look(self.task), now_text()
        seconds = (timestamp_of(at) - timestamp_of(since)).total_seconds() if since else 0.0
        return _HealthAt(look, at, seconds)

    def _accepted(self) -> str:
        return "; ".join(f"{each.figure} {each.said}" for each in self.accepted)

    def _first(self, look: HealthLook) -> HealthRecord:
        rated = [figure.name for figure in self.health.figures if figure.rate]
        return first_look(now_text(), rated, look.processes)

    def _rates_before(self, first: HealthRecord, seen: _HealthAt) -> dict[str, float]:
        """The larger rate of each figure: that of the whole life of the processes, or of the time of the step."""
        found: dict[str, float] = {}
        least = {figure.name: figure.sample for figure in self.health.figures if figure.rate}
        for counts in (lifetime(seen.look.processes), increases(first, seen.look.processes, seen.seconds)):
            for name, (events, sample) in counts.items():
                if name in least and sample >= max(1, least[name]):
                    found[name] = max(found.get(name, 0.0), events / sample)
        return found

    def _write(self, figures: HealthRecord) -> Verdict:
        """Keep the figures. A record that cannot be written gives a remark."""

        accepted = happened(EventKind.ACCEPTED, figures.since, self.task.run, OPTION, self._accepted(), self.who)

        def change(record: Record | None) -> Record | None:
            if record is None:
                return None
            noted = replace(record, figures=figures)
            return noted.with_events(accepted) if self.accepted else noted

        try:
            self.task.ask(lambda: change_record(self.task, self.store, self.name, change))
        except Refusal as error:
            return unwritten(error)
        return Verdict()


def _is_to_come(since: str) -> bool:
    """Whether the last look was at a time that has not come yet: the clock of the machine that noted it is ahead.

    Then it is measured again from now on, as the time that has passed since is not known.
    """
    return timestamp_of(since) > utc_now()
