"""The lock of a run: its holder, and whether another may take it. Pure: from observations to verdicts.

The observer's own clock decides whether a holder still lives: a lock is dead if it was watched for as long as it
lasts and was not renewed, whatever the clocks of the two machines say (as in client-go's leader election).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from ...common.verdict import Reason, as_verdict, refused, remark, waiting

SHORTEST = 1
"""The least seconds that a lock lasts, whatever it says, so that none counts as dead at the first look."""


@dataclass(frozen=True)
class Lock:
    """A lock as it was read, or as it is to be written."""

    run: str
    """The run that holds it; empty if it is free."""
    who: str
    """The person and the machine, for people."""
    since: str
    renewed: str
    seconds: int
    """The time that it lasts without being renewed."""
    place: str = ""
    """The place in which its processes are valid: a boot of a machine and a container."""
    processes: tuple[str, ...] = ()
    """The controller, and the worker that renewed it last."""
    doing: str = ""
    """The reason that the run waits for now."""
    stop: str = ""
    """Who has asked the run to stop, and when; empty if no one has."""
    version: str = ""
    """The version that guards a write: only this one is replaced."""


class LockStore(Protocol):
    """The store of a lock."""

    def read(self) -> Lock | None:
        """The lock now, or None if there is none."""

    def write(self, lock: Lock, over: Lock | None) -> Lock:
        """Create the lock, or replace the one that was read. The result is the lock with its new version."""

    def remove(self, lock: Lock) -> None:
        """Remove exactly this lock."""


StoreOf = Callable[[Mapping[str, Any]], LockStore]
"""Gives the store of the lock in the arguments of a task."""


class Life(Enum):
    """The state of the processes of a run, as far as it is known."""

    UNKNOWN = "unknown"
    ALIVE = "alive"
    ENDING = "ending"
    """The controller is gone, but its last worker is still there."""
    GONE = "gone"


@dataclass(frozen=True)
class Sight:
    """A lock at one time during a watch. Times are seconds on the observer's clock."""

    lock: Lock | None
    life: Life = Life.UNKNOWN
    unchanged_for: float = 0.0
    renewed_since: bool = False
    process: int = 0
    """The number of the holder's controller, if exactly that process is alive on this machine; 0 if it is not, is not
    known, or is the observer's own controller."""


@as_verdict
def judge_free(sight: Sight, run: str, take_over: str) -> Iterator[Reason]:
    """Whether `run` may hold the lock: it is free, its holder is dead, or a person names the holder in `take_over`.

    It refuses if the holder is known to be alive, and waits while that is not known. A person who names a holder may
    know more than the observer, except about a process that the observer sees.
    """
    lock = sight.lock
    if take_over and (lock is None or lock.run not in {take_over, run}):
        holder = f"Run {lock.run} of {lock.who} does" if lock is not None and lock.run else "No run does"
        yield refused(
            "take_over_of_another",
            f"Run {take_over}, from which the lock was to be taken over, does not hold it. {holder}.",
            "Look again with the status playbook.",
        )
    elif lock is None or lock.run in {"", run}:
        return
    elif take_over and sight.process:
        said = f"Its process {sight.process} is alive on this machine, so its lock is not taken over."
        yield refused("take_over_of_living", f"{held_sentence(lock)} {said}", living_remedy(sight.process))
    elif take_over:
        yield _free(lock, "take_over names it")
    elif sight.life is Life.GONE:
        yield _free(lock, "its processes on this machine are gone")
    elif sight.process:
        said = f"Its process {sight.process} is alive on this machine."
        yield refused("locked", f"{held_sentence(lock)} {said}", living_remedy(sight.process))
    elif sight.life is Life.ALIVE or sight.renewed_since:
        yield refused("locked", held_sentence(lock), held_remedy(lock))
    elif sight.unchanged_for >= max(lock.seconds, SHORTEST):
        yield _free(lock, f"it was not renewed while it was watched for {sight.unchanged_for:.0f} s")
    elif sight.life is Life.ENDING:
        said = f"The controller of run {lock.run} is gone, and its last worker is about to stop."
        yield waiting("lock_worker_ending", said)
    else:
        said = f"{held_sentence(lock)} It counts as dead if it is not renewed for {max(lock.seconds, SHORTEST)} s."
        yield waiting("lock_watched", said, held_remedy(lock))


@as_verdict
def judge_ours(lock: Lock | None, run: str, stoppable: bool) -> Iterator[Reason]:
    """Whether the run holds the lock, and, at a `stoppable` look, no one has asked it to stop."""
    if lock is None or lock.run != run:
        now = held_sentence(lock) if lock is not None and lock.run else "It is free now."
        yield refused(
            "lock_lost",
            f"Run {run} no longer holds the lock, so it stops without acting. {now}",
            "See with the status playbook what the other run does; start again only when it has ended.",
        )
    elif lock.stop and stoppable:
        yield refused(
            "stopped_by_request",
            f"The run was asked to stop ({lock.stop}).",
            "To continue later, run the playbook resume, then run again: finished members are left alone.",
        )


def name_for(uuid: str) -> str:
    """The name of the objects that runs of this cluster keep in a namespace. A UUID may hold other characters."""
    return f"stateful-upgrade-{hashlib.sha256(uuid.encode()).hexdigest()[:10]}"


def held_sentence(lock: Lock) -> str:
    """The sentence that names the holder of the lock, since when, and the last renewal."""
    doing = f", {lock.doing.rstrip('.')}" if lock.doing else ""
    renewed = f"renewed {_short(lock.renewed)}{doing}"
    return f"Run {lock.run} of {lock.who} has held the lock since {_short(lock.since)} ({renewed})."


def held_remedy(lock: Lock) -> str:
    """The remedy for a lock that another run holds."""
    return (
        "Wait for it, stop it with the abort playbook, or, if it is certainly dead, take over with"
        f" take_over={lock.run}."
    )


def living_remedy(process: int) -> str:
    """The remedy for a lock whose holder has this process, which is alive on this machine."""
    return (
        f"Wait for it, or stop it with the abort playbook. If it hangs, end process {process}, and run again: the lock"
        " is free then, without take_over."
    )


def _short(moment: str) -> str:
    return f"{moment[:19]}Z" if moment else "an unknown time"


def _free(lock: Lock, why: str) -> Reason:
    return remark("lock_taken_over", f"The lock of run {lock.run} of {lock.who} may be taken over, because {why}.")
