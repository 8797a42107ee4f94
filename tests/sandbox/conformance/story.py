"""The story: what the product or its tests ask, through settings, shards, a hand-over, an upgrade and an outage."""

from __future__ import annotations

from tests.sandbox.conformance.filters import counters, filters
from tests.sandbox.conformance.opensearch import TO, Teller

SETTINGS = "/_cluster/settings"
EXCLUSIONS = "/_cluster/voting_config_exclusions"
EXPLAIN = "POST /_cluster/allocation/explain"
ROUTING = "cluster.routing.allocation"
WATERMARK = f"{ROUTING}.disk.watermark"
FORGOTTEN = "compatibility.override_main_response_version"
ERROR = "-"


def whole(teller: Teller) -> None:
    """All of it, in order."""
    banner_and_mistakes(teller)
    settings(teller)
    templates(teller)
    indices(teller)
    documents(teller)
    explanations(teller)
    filters(teller)
    tasks(teller)
    snapshots(teller)
    members(teller)
    voting(teller)
    upgrade(teller)
    archived(teller)
    blocks(teller)
    outage(teller)


def banner_and_mistakes(teller: Teller) -> None:
    """The banner, and invalid requests."""
    teller.tell(
        "GET /", fields="version.number,version.distribution,version.minimum_wire_compatibility_version,tagline"
    )
    for line in (
        "GET /nowhere",
        "GET /_nowhere",
        "GET /_cluster/health?foo=1&bra=2",
        "GET /_cluster/health?lebel=cluster",
        "GET /_cluster/health?wait_for_status=blue",
        "GET /_cluster/health?timeout=soon",
        "GET /a/b/c/d",
    ):
        teller.tell(line)
    for line in ("POST /_nowhere", "PUT /", "DELETE /_cluster/health", "PATCH /_cluster/health"):
        teller.tell(line, fields=ERROR)
    teller.tell("GET /_cluster/state/nonsense", fields="cluster_uuid")
    for target in ("", "/nothing?timeout=100ms", "?wait_for_nodes=9&timeout=50ms"):
        teller.tell(f"GET /_cluster/health{target}")
    teller.tell("GET /_cluster/health?wait_for_nodes=>=3&wait_for_events=languid&timeout=9s")
    teller.tell("GET /_nodes/_all/_none", fields="_nodes,nodes.*.name,nodes.*.version,nodes.*.roles,nodes.*.attributes")
    teller.tell("GET /_nodes/data:true/stats/fs?filter_path=_nodes")
    teller.tell("GET /_nodes/nobody/_none", fields="_nodes,nodes")
    teller.tell("GET /_cat/cluster_manager?h=node")
    teller.tell("GET /_cat/cluster_manager?format=json", fields="node")
    teller.tell("GET /_cluster/pending_tasks", fields="-")
    teller.tell("GET /_tasks?actions=indices:data/write/reindex&detailed=true&timeout=5s")
    teller.tell("GET /_recovery?active_only=true")


def settings(teller: Teller) -> None:
    """Settings that are set, refused and removed."""
    for scope, name, value in (
        ("persistent", "foo.bar", "1"),
        ("transient", "foo.bar", "1"),
        ("transient", "cluster.name", "x"),
        ("persistent", f"{ROUTING}.enable", "sometimes"),
        ("persistent", "indices.recovery.max_bytes_per_sec", "plenty"),
        ("persistent", f"{ROUTING}.node_concurrent_recoveries", "x"),
        ("persistent", f"{ROUTING}.node_concurrent_recoveries", "-1"),
        ("persistent", "cluster.routing.rebalance.enable", "x"),
        ("persistent", f"{ROUTING}.unassigned.node_left.delayed_timeout", "1h"),
        ("persistent", "foo.bar", None),
        ("persistent", "archived.foo", None),
        ("persistent", f"{ROUTING}.enable", None),
    ):
        teller.tell(f"PUT {SETTINGS}", {scope: {name: value}})
    teller.tell(f"PUT {SETTINGS}", {})
    teller.tell(f"PUT {SETTINGS}")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {f"{WATERMARK}.low": "99%", f"{WATERMARK}.high": "98%"}}, ERROR)
    marks = {f"{WATERMARK}.low": "99.7%", f"{WATERMARK}.high": "99.8%", f"{WATERMARK}.flood_stage": "99.9%"}
    more = {"cluster.metadata.owner": "x", f"{ROUTING}.node_concurrent_recoveries": 7}
    teller.tell(f"PUT {SETTINGS}", {"persistent": marks, "transient": more})
    teller.tell(f"GET {SETTINGS}")
    teller.tell(f"GET {SETTINGS}?flat_settings=true")
    paths = f"defaults.{ROUTING}.node_concurrent_incoming_recoveries,defaults.{ROUTING}.enable"
    teller.tell(f"GET {SETTINGS}?include_defaults=true&filter_path={paths},defaults.{ROUTING}.disk.watermark")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {f"{WATERMARK}.*": None}, "transient": dict.fromkeys(more)})
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster": {"metadata": {"a": {"b": 1, "c": [1, 2], "d": True}}}}})
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster.metadata.a.*": None}})
    teller.tell(f"GET {SETTINGS}")


