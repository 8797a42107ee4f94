"""The work of the module `prometheus_alerts`: it waits until no alert fires that stops an upgrade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..common.arguments import CONNECTIONS, PROMETHEUS, WAIT
from ..common.task import Contract, Outcome, Task
from ..common.timestamps import timestamp_of, utc_now
from ..common.verdict import Verdict, combine
from .alerts import Alert, ignored_in, judge_alerts, judge_watchdog
from .prometheus import fires, firing
from .selectors import selectors_in
from .server import Server

CRITICAL = 'severity="critical"'
IGNORED = ("alerts", "reason", "owner", "until")
OF_ALERTS: dict[str, dict[str, Any]] = {
    "alerts": {"type": "list", "elements": "str", "default": [CRITICAL]},
    "ignored": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {name: {"type": "str", "required": True} for name in IGNORED},
    },
}
CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        "prometheus": {**PROMETHEUS["prometheus"], "required": True},
        **WAIT,
        "wait_timeout": {"type": "int", "default": 300},
        "wait_sleep": {"type": "float", "default": 5.0},
        **OF_ALERTS,
        "baseline": {"type": "str"},
        "watchdog": {"type": "str"},
    },
)


@dataclass(frozen=True)
class ObservedAlerts:
    """One look."""

    alerts: list[Alert]
    watched: bool
    """Whether the alert that must always fire does so; true if none is named."""


def run(task: Task) -> Outcome:
    """Look until no alert stops the upgrade. Nothing is changed."""
    params = task.params
    server = Server("prometheus", params["prometheus"])
    heeded = selectors_in(params["alerts"], "alerts")
    ignored = ignored_in(params["ignored"], "ignored")
    since = timestamp_of(params["baseline"]) if params["baseline"] else None
    before = task.ask(lambda: firing(server, heeded, since)) if since else []

    def look() -> ObservedAlerts:
        return ObservedAlerts(firing(server, heeded), not params["watchdog"] or fires(server, params["watchdog"]))

    def judge(seen: ObservedAlerts) -> Verdict:
        watched = judge_watchdog(params["watchdog"], seen.watched)
        return combine([watched, judge_alerts(seen.alerts, ignored, before, utc_now().date())])

    seen, verdict = task.wait(look, judge, stoppable=True)
    return Outcome(verdict, more={"firing": [each.known for each in seen.alerts]})
