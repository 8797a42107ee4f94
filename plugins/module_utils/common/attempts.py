"""Acts that are guarded: by what was observed, which may change in between, or by a proof, which may not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from .errors import Conflict, Denied, Refusal, Unreachable
from .verdict import Reason, Verdict

Done = TypeVar("Done")
Seen = TypeVar("Seen")
Looked = TypeVar("Looked")


def just_looked(seen: Seen | None, look: Callable[[], Looked]) -> Callable[[], Seen | Looked]:
    """A look for attempts: the first gives what was just seen, if anything was, and every further one looks again."""
    left = [] if seen is None else [seen]
    return lambda: left.pop() if left else look()


def until_unchanged(attempt: Callable[[], Done], attempts: int) -> Done:
    """The result of an attempt that observes, judges and acts; it is repeated if someone else was faster.

    Raises:
        Conflict: someone else was faster `attempts` times in a row, so this is no coincidence.
    """
    for _number in range(attempts - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()


def proven_and_prepared(
    look: Callable[[], tuple[Seen, Verdict]], prepare: Callable[[Seen], bool], again: Callable[[Verdict], bool]
) -> tuple[Seen, Verdict]:
    """The last look and its verdict. If that passed, all is prepared, and nothing was done since that look.

    `look` waits for the proof. `prepare` makes the next preparation for the act, and says whether it did anything; if
    it did, `look` is called once more. If the proof does not hold, `again` undoes the preparations, and says
    whether to look once more.

    Raises:
        Refusal: one of these raised it.
    """
    while True:
        seen, verdict = look()
        if not (prepare(seen) if verdict.passed else again(verdict)):
            return seen, verdict


def refusals_of(asked: Sequence[Callable[[], None]]) -> list[Reason]:
    """The reasons for which any of these is refused, once all were asked.

    Raises:
        Unreachable: the API gives no answer.
        Denied: all of them lack a right.
    """
    refusals: list[Refusal] = []
    for each in asked:
        try:
            each()
        except (Unreachable, Conflict):
            raise
        except Refusal as error:
            refusals.append(error)
    reasons = [reason for error in refusals for reason in error.verdict.reasons]
    if refusals and all(isinstance(error, Denied) for error in refusals):
        raise Denied(*reasons)
    return reasons
