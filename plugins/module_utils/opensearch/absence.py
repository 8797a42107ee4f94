"""The looks at members that went down, and the health of the cluster until they are back.

The first look that is answered also asks where all shards are, in the same request: the members are away then,
or have just joined, and allocation is still restricted. The answer is long in a large cluster, so it is asked for once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .observe.client import OpenSearchClient
from .observe.cluster import observe_absence, observe_members
from .observe.state import ClusterMember

WORST_LAST = ("", "green", "yellow", "red")


class Absence:
    """The looks at members of one batch until they are back."""

    def __init__(self, client: OpenSearchClient, *, health: bool = True) -> None:
        """`health` says whether the health is asked for: members that only have to become Ready are back already."""
        self._client = client
        self._asks = health
        self.health = ""
        """The health at the first look; empty before that, or if it is not known."""

    def look(self, names: Collection[str]) -> dict[str, ClusterMember]:
        """Those of the named members that are in the cluster now, by name.

        Raises:
            Refusal: the answer is missing or unreadable.
        """
        if not self._asks:
            return observe_members(self._client, names)
        members, self.health = observe_absence(self._client, names)
        self._asks = False
        return members

    def as_result(self) -> dict[str, str]:
        """The field of a result; none if no health was seen."""
        return {"health_away": self.health} if self.health else {}


def worst_of(results: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The field for a batch that went in parts: the worst health of the results of these."""
    worst = max((str(each.get("health_away", "")) for each in results), key=WORST_LAST.index, default="")
    return {"health_away": worst} if worst else {}
