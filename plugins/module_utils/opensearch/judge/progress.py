"""Progress: whether waiting longer would change anything. Pure judgement of shards that are not assigned.

Unassigned replicas that the upgrade itself fixes are not waited for. They are recognised by the decider's name, never
by its text: on a member that is yet to be upgraded only `node_version` refuses them.

Replicas go to no older member than their primary, with segment replication as with document replication. The decider
`remote_store_migration` says yes under `strict`, and `filter` is also the name that SearchReplicaAllocationDecider
gives itself. A replica that one of them refuses everywhere is named with that decider, as any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain

from ...common.verdict import Reason, Verdict, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.copies import unassigned
from ..observe.explanation import Explanation
from ..observe.recoveries import Recoveries
from ..observe.settings import allocates
from ..observe.state import ClusterState, Health, ShardCopy
from .throttling import IF_THROTTLED, THROTTLED

UNTIL_GROWN = "unassigned_until_grown"
"""The code of replicas that get a place once disks are larger."""
_RETRY = "Look at the allocation explanation, fix the cause, then POST _cluster/reroute?retry_failed=true"


def fixed_by_upgrade(explanation: Explanation, outdated: Collection[str]) -> bool:
    """Whether this replica can be allocated once one of the members `outdated` (ids) is upgraded.

    The upgraded one may then hold it, though others refuse it for being of another tier (`filter`, `target_pool`), full
    (`disk_threshold`), or a holder of another copy (`same_shard`). If a member that is upgraded already is too old for
    the replica, the upgrade does not fix it.
    """
    only = frozenset({"node_version"})
    too_old = {identity for identity, deciders in explanation.refusing.items() if only <= deciders}
    fixable = any(explanation.refusing[identity] == only for identity in too_old)
    return explanation.can_allocate == "no" and fixable and too_old <= set(outdated)


def fits_once_grown(explanation: Explanation, growing: Collection[str]) -> bool:
    """Whether this copy is a replica that can be allocated once the disks of the members `growing` (ids) are larger.

    Only the watermarks keep it from one of them (decider `disk_threshold`).
    """
    only = frozenset({"disk_threshold"})
    no_place = not explanation.primary and explanation.can_allocate == "no"
    return no_place and any(explanation.refusing.get(each) == only for each in growing)


def without_place(
    explanations: Iterable[Explanation], outdated: Collection[str], growing: Collection[str] = ()
) -> Mapping[tuple[str, int], str]:
    """The shards with a replica that has no place, now and after the upgrade, each with the deciders that say so."""
    return {
        (one.index, one.shard): _deciders(_counted(one))
        for one in explanations
        if not one.primary
        and one.can_allocate == "no"
        and not fixed_by_upgrade(one, outdated)
        and not fits_once_grown(one, growing)
    }


@as_verdict
def judge_places_on_grown(explanations: Iterable[Explanation], growing: Collection[str]) -> Iterator[Reason]:
    """Whether each replica that only full disks kept away has a place, once disks of `growing` (ids) are larger.

    A server knows the sizes of disks for half a minute (`cluster.info.update.interval`), and allocates then.
    """
    names = [f"{one.index}[{one.shard}]" for one in explanations if fits_once_grown(one, growing)]
    if names:
        yield waiting(
            UNTIL_GROWN,
            f"The cluster has not allocated replicas to the members with larger disks yet: {enumerate_few(names)}.",
            "See cluster.info.update.interval and the watermarks (cluster.routing.allocation.disk.watermark.low).",
        )


@dataclass(frozen=True)
class Expectation:
    """The expectation of a gate about the shards."""

    outdated: frozenset[str] = frozenset()
    """The ids of the members that the upgrade has yet to reach."""
    may_be_red: Container[str] = frozenset()
    """The indices whose shards may be missing, by the user's consent."""
    growing: frozenset[str] = frozenset()
    """The ids of the members whose disks the run makes larger before its first batch."""
    complete: bool = False
    """Whether all members are there, so that a copy that no member holds does not come back by itself."""


class _CopyKind(IntEnum):
    """The situations of a copy that is not assigned, in the order of their reasons."""

    WITHOUT_COPY = 1
    WITHOUT_PLACE = 2
    PENDING = 3
    UNEXPLAINED = 4
    EXPECTED = 5
    ALLOWED = 6
    GROWING = 7


