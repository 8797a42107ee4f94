"""The faults in the points at which an upgrade is to be approved. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..module_utils.run.start.approvals import faults_of_points
from .variables import PREFIX


def faults_of_approvals(given: Mapping[str, Any]) -> Iterator[str]:
    """One sentence for each fault. Values of a wrong type have a sentence of their own already."""
    points = given.get(f"{PREFIX}approvals")
    if isinstance(points, (list, tuple)) and all(isinstance(each, Mapping) for each in points):
        yield from faults_of_points(points)
        if points and given.get(f"{PREFIX}record_kept_in") == "none":
            yield f"{PREFIX}approvals are in the record, and {PREFIX}record_kept_in=none keeps none: keep a record."
