"""The invariant about the order of looks and acts: the proof before a deletion. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.runs.observer.lock import Held
from tests.runs.observer.rules import Takedown, listed
from tests.runs.observer.sight import Sight


@dataclass(frozen=True)
class Look:
    """A look of the run: its number in the order of all requests, its time, and what there was to be seen."""

    number: int = -1
    at: float = float("-inf")
    sight: Sight = field(default_factory=Sight)


@dataclass(frozen=True)
class Progress(Held):
    """The looks and acts of the run until now."""

    cluster: Look = Look()
    """The last look at members and copies."""
    pods: Look = Look()
    changed: int = -1
    """The last act that has changed the cluster or its pools."""


def fresh_proof(now: Sight, at: float, taken: Takedown, progress: Progress, age: float) -> Iterator[str]:
    """Before the first member of a batch goes, the run has looked at what is there now.

    It has looked after the last change that it has made itself. Changes of others since then are allowed if no time has
    passed since the look, or if no more than `age` seconds have and the run was held up after it.
    """
    if taken.away:
        return
    for what, look, part in (
        ("members and copies", progress.cluster, members_and_copies),
        ("pods", progress.pods, pods_of),
    ):
        if look.number < progress.changed:
            yield f"{listed(taken.names)} goes down, and the last look at {what} was before the last change of the run"
        elif part(now) != part(look.sight) and at - look.at > progress.age_of(look.number, age):
            yield f"{listed(taken.names)} goes down, and {what} have changed since the last look {at - look.at:g} s ago"


def members_and_copies(sight: Sight) -> Any:
    """The part that a proof is about."""
    joined = {name: member.process for name, member in sight.members.items() if member.joined}
    return joined, {key: (shard.started, shard.copies) for key, shard in sight.shards.items()}


def pods_of(sight: Sight) -> Any:
    """The part of the pods of members that a proof is about."""
    return {name: (pod.uid, pod.ready, pod.going) for name, pod in sight.pods.items() if name in sight.members}