def templates(teller: Teller) -> None:
    """Component templates as a lock uses them, and an index template."""
    one = {"template": {}, "_meta": {"run": "a"}}
    teller.tell("PUT /_component_template/l-000001?create=true", one)
    teller.tell("PUT /_component_template/l-000001?create=true", one)
    teller.tell("PUT /_component_template/l-000001", one)
    teller.tell("GET /_component_template")
    teller.tell("GET /_component_template/none")
    teller.tell("GET /_component_template/l*?filter_path=component_templates.name")
    teller.tell("DELETE /_component_template/none")
    teller.tell("DELETE /_component_template/l-000001")
    teller.tell("GET /_component_template?filter_path=component_templates.name")
    soon = {"index.unassigned.node_left.delayed_timeout": "1s"}
    teller.tell("PUT /_index_template/soon", {"template": {"settings": soon}, "index_patterns": ["*"]})
    teller.tell("GET /_index_template")
    teller.tell("PUT /from-template", {"settings": {"number_of_replicas": 0}})
    teller.tell("GET /from-template/_settings?flat_settings=true", fields=ERROR)
    teller.tell("DELETE /_index_template/soon")
    teller.tell("DELETE /from-template")


def indices(teller: Teller) -> None:
    """Indices that are made, refused, changed and looked at."""
    teller.tell("PUT /logs", {"settings": {"number_of_shards": 2, "number_of_replicas": 2}})
    teller.tell("PUT /logs", {"settings": {}})
    teller.tell("PUT /Logs")
    for wrong in ({"number_of_shards": 0}, {"index.foo": 1}, {"number_of_replicas": -1}):
        teller.tell("PUT /bad", {"settings": wrong})
    wide = {"settings": {"number_of_shards": 1, "number_of_replicas": 3}}
    teller.tell("PUT /wide?wait_for_active_shards=4&timeout=5s", wide)
    teller.until("two replicas", "GET /_cluster/health?wait_for_no_initializing_shards=true&timeout=1s",
                 lambda found: found["active_shards"] == 9)  # fmt: skip
    teller.tell("GET /_cluster/health")
    teller.tell("GET /_cluster/health?level=indices", fields="indices")
    teller.tell("GET /_cluster/health?wait_for_status=green&timeout=100ms")
    teller.tell("GET /_cluster/health/logs?wait_for_status=green&timeout=1s", fields="status,timed_out,active_shards")
    paths = ",".join(
        (
            "metadata.indices.*.state",
            "metadata.indices.*.settings.index.number_of_*",
            "metadata.indices.*.settings.index.version",
            "metadata.cluster_coordination.voting_config_exclusions",
            *(f"routing_table.indices.*.shards.*.{each}" for each in ("state", "primary", "relocating_node", "index")),
            *(f"routing_table.indices.*.shards.*.{each}" for each in ("shard", "recovery_source", "unassigned_info")),
            "blocks",
        )
    )
    teller.tell("GET /_cluster/state/metadata,routing_table,blocks,version,customs,cluster_manager_node", fields=paths)
    teller.tell("GET /_cluster/state/routing_table/logs?filter_path=routing_table.indices.*.shards.0.state")
    teller.tell("GET /_cluster/state/cluster_manager_node,master_node", fields="-cluster_uuid,-cluster_name")
    teller.tell("GET /_cluster/state/nodes", fields="nodes.*.name,nodes.*.attributes")
    teller.tell("PUT /logs/_settings", {"index": {"number_of_replicas": 1}})
    teller.tell("PUT /logs/_settings", {"index": {"number_of_shards": 2}})
    teller.tell("PUT /logs/_settings", {"index": {"foo": 2}})
    teller.tell("PUT /none/_settings", {"index": {"number_of_replicas": 2}})
    teller.tell("GET /lo*/_settings", fields="*.settings.index.number_of_*,*.settings.index.version")
    teller.tell("DELETE /wide")
    teller.tell("DELETE /wide")
    teller.tell("POST /logs/_flush?expand_wildcards=open,hidden&ignore_unavailable=true")
    teller.tell("POST /none/_flush?expand_wildcards=open,hidden&ignore_unavailable=true")
    teller.tell("POST /none/_flush")
    teller.tell("POST /_flush")


