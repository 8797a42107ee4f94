"""Data that would not come back with a member that keeps none over a restart. Pure judgement over one cluster state."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from dataclasses import replace

from ...common.verdict import Reason, State, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.copies import copy_sets
from ..observe.state import ClusterState, ShardCopy
from .policy import Policy
from .safety import judge_consent


@as_verdict
def judge_lost(state: ClusterState, going: Collection[str], pool: str, policy: Policy) -> Iterator[Reason]:
    """Whether nothing would be lost for good with these members of a pool that keeps no data; no consent covers that.

    Copies that the servers make anew do not count. The primary of an index with a remote store is not made anew:
    without a copy on a member it stays red (server source, PrimaryShardAllocator: `NO_VALID_SHARD_COPY`).
    The only manager that votes takes nothing with it if the policy says that it hands over: the member that gets its
    vote has accepted the whole cluster state before (CoordinationState: a majority of the new configuration, too).

    Two managers of such a pool were upgraded so from 2.19.6 to 3.8.0 under traffic: nothing was lost, the cluster was
    never red, and it kept its UUID and its templates.
    """
    kept = replace(state, copies=tuple(copy for copy in state.copies if not is_made_anew(state, copy)))
    for reason in judge_consent(kept, going, policy.without_consent()).reasons:
        if reason.state is State.REFUSED:
            yield refused(
                "ephemeral_pool",
                f"{reason.message} Pool {pool} keeps no data over a restart, so it would be lost for good."
                f"{_of_remote_store(kept, going)}",
                "Give these indices a replica, run several manager-eligible members and let the elected one hand over,"
                " or keep the data in volumes.",
            )


@as_verdict
def judge_unseen(
    state: ClusterState, away: Collection[str], peers: Collection[str], pool: str, may_be_red: Container[str]
) -> Iterator[Reason]:
    """Whether no data may be lost for good with members that are not in the cluster, of a pool that keeps no data.

    `away` are those whose pod is there, with the data in it; `peers` are all members of the pool, which show whether
    the pool holds data. If no copy of a shard is started in the cluster, its last copy may be in such a pod. Indices in
    `may_be_red` are given up by consent.
    """
    known = [member for name in peers if (member := state.named(name))]
    if not away or (known and not any(member.holds_data for member in known)):
        return
    nowhere, recovering = _without_started_copy(state, may_be_red)
    if recovering:
        message = f"No copy of {enumerate_few(recovering)} is started; one recovers, and may fail."
        remedy = f"It ends by itself. Until then {enumerate_few(away)}, which may hold the last copy, is not deleted."
        yield waiting("ephemeral_last_copy", message, remedy)
    if nowhere:
        yield refused(
            "ephemeral_last_copy",
            f"No member of the cluster holds {enumerate_few(nowhere)}. Pods of members that are not in"
            f" the cluster may hold the last copy: {enumerate_few(away)}. Pool {pool} keeps no data over a restart, so"
            " it would be lost for good.",
            "Read the log of that member, and let it join again without deleting its pod. To give the copy up, name the"
            " index in allow_red_indices.",
        )


@as_verdict
def judge_last_copies(state: ClusterState, name: str, may_be_red: Container[str]) -> Iterator[Reason]:
    """Whether the volumes of an extra member can go although nothing has shown that its shards moved away.

    Another has made its pool smaller, or it is not in the cluster. Its own copies do not count, since it may just be
    stopping. Indices in `may_be_red` are given up by consent.
    """
    others = replace(state, members={key: each for key, each in state.members.items() if each.name != name})
    nowhere, recovering = _without_started_copy(others, may_be_red)
    if recovering:
        message = f"No copy of {enumerate_few(recovering)} is started on a member other than {name}."
        remedy = f"This may pass. Until then the volumes of {name}, which may hold the last copy, are not deleted."
        yield waiting("extra_member_last_copy", message, remedy)
    if nowhere:
        yield refused(
            "extra_member_last_copy",
            f"No member of the cluster holds {enumerate_few(nowhere)}. The volumes of the extra member {name} may hold"
            " the last copy, so they are not deleted.",
            f"Let {name} join again (its pool needs the replica, too), restore these indices, or delete them; then"
            " settle. To give the copy up, name the index in allow_red_indices.",
        )


def _without_started_copy(state: ClusterState, may_be_red: Container[str]) -> tuple[list[str], list[str]]:
    """The shards with data and without a started copy: those that are assigned nowhere, and those that recover."""
    nowhere: list[str] = []
    recovering: list[str] = []
    for (index, shard, _search_only), copies in copy_sets(state).items():
        given_up = index in may_be_red or is_made_anew(state, copies[0])
        if given_up or any(state.serves(copy) for copy in copies):
            continue
        if any(copy.member for copy in copies):
            recovering.append(f"{index}[{shard}]")
        elif not any(copy.primary and copy.never_held for copy in copies):
            nowhere.append(f"{index}[{shard}]")
    return nowhere, recovering


def is_made_anew(state: ClusterState, copy: ShardCopy) -> bool:
    """Whether the servers make a copy anew if every member that held one has lost it.

    A shard of a searchable snapshot reads from its repository. A search-only copy starts with an empty store, and is
    filled with the data of the primary (server source, ShardRouting: `EmptyStoreRecoverySource`).
    """
    return copy.search_only or (copy.index in state.indices and state.indices[copy.index].of_snapshot)


def _of_remote_store(state: ClusterState, going: Collection[str]) -> str:
    down = state.ids(going)
    held = {copy.index for copy in state.copies if copy.member in down}
    stored = sorted(index for index in held & state.indices.keys() if state.indices[index].in_remote_store)
    if not stored:
        return ""
    return f" The data of {enumerate_few(stored)} in a remote store stays away until POST _remotestore/_restore."
