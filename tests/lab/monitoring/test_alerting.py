"""Alerts and silences, asked of a real Prometheus and a real Alertmanager."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring import alert_silence, prometheus_alerts
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.alert_silence import alertmanager_of
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.silence_renewal import SilenceRenewal

from tests.lab.monitoring.servers import Alertmanager, alertmanager, prometheus
from tests.sandbox.clock import Clock

Json = dict[str, Any]
SERVER = {
    "username": None,
    "password": None,
    "token": None,
    "ca_cert": None,
    "validate_certs": True,
    "request_timeout": 10,
}
LOST = {"alertname": "Lost", "severity": "critical", "namespace": "shop"}
FULL = {"alertname": "Full", "severity": "critical", "disk": "a"}
SLOW = {"alertname": "Slow", "severity": "warning"}
WARNINGS, SEARCH = 'namespace="search",severity="warning"', 'namespace="search"'


def look(url: str, **given: Any) -> Json:
    params = prometheus_alerts.CONTRACT.arguments({}, prometheus={**SERVER, "url": url}, **given)
    return perform(prometheus_alerts.run, Task(params=params))


def codes(result: Json) -> list[str]:
    return [each["code"] for each in result["verdict"]["reasons"]]


def test_the_alerts_of_a_real_prometheus_are_heeded_ignored_and_compared(tmp_path: Path) -> None:
    later = (datetime.now(timezone.utc) + timedelta(days=2)).date().isoformat()
    with prometheus(tmp_path) as server:
        assert look(server.url, wait=False)["verdict"] == {"state": "passed", "reasons": []}
        assert codes(look(server.url, wait=False, watchdog="Watchdog")) == ["alerts_not_evaluated"]
        server.fire(LOST, FULL, SLOW)
        begun = datetime.now(timezone.utc).isoformat()
        seen = look(server.url, wait=False)
        assert codes(seen) == ["alert_firing", "alert_firing"]
        assert "Lost (namespace=shop, severity=critical) fires." in json.dumps(seen)
        entry = {"alerts": 'alertname="Full"', "reason": "It is grown.", "owner": "storage", "until": later}
        assert codes(look(server.url, wait=False, ignored=[entry])) == ["alert_ignored", "alert_firing"]
        over = look(server.url, wait=False, ignored=[{**entry, "until": "2026-01-01"}])
        assert "It was ignored until 2026-01-01 (storage)." in json.dumps(over)
        server.fire(LOST, SLOW, {**LOST, "namespace": "bank"})
        after = look(server.url, wait=False, baseline=begun)
        assert codes(after) == ["alert_firing", "alert_of_before"]
        both = look(server.url, wait=False, alerts=['namespace="shop"', 'alertname=~"Sl.*"'])
        assert len(both["firing"]) == 2
        server.fire()
        assert look(server.url)["verdict"]["state"] == "passed"
    away = look(server.url, wait=False)
    assert (away["verdict"]["state"], codes(away)) == ("waiting", ["monitoring_unreachable"])


def hold(
    server: Alertmanager,
    run: str,
    state: str,
    *silences: str,
    duration: int = 900,
    lock: str = "lock",
    cluster: str = "",
) -> Json:
    given = {**SERVER, "url": server.url, "silence_duration": duration, "cluster": cluster}
    whose = {"run": run, "name": lock}
    params = alert_silence.CONTRACT.arguments({}, alertmanager=given, lock=whose, state=state, silences=list(silences))
    return perform(alert_silence.run, Task(params={**params, "wait": False}))


def test_the_silences_of_a_real_alertmanager_are_held_taken_over_and_ended(tmp_path: Path) -> None:
    with alertmanager(tmp_path) as server:
        server.fire({"alertname": "Slow", "namespace": "search", "severity": "warning"})
        shown = hold(server, "night", "shown", WARNINGS, 'alertname="None"')
        assert shown["hidden"] == {WARNINGS: 1, 'alertname="None"': 0}
        assert hold(server, "other", "present", SEARCH, lock="other")["changed"]
        assert hold(server, "other", "present", SEARCH, cluster="b")["changed"]
        assert hold(server, "other", "absent", cluster="b")["changed"]
        assert hold(server, "night", "present", WARNINGS)["changed"]
        (first,) = [each for each in server.active() if "run night" in each["comment"]]
        assert not hold(server, "night", "present", WARNINGS)["changed"]
        # The next run takes it over under the same id, and one that wants another one ends it.
        assert hold(server, "day", "present", 'severity="warning",namespace="search"')["changed"]
        (taken,) = [each for each in server.active() if "run day" in each["comment"]]
        assert (taken["id"], taken["startsAt"]) == (first["id"], first["startsAt"])
        hold(server, "day", "present", SEARCH)
        assert len(server.active()) == 2
        assert hold(server, "day", "absent")["changed"]
        assert not hold(server, "day", "absent")["changed"]
        (left,) = server.active()
        assert left["createdBy"] == "stateful.upgrade other"
    gone = hold(server, "day", "absent")
    assert (gone["verdict"]["state"], codes(gone)) == ("passed", ["silences_not_ended"])
    refused = hold(server, "day", "present", SEARCH)
    assert codes(refused) == ["monitoring_unreachable"]


class Free:
    """A guard that lets everything pass."""

    def before_look(self, doing: str, stoppable: bool) -> None:
        pass

    def before_act(self) -> None:
        pass


def test_a_silence_is_renewed_by_looks_and_its_loss_stops_none(tmp_path: Path) -> None:
    with alertmanager(tmp_path) as server:
        hold(server, "night", "present", SEARCH, duration=600)
        (before,) = server.active()
        clock = Clock()
        # It lasts 600 s of 1,800: less than two thirds are left, so that a look renews it.
        params = {"alertmanager": {**SERVER, "url": server.url, "silence_duration": 1_800}}
        manager = alertmanager_of({**params, "lock": {"run": "night", "name": "lock"}})
        guard = SilenceRenewal(Free(), manager, clock)
        guard.before_look("", stoppable=False)
        (after,) = server.active()
        assert (after["id"], after["endsAt"] > before["endsAt"]) == (before["id"], True)
    clock.advance(1_800)
    guard.before_look("", stoppable=False)
