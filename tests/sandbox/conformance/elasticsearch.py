"""The story of Elasticsearch: the answers in which it differs from OpenSearch, and those that must not differ.

It leaves the cluster as it was, but for an index of its own. So it can be played on a cluster that is in use.
"""

from __future__ import annotations

from pathlib import Path

from tests.sandbox.conformance.filters import filters
from tests.sandbox.conformance.opensearch import Teller

RECORDED = Path(__file__).with_name("recorded") / "elasticsearch.json"
"""The recorded answers of real members."""
VERSION = "8.18.0"
TABLE = "master"
"""The table of `_cat` that names the elected manager."""

_SETTINGS = "/_cluster/settings"
_EXCLUSIONS = "/_cluster/voting_config_exclusions"
_ENABLE = "cluster.routing.allocation.enable"
_DELAY = "cluster.routing.allocation.unassigned.node_left.delayed_timeout"
_OWNER = "cluster.metadata.owner"


def story(teller: Teller) -> None:
    """All of it, in order."""
    _members(teller)
    _settings(teller)
    _index(teller)
    filters(teller)
    _voting(teller)


def _members(teller: Teller) -> None:
    own = ("name", "version", "build_flavor", "index_version", "roles")
    teller.tell("GET /_nodes/_all/_none", fields=",".join(("_nodes", *(f"nodes.*.{name}" for name in own))))
    own = ("name", "version", "external_id", "roles", "max_index_version")
    teller.tell("GET /_cluster/state/nodes", fields=",".join(f"nodes.*.{name}" for name in own))
    teller.tell("GET /_cluster/state/master_node,cluster_manager_node", fields="master_node,cluster_manager_node")
    teller.tell("GET /_cluster/state/master_node,cluster_manager_node,version", fields="cluster_manager_node")
    fields = "status,timed_out,number_of_nodes,discovered_cluster_manager,discovered_master"
    teller.tell("GET /_cluster/health?wait_for_events=languid&timeout=9s", fields=fields)
    paths = "status,timed_out,unassigned*,discovered*"
    teller.tell(f"GET /_cluster/health?wait_for_nodes=9&timeout=50ms&filter_path={paths}")
    teller.tell("GET /_tasks?actions=indices:data/write/reindex&detailed=true&timeout=5s")
    teller.tell("GET /_recovery?active_only=true")
    teller.tell("GET /_nodes/data:true/stats/fs?filter_path=_nodes")
    counters = "nodes.*.jvm.uptime_in_millis,nodes.*.indices.search.query_t*,nodes.*.breakers.parent.tripped"
    path = "/_nodes/_all/stats/indices,thread_pool,jvm,breaker/search"
    teller.tell(f"GET {path}?timeout=5s&filter_path={counters}", shape=True)
    # Servers without x-pack take it for a member that does not exist, and know nothing of its registration.
    teller.tell("GET /_nodes/shutdown", fields="_nodes,nodes")
    teller.tell("PUT /_nodes/nobody/shutdown", {"type": "restart", "reason": "story"})


def _settings(teller: Teller) -> None:
    teller.tell(f"PUT {_SETTINGS}", {"persistent": {_ENABLE: "primaries", _OWNER: "me"}})
    teller.tell(f"GET {_SETTINGS}?flat_settings=true")
    teller.tell(f"PUT {_SETTINGS}", {"persistent": {_ENABLE: None, _OWNER: None}})
    teller.tell(f"PUT {_SETTINGS}", {"persistent": {_DELAY: "1h"}}, fields="-")
    teller.tell(f"GET {_SETTINGS}?flat_settings=true")


def _index(teller: Teller) -> None:
    pinned = {"number_of_shards": 1, "number_of_replicas": 1, "routing.allocation.exclude._name": "<E>"}
    teller.tell("PUT /story", {"settings": pinned})
    teller.until("both copies", "GET /_cluster/health/story", lambda found: found["status"] == "green")
    teller.tell("GET /_cluster/state/metadata/story", fields="metadata.indices.*.settings.index.version.created")
    copies = ("state", "relocating_node", "shard", "index", "searchOnly")
    paths = ",".join(f"routing_table.indices.story.shards.*.{each}" for each in copies)
    teller.tell("GET /_cluster/state/routing_table/story", fields=paths)
    teller.tell("POST /story/_flush?expand_wildcards=open,hidden&ignore_unavailable=true")
    teller.tell("DELETE /story")


def _voting(teller: Teller) -> None:
    coordination = "metadata.cluster_coordination.voting_config_exclusions"
    teller.tell(f"POST {_EXCLUSIONS}?node_names=<A>&timeout=10s")
    teller.tell("GET /_cluster/state/metadata", fields=coordination)
    teller.tell(f"DELETE {_EXCLUSIONS}?wait_for_removal=false")
    teller.tell("GET /_cluster/state/metadata", fields=coordination)