def documents(teller: Teller) -> None:
    """Documents as the traffic of the scenarios writes and reads them."""
    fields = "_index,_id,_version,result,_shards"
    teller.tell("PUT /logs/_doc/1?refresh=true", {"a": 1}, fields)
    teller.tell("PUT /logs/_doc/1?refresh=true", {"a": 2}, fields)
    teller.tell("GET /logs/_doc/1", fields="_index,_id,_version,found,_source")
    teller.tell("GET /logs/_doc/2")
    wanted = [{"_index": "logs", "_id": "1", "_source": False}, {"_index": "logs", "_id": "9"}]
    teller.tell("POST /_mget", {"docs": [*wanted, {"_index": "no", "_id": "9"}]}, "docs.found,docs._id,docs.error.type")
    teller.tell("GET /logs/_count")
    teller.tell("POST /logs/_search?request_cache=false", {"size": 10}, "timed_out,_shards,hits.total,hits.hits._id")
    counts = "GET /_stats/docs?expand_wildcards=open,hidden&filter_path=_shards.failed,indices.*.primaries.docs.count"
    teller.tell(counts)
    teller.tell("DELETE /logs/_doc/1?refresh=true", fields=fields)
    teller.tell(counts)
    teller.tell("GET /_stats/docs?filter_path=indices.logs.total.docs.count")


def explanations(teller: Teller) -> None:
    """The reasons why copies are where they are, or nowhere."""
    fields = "can_*,allocate_explanation,current_state,move_explanation,node_allocation_decisions.node_name"
    fields += ",node_allocation_decisions.node_decision,node_allocation_decisions.deciders.decider"
    fields += ",node_allocation_decisions.deciders.decision"
    pinned = {"number_of_shards": 1, "number_of_replicas": 1, "routing.allocation.include._name": "<A>,<B>"}
    teller.tell("PUT /pinned?wait_for_active_shards=2", {"settings": pinned})
    teller.tell("PUT /pinned/_settings", {"index": {"number_of_replicas": 2}})
    about = {"index": "pinned", "shard": 0, "primary": False}
    teller.tell(EXPLAIN, about, f"{fields},unassigned_info.reason,unassigned_info.last_allocation_status")
    teller.tell("PUT /pinned/_settings", {"index": {"number_of_replicas": 1}})
    teller.tell(EXPLAIN, {**about, "index": "none"})
    teller.tell(EXPLAIN, {**about, "shard": 7})
    teller.tell(EXPLAIN, {**about, "primary": True, "current_node": "nobody"})
    teller.tell(f"PUT {SETTINGS}", {"persistent": {f"{ROUTING}.exclude._name": "<A>"}})
    teller.tell("PUT /lone", {"settings": {"number_of_replicas": 0, "routing.allocation.include._name": "<B>"}})
    teller.tell(EXPLAIN, {"index": "lone", "shard": 0, "primary": True}, "can_remain_on_current_node,current_state")
    drained = "routing_table.indices.pinned.shards.*.node"
    teller.until("what may move to have moved", "GET /_cluster/health?wait_for_no_relocating_shards=true&timeout=5s",
                 lambda found: not found["relocating_shards"])  # fmt: skip
    teller.tell("GET /_cluster/state/routing_table/pinned", fields=drained)
    stay_where_they_are(teller, "pinned", f"{fields},can_remain_decisions.decider")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {f"{ROUTING}.exclude._name": None, f"{ROUTING}.enable": "primaries"}})
    new = {"settings": {"number_of_shards": 1, "number_of_replicas": 1, "routing.allocation.exclude._name": "<E>"}}
    teller.tell("PUT /new?wait_for_active_shards=1", new)
    teller.tell(EXPLAIN, {"index": "new", "shard": 0, "primary": False}, "can_allocate,allocate_explanation")
    teller.tell("GET /_cluster/health/new", fields="status,unassigned_shards,delayed_unassigned_shards")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {f"{ROUTING}.enable": None}})
    teller.tell("DELETE /new")


