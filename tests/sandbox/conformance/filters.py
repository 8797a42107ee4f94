"""The part of both stories about allocation filters of the cluster, and about values that are no plain text.

Elasticsearch keeps only those attributes of a filter in force that the last change of it has changed
(elastic/elasticsearch#55815; server source, `Setting.newAffixMapUpdater`); the settings still show all of them.
OpenSearch merges them (`DiscoveryNodeFilters.buildOrUpdateFromKeyValue`).
"""

from __future__ import annotations

from tests.sandbox.conformance.opensearch import Json, Teller

_SETTINGS = "/_cluster/settings"
_ROUTING = "cluster.routing.allocation"
_BYTES = "indices.recovery.max_bytes_per_sec"
_INDEX = "filtered"
_STAYS = "can_remain_on_current_node,can_remain_decisions.explanation"


def filters(teller: Teller) -> None:
    """All of it. Nothing moves, since no copy may be allocated anywhere; the settings are as before afterwards."""
    pinned = {"number_of_shards": 1, "number_of_replicas": 0, "routing.allocation.include._name": "<B>"}
    teller.tell(f"PUT /{_INDEX}?wait_for_active_shards=1", {"settings": pinned}, "-")
    _set(teller, **{f"{_ROUTING}.enable": "none"})
    _way(teller, "exclude", all_="*", one="<B>")
    _way(teller, "include", all_="*", one="nobody")
    _way(teller, "require", all_="*", one="nobody")
    _values(teller)
    _set(teller, **{f"{_ROUTING}.enable": None})
    teller.tell(f"DELETE /{_INDEX}")


def _way(teller: Teller, way: str, all_: str, one: str) -> None:
    """One attribute, then another, the first one again by the same value written otherwise, and neither."""
    address, name = f"{_ROUTING}.{way}._ip", f"{_ROUTING}.{way}._name"
    for change in (
        {address: all_},
        {name: one},
        {address: f"{all_},{all_}"},
        {name: None},
        {address: None, name: one},
        {address: all_, name: f"{one},{one}"},
        {name: None},
        {address: None},
    ):
        _set(teller, **change)
        # The order in which Elasticsearch shows two attributes that were changed at once is that of their identities.
        both = len([value for value in change.values() if value]) > 1
        _explain(teller, "can_remain_on_current_node" if both else _STAYS)
        teller.tell(f"GET {_SETTINGS}?flat_settings=true", fields=f"persistent.{_ROUTING}.{way}*")


def _values(teller: Teller) -> None:
    """A list that is written as one, and a size with a blank behind it."""
    _set(teller, **{f"{_ROUTING}.exclude._name": ["<B>", "gone"], _BYTES: "77mb "})
    _explain(teller)
    teller.tell(f"GET {_SETTINGS}?flat_settings=true")
    _set(teller, **{f"{_ROUTING}.exclude._name": None, _BYTES: None})


def _set(teller: Teller, **values: Json) -> None:
    teller.tell(f"PUT {_SETTINGS}", {"persistent": values}, "acknowledged")


def _explain(teller: Teller, fields: str = _STAYS) -> None:
    body = {"index": _INDEX, "shard": 0, "primary": True}
    teller.tell("POST /_cluster/allocation/explain", body, fields)


def counters(teller: Teller) -> None:
    """The counters of members since they were started."""
    wanted = "nodes.*.jvm.uptime_in_millis,nodes.*.indices.search.query_t*,nodes.*.thread_pool.get.rejected"
    path = "stats/indices,thread_pool,jvm,breaker/search"
    teller.tell(f"GET /_nodes/<A>,<B>/{path}?timeout=5s&filter_path={wanted}", shape=True)
    others = "nodes.*.timestamp,nodes.*.breakers.parent.tripped,nodes.*.thread_pool.write.completed"
    teller.tell(f"GET /_nodes/<A>/{path}?filter_path={others}", shape=True)
