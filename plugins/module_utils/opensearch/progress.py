# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress: would waiting longer change anything? Pure judgement of shards that are not assigned.

Unassigned replicas that only the upgrade itself can cure are not waited for. They are recognised by the decider's
name, never by its text: `node_version` says no on every older member, and on newer ones only the copy's own place
(`same_shard`) or zone (`awareness`) stands in the way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from ..common.reading import Json, flag, listed, one_of, text, whole
from ..common.verdict import Reason, Verdict, refused, remark, waiting
from ..common.words import enumerate_few
from .state import ClusterState, Health, ShardCopy

_EXPECTED_ON_NEWER = frozenset({"same_shard", "awareness"})


@dataclass(frozen=True)
class Explanation:
    """`_cluster/allocation/explain` of one unassigned copy: per member the deciders that say no."""

    index: str
    shard: int
    primary: bool
    can_allocate: str
    refusing: Mapping[str, frozenset[str]]
    """Member id → names of the deciders that answered NO."""


def parse_explanation(answer: Json) -> Explanation:
    """An explanation from its JSON.

    Raises:
        Unreadable: a field that decides is missing.
    """
    return Explanation(
        index=text(answer, "index"),
        shard=whole(answer, "shard"),
        primary=flag(answer, "primary"),
        can_allocate=text(answer, "can_allocate"),
        refusing=dict(
            listed(
                answer, "node_allocation_decisions", lambda each: (text(each, "node_id"), refusing_deciders(each)), ()
            )
        ),
    )


DECISIONS = frozenset({"ALWAYS", "NO", "THROTTLE", "YES"})
"""What a decider says (server source, Decision.Type)."""


def refusing_deciders(decision: Json) -> frozenset[str]:
    """The deciders that say no to one member, in `node_allocation_decisions`.

    Raises:
        Unreadable: one says nothing that is known.
    """
    said = listed(decision, "deciders", lambda each: (text(each, "decider"), one_of(each, "decision", DECISIONS)), ())
    return frozenset(name for name, decided in said if decided == "NO")


def unassigned(state: ClusterState) -> tuple[ShardCopy, ...]:
    """The copies without a member, one per shard (explaining twins apart is not possible for the server).

    Of a shard without its primary that is the primary alone: its replicas can only follow it.
    """
    found = [copy for copy in state.copies if copy.state == "UNASSIGNED"]
    lost = {(copy.index, copy.shard) for copy in found if copy.primary}
    seen: dict[tuple[str, int], ShardCopy] = {}
    for copy in found:
        if copy.primary or (copy.index, copy.shard) not in lost:
            seen.setdefault((copy.index, copy.shard), copy)
    return tuple(seen.values())


def cured_by_upgrade(explanation: Explanation, outdated: Collection[str]) -> bool:
    """Whether upgrading the members `outdated` (ids) is what lets this copy be allocated."""
    if explanation.can_allocate != "no" or not explanation.refusing:
        return False
    for identity, deciders in explanation.refusing.items():
        too_old = identity in outdated and "node_version" in deciders
        if not too_old and not (deciders and deciders <= _EXPECTED_ON_NEWER):
            return False
    return any(explanation.refusing.get(identity) == frozenset({"node_version"}) for identity in outdated)


