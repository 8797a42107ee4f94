"""An upgrade with a start time and a window: nothing is touched before it and after it, and it starts in between."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import moment
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, STATUS, confirmed, play, upgrade

FROM, TO = "2.19.6", "3.8.0"
UNTIL_OVER = "- ansible.builtin.debug:\n  loop: [1, 2]\n  loop_control: {pause: 46}\n"
"""A task that lasts until the window is over."""


def created(cluster: Cluster) -> datetime:
    """The time at which the first pod was made."""
    with cluster.platform.client() as api:
        pods: Any = client.CoreV1Api(api).list_namespaced_pod(cluster.namespace).items
    return min(pod.metadata.creation_timestamp for pod in pods)


@pytest.mark.soak
def test_an_upgrade_starts_in_its_window_and_not_before(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "schedule", three_combined, FROM)
    try:
        before = cluster.fingerprint()
        given = {**cluster.variables(TO), "upgrade_wait": False}
        start = moment(7_260)
        early = play(PLAYBOOK, {**given, "upgrade_at": start}, environment)
        print(early.output)
        assert early.code == 0, early.message
        assert statistics(early)["upgrade_reasons"] == ["starts_later"]
        assert "in 2 h" in early.output
        shown = play(STATUS, cluster.variables(TO), environment)
        print(shown.output)
        assert f"Pending, to {TO}, starts {start.replace('+00:00', 'Z')} (window until " in shown.output
        late = play(PLAYBOOK, {**given, "upgrade_at": moment(-120), "upgrade_window": 1}, environment)
        assert late.code != 0
        assert "The window for the start of the upgrade ended at" in late.message
        wrong = play(PLAYBOOK, {**given, "upgrade_at": "tonight"}, environment)
        assert "'tonight', and must be a date and time with a zone" in wrong.message
        assert cluster.fingerprint() == before
        moment_of_start = datetime.fromtimestamp(time.time(), timezone.utc).replace(microsecond=0) + timedelta(
            seconds=20
        )
        waits = {**cluster.variables(TO), "upgrade_at": moment_of_start.isoformat()}
        started = upgrade(waits, environment)
        print(started.output)
        assert started.code == 0, started.message
        assert created(cluster) >= moment_of_start
        assert set(cluster.versions().values()) == {TO}
    finally:
        cluster.remove()


def test_at_the_end_of_its_window_an_upgrade_pauses_and_the_next_window_goes_on(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    """The user's own task between the batches lasts until the window is over."""
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "pauses", three_combined, FROM)
    between = tmp_path / "between.yml"
    between.write_text(UNTIL_OVER)
    try:
        before = cluster.fingerprint()
        given = confirmed(cluster.variables(TO), environment)
        given |= {"upgrade_at": moment(-15), "upgrade_window": 1, "upgrade_window_policy": "pause"}
        own = {"upgrade_tasks_between": str(between)}
        paused = play(PLAYBOOK, {**given, **own}, environment)
        print(paused.output)
        assert paused.code == 0, paused.message
        assert statistics(paused)["upgrade_reasons"] == ["window_closed"]
        assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
        assert cluster.fingerprint().settings == before.settings
        del given["upgrade_confirm"]
        again = upgrade(given, environment)
        assert statistics(again)["upgrade_reasons"] == ["window_closed"]
        assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
        done = upgrade({**given, "upgrade_at": moment(-5), "upgrade_window": 60}, environment)
        print(done.output)
        assert done.code == 0, done.message
        assert set(cluster.versions().values()) == {TO}
    finally:
        cluster.remove()
