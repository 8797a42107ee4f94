"""Real members take exactly those settings while they run that the table of restarts calls dynamic."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.setting_rules import SettingEffect
from ansible_collections.stateful.upgrade.plugins.module_utils.restart.judge.settings_table import rule_of

from tests.lab.addresses import Range
from tests.lab.fixtures import lab_directory
from tests.lab.opensearch.homes import fetch_home
from tests.lab.opensearch.hosts import Host
from tests.lab.waiting import until

BOOT = 240.0
ONLY_SOME_VERSIONS = {
    "cluster.fault_detection.follower_check.interval",
    "cluster.fault_detection.follower_check.timeout",
    "cluster.fault_detection.leader_check.timeout",
    "cluster.follower_lag.timeout",
    "cluster.publish.timeout",
    "indices.fielddata.cache.size",
    "indices.query.bool.max_clause_count",
    "search.concurrent.max_slice_count",
}
"""Settings that these versions take while they run, and older ones or Elasticsearch do not."""


class Member:
    """A cluster of one."""

    def __init__(self, version: str) -> None:
        self._range = Range.claim([9200, 9300])
        self._address = self._range.kubernetes_node(0)
        directory = lab_directory() / "alone"
        settings = {"cluster.name": "table", "discovery.type": "single-node"}
        self._host = Host.make(directory, "alone", self._address, settings)
        self._host.install(version)
        self._host.start()
        until("the member to answer", lambda: self.ask("GET", "/_cluster/health")[0] == 200, BOOT)

    def ask(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        url = f"http://{self._address}:9200{target}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        except OSError:
            return 0, {}

    def known(self) -> set[str]:
        """The names of all settings that the member has registered and shows."""
        found = self.ask("GET", "/_cluster/settings?include_defaults=true&flat_settings=true")[1]
        return {name for scope in found.values() for name in scope}

    def takes(self, *names: str) -> bool:
        """Whether the running member lets all these settings be reset, as it does with every one that it takes."""
        status, said = self.ask("PUT", "/_cluster/settings", {"persistent": dict.fromkeys(names)})
        assert status == 200 or " updateable" in json.dumps(said), said
        return status == 200

    def end(self) -> None:
        self._host.stop()
        self._range.release()


@pytest.fixture(params=["2.19.6", "3.8.0"])
def member(request: pytest.FixtureRequest) -> Iterator[Member]:
    fetch_home(request.param)
    alone = Member(request.param)
    yield alone
    alone.end()


def test_a_running_member_takes_what_the_table_calls_dynamic_and_nothing_else(member: Member) -> None:
    ways = {name: rule_of(name) for name in member.known()}
    dynamic = sorted(name for name, rule in ways.items() if rule.way is SettingEffect.DYNAMIC)
    assert len(dynamic) > 200
    assert member.takes(*dynamic)
    others = sorted(name for name, rule in ways.items() if rule.way is not SettingEffect.DYNAMIC and rule.source)
    assert len(others) > 150
    assert {name for name in others if member.takes(name)} <= ONLY_SOME_VERSIONS
