"""The outcome of the order of a system (`System.order`), from its units, its pools and its batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..common.task import Outcome
from ..common.verdict import Verdict
from .colouring import Turn
from .start.approvals import digest_text

PASSED = Verdict()


@dataclass(frozen=True)
class Whole:
    """The things that are upgraded together."""

    cluster: str
    """The identity of the whole, which `System.uuid` gives as well."""
    pools: Mapping[str, Sequence[str]]
    """The names of the units by pool."""
    versions: Mapping[str, str]
    """The version of each unit by name."""


def ordered(
    whole: Whole, target: str, turns: Sequence[Turn], verdict: Verdict = PASSED, unit: str = "batch", **more: Any
) -> Outcome:
    """The order of these batches. Their names start with `unit`, and `more` are further results.

    Unless `more` has a `digest`, consent covers the cluster, the target and all units, whatever is done to them.
    """
    batches = [
        {
            "name": f"{unit}-{number:02d}",
            "pools": [pool for pool, units in whole.pools.items() if not {*units}.isdisjoint(turn.members)],
            "members": list(turn.members),
            "cures": False,
            "reason": turn.reason,
            "proof": turn.proof,
            **({"silences": [*turn.silences]} if turn.silences else {}),
            **({"target_version": turn.target} if turn.target else {}),
            **({"late_after": turn.late_after} if turn.late_after else {}),
            **({"timeout": turn.timeout} if turn.timeout else {}),
            **({"images": {**turn.images}} if turn.images else {}),
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