def judge_progress(
    state: ClusterState, health: Health, explanations: Iterable[Explanation], outdated: Collection[str]
) -> Verdict:
    """Whether the shards are where they can be. `outdated` are the ids of members the upgrade has yet to reach."""
    if health.status == "green" and not unassigned(state) and not _initializing(state):
        return Verdict()
    explained = {(e.index, e.shard, e.primary): e for e in explanations}
    moving = still_moving(state, health)
    if moving:
        return Verdict(moving)
    reasons: list[Reason] = []
    expected: list[str] = []
    unexplained: list[str] = []
    without_place: dict[tuple[str, int, frozenset[tuple[str, int]]], list[str]] = defaultdict(list)
    for copy in unassigned(state):
        name = f"{copy.index}[{copy.shard}]"
        explanation = explained.get((copy.index, copy.shard, copy.primary))
        if copy.primary:
            reasons.append(_lost_primary(name, explanation))
        elif explanation is None:
            unexplained.append(name)
        elif cured_by_upgrade(explanation, outdated):
            expected.append(name)
        else:
            deciders = frozenset(Counter(chain.from_iterable(explanation.refusing.values())).items())
            without_place[(explanation.can_allocate, len(explanation.refusing), deciders)].append(name)
    reasons += [_unassigned(names, *said) for said, names in without_place.items()]
    if unexplained:
        text = f"The server has not explained yet why {enumerate_few(unexplained)} is not assigned."
        reasons.append(waiting("unassigned", text))
    if expected:
        reasons.append(
            remark(
                "yellow_until_upgraded",
                f"Replicas of {enumerate_few(expected)} fit no member until the next one is upgraded (node_version).",
            )
        )
    if not reasons:
        reasons.append(waiting("not_green", f"The cluster's health is {health.status}."))
    return Verdict(tuple(reasons))


def judge_overrides(state: ClusterState) -> Verdict:
    """No index keeps its replicas from coming back by itself: its own allocation setting overrides the cluster's."""
    return Verdict(
        tuple(
            refused(
                "index_allocation_disabled",
                f"Index {index.name} sets index.routing.allocation.enable to {index.allocation}: its replicas could not"
                " come back after a restart.",
                "Set it to all or null for that index, let the cluster recover, then run again.",
            )
            for index in state.indices.values()
            if index.replicas and index.allocation not in (None, "all")
        )
    )


def _initializing(state: ClusterState) -> list[str]:
    return [f"{copy.index}[{copy.shard}]" for copy in state.copies if copy.state == "INITIALIZING"]


def still_moving(state: ClusterState, health: Health) -> tuple[Reason, ...]:
    """What is under way: as long as there is anything, no shard needs an explanation."""
    initializing = _initializing(state)
    if initializing:
        return (waiting("recovering", f"Shards recover ({len(initializing)}): {enumerate_few(initializing)}."),)
    if health.delayed:
        return (waiting("allocating", f"Shards wait for their member to come back ({health.delayed} delayed)."),)
    if health.in_flight_fetch:
        return (waiting("allocating", f"The members are asked for shards they hold ({health.in_flight_fetch} asked)."),)
    return ()


def _lost_primary(name: str, explanation: Explanation | None) -> Reason:
    answer = explanation.can_allocate if explanation else "unknown"
    return waiting(
        "primary_unassigned",
        f"The primary of {name} is not assigned (the server says: {answer}): the cluster is red.",
        "Bring back the member that holds it; never force an empty or stale copy.",
    )


def _unassigned(names: Collection[str], answer: str, members: int, deciders: Iterable[tuple[str, int]]) -> Reason:
    """What is said of replicas of which the server says the same: its answer, and per decider how many say no."""
    several = len(names) > 1
    subject = f"The {'replicas' if several else 'replica'} of {enumerate_few(names)}"
    if answer != "no":
        return waiting("allocating", f"{subject} {'are' if several else 'is'} about to be allocated ({answer}).")
    count = dict(deciders)
    if "max_retry" in count:
        return refused(
            "allocation_failed",
            f"{subject} failed to recover too often (decider max_retry).",
            "Look at the allocation explanation, cure the cause, then POST _cluster/reroute?retry_failed=true.",
        )
    said = ", ".join(f"{decider} on {number}" for decider, number in sorted(count.items()))
    return refused(
        "unassigned",
        f"{subject} {'fit' if several else 'fits'} on none of the {members} data members (deciders: {said}).",
        "Cure what the deciders name, or lower number_of_replicas of that index: waiting would not change it.",
    )
