"""The documents of each index, as its primaries count them.

The counts of each index at the start of a run are needed until its end: 10,000 indices take about 450,000 bytes of
the record until then. If that becomes too long, only the sums are kept (`run/record/size.py`).
"""

from __future__ import annotations

from ...common.reading import Json, Unreadable, named, part, whole, within
from .answers import reading
from .client import OpenSearchClient

REQUEST = "GET /_stats/docs"


def count_documents(client: OpenSearchClient) -> dict[str, int]:
    """The documents of each open index that its last refresh has made visible, nested ones included.

    Of all statistics only this one is asked for: `_cat/indices` asks each shard for every one (server source,
    RestIndicesAction). Closed indices count nothing. An index without a primary that serves is left out.

    Raises:
        Refusal: there is no answer, or not every shard has answered.
    """
    paths = "_shards.failed,indices.*.primaries.docs.count"
    answer = client.get("/_stats/docs", expand_wildcards="open,hidden", filter_path=paths)
    with reading(REQUEST):
        return parse_documents(answer)


def parse_documents(answer: Json) -> dict[str, int]:
    """The documents of each index in the answer to `_stats/docs`.

    Raises:
        Unreadable: it is no such answer, or a shard has failed to answer.
    """
    refuse_missing(answer, "counts")

    def of(_name: str, index: Json) -> int:
        return within(part(index, "primaries"), "docs", lambda docs: whole(docs, "count"))

    return named(answer, "indices", of, {})


def refuse_missing(answer: Json, what: str) -> None:
    """See that every shard has answered.

    Raises:
        Unreadable: one has failed to.
    """
    failed = within(answer, "_shards", lambda shards: whole(shards, "failed"))
    if failed:
        raise Unreadable(f"is {failed}, so the {what} would lack shards", "_shards.failed")