def stay_where_they_are(teller: Teller, index: str, fields: str) -> None:
    """The explanation of the copy on A, which is to leave A and fits nowhere else."""
    path = f"/_cluster/state/routing_table/{index}"
    table = teller.tell(f"GET {path}", fields=ERROR)["routing_table"]["indices"][index]["shards"]["0"]
    nodes = teller.tell("GET /_cluster/state/nodes", fields=ERROR)["nodes"]
    for copy in table:
        part = teller.parts[nodes[copy["node"]]["name"]]
        body = {"index": index, "shard": 0, "primary": copy["primary"], "current_node": f"<{part}>"}
        if part == "A":
            teller.tell(EXPLAIN, body, fields, label="the copy on A")


def tasks(teller: Teller) -> None:
    """A long task, and commands to the allocation."""
    for number in range(3):
        teller.tell(f"PUT /logs/_doc/{number}?refresh=true", {"number": number}, ERROR)
    body = {"source": {"index": "logs", "size": 1}, "dest": {"index": "copied"}}
    begun = teller.tell("POST /_reindex?requests_per_second=0.1&wait_for_completion=false", body, ERROR)
    listed = "GET /_tasks?actions=*reindex&detailed=true"
    teller.tell(listed, fields="nodes.*.tasks.*.action,nodes.*.tasks.*.description,nodes.*.tasks.*.cancellable")
    teller.tell("GET /_tasks?actions=*byquery")
    teller.tell("GET /_tasks/<E>:1", fields=ERROR)
    teller.cancel(begun["task"])
    teller.until("its end", listed, lambda found: not found["nodes"])
    teller.tell(listed)
    command = {"cancel": {"index": "logs", "shard": 0, "node": "nobody"}}
    teller.tell("POST /_cluster/reroute", {"commands": [command]})
    teller.tell("POST /_cluster/reroute?filter_path=acknowledged")
    teller.tell("POST /_cluster/reroute?retry_failed=true&filter_path=acknowledged")


def snapshots(teller: Teller) -> None:
    """Repositories and snapshots, as they are asked for the last one that has ended."""
    asked = "snapshots.snapshot,snapshots.state"
    teller.tell("GET /_snapshot?filter_path=*.type")
    teller.tell("GET /_snapshot/r/_all?verbose=false&ignore_unavailable=true")
    elsewhere = {"type": "fs", "settings": {"location": "/elsewhere"}}
    teller.tell("PUT /_snapshot/r", elsewhere, ERROR)
    teller.tell("PUT /_snapshot/r", {"type": "fs", "settings": {"location": "<R>"}})
    teller.tell("GET /_snapshot?filter_path=*.type")
    teller.tell(f"GET /_snapshot/r/_all?verbose=false&ignore_unavailable=true&filter_path={asked}")
    taken = "PUT /_snapshot/r/one?wait_for_completion=true"
    teller.tell(taken, {"indices": "logs"}, "snapshot.snapshot,snapshot.state,snapshot.indices")
    teller.tell(taken, {"indices": "logs"}, ERROR)
    teller.tell(f"GET /_snapshot/r/_all?verbose=false&ignore_unavailable=true&filter_path={asked}")
    fields = f"{asked},snapshots.end_time_in_millis"
    teller.tell(f"GET /_snapshot/r/one,none?ignore_unavailable=true&filter_path={fields}", shape=True)
    teller.tell("GET /_snapshot/r/one?filter_path=snapshots.indices")
    teller.tell("GET /_snapshot/r/none", fields=ERROR)
    teller.tell("GET /_snapshot/_status", fields="snapshots")
    teller.tell("DELETE /_snapshot/r/one")
    teller.tell("DELETE /_snapshot/r/one", fields=ERROR)
    teller.tell("DELETE /_snapshot/r")


