"""The early look at an upgrade that starts later: which passes take it, and the questions that it asks.

The plan itself judges all else. These questions belong to steps that a run takes before its first batch, and that
otherwise come only with the start: dependencies, alerts, and Kubernetes nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...common.arguments import PROMETHEUS
from ...common.side_by_side import ParallelWork
from ...common.task import Task
from ...common.timestamps import utc_now
from ...kubernetes import kubernetes_nodes
from ...monitoring import external_dependencies, prometheus_alerts
from ..steps import ASKED_EARLY, NODES
from .schedule import schedule_in

Params = Mapping[str, Any]


def _dependencies(params: Params, _plan: Params) -> Iterator[ParallelWork]:
    if params["dependencies"]:
        arguments = external_dependencies.CONTRACT.arguments(params, wait=False)
        yield ParallelWork(external_dependencies.run, arguments)


def _alerts(params: Params, _plan: Params) -> Iterator[ParallelWork]:
    if (params["prometheus"] or {}).get("url"):
        arguments = prometheus_alerts.CONTRACT.arguments(params, baseline=None, wait=False)
        yield ParallelWork(prometheus_alerts.run, arguments)


def _nodes(params: Params, plan: Params) -> Iterator[ParallelWork]:
    if names := sorted({*(plan.get(NODES) or {}).values()}):
        arguments = kubernetes_nodes.CONTRACT.arguments(params, names=names, baseline=None, wait=False)
        yield ParallelWork(kubernetes_nodes.run, arguments)


QUESTIONS: Mapping[str, Callable[[Params, Params], Iterator[ParallelWork]]] = dict(
    zip(ASKED_EARLY, (_dependencies, _alerts, _nodes), strict=True)
)
"""The questions by the names of their steps."""
EARLY: dict[str, dict[str, Any]] = {
    **PROMETHEUS,
    **prometheus_alerts.OF_ALERTS,
    "watchdog": {"type": "str"},
    "dependencies": {"type": "list", "elements": "str", "default": []},
    "early_steps": {"type": "list", "elements": "str", "choices": [*ASKED_EARLY], "default": [*ASKED_EARLY]},
}
"""The options of the modules that plan runs."""


def early_questions(task: Task, plan: Mapping[str, Any]) -> Iterator[ParallelWork]:
    """The questions of a single pass before the start, of the steps that the run will take. Other passes ask none.

    Raises:
        Refusal: the schedule cannot be read.
    """
    schedule, now = schedule_in(task.params), utc_now()
    if task.params["wait"] or plan["commenced"] or not plan["batches"]:
        return
    if schedule is not None and now < schedule.at and schedule.has_early_look(now):
        for name in task.params["early_steps"]:
            yield from QUESTIONS[name](task.params, plan)
