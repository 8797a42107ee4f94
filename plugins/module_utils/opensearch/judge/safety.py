"""Safety: whether the batch may go down now. Pure judgement over one consistent cluster state.

A batch may go down when every shard keeps a started copy outside it, every quorum keeps its majority in both voting
configurations, every role is still served, no recovery runs from or to it, and no other member is down. Safety says
nothing about progress.

With segment replication a replica writes each operation to its translog before that is acknowledged, and replays it
when it takes over (server source, NRTReplicationEngine.index); with a remote store the operations are in the
repository. So the lag of a replica is a question of time, and no gate asks for it. It was seen on real servers from
2.19 to 3.8, with a remote store (`fs`) from 3.6 to 3.8: nothing was lost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence

from ...common.verdict import Reason, State, Verdict, as_verdict, combine, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.copies import Shard, copy_sets, last_copies
from ..observe.state import ClusterState, ShardCopy
from .policy import Policy, awaiting
from .quorum import can_be_elected, judge_elected, judge_majorities, judge_voting, votes_alone
from .roles import judge_roles


def judge_batch(
    state: ClusterState, batch: Collection[str], policy: Policy, gone: Collection[str] = frozenset()
) -> Verdict:
    """Whether the members named in `batch` may be stopped together, on this state.

    Those that are `gone` already count as down, but their recoveries after the restart do not hold up the others.
    """
    down, left = state.ids(batch), state.ids(set(batch).difference(gone))
    return combine(rule(state, left if name == "recoveries" else down, policy) for name, rule in BATCH_RULES.items())


@as_verdict
def judge_consent(state: ClusterState, going: Collection[str], policy: Policy) -> Iterator[Reason]:
    """Whether the members in `going` may go without consent, one at a time, while the cluster is healthy."""
    down = state.ids(going)
    lone = [
        copies[0]
        for (index, _shard, _search_only), copies in copy_sets(state).items()
        if len(copies) == 1 and copies[0].member in down and index not in policy.allow_red_indices
        if not is_completed(state, copies[0], policy)
    ]
    holders = frozenset(copy.member for copy in lone if copy.member)
    voters = sorted(down & (state.voting.committed | state.voting.accepted | can_be_elected(state)))
    if policy.awaits_manager and policy.hands_over and votes_alone(state):
        voters = []
    reasons = [
        reason
        for voter in voters
        for reason in judge_majorities(state, frozenset({voter}), policy, more_come=policy.awaits_manager).reasons
    ]
    yield from _single(state, lone, holders, policy)
    yield from dict.fromkeys(reason for reason in reasons if reason.state is not State.WAITING)


@as_verdict
def judge_writes(state: ClusterState, batches: Iterable[Collection[str]]) -> Iterator[Reason]:
    """The remark on indices that take no writes while one of these batches is away, in an otherwise healthy cluster."""
    batch_of = {member: number for number, names in enumerate(batches) for member in state.ids(names)}
    slowed = set()
    for (name, _shard, search_only), copies in copy_sets(state).items():
        index = state.indices.get(name)
        if index is None or not index.open or search_only:
            continue
        together = Counter(batch_of[copy.member] for copy in copies if copy.member in batch_of)
        staying = len(copies) - max(together.values(), default=0)
        if together and 0 < staying < index.wait_for_active_shards:
            slowed.add(name)
    if slowed:
        yield _writes_wait("one of its members", sorted(slowed))


def is_completed(state: ClusterState, copy: ShardCopy, policy: Policy) -> bool:
    """Whether a member that is away brings another copy of this shard, which has only one configured now.

    Replicas that follow the number of members (`auto_expand_replicas`) are taken away and added in the same change of
    the cluster state in which a member leaves or joins (server source, JoinTaskExecutor: `adaptAutoExpandReplicas`).
    """
    expands = copy.index in state.indices and state.indices[copy.index].auto_expand
    return policy.awaits_data and expands and not copy.search_only


@as_verdict
def judge_copies(state: ClusterState, down: frozenset[str], policy: Policy) -> Iterator[Reason]:
    """Whether every shard with a copy in the batch keeps a started one outside. Search-only copies are another set."""
    single: list[ShardCopy] = []
    together: list[str] = []
    endangered: list[str] = []
    slowed: set[str] = set()
    allowed: list[str] = []
    completed: list[ShardCopy] = []
    for (index, shard, search_only), copies in copy_sets(state).items():
        if not any(copy.member in down for copy in copies):
            continue
        staying = sum(state.serves(copy) and copy.member not in down for copy in copies)
        if staying:
            if not search_only and index in state.indices and staying < state.indices[index].wait_for_active_shards:
                slowed.add(index)
        elif index in policy.allow_red_indices:
            allowed.append(f"{index}[{shard}]")
        elif any(copy.member not in down or copy.relocating_to not in {None, *down} for copy in copies):
            endangered.append(f"{index}[{shard}]")
        elif len(copies) > 1:
            together.append(f"{index}[{shard}]")
        else:
            (completed if is_completed(state, copies[0], policy) else single).append(copies[0])
    yield from _single(state, single, down, policy)
    yield from _completed(state, completed, down, policy)
    yield from _together(state, together, down)
    yield from _endangered(state, endangered, down)
    yield from _slowed(state, slowed, down)
    yield from _allowed(state, allowed, down)


def _names(state: ClusterState, down: frozenset[str]) -> str:
    return enumerate_few(state.members[identity].name for identity in down)


def _single(state: ClusterState, copies: Sequence[ShardCopy], down: frozenset[str], policy: Policy) -> Iterator[Reason]:
    yield from _single_search(state, [copy for copy in copies if copy.search_only], down, policy)
    allowed, others = _by_consent([copy for copy in copies if not copy.search_only], policy)
    if allowed:
        message = f"The only configured copy of {enumerate_few(allowed)} is on {_names(state, down)}."
        yield remark("single_copy", f"{message} It is away while that member restarts, as allowed.")
    if others:
        yield refused(
            "single_copy",
            f"The only configured copy of {enumerate_few(others)} is on {_names(state, down)}.",
            "Give these indices a replica, or one for the time of the run (raise_replicas), or accept with"
            " allow_single_copy that they are away during the restart.",
        )


def _single_search(
    state: ClusterState, copies: Sequence[ShardCopy], down: frozenset[str], policy: Policy
) -> Iterator[Reason]:
    """The reasons for lone search replicas. While one is away no other copy is searched, unless a setting allows it
    (OpenSearch documentation, `cluster.routing.search_replica.strict`)."""
    allowed, others = _by_consent(copies, policy)
    if allowed:
        message = f"The only search replica of {enumerate_few(allowed)} is on {_names(state, down)}."
        yield remark("single_copy", f"{message} Searches fail while that member restarts, as allowed.")
    if others:
        yield refused(
            "single_copy",
            f"The only search replica of {enumerate_few(others)} is on {_names(state, down)}, so searches of these"
            " indices fail while that member restarts.",
            "Give these indices another one (index.number_of_search_replicas), or accept that with allow_single_copy.",
        )


def _by_consent(copies: Sequence[ShardCopy], policy: Policy) -> tuple[list[str], list[str]]:
    """The shards whose only copy may be away, and the others."""
    named = [(copy.index in policy.allow_single_copy, f"{copy.index}[{copy.shard}]") for copy in copies]
    return [name for allowed, name in named if allowed], [name for allowed, name in named if not allowed]


def _completed(
    state: ClusterState, copies: Sequence[ShardCopy], down: frozenset[str], policy: Policy
) -> Iterator[Reason]:
    _allowed_ones, others = _by_consent(copies, policy)
    yield from _single(state, [copy for copy in copies if copy.index in policy.allow_single_copy], down, policy)
    if others:
        yield waiting(
            "single_copy",
            f"The only copy of {enumerate_few(others)} is on {_names(state, down)}. Their replicas follow the number of"
            " members (auto_expand_replicas), and come back with a member that is away.",
            "Bring the missing member back.",
        )


def _together(state: ClusterState, shards: list[str], down: frozenset[str]) -> Iterator[Reason]:
    if shards:
        yield refused(
            "every_copy_in_batch",
            f"Every copy of {enumerate_few(shards)} is in the batch {_names(state, down)}.",
            "Take these members down one after another.",
        )


def _endangered(state: ClusterState, shards: list[str], down: frozenset[str]) -> Iterator[Reason]:
    if shards:
        yield waiting(
            "last_started_copy",
            f"{_names(state, down)} holds the last started copy of {enumerate_few(shards)}; the other copies are not"
            " started yet.",
            "Wait for the recovery, or fix what keeps the other copies from starting.",
        )


def _allowed(state: ClusterState, shards: list[str], down: frozenset[str]) -> Iterator[Reason]:
    if shards:
        message = f"{_names(state, down)} holds the last started copy of {enumerate_few(shards)}."
        yield remark("last_started_copy", f"{message} It is away for that time, as allowed by allow_red_indices.")


def _slowed(state: ClusterState, indices: set[str], down: frozenset[str]) -> Iterator[Reason]:
    if indices:
        yield _writes_wait(_names(state, down), sorted(indices))


def _writes_wait(away: str, indices: Sequence[str]) -> Reason:
    return remark(
        "writes_wait",
        f"While {away} is away, writes to {enumerate_few(indices)} wait: their setting"
        " index.write.wait_for_active_shards asks for more copies than are left.",
        "If writes must not wait, lower it for the time of the upgrade.",
    )


@as_verdict
def judge_recoveries(state: ClusterState, down: frozenset[str]) -> Iterator[Reason]:
    """Whether no member of the batch is source or target of a copy under way, whose work a stop would lose.

    The source of a replica, even of one that relocates, is its primary (IndicesClusterStateService,
    `findSourceNodeForPeerRecovery`). An index in search-only mode has no primary.
    """
    primaries = {(c.index, c.shard): c.member for c in state.copies if c.primary}
    moving = [
        f"{copy.index}[{copy.shard}]"
        for copy in state.copies
        if copy.state in {"INITIALIZING", "RELOCATING"}
        and down & {copy.member, copy.relocating_to, primaries.get((copy.index, copy.shard))}
    ]
    if moving:
        yield waiting(
            "recovery_running",
            f"{_names(state, down)} takes part in the recovery of {enumerate_few(moving)}.",
            "The recovery ends by itself.",
        )


BATCH_RULES: Mapping[str, Callable[[ClusterState, frozenset[str], Policy], Verdict]] = {
    "copies": judge_copies,
    "recoveries": lambda state, down, _policy: judge_recoveries(state, down),
    "voting": judge_voting,
    "elected": judge_elected,
    "roles": lambda state, down, _policy: judge_roles(state, down),
}
"""The rules for members that go down together, by the name of the gate's check that asks the same."""