@dataclass(frozen=True, order=True)
class _Situation:
    """The common situation of copies that share one reason."""

    kind: _CopyKind
    primary: bool
    answer: str = ""
    members: int = 0
    deciders: tuple[tuple[str, int], ...] = ()
    """The deciders, each with the number of members that it refuses."""
    never_held: bool = False
    """Whether no member has ever held the copy."""
    search_only: bool = False


def judge_progress(
    state: ClusterState, health: Health, explanations: Iterable[Explanation], expectation: Expectation
) -> Verdict:
    """Whether the shards are where they can be."""
    if health.status == "green" and not unassigned(state) and not _initializing(state):
        return Verdict()
    moving = still_moving(state, health)
    if not moving.passed:
        return moving
    explained = {(e.index, e.shard, e.primary): e for e in explanations}
    found: dict[_Situation, list[str]] = defaultdict(list)
    for copy in unassigned(state):
        situation = _situation(copy, explained.get((copy.index, copy.shard, copy.primary)), expectation)
        found[situation].append(f"{copy.index}[{copy.shard}]")
    reasons = tuple(_reason(each, found[each], expectation) for each in sorted(found))
    return Verdict(reasons or (waiting("not_green", f"The cluster's health is {health.status}."),))


def _situation(copy: ShardCopy, explanation: Explanation | None, expectation: Expectation) -> _Situation:
    if copy.index in expectation.may_be_red:
        return _Situation(_CopyKind.ALLOWED, copy.primary)
    if explanation is None:
        return _Situation(_CopyKind.UNEXPLAINED, copy.primary)
    if not copy.primary and fixed_by_upgrade(explanation, expectation.outdated):
        return _Situation(_CopyKind.EXPECTED, primary=False)
    if fits_once_grown(explanation, expectation.growing):
        return _Situation(_CopyKind.GROWING, primary=False)
    answer = explanation.can_allocate
    if copy.primary and answer == "no_valid_shard_copy":
        return _Situation(_CopyKind.WITHOUT_COPY, primary=True)
    if answer != "no":
        return _Situation(_CopyKind.PENDING, copy.primary, answer)
    never_held = copy.primary and copy.never_held
    counted = _counted(explanation)
    seen = answer, len(explanation.refusing), counted, never_held, copy.search_only
    return _Situation(_CopyKind.WITHOUT_PLACE, copy.primary, *seen)


def _counted(explanation: Explanation) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(chain.from_iterable(explanation.refusing.values())).items()))


