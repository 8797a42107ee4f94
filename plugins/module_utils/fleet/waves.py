"""The waves of a fleet: which clusters are upgraded before which. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..common.errors import Refusal
from ..common.verdict import Reason, refused
from ..common.words import first_few

CANARY = "canary"
"""The name of the wave that goes first, if a cluster is a canary."""
_SIZE = re.compile(r"(?P<number>[1-9]\d*)(?P<percent>%?)", re.ASCII)


@dataclass(frozen=True)
class Wave:
    """Clusters that are upgraded at the same time."""

    name: str
    clusters: tuple[str, ...]


def waves_of(
    clusters: Sequence[str], groups: Mapping[str, Sequence[str]], canary: Sequence[str], wanted: Sequence[str]
) -> list[Wave]:
    """The waves in order: the canary, then the wanted ones; if none are wanted, one wave for all other clusters.

    `clusters` are those of this run in the order of the inventory, `groups` the groups of the whole inventory with
    their hosts. An entry of `wanted` is the name of a group, a number of clusters, or a percentage of all clusters of
    the run, as in Ansible's `serial`. If the last entry is a size, it is repeated until no cluster is left.

    Raises:
        Refusal: with a reason for each entry that cannot be used, and for clusters that no wave takes.
    """
    faults = [*_faults(groups, canary, wanted)]
    if faults:
        raise Refusal(*faults)
    left = [each for each in clusters if each not in canary]
    found = [Wave(CANARY, tuple(each for each in clusters if each in canary))]
    for entry in wanted:
        taken = _taken(entry, left, groups, len(clusters))
        left = [each for each in left if each not in taken]
        found.append(Wave(entry if entry in groups else "", tuple(taken)))
    if not wanted:
        found.append(Wave("", tuple(left)))
    elif left and wanted[-1] not in groups:
        size = _size(wanted[-1], len(clusters))
        found += [Wave("", tuple(left[at : at + size])) for at in range(0, len(left), size)]
    elif left:
        raise Refusal(_left_over(left))
    going = [wave for wave in found if wave.clusters]
    return [Wave(wave.name or f"wave {number}", wave.clusters) for number, wave in enumerate(going, 1)]


def _faults(groups: Mapping[str, Sequence[str]], canary: Sequence[str], wanted: Sequence[str]) -> Iterator[Reason]:
    known = {host for hosts in groups.values() for host in hosts}
    for name in canary:
        if name not in known:
            yield refused(
                "wave_unknown",
                f"The canary {name} is not a host of the inventory.",
                "Name a host of it in upgrade_fleet_canary.",
            )
    for entry in wanted:
        size = _SIZE.fullmatch(entry)
        if entry in groups or (size and (not size["percent"] or int(size["number"]) <= 100)):
            continue
        yield refused(
            "wave_unknown",
            f"The wave {entry} is not a group of the inventory, a number above 0, or a percentage from 1% to 100%.",
            "Correct upgrade_fleet_waves.",
        )


def _left_over(left: Sequence[str]) -> Reason:
    return refused(
        "wave_misses_clusters",
        f"No wave includes {first_few(left)}.",
        "Add a last wave to upgrade_fleet_waves that takes all the others, such as 100%.",
    )


def _taken(entry: str, left: Sequence[str], groups: Mapping[str, Sequence[str]], whole: int) -> list[str]:
    if entry in groups:
        return [each for each in left if each in groups[entry]]
    return list(left[: _size(entry, whole)])


def _size(entry: str, whole: int) -> int:
    """The clusters of a wave; a percentage is rounded down, but is at least one cluster."""
    found = _SIZE.fullmatch(entry)
    number = int(found["number"]) if found else 1
    return max(1, whole * number // 100) if entry.endswith("%") else number
