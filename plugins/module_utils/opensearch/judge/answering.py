"""Whether restarted members answer at the new addresses, where a run changes the scheme of the REST port. Pure.

A member joins by the transport port, so it is back in the cluster even if no client reaches it any more. So the next
one goes only once this one has answered there, with the certificate and the credentials that will count for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ...common.verdict import Reason, as_verdict, remark, waiting
from ...common.words import enumerate_few

ENOUGH = 40
"""Answers of other members after which a member counts as not reachable by the addresses. An address in front of
several members leads to each of them in turn."""


@dataclass(frozen=True)
class NewAddressAnswers:
    """The answers at the new addresses so far."""

    where: str
    """The addresses."""
    names: frozenset[str] = frozenset()
    """The members that have answered."""
    count: int = 0
    silence: str = ""
    """Why the last question was not answered; empty if it was."""


@as_verdict
def judge_answers(seen: NewAddressAnswers, batch: Collection[str]) -> Iterator[Reason]:
    """Whether each member of a batch has answered, or only the route to it can be at fault."""
    missing = sorted({*batch} - seen.names)
    if not missing:
        return
    who = enumerate_few(missing)
    if seen.count >= ENOUGH:
        others = enumerate_few(sorted(seen.names))
        yield remark(
            "new_address_of_others",
            f"At {seen.where} only {others} answered. It is not known whether {who} would answer there, too.",
            "Give the addresses of all members (opensearch.after.hosts) to have each one asked.",
        )
        return
    cause = f" {seen.silence}" if seen.silence else ""
    yield waiting(
        "not_at_new_address",
        f"These members are in the cluster, and have not answered at {seen.where} yet: {who}.{cause}",
        f"See in the log of {who} whether its REST port has opened with the new scheme, and check"
        " opensearch.after.hosts.",
    )


@as_verdict
def judge_old_address(where: str, name: str) -> Iterator[Reason]:
    """A remark on a member that still answers at the old addresses after the last batch; empty if none does."""
    if name:
        yield remark(
            "old_address_answers",
            f"{name} still answers at {where}, the addresses from before the change.",
            "See whether that member has restarted with the new configuration, and whether a proxy in front of it"
            " serves the old scheme on purpose.",
        )
