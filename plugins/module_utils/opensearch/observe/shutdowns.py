"""The members that are registered with Elasticsearch to restart (node shutdown API, from 7.15 on, a part of x-pack)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...common.reading import Json, listed, named, text, within
from .answers import reading
from .client import OpenSearchClient

SHUTDOWNS = "/_nodes/shutdown"
OURS = "stateful.upgrade"
"""The start of the reason, by which a registration is recognised as one of this collection."""
RESTART = "RESTART"
"""The type of a member that comes back. All others are to leave for good (server source, SingleNodeShutdownMetadata,
isRemovalType)."""


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


def parse_removals(metadata: Json) -> Mapping[str, str]:
    """The members that others have registered to leave for good, with the reasons that they gave, by id.

    It is from `metadata` of the cluster state, which every user reads who may see that (server source,
    NodesShutdownMetadata). OpenSearch has none.
    """
    found = within(metadata, "node_shutdown", lambda shutdown: named(shutdown, "nodes", _removal, {}), {})
    return {identity: reason for identity, reason in found.items() if reason is not None}


def _removal(_identity: str, registered: Json) -> str | None:
    reason = text(registered, "reason", "")
    return None if text(registered, "type").upper() == RESTART or reason.startswith(OURS) else reason