def members(teller: Teller) -> None:
    """The reports of members about themselves: plugins, settings and stored bytes, and a plugin that is not there."""
    names = "_nodes,nodes.*.name,nodes.*.plugins"
    teller.tell(f"GET /_nodes/_all/plugins,settings?filter_path={names}")
    teller.tell("GET /_nodes/<A>*/plugins?filter_path=nodes.*.name,nodes.*.plugins.name")
    teller.tell("GET /_nodes/_all/settings?filter_path=nodes.*.name,nodes.*.settings.cluster.name")
    flat = "_nodes,nodes.*.name,nodes.*.settings.cluster*name,nodes.*.settings.node*roles"
    teller.tell(f"GET /_nodes/_all/settings?flat_settings=true&timeout=5s&filter_path={flat}")
    stored = "nodes.*.indices.store.size_in_bytes"
    teller.tell(f"GET /_nodes/<A>,<B>/stats/indices/store?filter_path={stored}", shape=True)
    teller.tell("GET /_nodes/<A>/stats/indices/store", fields="_nodes,nodes.*.name,nodes.*.roles")
    teller.tell("GET /_nodes/nobody/stats/indices/store?filter_path=_nodes,nodes")
    counters(teller)
    for line in ("GET /_plugins/_ism/explain", "GET /_plugins/_ism/explain?from=0&size=1000&filter_path=*.index"):
        teller.tell(line)
    own = ",".join(f"metadata.indices.*.settings.{each}" for each in ("index.store.hybrid", "archived"))
    teller.tell(f"GET /_cluster/state/metadata?filter_path={own}")


def voting(teller: Teller) -> None:
    """The elected manager hands over, and all vote again."""
    coordination = "metadata.cluster_coordination.voting_config_exclusions"
    teller.tell(f"POST {EXCLUSIONS}")
    teller.tell(f"POST {EXCLUSIONS}?node_names=nobody")
    teller.tell("GET /_cluster/state/metadata", fields=coordination)
    teller.tell(f"DELETE {EXCLUSIONS}")
    teller.tell(f"DELETE {EXCLUSIONS}?timeout=300ms")
    teller.tell(f"POST {EXCLUSIONS}?node_names=<E>&timeout=10s")
    teller.tell("GET /_cluster/state/metadata", fields=coordination)

    def votes(so_many: int) -> None:
        teller.until(
            f"{so_many} to vote",
            "GET /_cluster/state/metadata?filter_path=metadata.cluster_coordination.last_committed_config",
            lambda found: len(found["metadata"]["cluster_coordination"]["last_committed_config"]) == so_many,
        )

    votes(1)
    teller.tell(f"DELETE {EXCLUSIONS}?wait_for_removal=false")
    votes(3)
    teller.tell("GET /_cluster/state/metadata", fields=coordination)


def upgrade(teller: Teller) -> None:
    """B goes, is missed, and comes back on the new version."""
    teller.stop("B")
    teller.until_left()
    lost = {"index": "lone", "shard": 0, "primary": True}
    fields = "can_allocate,allocate_explanation,unassigned_info.reason"
    teller.tell(EXPLAIN, lost, f"{fields},node_allocation_decisions.node_name,node_allocation_decisions.store")
    teller.tell("GET /_cluster/health/lone", fields="status,unassigned_shards,delayed_unassigned_shards")
    teller.tell("GET /_cluster/health/pinned", fields="status,unassigned_shards,delayed_unassigned_shards")
    wanted = ("state", "node", "primary", "unassigned_info.delayed", "unassigned_info.reason")
    paths = ",".join(f"routing_table.indices.lone.shards.*.{each}" for each in wanted)
    teller.tell("GET /_cluster/state/routing_table/lone", fields=paths)
    teller.tell("PUT /lone/_doc/1?timeout=200ms", {"a": 1})
    teller.tell("GET /lone/_doc/1")
    teller.tell("POST /lone/_search", {})
    teller.start("B", TO)
    teller.until("all copies", "GET /_cluster/health", lambda found: found["status"] == "green")
    teller.tell("GET /_nodes/_all/_none", fields="nodes.*.name,nodes.*.version")
    teller.tell("GET /", fields="version.number,version.minimum_wire_compatibility_version", by="B")
    mixed = {"number_of_shards": 1, "number_of_replicas": 1, "routing.allocation.include._name": "<B>"}
    teller.tell("PUT /mixed", {"settings": mixed})
    teller.tell("PUT /mixed/_settings", {"index": {"routing.allocation.include._name": None}})
    fields = "can_allocate,node_allocation_decisions.node_name,node_allocation_decisions.deciders"
    teller.tell(EXPLAIN, {"index": "mixed", "shard": 0, "primary": False}, fields)
    teller.tell("GET /_cluster/state/metadata/mixed", fields="metadata.indices.*.settings.index.version.created")
    teller.tell("GET /_cluster/state/routing_table/mixed", fields="routing_table.indices.*.shards.*.searchOnly", by="B")


