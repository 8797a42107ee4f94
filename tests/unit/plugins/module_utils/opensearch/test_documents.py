"""The documents of each index, read strictly, since a count without some shards would look like a loss."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import NotUnderstood
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.observe.documents import count_documents


class Answering:
    """A server with one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, str]]] = []

    def get(self, path: str, **params: str) -> Any:
        self.asked.append((path, params))
        return self.answer


def index(count: Any) -> dict[str, Any]:
    return {"primaries": {"docs": {"count": count}}}


def test_every_open_index_is_counted_with_one_request_for_this_one_figure() -> None:
    client: Any = Answering({"_shards": {"failed": 0}, "indices": {"logs-2026.11.21": index(7), ".hidden": index(0)}})
    assert count_documents(client) == {"logs-2026.11.21": 7, ".hidden": 0}
    ((path, params),) = client.asked
    assert (path, params["expand_wildcards"]) == ("/_stats/docs", "open,hidden")


def test_a_cluster_without_an_index_holds_nothing() -> None:
    client: Any = Answering({"_shards": {"failed": 0}})
    assert count_documents(client) == {}


@pytest.mark.parametrize(
    "answer",
    [
        {"_shards": {"failed": 1}, "indices": {"logs": index(7)}},
        {"indices": {"logs": index(7)}},
        {"_shards": {"failed": 0}, "indices": {"logs": {}}},
        {"_shards": {"failed": 0}, "indices": {"logs": index(-1)}},
        {"_shards": {"failed": 0}, "indices": {"logs": index("7")}},
    ],
)
def test_an_answer_that_lacks_something_is_no_count(answer: Any) -> None:
    client: Any = Answering(answer)
    with pytest.raises(NotUnderstood, match="GET /_stats/docs is not understood"):
        count_documents(client)
