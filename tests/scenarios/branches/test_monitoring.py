"""An upgrade with a real Prometheus and a real Alertmanager: it heeds alerts, and leaves no silence behind."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.monitoring.servers import Prometheus, alertmanager, prometheus
from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PATIENCE, PLAYBOOK, Playing, confirmed, play

pytestmark = pytest.mark.own_process

FROM, TO = "2.19.6", "3.8.0"
LOST = {"alertname": "Lost", "severity": "critical"}
KNOWN, WATCHDOG = {"alertname": "Known", "severity": "page"}, {"alertname": "Watchdog", "severity": "none"}
IGNORED = {"alerts": 'alertname="Known"', "reason": "it is known", "owner": "search", "until": "2099-12-31"}
SILENCE = 'namespace="search",severity="warning"'


def cordon(platform: Platform, name: str, *, cordoned: bool) -> None:
    """Cordons a Kubernetes node, or uncordons it."""
    with platform.client() as api:
        client.CoreV1Api(api).patch_node(name, {"spec": {"unschedulable": cordoned}})


def held_up_by_an_alert_and_by_a_node(
    platform: Platform, given: Mapping[str, Any], environment: Mapping[str, str], alerts: Prometheus
) -> None:
    """Two passes, each of which names the thing that holds it up, and what the silence would hide."""
    alerts.fire(LOST, KNOWN, WATCHDOG)
    with platform.client() as api:
        found: Any = client.CoreV1Api(api).list_node().items[0]
    node = found.metadata.name
    cordon(platform, node, cordoned=True)
    first = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
    alerts.fire(KNOWN, WATCHDOG)
    second = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
    cordon(platform, node, cordoned=False)
    print(first.output, second.output, sep="\n")
    waits = [statistics(each)["upgrade_waiting_for"] for each in (first, second)]
    assert waits == [
        ["The step alerts is not done: The alert Lost (severity=critical) fires."],
        [f"The step nodes is not done: Kubernetes node {node} is cordoned."],
    ]
    assert f"The silence {SILENCE} hides Slow (namespace=search, severity=warning)." in first.output


def test_alerts_are_heeded_and_the_silences_of_a_killed_run_are_taken_over_and_ended(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "monitoring", three_combined, FROM)
    try:
        with prometheus(tmp_path) as alerts, alertmanager(tmp_path) as silences:
            silences.fire({"alertname": "Slow", "namespace": "search", "severity": "warning"})
            given = {
                **cluster.variables(TO, user="admin"),
                # No pod that pulls an image gets a place on a Kubernetes node that is cordoned.
                "upgrade_skip_checks": ["images"],
                "upgrade_prometheus_url": alerts.url,
                "upgrade_alertmanager_url": silences.url,
                "upgrade_silences": [SILENCE],
                "upgrade_alerts": ['severity=~"critical|page"'],
                "upgrade_alerts_ignored": [IGNORED],
                "upgrade_watchdog": WATCHDOG["alertname"],
            }
            given = confirmed(given, environment)
            held_up_by_an_alert_and_by_a_node(platform, given, environment, alerts)
            assert silences.silences() == []
            killed = Playing(PLAYBOOK, given, environment)
            until("the silence to be held", lambda: silences.active() or killed.ended, PATIENCE)
            killed.signal(signal.SIGKILL, group=True)
            killed.wait()
            (left,) = silences.active()
            between = tmp_path / "between.yml"
            between.write_text("- ansible.builtin.fail: {msg: The shop is on fire.}\n")
            stopped = play(PLAYBOOK, {**given, "upgrade_tasks_between": str(between)}, environment)
            assert stopped.code != 0
            assert silences.active() == []
            assert [each["id"] for each in silences.silences()] == [left["id"]]
            # A warning is not one of the alerts that are heeded, and the step before the start is not taken again.
            alerts.fire({**LOST, "severity": "warning"}, WATCHDOG)
            done = play(PLAYBOOK, given, environment)
            print(done.output)
            assert done.code == 0, done.message
            assert silences.active() == []
    finally:
        cluster.remove()
