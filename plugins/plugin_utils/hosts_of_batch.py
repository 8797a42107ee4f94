"""The hosts of the inventory with the members of a batch, and what has failed there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def troubles(variables: Mapping[str, Any], batch: Mapping[str, Any]) -> list[str]:
    """One sentence for each host of a member on which something has failed, or that cannot be reached any more."""
    playing = variables["ansible_play_hosts"]
    return [*failures_on_hosts(variables, batch).values()] + [
        f"{host} could not be reached any more" for host in places_in(variables, batch) if host not in playing
    ]


def failures_on_hosts(variables: Mapping[str, Any], batch: Mapping[str, Any]) -> dict[str, str]:
    """A phrase for each member on whose host a step has failed, by the name of the member."""
    hostvars, playing = variables["hostvars"], variables["ansible_play_hosts"]
    places = zip(batch["members"], places_in(variables, batch), strict=True)
    return {
        member: f"{host}, {hostvars[host]['roll_failed']}"
        for member, host in places
        if host in playing and "roll_failed" in hostvars[host]
    }


def places_in(variables: Mapping[str, Any], batch: Mapping[str, Any]) -> list[str]:
    """The host of each member, in their order."""
    return [variables["upgrade_places"][member] for member in batch["members"]]
