"""An upgrade of real servers by a run that waits, is killed, and goes on pass by pass.

It has a schedule, a canary, one member more, alerts, silences, notices, an approval and figures, each with the real
server of its kind.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.monitoring.servers import Alertmanager, alertmanager, prometheus
from tests.lab.monitoring.test_metrics import values
from tests.lab.traffic import Traffic, seed
from tests.lab.traffic.budgets import KILLED
from tests.lab.waiting import moment, until
from tests.sandbox.webhook import webhook
from tests.scenarios.branches.test_killed_at_steps import four_members, sized
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import OPTIONAL_ROLE, Cluster, bound
from tests.scenarios.playbook import PLAYBOOK, Playing, confirmed, play

FROM, TO = "2.19.6", "3.8.0"
CANARY = "opensearch-managers-2"
POOL, EXTRA = "opensearch-data", "opensearch-data-1"
CAREFULLY: dict[str, Any] = {
    "upgrade_silences": ['namespace="search",severity="warning"'],
    "upgrade_canary": CANARY,
    "upgrade_extra_member": POOL,
    "upgrade_soak_time": 20,
    "upgrade_soak_limits": [{"name": "targets", "query": "vector(1)", "ratio": 1}],
    "upgrade_approvals": [{"name": "last", "after": 2}],
}
MOST_PASSES = 30


@pytest.mark.soak
def test_an_upgrade_with_all_that_stands_around_it(
    lab: Lab, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(lab, "run-engine", four_members, FROM)
    try:
        lab.apply(bound(OPTIONAL_ROLE, cluster.namespace))
        before = cluster.fingerprint()
        seed(cluster.target, tmp_path, documents=1_000)
        cluster.until_green()
        with prometheus(tmp_path) as alerts, alertmanager(tmp_path) as silences, webhook() as hook:
            around = {
                "upgrade_prometheus_url": alerts.url,
                "upgrade_alertmanager_url": silences.url,
                "upgrade_webhook": f"{hook.url}/200",
                "upgrade_metrics_path": str(tmp_path / "metrics"),
            }
            given = confirmed({**cluster.variables(TO), **CAREFULLY, **around}, environment)
            with Traffic.start(cluster.target, tmp_path) as traffic:
                _upgrade(cluster, given, environment, silences)
                report = traffic.stop()
            print(report.table(), hook.states, sep="\n")
            cluster.is_upgraded(TO)
            report.keeps(KILLED)
            after = cluster.fingerprint()
            assert after.settings == before.settings
            assert after.pods.keys() == before.pods.keys()
            assert sized(after, POOL) == (1, [])
            until("the volume of the added member to be gone", lambda: f"data-{EXTRA}" not in cluster.claims(), 30)
            assert silences.active() == []
            assert len(silences.silences()) == 1, "the silence of the killed run was taken over"
            assert len({*hook.keys}) == len(hook.keys)
            assert [hook.states.count(each) for each in ("started", "completed")] == [1, 1]
        (file,) = (tmp_path / "metrics").glob("*.prom")
        assert values(file.read_text(), "phase", "phase")["Completed"] == 1.0
        assert values(file.read_text(), "members", "state")["done"] == 4.0
    finally:
        cluster.remove()


def _upgrade(cluster: Cluster, given: dict[str, Any], environment: Mapping[str, str], silences: Alertmanager) -> None:
    """One pass before the start, a run that waits for it and is killed, passes, an approval, and a run to the end."""
    given["upgrade_at"] = moment(20)
    early = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
    print(early.output)
    assert statistics(early)["upgrade_reasons"] == ["starts_later"]
    run = Playing(PLAYBOOK, given, environment)
    until("the canary to go down", lambda: "goes down" in run.so_far or run.ended, 180)
    run.signal(signal.SIGKILL, group=True)
    print(run.wait().output)
    assert cluster.versions()[EXTRA] == TO
    assert len(silences.active()) == 1
    reasons = _passes(given, environment)
    assert reasons[-1] == ["approval_missing"]
    assert any("soaking" in each for each in reasons), reasons
    approve = {**cluster.variables(TO), "upgrade_approval": "last"}
    assert play("stateful.upgrade.approve", approve, environment).code == 0
    done = play(PLAYBOOK, given, environment)
    print(done.output)
    assert done.code == 0, done.message


def _passes(given: Mapping[str, Any], environment: Mapping[str, str]) -> list[list[str]]:
    """The reasons of one pass after the other, until one waits for the approval."""
    reasons: list[list[str]] = []
    while len(reasons) < MOST_PASSES and reasons[-1:] != [["approval_missing"]]:
        played = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
        assert played.code == 0, played.output
        reasons.append(list(statistics(played)["upgrade_reasons"]))
    print(reasons)
    return reasons
