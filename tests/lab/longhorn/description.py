"""A description of a Longhorn as JSON, for the process."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tests.sandbox.longhorn.description import Described, Machine, Recurring, Volume


def written(described: Described) -> dict[str, Any]:
    """The JSON of a description."""
    return {**asdict(described), "settings": dict(described.settings)}


def read(found: dict[str, Any]) -> Described:
    """The description of its JSON."""
    machines = tuple(Machine(**{**each, "images": tuple(each["images"])}) for each in found["machines"])
    volumes = tuple(
        Volume(**{**each, **{name: tuple(each[name]) for name in ("replicas", "failed", "jobs", "groups")}})
        for each in found["volumes"]
    )
    jobs = tuple(Recurring(**{**each, "groups": tuple(each["groups"])}) for each in found["jobs"])
    return Described(machines, volumes, found["settings"], found["offers"], found["frontends_outlive"], jobs)
