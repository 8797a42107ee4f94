"""Lists in pages: the objects of one time, of which a server gives so many at a time."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.sandbox.kubernetes.objects import Json, Refused, bad_request

_EXPIRED = "The provided continue parameter is too old to display a consistent list result."


@dataclass
class Pages:
    """The rest of each list that was given in part. A version that the store has forgotten is gone."""

    left: dict[str, tuple[int, list[Json]]] = field(default_factory=dict)

    def cut(self, items: list[Json], version: int, query: Mapping[str, str], compacted: int) -> tuple[list[Json], Json]:
        """The page that is asked for, and the metadata of the list. Raises Refused."""
        following = query.get("continue", "")
        if following:
            if following not in self.left:
                raise bad_request("continue key is not valid")
            version, items = self.left[following]
            if version < compacted:
                raise Refused(410, "Expired", _EXPIRED)
        metadata: Json = {"resourceVersion": str(version)}
        most = int(query.get("limit") or 0)
        if not most or len(items) <= most:
            return items, metadata
        start = items[most - 1]["metadata"]
        place = f"{start.get('namespace', '')}/{start['name']}\u0000".lstrip("/")
        told = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": place})
        token = base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")
        self.left[token] = version, items[most:]
        metadata["continue"] = token
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(items) - most
        return items[:most], metadata