def _deciders(counted: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{decider} on {number}" for decider, number in counted)


def _reason(situation: _Situation, names: Sequence[str], expectation: Expectation) -> Reason:
    """The reason for copies that are in the same situation."""
    several = len(names) > 1
    kind = ("primaries" if several else "primary") if situation.primary else ("replicas" if several else "replica")
    subject = f"The {'search ' * situation.search_only}{kind} of {enumerate_few(names)}"
    say = _of_primary if situation.primary else _of_replica
    return say(situation, subject, expectation, "are" if several else "is", "fit" if several else "fits")


def _of_replica(situation: _Situation, subject: str, _expectation: Expectation, are: str, fit: str) -> Reason:
    if situation.kind is _CopyKind.ALLOWED:
        return remark("unassigned", f"{subject} {are} not assigned, as allowed by allow_red_indices.")
    if situation.kind is _CopyKind.EXPECTED:
        text = f"{subject} {fit} on no member until the next one is upgraded (node_version)."
        return remark("yellow_until_upgraded", text)
    if situation.kind is _CopyKind.GROWING:
        return remark(UNTIL_GROWN, f"{subject} {fit} on no member until disks are larger (disk_threshold).")
    if situation.kind is _CopyKind.UNEXPLAINED:
        return waiting(
            "unassigned", f"The server has not explained yet why {subject[0].lower()}{subject[1:]} {are} not assigned."
        )
    if situation.kind is _CopyKind.PENDING:
        said = f"{subject} {are} about to be allocated ({situation.answer})."
        return waiting("allocating", said, IF_THROTTLED if situation.answer == THROTTLED else "")
    if "max_retry" in dict(situation.deciders):
        return refused("allocation_failed", f"{subject} failed to recover too often (decider max_retry).", f"{_RETRY}.")
    setting = "number_of_search_replicas" if situation.search_only else "number_of_replicas"
    return refused(
        "unassigned",
        f"{subject} {fit} on none of the {situation.members} data members (deciders: {_deciders(situation.deciders)}).",
        f"Fix what the deciders name, or lower {setting} of that index; waiting would not change it. To leave the index"
        " as it is, name it in allow_red_indices.",
    )


def _of_primary(situation: _Situation, subject: str, expectation: Expectation, are: str, fit: str) -> Reason:
    red, leave = "the cluster is red", "or name the index in allow_red_indices, and it is left as it is"
    if situation.kind is _CopyKind.ALLOWED:
        return remark("primary_unassigned", f"{subject} {are} not assigned, as allowed by allow_red_indices.")
    if situation.kind is _CopyKind.WITHOUT_COPY:
        text = f"{subject} {are} not assigned, because no member of the cluster holds a valid copy: {red}."
        remedy = (
            "Bring back the member or the volume that holds one, or restore the index from a snapshot; never force an"
            f" empty or stale copy, {leave}."
        )
        return (refused if expectation.complete else waiting)("primary_unassigned", text, remedy)
    if situation.kind in {_CopyKind.UNEXPLAINED, _CopyKind.PENDING}:
        said = situation.answer or "nothing yet"
        text = f"{subject} {are} not assigned (the server says: {said}): {red}."
        return waiting("primary_unassigned", text, IF_THROTTLED if said == THROTTLED else "")
    if "max_retry" in dict(situation.deciders):
        text = f"{subject} failed to recover too often (decider max_retry): {red}."
        return refused("primary_unassigned", text, f"{_RETRY}, {leave}.")
    never = " No member has ever held one, so no data is lost." if situation.never_held else ""
    return refused(
        "primary_unassigned",
        f"{subject} {fit} on none of the {situation.members} data members (deciders: {_deciders(situation.deciders)}):"
        f" {red}.{never}",
        f"Fix what the deciders name, or delete the index (waiting would not change it), {leave}.",
    )


@as_verdict
def judge_overrides(state: ClusterState) -> Iterator[Reason]:
    """Whether no index has an allocation setting of its own that keeps its replicas from coming back."""
    for index in state.indices.values():
        if index.replicas and not allocates(index.allocation):
            yield refused(
                "index_allocation_disabled",
                f"Index {index.name} sets index.routing.allocation.enable to {index.allocation}: its replicas could not"
                " come back after a restart.",
                "Set it to all or null for that index, let the cluster recover, then run again.",
            )


def _initializing(state: ClusterState) -> list[str]:
    return [f"{copy.index}[{copy.shard}]" for copy in state.copies if copy.state == "INITIALIZING"]


@as_verdict
def still_moving(state: ClusterState, health: Health) -> Iterator[Reason]:
    """Whether no copy is under way. As long as one is, no shard needs an explanation."""
    initializing = _initializing(state)
    if initializing:
        yield waiting("recovering", f"Shards recover ({len(initializing)}): {enumerate_few(initializing)}.")
    elif health.delayed:
        yield waiting("allocating", f"Shards wait for their member to come back ({health.delayed} delayed).")
    elif health.in_flight_fetch:
        asked = f"({health.in_flight_fetch} requests are open)"
        yield waiting("allocating", f"The members are asked which shards they hold {asked}.")


OF_SHARDS = ("allocating", "last_started_copy", "not_green", "primary_unassigned", "recovering", "recovery_running")
"""The codes of the reasons that end when shards are started."""


def remaining(
    state: ClusterState, explanations: Collection[Explanation], recoveries: Recoveries
) -> Mapping[str, tuple[float, ...]]:
    """The amount that is left to wait for, by the code of the reason: shards first, then bytes, then operations.

    A gate that waits for shards has no deadline as long as this falls; once it stands still, the deadline counts.
    """
    shards = sum(copy.state != "STARTED" for copy in state.copies)
    explained = {(one.index, one.shard) for one in explanations}
    unexplained = sum((copy.index, copy.shard) not in explained for copy in unassigned(state))
    left = (float(shards), recoveries.bytes, recoveries.operations)
    return {**dict.fromkeys(OF_SHARDS, left), "unassigned": (float(unexplained),)}
