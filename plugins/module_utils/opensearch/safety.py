# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Safety: is the batch allowed to go down now? Pure judgement over one consistent cluster state.

A batch may go down when every shard keeps a started copy outside it, every quorum keeps its majority in both voting
configurations, no recovery runs from or to it, and nothing else is down. Safety says nothing about progress.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ..common.verdict import Reason, Verdict, combine, refused, remark, waiting
from ..common.words import enumerate_few
from .state import ClusterState, ShardCopy

@dataclass(frozen=True)
class Policy:
    """What the user consented to by name."""

    allow_single_copy: bool = False
    allow_quorum_loss: bool = False


def judge_batch(state: ClusterState, batch: Collection[str], policy: Policy) -> Verdict:
    """Whether the members named in `batch` may be stopped together, on this state."""
    down = state.ids(batch)
    return combine(
        (
            judge_copies(state, down, policy),
            judge_recoveries(state, down),
            judge_voting(state, down, policy),
            judge_elected(state, down),
        )
    )


def judge_copies(state: ClusterState, down: frozenset[str], policy: Policy) -> Verdict:
    """Every shard with a copy in the batch keeps a started one outside; search-only copies are a set of their own."""
    groups: dict[tuple[str, int, bool], list[ShardCopy]] = defaultdict(list)
    for copy in state.copies:
        groups[(copy.index, copy.shard, copy.search_only)].append(copy)
    single: list[str] = []
    endangered: list[str] = []
    for (index, shard, search_only), copies in groups.items():
        if not any(copy.member in down or copy.relocating_to in down for copy in copies):
            continue
        if any(copy.started and copy.member not in down for copy in copies):
            continue
        (single if len(copies) == 1 and not search_only else endangered).append(f"{index}[{shard}]")
    return Verdict((*_single(state, single, down, policy), *_endangered(state, endangered, down)))


def _names(state: ClusterState, down: frozenset[str]) -> str:
    return ", ".join(sorted(state.members[identity].name for identity in down))


def _single(state: ClusterState, shards: list[str], down: frozenset[str], policy: Policy) -> Iterator[Reason]:
    if not shards:
        return
    message = f"{_names(state, down)} holds the only configured copy of {enumerate_few(shards)}."
    if policy.allow_single_copy:
        yield remark("single_copy", f"{message} It is away while the member restarts, as allowed.")
    else:
        yield refused(
            "single_copy",
            message,
            "Give these indices a replica, or accept that they are away during the restart with allow_single_copy.",
        )


def _endangered(state: ClusterState, shards: list[str], down: frozenset[str]) -> Iterator[Reason]:
    if shards:
        yield waiting(
            "last_started_copy",
            f"{_names(state, down)} holds the last started copy of {enumerate_few(shards)}; the other copies are not"
            " started yet.",
            "Wait for the recovery, or cure what keeps the other copies from starting.",
        )


def judge_recoveries(state: ClusterState, down: frozenset[str]) -> Verdict:
    """No member of the batch is source or target of a copy under way: stopping it would lose the work done."""
    primaries = {(c.index, c.shard): c.member for c in state.copies if c.primary}
    moving = [
        f"{copy.index}[{copy.shard}]"
        for copy in state.copies
        if (copy.state == "RELOCATING" and (copy.member in down or copy.relocating_to in down))
        or (copy.state == "INITIALIZING" and (copy.member in down or primaries[(copy.index, copy.shard)] in down))
    ]
    if not moving:
        return Verdict()
    return Verdict(
        (
            waiting(
                "recovery_running",
                f"{_names(state, down)} takes part in the recovery of {enumerate_few(moving)}.",
                "The recovery ends by itself.",
            ),
        )
    )


def judge_voting(state: ClusterState, down: frozenset[str], policy: Policy) -> Verdict:
    """More than half of the committed and of the accepted configuration stays; exclusions are empty.

    Source: CoordinationState.isElectionQuorum: a majority of both configurations.
    """
    reasons: list[Reason] = []
    if state.voting.exclusions:
        reasons.append(
            refused(
                "voting_exclusions",
                f"Voting configuration exclusions are left behind: {', '.join(sorted(state.voting.exclusions))}.",
                "Remove them with DELETE _cluster/voting_config_exclusions?wait_for_removal=false.",
            )
        )
    for name, configuration in (("committed", state.voting.committed), ("accepted", state.voting.accepted)):
        staying = len((configuration & state.members.keys()) - down)
        lost = configuration & down
        if not lost or 2 * staying > len(configuration):
            continue
        message = (
            f"Without {_names(state, lost)} only {staying} of the {len(configuration)} members of the {name} voting"
            " configuration are left, which is no majority."
        )
        if len(configuration) > 2 and configuration - down - state.members.keys():
            reasons.append(waiting("no_majority", message, "Bring the missing manager-eligible members back."))
        elif policy.allow_quorum_loss:
            reasons.append(remark("no_majority", f"{message} The cluster stands still for that time, as allowed."))
        else:
            reasons.append(
                refused(
                    "no_majority",
                    message,
                    "Run three manager-eligible members, or accept the standstill with allow_quorum_loss.",
                )
            )
    return Verdict(tuple(reasons))


def judge_elected(state: ClusterState, down: frozenset[str]) -> Verdict:
    """There is an elected manager, and it goes alone."""
    if state.elected is None or state.elected not in state.members:
        return Verdict(
            (
                waiting(
                    "no_elected_manager",
                    "The cluster has no elected manager.",
                    "An election ends within seconds; if it does not, look at the manager-eligible members' logs.",
                ),
            )
        )
    if state.elected in down and len(down) > 1:
        name = state.members[state.elected].name
        return Verdict(
            (
                refused(
                    "elected_manager_not_alone",
                    f"{name} is the elected manager and shares a batch with others.",
                    "Run again: the new plan takes it alone and last.",
                ),
            )
        )
    return Verdict()


def judge_present(state: ClusterState, expected: Collection[str], batch: Collection[str]) -> Verdict:
    """Nothing outside the batch is down: a second member is not taken down while one is missing."""
    present = {member.name for member in state.members.values()}
    missing = sorted(set(expected) - set(batch) - present)
    if not missing:
        return Verdict()
    return Verdict(
        (
            waiting(
                "member_missing",
                f"Not in the cluster: {', '.join(missing)}.",
                "Bring the missing member back first: nothing else is taken down while it is away.",
            ),
        )
    )


def judge_blocks(state: ClusterState) -> Verdict:
    """A cluster-wide block would make our own settings change fail, so it refuses before anything is touched."""
    return Verdict(
        tuple(
            refused("cluster_block", f"The whole cluster is blocked: {block}.", "Remove the block, then run again.")
            for block in state.blocks
        )
    )
