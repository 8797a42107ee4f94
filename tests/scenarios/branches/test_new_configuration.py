"""A new configuration reaches each member in its pod, and one that no server starts with stops at the first."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import RESTART_ROLE, Cluster, bound
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import Played, play
from tests.scenarios.preconditions import POOL, index

pytestmark = pytest.mark.real_servers

MEMBERS = [f"{POOL}-{ordinal}" for ordinal in range(3)]
RESTART = "stateful.upgrade.restart"
SETTING, OTHER = "indices.query.bool.max_clause_count", "http.max_content_length"


@pytest.fixture(scope="module")
def configured(platform: Platform) -> Iterator[Cluster]:
    """A cluster whose members read their settings from a Secret."""
    cluster = Cluster.start(platform, "new-configuration", three_combined, "2.19.6", configured=True)
    platform.apply(bound(RESTART_ROLE, cluster.namespace))
    yield cluster
    cluster.remove()


def contents(cluster: Cluster) -> dict[str, str]:
    """The keys of the Secret as they are."""
    with cluster.platform.client() as api:
        found: Any = client.CoreV1Api(api).read_namespaced_secret(f"{POOL}-configuration", cluster.namespace)
    return {key: base64.b64decode(text).decode() for key, text in found.data.items()}


def active(cluster: Cluster, setting: str = SETTING) -> dict[str, str | None]:
    """The value of the setting with which each member runs."""
    nodes = json.loads(cluster.ask("/_nodes/settings?flat_settings=true"))["nodes"].values()
    return {node["name"]: node["settings"].get(setting) for node in nodes}


def variables(cluster: Cluster, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The variables of the playbook for these contents."""
    given = {name: value for name, value in cluster.variables("").items() if name != "target_version"}
    return {**given, "upgrade_configuration": [{"pool": POOL, "contents": dict(wanted)}]}


def restarted(
    cluster: Cluster, wanted: Mapping[str, str], environment: Mapping[str, str], **more: Any
) -> tuple[Played, Played]:
    """A run for these contents: the one that shows its plan, and the one that was confirmed."""
    given = {**variables(cluster, wanted), **more}
    shown = play(RESTART, given, environment)
    digest = re.search(r"Plan (p\w{11})", shown.output)
    assert digest, shown.output
    return shown, play(RESTART, {**given, "upgrade_confirm": digest[1]}, environment)


def test_each_member_runs_the_new_configuration_in_the_pod_that_it_had(
    configured: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    before, first = configured.fingerprint(), contents(configured)
    wanted = {name: f"{content}{SETTING}: 2048\n" for name, content in first.items()}
    with index(configured, "logs", shards=2, replicas=1):
        shown, done = restarted(configured, wanted, ansible_environment)
        print(done.output)
        assert f"{SETTING} is set" in shown.output
        assert done.code == 0, done.message
        assert "3 restarted" in done.output
        assert "2048" not in done.output
        assert active(configured) == dict.fromkeys(MEMBERS, "2048")
        assert configured.fingerprint().pods == before.pods
        assert contents(configured) == wanted
        # A server does not start with a setting that it does not know.
        for name in MEMBERS:
            configured.platform.faults.back_off(configured.namespace, name, 0.5)
        broken = {name: f"{content}no.such.setting: 1\n" for name, content in wanted.items()}
        _shown, failed = restarted(configured, broken, ansible_environment)
        print(failed.output)
        assert failed.code != 0
        assert "Its log names the cause: java.lang.IllegalArgumentException: unknown setting" in failed.message
        assert [name for name, content in contents(configured).items() if "no.such" in content] != []
        assert len([name for name, value in active(configured).items() if value == "2048"]) == 2
        back = [{"pool": POOL, "previous": True}]
        _shown, mended = restarted(configured, {}, ansible_environment, upgrade_configuration=back)
        print(mended.output)
        assert mended.code == 0, mended.message
        configured.until_green()
    assert active(configured) == dict.fromkeys(MEMBERS, "2048")
    assert contents(configured) == wanted
    assert configured.fingerprint().pods == before.pods


def test_pods_are_replaced_by_the_same_command_where_that_is_needed(
    configured: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    """One setting is said to need new pods, for one member. The processes of the others restart in their pods."""
    before, first = configured.fingerprint().pods, contents(configured)
    replaced = MEMBERS[0]
    needs_pod = "node.attr.rack"
    wanted = {name: f"{content}{OTHER}: 90mb\n" for name, content in first.items()}
    wanted[replaced] += f"{needs_pod}: r1\n"
    own = {"upgrade_setting_needs": {"node.attr.*": "new_pod"}}
    with index(configured, "logs", shards=2, replicas=1):
        shown, done = restarted(configured, wanted, ansible_environment, **own)
        print(done.output)
        assert "1 pod is replaced; the processes of the others restart in their pods." in shown.output
        assert f"{needs_pod} is set for {replaced}, which needs new pods: the user says so" in shown.output
        assert "Plan: 2 to restart, 1 to replace" in shown.output
        assert done.code == 0, done.message
        configured.until_green()
    after = configured.fingerprint().pods
    assert {name for name in MEMBERS if after[name] != before[name]} == {replaced}
    assert active(configured, OTHER) == dict.fromkeys(MEMBERS, "90mb")
    assert contents(configured) == wanted
    given = {**variables(configured, wanted), **own}
    again = play(RESTART, given, ansible_environment)
    assert again.code == 0, again.message
    assert "Nothing to do: no member is to be restarted." in again.output
    assert configured.fingerprint().pods == after
