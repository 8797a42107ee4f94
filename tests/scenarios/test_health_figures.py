"""Real members refuse searches between two batches: the run stops before the next one, and says how many."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.lab.lab import Lab
from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAYBOOK, confirmed, play

pytestmark = pytest.mark.soak
FROM, TO = "2.19.6", "3.8.0"
APPROVE, REPORT = "stateful.upgrade.approve", "stateful.upgrade.report"
NARROW = {"thread_pool.search.size": "1", "thread_pool.search.queue_size": "1"}
"""One search at a time, and one that waits for it: each further one is refused."""
SLOW = {
    "query": {
        "script_score": {
            "query": {"match_all": {}},
            "script": {"source": "double s = 0; for (int i = 0; i < 20000; i++) { s += i % 7 } return s"},
        }
    }
}
ACCEPTED = {"reason": "the load is that of a test", "owner": "search", "until": "2099-12-31"}


@pytest.fixture(scope="module")
def cluster(lab: Lab) -> Iterator[Cluster]:
    """Three members with hardly any room for searches, and one index of which each has a copy."""
    cluster = Cluster.start(lab, "health-figures", three_combined, FROM, settings=NARROW)
    cluster.ask("/shop", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 2}})
    for number in range(50):
        cluster.ask(f"/shop/_doc/{number}", "PUT", {"number": number})
    cluster.ask("/shop/_refresh", "POST")
    cluster.until_green()
    yield cluster
    cluster.remove()


def search(cluster: Cluster, body: Mapping[str, Any]) -> bool:
    """Whether a search was answered."""
    try:
        cluster.ask("/shop/_search", "POST", body)
    except urllib.error.HTTPError:
        return False
    return True


def refused(cluster: Cluster) -> int:
    """The searches that the members have refused since they were started."""
    path = "/_nodes/stats/thread_pool?filter_path=nodes.*.thread_pool.search.rejected"
    nodes = json.loads(cluster.ask(path))["nodes"].values()
    return sum(node["thread_pool"]["search"]["rejected"] for node in nodes)


def test_refused_searches_stop_the_upgrade_until_they_are_accepted(
    cluster: Cluster, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    for _search in range(300):
        assert search(cluster, {"query": {"match_all": {}}})
    assert refused(cluster) == 0
    soak = {"upgrade_soak_batches": "every", "upgrade_approvals": [{"name": "first", "after": 1}]}
    given = confirmed({**cluster.variables(TO), **soak}, ansible_environment)
    paused = play(PLAYBOOK, given, ansible_environment)
    assert paused.code == 0, paused.output
    assert play(APPROVE, {**cluster.variables(TO), "upgrade_approval": "first"}, ansible_environment).code == 0

    with ThreadPoolExecutor(32) as pool:
        while refused(cluster) < 200:
            list(pool.map(lambda _number: search(cluster, SLOW), range(320)))
    stopped = play(PLAYBOOK, given, ansible_environment)
    print(stopped.output)
    assert stopped.code != 0
    assert "the cluster is worse than before: refused searches: " in stopped.message
    assert " % now, and 0 % before the first batch." in stopped.message
    assert sum(version == TO for version in cluster.versions().values()) == 1

    with ThreadPoolExecutor(32) as pool:
        before = refused(cluster)
        while refused(cluster) < before + 200:
            list(pool.map(lambda _number: search(cluster, SLOW), range(320)))
    worse = [{"figure": name, **ACCEPTED} for name in ("refused_searches", "search_time")]
    done = play(PLAYBOOK, {**given, "upgrade_accept_worse": worse}, ansible_environment)
    assert done.code == 0, done.message
    cluster.is_upgraded(TO)
    report = tmp_path / "report.md"
    known = {name: given[name] for name in ("upgrade_namespace", "upgrade_kubernetes")}
    assert play(REPORT, {**known, "upgrade_report_path": str(report)}, ansible_environment).code == 0
    text = report.read_text(encoding="utf-8")
    assert (
        "risk accepted with accept_worse: refused_searches until 2099-12-31: the load is that of a test (search)"
        in text
    )
    assert ", before 0 %, accepted" in text
