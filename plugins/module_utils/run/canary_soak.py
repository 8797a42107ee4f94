"""The work of the part `canary_soak`: a batch of an upgrade proves itself before the next one goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from ..common.arguments import CONNECTIONS, PROMETHEUS, RECORD, WAIT
from ..common.errors import refusal
from ..common.task import Contract, Outcome, Task
from ..common.timestamps import timestamp_of, timestamp_text, utc_now
from ..common.verdict import Verdict
from ..monitoring.addresses import dependencies_in
from ..monitoring.alerts import ignored_in, judge_alerts
from ..monitoring.external_dependencies import causes_of
from ..monitoring.prometheus import firing, value
from ..monitoring.prometheus_alerts import OF_ALERTS
from ..monitoring.selectors import selectors_in
from ..monitoring.server import Server
from ..monitoring.soak import Soak, SoakMeasurement, judge_soak, limits_in
from .record.batches import BatchRecord
from .record.kept_in import store_of
from .record.record import Record

EVERY = "every"
"""The value of `batches` with which every batch must prove itself."""
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **PROMETHEUS,
        **RECORD,
        **WAIT,
        **OF_ALERTS,
        "namespace": {"type": "str"},
        "members": {"type": "list", "elements": "str", "default": []},
        "began": {"type": "str"},
        "ended": {"type": "str"},
        "soak_time": {"type": "int", "default": 0},
        "batches": {"type": "str", "choices": ["first", EVERY], "default": "first"},
        "probes": {"type": "list", "elements": "str", "default": []},
        "limits": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {
                "name": {"type": "str", "required": True},
                "query": {"type": "str", "required": True},
                "most": {"type": "float"},
                "ratio": {"type": "float"},
            },
        },
        "wait_timeout": {"type": "int", "default": 3600},
        "wait_sleep": {"type": "float", "default": 5.0},
        "timeout": {"type": "int", "default": 10},
    },
    required_if=[("record_kept_in", "kubernetes", ("namespace",))],
    required_together=[("began", "ended")],
)


def run(task: Task) -> Outcome:
    """Look until the batch has proven itself. Once another batch has started, it has. Nothing is changed."""
    canary = _given(task) if task.params["ended"] else task.ask(lambda: _recorded_batch(task))
    if canary is None:
        return Outcome(Verdict(), more={"members": []})
    _seen, verdict = task.wait(_look_at(task, canary), judge_soak, stoppable=True)
    return Outcome(verdict, more={"members": list(canary.members)})


@dataclass(frozen=True)
class _Canary:
    members: tuple[str, ...]
    began: datetime
    """The start of its upgrade. Limits compare with the values of that time."""
    ended: datetime
    """The end of its upgrade, from which the soak time counts."""
    first: bool = True
    """Whether no other batch went before it."""


def _given(task: Task) -> _Canary:
    """The canary that the task names by itself, such as a cluster of a fleet."""
    return _Canary(
        tuple(task.params["members"]), timestamp_of(task.params["began"]), timestamp_of(task.params["ended"])
    )


def _recorded_batch(task: Task) -> _Canary | None:
    record = _record_of(task)
    batch = soaking(record, every=task.params["batches"] == EVERY)
    if batch is None:
        return None
    begun = sum(1 for each in record.batches if each.started)
    return _Canary(batch.members, timestamp_of(record.started), timestamp_of(end_of(record, batch)), first=begun == 1)


def soaking(record: Record, *, every: bool = False) -> BatchRecord | None:
    """The batch that must prove itself now; None if there is none.

    It is the one that started last, if it is done. Unless `every` batch counts, only the first one of its upgrade does.
    """
    # Runs on several controllers have several clocks, so those of the last run come last in any case.
    started = [batch for batch in record.batches if batch.started]
    begun = sorted(started, key=lambda batch: (batch.run == record.run, batch.started))
    due = begun[-1:] if every or len(begun) == 1 else []
    return due[0] if due and due[0].state == "done" else None


def end_of(record: Record, batch: BatchRecord) -> str:
    """The time at which a batch was seen to be done: its end, or the start of the next run if that found it done."""
    later = (entry.at for entry in record.history if entry.at >= batch.started and entry.run != batch.run)
    return batch.ended or next(later, batch.started)


def _record_of(task: Task) -> Record:
    """Raises Refusal if there is none, because then it is not known which batch went first."""
    kept = store_of(task.params).read((task.params["lock"] or {}).get("name") or "")
    if kept is not None:
        return kept.record()
    raise refusal(
        "soak_without_record",
        "The upgrade has no record, so it is not known which batch went first, and when.",
        "Keep a record that can be read and written (upgrade_record_kept_in), or leave out upgrade_soak_time.",
    )


def _look_at(task: Task, canary: _Canary) -> Callable[[], Soak]:
    params = task.params
    server = Server("prometheus", params["prometheus"]) if (params["prometheus"] or {}).get("url") else None
    limits = limits_in(params["limits"], "limits") if server else []
    heeded, ignored = selectors_in(params["alerts"], "alerts"), ignored_in(params["ignored"], "ignored")
    probes = dependencies_in(params["probes"])
    before = task.ask(lambda: firing(server, heeded, canary.began)) if server else []
    baselines = [task.ask(partial(value, server, each.query, canary.began)) for each in limits] if server else []

    # The end may be in the future on the clock of another controller.
    over = min(canary.ended, utc_now()) + timedelta(seconds=params["soak_time"])

    def look() -> Soak:
        now = utc_now()
        return Soak(
            members=canary.members,
            first=canary.first,
            left=(over - now).total_seconds(),
            until=timestamp_text(over),
            alerts=judge_alerts(firing(server, heeded) if server else [], ignored, before, now.date()),
            probes=[(each.shown, cause) for each, cause in causes_of(probes, float(params["timeout"]))],
            measured=[
                SoakMeasurement(limit, value(server, limit.query) if server else None, baseline)
                for limit, baseline in zip(limits, baselines, strict=True)
            ],
        )

    return look
