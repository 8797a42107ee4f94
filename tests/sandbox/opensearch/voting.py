"""The voting configuration that the elected manager brings about (server source, Reconfigurator)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

NOBODY = "_absent_"
"""The id, or the name, in an exclusion of a member that was not there."""


@dataclass(frozen=True)
class Exclusion:
    """A member that may not vote."""

    id: str
    name: str


def has_majority(configuration: Collection[str], present: Collection[str]) -> bool:
    """Whether more than half of a configuration is there; an empty one has no majority."""
    return 2 * len(set(configuration) & set(present)) > len(configuration)


def reconfigured(
    live: Collection[str], retired: Collection[str], elected: str, current: frozenset[str], *, shrink: bool
) -> frozenset[str]:
    """The configuration that is wanted now; `live` are the manager-eligible members in the cluster."""
    there = [each for each in live if each not in retired]
    away = [each for each in current if each not in live and each not in retired]

    def order(each: str) -> tuple[bool, bool, bool, str]:
        return each not in live, each != elected, each not in current, each

    candidates = sorted([*there, *away], key=order)
    kept = sum(each in current for each in candidates)
    least = (1 if len(current) < 3 else 3) if shrink else kept
    size = max(len(there) - (len(there) % 2 == 0), least)
    wanted = frozenset(candidates[:size])
    return wanted if has_majority(wanted, live) else current
