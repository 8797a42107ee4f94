"""The hosts of the inventory with the members of a batch, and what has failed there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..module_utils.common.words import first_few, unique
from ..module_utils.run.batch import OfHosts
from ..module_utils.run.record.trying import ENDING
from .registered import of_system
from .run_options import GivenVariables


def troubles(variables: Mapping[str, Any], batch: Mapping[str, Any]) -> list[str]:
    """A phrase for each host of a member on which something has failed, or that cannot be reached any more."""
    playing = variables["ansible_play_hosts"]
    return [*failures_on_hosts(variables, batch).values()] + [
        f"{host} could not be reached any more" for host in places_in(variables, batch) if host not in playing
    ]


def said_once(phrases: Iterable[str]) -> str:
    """A sentence for each cause among the phrases of hosts, with all hosts that have it: HOST, CAUSE."""
    hosts: dict[str, list[str]] = {}
    for phrase in phrases:
        host, comma, cause = phrase.rstrip(".").partition(", ")
        hosts.setdefault(f", {cause}" if comma else phrase, []).append(host)
    return " ".join(f"{first_few(names)}{cause if cause[:1] == ',' else ''}." for cause, names in hosts.items())


def failures_on_hosts(variables: Mapping[str, Any], batch: Mapping[str, Any]) -> dict[str, str]:
    """A phrase for each member on whose host a step has failed, by the name of the member."""
    hostvars, playing = variables["hostvars"], variables["ansible_play_hosts"]
    places = zip(batch["members"], places_in(variables, batch), strict=True)
    return {
        member: f"{host}, {hostvars[host]['roll_failed']}"
        for member, host in places
        if host in playing and "roll_failed" in hostvars[host]
    }


def with_ends(variables: Mapping[str, Any], batches: Sequence[Mapping[str, Any]], codes: Sequence[str]) -> list[str]:
    """These codes, and those by which a step on the hosts of these batches says that the run is to end: one that was
    aborted has not failed."""
    hostvars = variables["hostvars"]
    places = (host for batch in batches for host in places_in(variables, batch))
    found = (code for host in places for code in hostvars[host].get("roll_failed_codes") or ())
    return unique([*codes, *(code for code in found if code in ENDING)])


def places_in(variables: Mapping[str, Any], batch: Mapping[str, Any]) -> list[str]:
    """The host of each member, in their order."""
    return [variables["upgrade_places"][member] for member in batch["members"]]


def hosts_of(variables: Mapping[str, Any], given: GivenVariables, batch: Mapping[str, Any]) -> OfHosts | None:
    """The members on whose hosts nothing has failed, and the gate that waited for them; None if they are pods."""
    if not given("upgrade_places"):
        return None
    hostvars, playing = variables["hostvars"], variables["ansible_play_hosts"]
    places: Sequence[tuple[str, str]] = list(zip(batch["members"], places_in(variables, batch), strict=True))
    well = [name for name, host in places if host in playing and "roll_failed" not in hostvars[host]]
    return OfHosts(well, of_system(given, "roll_joined") or {})