def archived(teller: Teller) -> None:
    """A setting that the new version has forgotten is archived by the first change, and refuses the second."""
    teller.tell(f"PUT {SETTINGS}", {"persistent": {FORGOTTEN: "false"}})
    for part in ("A", "E"):
        teller.stop(part)
        teller.until_left(by="B")
        teller.start(part, TO)
        teller.until("all copies", "GET /_cluster/health", lambda found: found["number_of_nodes"] == 3, by="B")
    teller.until("all copies", "GET /_cluster/health", lambda found: found["status"] == "green")
    teller.tell(f"GET {SETTINGS}?flat_settings=true")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster.metadata.owner": "x"}})
    teller.tell(f"GET {SETTINGS}?flat_settings=true")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster.metadata.owner": None}})
    gone = {"cluster.metadata.owner": None, f"archived.{FORGOTTEN}": None}
    teller.tell(f"PUT {SETTINGS}", {"persistent": gone})
    teller.tell(f"GET {SETTINGS}?flat_settings=true")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"archived.foo": "x"}})
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"foo.bar": None}})
    delay = f"{ROUTING}.unassigned.node_left.delayed_timeout"
    teller.tell(f"PUT {SETTINGS}", {"persistent": {delay: "1h"}})
    teller.tell(f"PUT {SETTINGS}", {"persistent": {delay: None}})
    teller.tell("GET /_cluster/health", fields="status,number_of_nodes,unassigned_shards")


def blocks(teller: Teller) -> None:
    """The cluster is read-only for a short time."""
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster.blocks.read_only": True}})
    teller.tell("GET /_cluster/state/blocks", fields="blocks")
    teller.tell("PUT /ro")
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster.metadata.owner": "x"}})
    teller.tell("PUT /_component_template/x", {"template": {}}, ERROR)
    teller.tell("DELETE /mixed", fields=ERROR)
    teller.tell(f"PUT {SETTINGS}", {"persistent": {"cluster.blocks.read_only": None}})
    teller.tell("PUT /_snapshot/slow", {"type": "fs", "settings": {"location": "/nowhere"}}, ERROR)
    teller.tell("GET /_snapshot")


def outage(teller: Teller) -> None:
    """Two of three go, and no one can be elected."""
    teller.stop("B")
    teller.until_left()
    teller.stop("E")
    patient = "cluster_manager_timeout=300ms"

    def nobody(found: object) -> bool:
        return isinstance(found, dict) and not found["discovered_cluster_manager"]

    teller.until("the loss to be noticed", "GET /_cluster/health?local=true", nobody)
    teller.tell("GET /", fields="version.number")
    teller.tell(f"GET /_cluster/health?timeout=300ms&{patient}")
    teller.tell("GET /_cluster/health?local=true&timeout=300ms", fields="status,discovered_cluster_manager")
    teller.tell(f"GET /_cluster/state/version?{patient}")
    teller.tell("GET /_cluster/state/cluster_manager_node,blocks?local=true", fields="cluster_manager_node,blocks")
    teller.tell(f"GET {SETTINGS}?{patient}")
    teller.tell(f"PUT {SETTINGS}?{patient}", {"persistent": {"cluster.metadata.owner": "x"}})
    teller.tell(f"PUT /x?{patient}", {})
    teller.tell("GET /_nodes/_all/_none?filter_path=nodes.*.name")
    teller.tell(f"GET /_cat/cluster_manager?{patient}")
    teller.tell(f"GET /_component_template?{patient}")
    teller.tell("GET /_nodes/data:true/stats/fs", fields="_nodes.total,_nodes.successful,_nodes.failed")