@as_verdict
def judge_present(state: ClusterState, expected: Collection[str], batch: Collection[str]) -> Iterator[Reason]:
    """Whether no member outside the batch is missing, since a second one is not taken down while one is.

    A batch that is away as a whole takes nothing down, so it comes back even if others are missing. It counts as away
    only if every member in the cluster is known by name; otherwise it might be there under another name.
    """
    present = {member.name for member in state.members.values()}
    away = sorted(set(batch) - present)
    strangers = present - set(expected) - set(batch)
    missing = sorted(set(expected) - set(batch) - present)
    yield from _decommissioned(state, [*away, *missing])
    if away and strangers:
        yield _unrecognised(away, strangers)
        return
    if away and not present & set(batch):
        return
    yield from _to_be_removed(state)
    if missing:
        yield waiting(
            "member_missing",
            f"Members are missing from the cluster: {', '.join(missing)}.",
            "Bring the missing member back first: no other one is taken down while it is away.",
        )


def _decommissioned(state: ClusterState, absent: Sequence[str]) -> Iterator[Reason]:
    """The refusal if a zone is decommissioned of which members may be that are absent, or are still there.

    The servers let no member of it join until then (server source, JoinTaskExecutor.ensureNodeCommissioned).
    """
    zone = state.decommissioned
    if zone is None:
        return
    leaving = [each.name for each in state.members.values() if each.attributes.get(zone.attribute) == zone.value]
    if absent or leaving:
        said = f" These members leave it: {enumerate_few(sorted(leaving))}." if leaving else ""
        said += f" These are missing: {enumerate_few(absent)}." if absent else ""
        yield refused(
            "zone_decommissioned",
            f"The members with {zone.attribute}={zone.value} are decommissioned ({zone.status}), so the cluster lets"
            f" none of them join.{said}",
            "Take that back (DELETE _cluster/decommission/awareness), and run again once they are in the cluster.",
        )


