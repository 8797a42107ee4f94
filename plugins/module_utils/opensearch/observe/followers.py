"""The clusters that follow indices of this one (cross-cluster replication), as its shards know them.

A follower holds a retention lease on each shard that it follows, and for half a day longer if it no longer renews it
(`index.soft_deletes.retention_lease.period`). The lease has its name first: in Elasticsearch it is called
`<cluster>/<index>/<uuid>-following-<alias>/<index>/<uuid>` (server source, CcrRetentionLeases), in OpenSearch
`replication:<cluster>:<uuid>:[<index>][<shard>]`, without the UUID in older versions (plugin source,
RemoteClusterRetentionLeaseHelper). Nothing else on a leader names its followers, and nothing has their versions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from ...common.reading import Json, Unreadable, listed, named, part, text
from .answers import reading
from .client import OpenSearchClient
from .documents import refuse_missing

REQUEST = "GET /_stats/docs"
_LEASES = "retention_leases"
_FOLLOWER = re.compile(r"replication:(?P<opensearch>[^:]+):.+|(?P<elasticsearch>.+)/[^/]+/[^/]+-following-.+/[^/]+/.+")


def observe_followers(client: OpenSearchClient) -> Mapping[str, frozenset[str]]:
    """The indices of this cluster that others follow, by the name of the other cluster.

    Each shard reports its leases with whatever statistics are asked for (server source, TransportIndicesStatsAction);
    of all those, the number of documents costs least.

    Raises:
        Refusal: there is no answer, or not every shard has answered.
    """
    paths = f"_shards.failed,indices.*.shards.*.{_LEASES}.leases.id"
    answer = client.get("/_stats/docs", level="shards", expand_wildcards="open,hidden", filter_path=paths)
    with reading(REQUEST):
        return followers_in(answer)


def followers_in(answer: Json) -> Mapping[str, frozenset[str]]:
    """The followers in the answer to `_stats?level=shards`.

    Raises:
        Unreadable: it is no such answer, or a shard has failed to answer.
    """
    refuse_missing(answer, "leases")
    found: dict[str, set[str]] = defaultdict(set)
    for index, leases in named(answer, "indices", lambda _name, of: tuple(_leases_of(of)), {}).items():
        for lease in leases:
            if follower := _FOLLOWER.fullmatch(lease):
                found[follower["opensearch"] or follower["elasticsearch"]].add(index)
    return {cluster: frozenset(indices) for cluster, indices in found.items()}


def _leases_of(index: Json) -> Iterator[str]:
    for number, copies in part(index, "shards", {}).items():
        if not isinstance(copies, list):
            raise Unreadable("has no list of copies", number)
        for copy in copies:
            yield from listed(part(copy, _LEASES, {}), "leases", lambda lease: text(lease, "id"), ())
