"""The early look at an upgrade that starts later: which passes take it, and the alerts that it asks for.

The plan itself judges all else. The alerts are asked by a step of the run, which begins with the start alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...common.side_by_side import ParallelWork
from ...common.task import Task
from ...common.timestamps import utc_now
from ...monitoring import prometheus_alerts
from .schedule import schedule_in


def early_alerts(task: Task, plan: Mapping[str, Any]) -> Iterator[ParallelWork]:
    """The look at the alerts in a single pass before the start, if the task has a Prometheus. Others get nothing.

    Raises:
        Refusal: the schedule cannot be read.
    """
    schedule, now = schedule_in(task.params), utc_now()
    asks = (task.params.get("prometheus") or {}).get("url") and not task.params["wait"] and not plan["commenced"]
    if asks and schedule is not None and now < schedule.at and schedule.has_early_look(now):
        own = {"baseline": None, "wait": False}
        yield ParallelWork(prometheus_alerts.run, prometheus_alerts.CONTRACT.arguments(task.params, **own))
