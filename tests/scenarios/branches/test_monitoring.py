# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade beside a real Prometheus and a real Alertmanager: it heeds alerts, and leaves no silence behind."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from tests.lab.monitoring.servers import alertmanager, prometheus
from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.ground import Ground
from tests.scenarios.playbook import PLAYBOOK, Playing, confirmed, play

FROM, TO = "2.19.6", "3.8.0"
LOST = {"alertname": "Lost", "severity": "critical"}
SILENCE = 'namespace="search",severity="warning"'


def test_alerts_are_heeded_and_the_silences_of_a_killed_run_are_taken_over_and_ended(
    ground: Ground, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(ground, "monitoring", three_combined, FROM)
    try:
        with prometheus(tmp_path) as alerts, alertmanager(tmp_path) as silences:
            silences.fire({"alertname": "Slow", "namespace": "search", "severity": "warning"})
            given = {
                **cluster.variables(TO),
                "upgrade_prometheus_url": alerts.url,
                "upgrade_alertmanager_url": silences.url,
                "upgrade_silences": [SILENCE],
            }
            given = confirmed(given, environment)
            alerts.fire(LOST)
            held_up = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
            print(held_up.output)
            assert held_up.code == 0, held_up.message
            assert statistics(held_up)["upgrade_waiting_for"] == [
                "The step alerts is not done: The alert Lost (severity=critical) fires."
            ]
            assert f"The silence {SILENCE} hides Slow (namespace=search, severity=warning)." in held_up.output
            assert silences.silences() == []
            alerts.fire()
            killed = Playing(PLAYBOOK, given, environment)
            until("the silence to be held", lambda: silences.active() or killed.ended, 120)
            killed.signal(signal.SIGKILL, group=True)
            killed.wait()
            (left,) = silences.active()
            between = tmp_path / "between.yml"
            between.write_text("- ansible.builtin.fail: {msg: The shop is on fire.}\n")
            stopped = play(PLAYBOOK, {**given, "upgrade_tasks_between": str(between)}, environment)
            assert stopped.code != 0
            assert silences.active() == []
            assert [each["id"] for each in silences.silences()] == [left["id"]]
            # A warning is none of those that are heeded, and the step before the start is not taken again.
            alerts.fire({**LOST, "severity": "warning"})
            done = play(PLAYBOOK, given, environment)
            print(done.output)
            assert done.code == 0, done.message
            assert silences.active() == []
    finally:
        cluster.remove()
