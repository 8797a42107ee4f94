"""Runs are killed after each of their steps: each thing is reported, held and ended once all the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.lab.monitoring.servers import alertmanager, prometheus
from tests.lab.opensearch.layouts import Address, Layout, Manifest, Pool
from tests.sandbox.webhook import webhook
from tests.scenarios.cluster import Cluster, Fingerprint
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, STATUS, Playing, confirmed, play

pytestmark = [pytest.mark.own_process, pytest.mark.real_servers]

FROM, TO = "2.19.6", "3.8.0"
MARK = "upgrade.stateful/extra-member"
STEPS = ("dependencies", "alerts", "nodes", "capacity", "silences", "capacity_after", "alerts_after")
POOLS = (Pool("managers", 3, ("cluster_manager", "data")), Pool("data", 1, ("data",)))
KILL = """
- ansible.builtin.shell: test -e {flag} || {{ touch {flag} && kill -KILL {{{{ controller }}}} 0; }}
  vars:
    controller: "{{{{ lookup('ansible.builtin.pipe', 'ps -o ppid= -p $PPID') }}}}"
"""
"""It ends the controller and its worker the first time."""


def four_members(namespace: str, version: str, *, address: Address) -> list[Manifest]:
    """Three members that can be elected, and a pool of one that cannot, which may have one more."""
    return Layout(namespace, version, POOLS, address).manifests()


def sized(cluster: Fingerprint, pool: str) -> tuple[int, list[str]]:
    """The replicas of a pool, and the marks of a member that was added."""
    found = cluster.pools[pool]
    return found["spec"]["replicas"], [key for key in found["annotations"] or {} if key == MARK]


def killers(folder: Path) -> list[dict[str, Any]]:
    """A step after each step of the collection, which kills the run once."""
    steps = []
    for name in STEPS:
        tasks = folder / f"{name}.yml"
        tasks.write_text(KILL.format(flag=folder / f"{name}.killed"))
        steps.append({"name": f"kill-{name}", "tasks": str(tasks), "after_step": name})
    return steps


@pytest.mark.soak
def test_a_kill_behind_each_step_leaves_nothing_behind(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    cluster = Cluster.start(platform, "killed-at-steps", four_members, FROM)
    try:
        before = cluster.fingerprint()
        with prometheus(tmp_path) as alerts, alertmanager(tmp_path) as silences, webhook() as hook:
            given: dict[str, Any] = {
                **cluster.variables(TO, user="admin"),
                "upgrade_dependencies": [cluster.url.replace("http", "tcp")],
                "upgrade_prometheus_url": alerts.url,
                "upgrade_alertmanager_url": silences.url,
                "upgrade_silences": ['namespace="search"'],
                "upgrade_extra_member": "opensearch-data",
                "upgrade_webhook": f"{hook.url}/200",
            }
            given = {**confirmed(given, ansible_environment), "upgrade_steps": killers(tmp_path)}
            ends = [Playing(PLAYBOOK, given, ansible_environment).wait() for _kill in STEPS]
            print(*(each.output for each in ends), sep="\n")
            assert [each.code for each in ends] == [-9] * len(STEPS)
            assert len([*tmp_path.glob("*.killed")]) == len(STEPS)
            done = play(PLAYBOOK, given, ansible_environment)
            print(done.output, hook.states, sep="\n")
            assert done.code == 0, done.message
            assert hook.states == ["started", "completed"]
            assert len(silences.silences()) == 1
            assert silences.active() == []
        status = play(STATUS, cluster.variables(TO), ansible_environment).output
        assert ": Completed, to " in status
        assert "is at work" not in status
        assert [f"step {name}: completed" in status for name in STEPS] == [True] * len(STEPS)
        assert set(cluster.versions().values()) == {TO}
        after = cluster.fingerprint()
        assert after.settings == before.settings
        assert after.pods.keys() == before.pods.keys()
        assert [sized(each, "opensearch-data") for each in (before, after)] == [(1, []), (1, [])]
        assert [name for name in cluster.claims() if name.endswith("opensearch-data-1")] == []
    finally:
        cluster.remove()
