"""A module of the collection itself, both ways, against a server that really keeps its settings."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from .cluster import Cluster, basic
from .playbook_runner import HERE, OTHER_PYTHON, PlaybookRunner, Played, comparable

MODULE = "stateful.upgrade.shard_allocation"
GATE = "stateful.upgrade.cluster_health_gate"
PASSWORD = "pa55word-Zx"
ENABLE = "cluster.routing.allocation.enable"
# Nothing here is fixed by time.
RESTRICT = {"state": "restricted", "wait_timeout": 10}
RESTORE = {"state": "restored", "wait_timeout": 10}


def tasks_for(url: str, dead_url: str) -> list[dict[str, Any]]:
    """The module through its life, and every way to call it wrongly. The connection comes from module_defaults."""
    wrong = {"hosts": [url], "username": "admin", "password": f"not {PASSWORD}"}
    environment = {"OPENSEARCH_URL": url, "OPENSEARCH_USERNAME": "admin", "OPENSEARCH_PASSWORD": PASSWORD}
    tls = url.replace("http:", "https:")
    none: dict[str, Any] = {"module_defaults": {"group/stateful.upgrade.all": {"opensearch": {}}}}
    return [
        {"name": "check mode", MODULE: RESTRICT, "check_mode": True},
        {"name": "restrict", MODULE: RESTRICT},
        {"name": "restrict again", MODULE: RESTRICT},
        {"name": "restrict otherwise", MODULE: {**RESTRICT, "enable": "none"}},
        {"name": "restore in check mode", MODULE: RESTORE, "check_mode": True},
        {"name": "restore", MODULE: RESTORE},
        {"name": "restore again", MODULE: RESTORE},
        {"name": "from the environment", MODULE: RESTORE, "environment": environment, **none},
        {"name": "nothing says where", MODULE: RESTORE, **none},
        {"name": "alias", MODULE: {**RESTORE, "opensearch": {"url": url, "username": "admin", "password": PASSWORD}}},
        {"name": "wrong password", MODULE: {**RESTORE, "opensearch": wrong}},
        {
            "name": "unreachable",
            MODULE: {**RESTORE, "wait_timeout": 1, "opensearch": {"hosts": [dead_url], "password": PASSWORD}},
        },
        {"name": "no such file", MODULE: {**RESTORE, "opensearch": {"hosts": [tls], "ca_cert": "~/none.pem"}}},
        {"name": "missing option", MODULE: {}},
        {"name": "unsupported", MODULE: {**RESTORE, "enabled": "none"}},
        {"name": "unsupported suboption", MODULE: {**RESTORE, "opensearch": {"user": "admin", "password": PASSWORD}}},
        {"name": "bad choice", MODULE: {"state": "absent"}},
        {"name": "a gate without an answer", GATE: {"moment": "before_upgrade", "wait": False}},
        {"name": "hidden", MODULE: RESTORE, "no_log": True},
    ]


NAMES = [task["name"] for task in tasks_for("", "")]


@dataclass(frozen=True)
class Way:
    """One run of all tasks, and the cluster afterwards."""

    played: Played
    cluster: Cluster


@pytest.fixture(scope="module")
def ways(runner: PlaybookRunner) -> Iterator[dict[str, Way]]:
    """All tasks in both forms, each against a cluster of its own."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound and not listening: a connection is refused
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
        seen: dict[str, Way] = {}
        for host in (HERE, OTHER_PYTHON):
            with Cluster(PASSWORD) as cluster:
                cluster.settings["transient"][ENABLE] = "all"
                connection = {"hosts": [cluster.url], "username": "admin", "password": PASSWORD}
                defaults = {"group/stateful.upgrade.all": {"opensearch": connection}}
                tasks = tasks_for(cluster.url, dead)
                seen[host] = Way(
                    runner.play(tasks, host, options=["--diff", "-vvv"], module_defaults=defaults), cluster
                )
        yield seen


@pytest.mark.parametrize("name", NAMES)
def test_same_result(ways: dict[str, Way], name: str) -> None:
    here, shipped = ways[HERE], ways[OTHER_PYTHON]
    assert without_address(here, name) == without_address(shipped, name)


@pytest.mark.parametrize("host", [HERE, OTHER_PYTHON])
def test_same_settings_in_the_cluster(ways: dict[str, Way], host: str) -> None:
    cluster = ways[host].cluster
    assert cluster.settings == {"persistent": {}, "transient": {ENABLE: "all"}}
    assert cluster.writes == 2
    assert {basic("admin", PASSWORD), basic("admin", f"not {PASSWORD}")} <= cluster.seen_authorization


@pytest.mark.parametrize("host", [HERE, OTHER_PYTHON])
def test_what_happened(ways: dict[str, Way], host: str) -> None:
    results = ways[host].played.results
    changed = {name for name in NAMES if results[name].get("changed")}
    failed = {name for name in NAMES if results[name]["status"] == "failed"}
    assert changed == {"check mode", "restrict", "restore in check mode", "restore"}
    assert {"restrict otherwise", "nothing says where", "wrong password", "unreachable", "no such file"} <= failed
    assert {"missing option", "unsupported", "unsupported suboption", "bad choice"} <= failed
    assert results["restrict"]["diff"]["after"][f"transient {ENABLE}"] == "primaries"
    assert results["wrong password"]["verdict"]["reasons"][0]["code"] == "opensearch_credentials"
    assert results["unreachable"]["verdict"]["reasons"][0]["code"] == "opensearch_unreachable"
    assert "none.pem" in results["no such file"]["msg"]


@pytest.mark.parametrize("host", [HERE, OTHER_PYTHON])
def test_the_password_is_nowhere(ways: dict[str, Way], host: str) -> None:
    played = ways[host].played
    shown = "\n".join(line for line in played.output.splitlines() if "OPENSEARCH_PASSWORD=" not in line)
    assert PASSWORD not in shown + json.dumps(played.results)  # the line left out: -vvv shows a command's environment
    assert "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER" in shown


def without_address(way: Way, name: str) -> dict[str, Any]:
    """A comparable result; each way has a cluster at an address of its own."""
    text = json.dumps(comparable(way.played.results[name])).replace(way.cluster.url.removeprefix("http:"), "//cluster")
    same: dict[str, Any] = json.loads(text)
    return same
