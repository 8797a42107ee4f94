"""The counters of the members' requests, from `_nodes/stats`.

All of them start at 0 when the process starts. `completed` of a thread pool has no refused task in it (server source,
OpenSearchThreadPoolExecutor), and `query_total` counts a search once for each shard (ShardSearchStats).
"""

from __future__ import annotations

from collections.abc import Mapping

from ...common.errors import Unreachable
from ...common.reading import Json, Unreadable, named, part, text, whole, within
from ...run.record.health_record import ProcessCounts
from .answers import reading
from .client import OpenSearchClient

METRICS = "/_nodes/_all/stats/indices,thread_pool,jvm,breaker/search"
POOLS = {"search": "refused_searches", "write": "refused_writes", "get": "refused_gets"}
"""The thread pools, and the figure of the tasks that each has refused."""
SEARCH_TIME, BREAKERS = "search_time", "breakers"
WANTED = (
    "_nodes",
    "nodes.*.name",
    "nodes.*.timestamp",
    "nodes.*.jvm.uptime_in_millis",
    "nodes.*.indices.search.query_total",
    "nodes.*.indices.search.query_time_in_millis",
    "nodes.*.breakers.*.tripped",
    *(f"nodes.*.thread_pool.{pool}.{field}" for pool in POOLS for field in ("completed", "rejected")),
)


def observe_counters(client: OpenSearchClient) -> dict[str, ProcessCounts]:
    """The counters of each member: one call, which each of them answers for itself.

    Raises:
        Refusal: there is no answer, or a member has not answered.
    """
    answer = client.get(METRICS, timeout="5s", filter_path=",".join(WANTED))
    with reading(f"GET {METRICS}"):
        if within(answer, "_nodes", lambda header: whole(header, "failed")):
            raise Unreachable.because(
                "opensearch_unavailable",
                "Some members of OpenSearch did not report their counters.",
                "If this does not pass, see which member is overloaded.",
            )
        return parse_counters(answer)


def parse_counters(answer: Json) -> dict[str, ProcessCounts]:
    """The counters of each member by its name. A thread pool that a member does not have counts nothing.

    Raises:
        Unreadable: it is no such answer.
    """
    found = named(answer, "nodes", lambda _identity, node: (text(node, "name"), _process(node)), {})
    if not found:
        raise Unreadable("is empty: no member has answered", "nodes")
    return dict(found.values())


def _process(node: Json) -> ProcessCounts:
    uptime = within(node, "jvm", lambda jvm: whole(jvm, "uptime_in_millis"))
    pools = part(node, "thread_pool", {})
    refused = {figure: _refused(pools, pool) for pool, figure in POOLS.items() if pool in pools}
    search = within(node, "indices", lambda indices: within(indices, "search", _searches))
    tripped = sum(named(node, "breakers", lambda _name, breaker: whole(breaker, "tripped"), {}).values())
    counts: Mapping[str, tuple[int, int]] = {**refused, SEARCH_TIME: search, BREAKERS: (tripped, uptime)}
    return ProcessCounts((whole(node, "timestamp") - uptime) / 1000, uptime / 1000, counts)


def _refused(pools: Json, pool: str) -> tuple[int, int]:
    def of(found: Json) -> tuple[int, int]:
        rejected = whole(found, "rejected")
        return rejected, rejected + whole(found, "completed")

    return within(pools, pool, of)


def _searches(search: Json) -> tuple[int, int]:
    return whole(search, "query_time_in_millis"), whole(search, "query_total")
