"""The invariants about the order of looks and acts: the proof before a deletion, and the lock before each act. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.runs.observer.rules import Takedown, listed
from tests.runs.observer.sight import Sight


@dataclass(frozen=True)
class Look:
    """A look of the run: its number in the order of all requests, its time, and what there was to be seen."""

    number: int = -1
    at: float = float("-inf")
    sight: Sight = field(default_factory=Sight)


@dataclass(frozen=True)
class Progress:
    """The looks and acts of the run until now. An act has a number of the same order; -1 is none."""

    cluster: Look = Look()
    """The last look at members and copies."""
    pods: Look = Look()
    lock: Look = Look()
    changed: int = -1
    """The last act that has changed the cluster or its pools."""
    acted: int = -1
    """The last act of any kind."""
    held_up: int = -1
    """The last request that had no answer, or in which time went by: what was seen before is older than it need be."""
    run: str = ""
    """The run at work: the last one that has written itself into the lock."""


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
        allowed = age if progress.held_up > look.number else 0.0
        if look.number < progress.changed:
            yield f"{listed(taken.names)} goes down, and the last look at {what} was before the last change of the run"
        elif part(now) != part(look.sight) and at - look.at > allowed:
            yield f"{listed(taken.names)} goes down, and {what} have changed since the last look {at - look.at:g} s ago"


def members_and_copies(sight: Sight) -> Any:
    """The part that a proof is about."""
    joined = {name: member.process for name, member in sight.members.items() if member.joined}
    return joined, {key: (shard.started, shard.copies) for key, shard in sight.shards.items()}


def pods_of(sight: Sight) -> Any:
    """The part of the pods of members that a proof is about."""
    return {name: (pod.uid, pod.ready, pod.going) for name, pod in sight.pods.items() if name in sight.members}


def under_lock(now: Sight, at: float, progress: Progress, age: float, *, repeated: bool = False) -> Iterator[str]:
    """An act is made while the lock names the run at work, and the run has asked for it since its last act.

    A holder that came after that question was not to be seen, if no time has passed, or the run was held up. An act is
    `repeated` if the request before it was the same: a client asks again whose answer was lost.
    """
    run, look = progress.run, progress.lock
    if look.number < progress.acted and not repeated:
        yield "an act is made, and the lock was not read since the act before it"
    elif look.sight.holder != run or not run:
        named = look.sight.holder or "no run"
        yield f"an act is made, and the lock named {named} as it was read; {run or 'no run'} is at work"
    elif now.holder != run and at - look.at > (age if progress.held_up > look.number else 0.0):
        yield f"an act of run {run} is made while the lock names {now.holder or 'no run'}"
