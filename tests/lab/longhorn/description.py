"""A description of a Longhorn as JSON, for the process."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tests.sandbox.longhorn.description import Described, Machine, Volume


def written(described: Described) -> dict[str, Any]:
    """The JSON of a description."""
    return {**asdict(described), "settings": dict(described.settings)}


def read(found: dict[str, Any]) -> Described:
    """The description of its JSON."""
    machines = tuple(Machine(**{**each, "images": tuple(each["images"])}) for each in found["machines"])
    volumes = tuple(
        Volume(**{**each, "replicas": tuple(each["replicas"]), "failed": tuple(each["failed"])})
        for each in found["volumes"]
    )
    return Described(machines, volumes, found["settings"], found["offers"], found["frontends_outlive"])
