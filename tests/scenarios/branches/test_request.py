"""An upgrade by request: all faults are reported at once, each batch reads it again, its state is noted next to it."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.lab.waiting import moment, until
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import END
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, Playing, play, upgrade

FROM, TO = "2.19.6", "3.8.0"
NAME = "next-upgrade"


def requested(cluster: Cluster, document: Mapping[str, Any]) -> None:
    """Put the document into the ConfigMap of the request."""
    body: Any = {"metadata": {"name": NAME}, "data": {"request.yml": yaml.safe_dump(dict(document))}}
    with cluster.platform.client() as api:
        core = client.CoreV1Api(api)
        found: Any = core.list_namespaced_config_map(cluster.namespace).items
        there = [each.metadata.name for each in found]
        if NAME in there:
            core.patch_namespaced_config_map(NAME, cluster.namespace, body)
        else:
            core.create_namespaced_config_map(cluster.namespace, body)


def state(cluster: Cluster) -> dict[str, Any]:
    """The state that is noted at the ConfigMap."""
    with cluster.platform.client() as api:
        found: Any = client.CoreV1Api(api).read_namespaced_config_map(NAME, cluster.namespace)
    noted: dict[str, Any] = json.loads(found.metadata.annotations["upgrade.stateful/request-state"])
    return noted


def test_a_request_in_a_config_map_is_checked_waited_for_and_carried_out(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "requests", three_combined, FROM)
    try:
        before = cluster.fingerprint()
        given = {**cluster.variables(TO), "upgrade_wait": False, "upgrade_request": f"configmap/{NAME}"}
        target = given.pop("target_version")
        missing = play(PLAYBOOK, given, environment)
        assert f"There is no request in ConfigMap {NAME}" in missing.message
        wrong = {"type": "tea", "upgrade_windw": 5, "upgrade_namespace": "x", "upgrade_confirm": "{{ 1 }}"}
        requested(cluster, wrong)
        refused = play(PLAYBOOK, given, environment)
        print(refused.output)
        assert refused.code != 0
        for fault in (
            "type is 'tea' in the request",
            "did you mean upgrade_window?",
            "upgrade_namespace is in the request, but only the run may give it",
            "upgrade_confirm holds a template",
            "target_version is missing",
        ):
            assert fault in refused.message
        assert statistics(refused)["upgrade_reasons"] == ["request_invalid"]
        assert state(cluster)["state"] == "invalid"
        assert "did you mean upgrade_window?" in state(cluster)["message"]
        good = {"type": "opensearch", "target_version": target}
        with cluster.platform.client() as api:
            client.CoreV1Api(api).delete_namespaced_config_map(NAME, cluster.namespace)
        requested(cluster, {**good, "upgrade_at": moment(7_260)})
        early = play(PLAYBOOK, given, environment)
        assert early.code == 0, early.message
        assert statistics(early)["upgrade_reasons"] == ["starts_later"]
        assert (state(cluster)["state"], cluster.fingerprint()) == ("waiting", before)
        its_start_is_waited_for(cluster, good, given, environment)
        assert cluster.fingerprint() == before
        requested(cluster, {**good, "upgrade_at": moment(-5)})
        done = upgrade({**given, "upgrade_wait": True}, environment)
        print(done.output)
        assert done.code == 0, done.message
        assert set(cluster.versions().values()) == {TO}
        assert state(cluster)["state"] == "completed"
    finally:
        cluster.remove()


def its_start_is_waited_for(
    cluster: Cluster, good: Mapping[str, Any], given: Mapping[str, Any], environment: Mapping[str, str]
) -> None:
    """A run that waits says so at the request before it has planned anything."""
    later = moment(600)
    requested(cluster, {**good, "upgrade_at": later})
    waits = Playing(PLAYBOOK, {**given, "upgrade_wait": True}, environment)
    until("the note that it waits", lambda: later in state(cluster)["message"], END)
    waits.signal(signal.SIGKILL, group=True)
    waits.abandon()
    assert state(cluster)["state"] == "waiting"


@pytest.mark.soak
def test_a_request_that_changes_under_way_stops_after_the_member_and_the_next_run_follows_it(
    platform: Platform, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "changes", three_combined, FROM)
    request, between = tmp_path / "request.yml", tmp_path / "between.yml"
    line = "upgrade_gate_timeout: 900"
    between.write_text(f"- ansible.builtin.lineinfile: {{path: '{request}', line: '{line}'}}\n")
    try:
        before = cluster.fingerprint()
        given = {**cluster.variables(TO), "upgrade_request": str(request)}
        request.write_text(yaml.safe_dump({"type": "opensearch", "target_version": given.pop("target_version")}))
        paused = upgrade({**given, "upgrade_tasks_between": str(between)}, environment)
        print(paused.output)
        assert paused.code == 0, paused.message
        assert statistics(paused)["upgrade_reasons"] == ["request_changed"]
        assert sorted(cluster.versions().values()) == [FROM, FROM, TO]
        assert cluster.fingerprint().settings == before.settings
        beside = tmp_path / "request.yml.state.json"
        assert json.loads(beside.read_text())["state"] == "paused"
        kept = request.read_text()
        request.unlink()
        gone = play(PLAYBOOK, given, environment)
        assert f"There is no request in the file {request}" in gone.message
        request.write_text(kept)
        done = upgrade(given, environment)
        print(done.output)
        assert done.code == 0, done.message
        assert set(cluster.versions().values()) == {TO}
        assert json.loads(beside.read_text())["state"] == "completed"
    finally:
        cluster.remove()
