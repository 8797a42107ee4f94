"""The zone that was taken out of the cluster by an awareness attribute (`_cluster/decommission/awareness`). Pure.

Elasticsearch has none.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...common.reading import Json, part, text

_FAILED = "failed"
"""The status with which members are let in again (server source, DecommissionService.nodeCommissioned)."""


@dataclass(frozen=True)
class Decommissioned:
    """The value of an attribute whose members have to leave the cluster, and may not join it."""

    attribute: str
    value: str
    status: str


def parse_decommissioned(metadata: Json) -> Decommissioned | None:
    """The zone that is decommissioned, from `metadata` of the cluster state; None if none is."""
    found = part(metadata, "decommissionedAttribute", {})
    zones = part(found, "awareness", {})
    if not zones or text(found, "status") == _FAILED:
        return None
    attribute = next(iter(zones))
    return Decommissioned(attribute, text(zones, attribute), text(found, "status"))