def _to_be_removed(state: ClusterState) -> Iterator[Reason]:
    """The wait for members that others have registered to leave for good (node shutdown API of Elasticsearch).

    Their shards move away and they stop at a time that others choose, so their copies and votes do not count as
    staying. One that restarts until then gets no shards back (server source, NodeShutdownAllocationDecider).
    """
    leaving = {state.members[each].name: why for each, why in state.removals.items() if each in state.members}
    if leaving:
        whys = sorted({why for why in leaving.values() if why})
        said = f" ({enumerate_few(whys)})" if whys else ""
        yield waiting(
            "member_to_be_removed",
            f"Something else has registered {enumerate_few(sorted(leaving))} to leave the cluster for good{said}, so"
            " these copies and votes do not count as staying.",
            "No member is taken down until that is done. If they are to stay, take it back (DELETE"
            " _nodes/NODE_ID/shutdown).",
        )


def _unrecognised(away: Sequence[str], strangers: Collection[str]) -> Reason:
    return refused(
        "member_unrecognised",
        f"The cluster has no member {enumerate_few(away)}, and it has members that were not named:"
        f" {enumerate_few(strangers)}. They may be the same under other names.",
        "Name every member of the cluster in expected, and give each server the name of its pod (node.name).",
    )


@as_verdict
def judge_blocks(state: ClusterState) -> Iterator[Reason]:
    """Whether there is no cluster-wide block. With one, changes of settings would fail, so it is refused first.

    Blocks that the cluster lifts by itself (while it recovers its state or elects) are waited for.
    """
    for block in state.blocks:
        message = f"The whole cluster is blocked: {block.description}."
        if block.passing:
            remedy = "If this lasts, look at the logs of the manager-eligible members."
            yield waiting("cluster_block", message, remedy)
        else:
            yield refused("cluster_block", message, "Remove the block, then run again.")


