"""The members that are registered with Elasticsearch to restart (node shutdown API, from 7.15 on, a part of x-pack)."""

from __future__ import annotations

from dataclasses import dataclass

from ...common.reading import listed, text
from .answers import reading
from .client import OpenSearchClient

SHUTDOWNS = "/_nodes/shutdown"


@dataclass(frozen=True)
class Shutdown:
    """One member that is registered to go."""

    id: str
    reason: str


def read_shutdowns(client: OpenSearchClient) -> tuple[Shutdown, ...] | None:
    """The registered members; None if the servers do not have the API.

    Servers without it take `shutdown` for the name of a member, and answer that there is none (an object of nodes, in
    place of a list).

    Raises:
        Refusal: the answer is missing or unreadable, or the user lacks the cluster privilege `manage`.
    """
    answer = client.get(SHUTDOWNS)
    with reading(f"GET {SHUTDOWNS}"):
        if isinstance(answer.get("nodes"), dict):
            return None
        return listed(answer, "nodes", lambda each: Shutdown(text(each, "node_id"), text(each, "reason", "")))
