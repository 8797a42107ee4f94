"""The request for the filters of indices."""

from __future__ import annotations

from collections.abc import Mapping

from .answers import reading
from .client import OpenSearchClient
from .index_filters import KINDS, PREFIX, IndexFilters, parse_filters


def observe_filters(client: OpenSearchClient) -> Mapping[str, IndexFilters]:
    """The filters of all indices that have any; also of closed, hidden and system ones."""
    path = "/_cluster/state/metadata"
    wanted = *(f"settings.{PREFIX}{kind}" for kind in KINDS), "ilm.action", "ilm.step"
    answer = client.get(path, filter_path=",".join(f"metadata.indices.*.{each}" for each in wanted))
    with reading(f"GET {path}"):
        return parse_filters(answer)
