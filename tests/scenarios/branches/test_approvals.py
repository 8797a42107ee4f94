"""People pause a running upgrade, resume it, and approve its continuation, by playbook and by annotation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, STATUS, Playing, confirmed, play

FROM, TO = "2.19.6", "3.8.0"
PAUSE, RESUME, APPROVE = (f"stateful.upgrade.{name}" for name in ("pause", "resume", "approve"))


def annotate(cluster: Cluster, annotations: Mapping[str, str | None]) -> str:
    """Annotates the record of the upgrade as kubectl does; gives its name."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        there = core.list_namespaced_config_map(cluster.namespace).items
        # A real API server keeps its certificate in each namespace, too.
        (found,) = (each for each in there if each.metadata.name.startswith("stateful-upgrade-"))
        core.patch_namespaced_config_map(
            found.metadata.name, cluster.namespace, {"metadata": {"annotations": dict(annotations)}}
        )
    return str(found.metadata.name)


def test_an_upgrade_is_paused_and_approved_where_it_is(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "approvals", three_combined, FROM)
    try:
        points = [{"name": "canary", "after": 1}, {"name": "rest", "after": 2}]
        given: dict[str, Any] = {**cluster.variables(TO), "upgrade_approvals": points}
        given = confirmed(given, environment)
        where = cluster.variables(TO)
        nothing = play(PAUSE, where, environment)
        assert "There is no upgrade in progress" in nothing.message
        first = play(PLAYBOOK, given, environment)
        print(first.output)
        assert first.code == 0, first.message
        assert statistics(first)["upgrade_reasons"] == ["approval_missing"]
        assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
        approved = play(APPROVE, {**where, "upgrade_approval": "canary"}, environment)
        print(approved.output)
        assert approved.code == 0, approved.message
        paused = play(PAUSE, {**where, "upgrade_pause_reason": "A disk is replaced."}, environment)
        print(paused.output)
        assert paused.code == 0, paused.message
        status = play(STATUS, where, environment).output
        assert "canary approved by " in status
        assert ": A disk is replaced." in status
        held = play(PLAYBOOK, {**given, "upgrade_wait": False}, environment)
        assert statistics(held)["upgrade_reasons"] == ["paused_on_request"]
        assert play(RESUME, where, environment).code == 0
        run = Playing(PLAYBOOK, given, environment)
        until("the run to be at work", lambda: "Record that the batch begins" in run.so_far or run.ended, 120)
        record = annotate(cluster, {"upgrade.stateful/approved": "rest", "upgrade.stateful/pause": "a storm"})
        stopped = run.wait()
        print(stopped.output)
        assert stopped.code == 0, stopped.message
        refused = play(RESUME, where, environment)
        assert f"kubectl annotate configmap {record} upgrade.stateful/pause-" in refused.message
        annotate(cluster, {"upgrade.stateful/pause": None})
        done = play(PLAYBOOK, given, environment)
        print(done.output)
        assert done.code == 0, done.message
        assert set(cluster.versions().values()) == {TO}
        assert "rest approved by the annotation upgrade.stateful/approved" in play(STATUS, where, environment).output
    finally:
        cluster.remove()
