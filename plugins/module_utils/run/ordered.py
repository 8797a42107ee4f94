"""The outcome of the order of a system (`System.order`), from its units, its pools and its batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.task import Outcome
from ..common.verdict import Verdict
from .colouring import Placement, disjoint
from .start.approvals import digest_text

PASSED = Verdict()


@dataclass(frozen=True)
class Turn:
    """One batch: the units that go together."""

    members: Sequence[str]
    reason: str
    """The cause for its place in the order."""
    proof: str
    """The cause for which its units may be away together."""


@dataclass(frozen=True)
class Whole:
    """The things that are upgraded together."""

    cluster: str
    """The identity of the whole, which `System.uuid` gives as well."""
    pools: Mapping[str, Sequence[str]]
    """The names of the units by pool."""
    versions: Mapping[str, str]
    """The version of each unit by name."""


@dataclass(frozen=True)
class _NamedUnit:
    name: str
    group: str = ""


def in_turns(names: Sequence[str], sets: Collection[Collection[str]], reason: str, proof: str) -> list[Turn]:
    """These units in few batches, outside of each of which every one of these sets keeps a unit."""
    placement = Placement([frozenset(each) for each in sets])
    batches = disjoint([_NamedUnit(name) for name in names], {"": None}, placement)
    return [Turn([unit.name for unit in batch], reason, proof) for batch in batches]


def ordered(
    whole: Whole, target: str, turns: Sequence[Turn], verdict: Verdict = PASSED, unit: str = "batch", **more: Any
) -> Outcome:
    """The order of these batches. `unit` is the beginning of their names, and `more` are further results.

    Without a `digest` of its own, consent covers the cluster, the target and all units, whatever is done of them.
    """
    batches = [
        {
            "name": f"{unit}-{number:02d}",
            "pools": [pool for pool, units in whole.pools.items() if not {*units}.isdisjoint(turn.members)],
            "members": list(turn.members),
            "cures": False,
            "reason": turn.reason,
            "proof": turn.proof,
        }
        for number, turn in enumerate(turns, start=1)
    ]
    own = {
        "target_version": target,
        "cluster_uuid": whole.cluster,
        "deployed_version": min(whole.versions.values(), default=""),
        "pools": [{"name": name, "members": list(units)} for name, units in whole.pools.items()],
        "batches": batches,
        "members": list(whole.versions),
        "left": [],
        "digest": digest_text([whole.cluster, target, sorted(whole.versions)]),
    }
    return Outcome(verdict, before=whole.versions, next="begin" if batches else "nothing", more={**own, **more})
