"""The invariant about the lock, the same for every system: it is held, and asked for, before each act. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class LockLook:
    """A look of the run at its lock: its number in the order of all requests, its time, and the holder."""

    number: int = -1
    at: float = float("-inf")
    holder: str = ""


@dataclass(frozen=True)
class Held:
    """The looks of the run at its lock, and its acts until now. An act has a number of the same order; -1 is none."""

    lock: LockLook = LockLook()
    acted: int = -1
    """The last act of any kind."""
    held_up: int = -1
    """The last request that had no answer, or in which time went by: what was seen before is older than it need be."""
    run: str = ""
    """The run at work: the last one that has written itself into the lock."""

    def age_of(self, number: int, age: float) -> float:
        """The most seconds for which an act may rely on that look: `age` if the run was held up after it."""
        return age if self.held_up > number else 0.0


def under_lock(holder: str, at: float, held: Held, age: float, *, repeated: bool = False) -> Iterator[str]:
    """An act is made while the lock names the run at work, and the run has asked for it since its last act.

    A holder that came after that question could not be seen, if no time has passed, or the run was held up. An act is
    `repeated` if the request before it was the same: a client asks again whose answer was lost.
    """
    run, look = held.run, held.lock
    if look.number < held.acted and not repeated:
        yield "an act is made, and the lock was not read since the act before it"
    elif look.holder != run or not run:
        named = look.holder or "no run"
        yield f"an act is made, and the lock named {named} as it was read; {run or 'no run'} is at work"
    elif holder != run and at - look.at > held.age_of(look.number, age):
        yield f"an act of run {run} is made while the lock names {holder or 'no run'}"
