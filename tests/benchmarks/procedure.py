"""`python -m tests.benchmarks.procedure KUBECONFIG NAMESPACE URL VERSION`: the documented upgrade as a tight script.

It takes the steps of OpenSearch's documentation for rolling upgrades one after the other and never pauses.
"""

from __future__ import annotations

import sys

from tests.benchmarks.pools import Pools
from tests.benchmarks.rest import Rest, poll

ALLOCATION = "cluster.routing.allocation.enable"
LONG_POLL = "/_cluster/health?wait_for_status=green&timeout=30s"


def main(kubeconfig: str, namespace: str, url: str, version: str) -> None:
    """Upgrade every member, the elected manager last."""
    rest = Rest(url)
    with Pools.of(kubeconfig, namespace) as pools:
        members = [pod for pool in pools.names() for pod in pools.pods(pool)]
        elected = rest.insist("/_cat/cluster_manager?format=json")[0]["node"]
        for pool in pools.names():
            pools.change(pool, "OnDelete", version)
        for member in sorted(members, key=lambda name: name == elected):
            _replace(pools, rest, member, version)
        for pool in pools.names():
            pools.change(pool, "RollingUpdate")


def _replace(pools: Pools, rest: Rest, member: str, version: str) -> None:
    """One member, by the book."""
    rest.insist("/_cluster/settings", "PUT", {"persistent": {ALLOCATION: "primaries"}})
    rest.insist("/_flush", "POST")
    former = pools.delete(member)
    poll(f"Pod {member} to be back", lambda: pools.is_back(member, former))
    poll(f"{member} to have joined on {version}", lambda: _version(rest, member) == version)
    rest.insist("/_cluster/settings", "PUT", {"persistent": {ALLOCATION: None}})
    poll("A green cluster", lambda: not rest.ask(LONG_POLL)["timed_out"])


def _version(rest: Rest, member: str) -> str | None:
    nodes = rest.ask("/_nodes/_all/_none")["nodes"].values()
    return next((node["version"] for node in nodes if node["name"] == member), None)


if __name__ == "__main__":
    main(*sys.argv[1:])