@as_verdict
def judge_last_copies(
    state: ClusterState, going: Collection[str], without_place: Mapping[Shard, str], may_be_red: Container[str]
) -> Iterator[Reason]:
    """Whether no member of `going` (ids) holds a last copy whose replicas have no place.

    `without_place` holds the deciders that leave a shard's replicas without a place. The proof alone would wait for the
    replica, since it cannot know that the replica never comes.
    """
    stuck: dict[tuple[str, str], list[str]] = defaultdict(list)
    for shard, copy in last_copies(state).items():
        if copy.member in going and shard in without_place and copy.index not in may_be_red:
            holder = state.members.get(copy.member or "")
            stuck[(holder.name if holder else "?", without_place[shard])].append(f"{copy.index}[{copy.shard}]")
    for (name, deciders), shards in sorted(stuck.items()):
        yield refused(
            "last_started_copy",
            f"{name} holds the only copy of {enumerate_few(shards)} that can be assigned; the replicas fit on no member"
            f" (deciders: {deciders}).",
            "Fix what the deciders name; or accept with allow_red_indices that these indices are red while that member"
            " restarts.",
        )


def prove(
    state: ClusterState,
    members: Collection[str],
    batch: Collection[str],
    policy: Policy,
    gone: Collection[str] = frozenset(),
) -> Verdict:
    """The proof that the members named in `batch` may go down now; `members` are all that should be in the cluster.

    `gone` are those of the batch that were stopped already: they count as down, and are not missed.
    """
    policy = awaiting(policy, state, members, batch)
    present = {member.name for member in state.members.values()}
    away = set(gone) - present
    there = judge_present(state, set(members) - away, set(batch) - away)
    return combine((judge_blocks(state), there, judge_batch(state, batch, policy, gone)))


def needs_allocation(state: ClusterState, batch: Collection[str], may_be_red: Container[str] = ()) -> frozenset[str]:
    """The shards that need an allocation outside the batch: no copy of them is there, nor has one begun to recover.

    A recovery that has begun goes on under every restriction; an allocation does not (server source,
    EnableAllocationDecider).
    """
    down = state.ids(batch)
    return frozenset(
        f"{index}[{shard}]"
        for (index, shard, _search_only), copies in copy_sets(state).items()
        if index not in may_be_red
        and any(copy.member in down for copy in copies)
        and any(copy.state == "UNASSIGNED" for copy in copies)
        and all(copy.member in down or copy.state == "UNASSIGNED" for copy in copies)
    )
