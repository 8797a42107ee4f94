# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates: what is looked at, and judged, at each moment of an upgrade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat

from ..common.errors import Refusal
from ..common.verdict import Reason, State, Verdict, combine, refused, remark, waiting
from ..planning.versions import Version, judge_created, judge_path
from .client import OpenSearchClient
from .observe import observe, observe_health
from .progress import Explanation, judge_overrides, judge_progress, parse_explanation, still_moving, unassigned
from .safety import Policy, judge_batch, judge_blocks, judge_present, judge_voting
from .settings import Settings, carried_undo, split_ours
from .shard_allocation import ENABLE, read_settings
from .state import ClusterMember, ClusterState, Health, ShardCopy

MOMENTS = ("before_upgrade", "before_batch", "after_batch", "after_upgrade")
EXPLANATIONS = 500
"""At most so many explanations per look: each costs the elected manager all deciders times all data members."""
ALLOCATING = (None, "all")
"""The values of `cluster.routing.allocation.enable` with which every copy can come back."""
LONG_POLL = 2.0
"""Seconds the server holds the health request until green: reacts at once, without asking more often."""
SHORT_POLL = 0.5
"""The same where a batch may be proven safe before the cluster is green."""


@dataclass(frozen=True)
class Scope:
    """What a gate is about. `members` are the names of all that should be there, `batch` those about to go or back."""

    moment: str
    members: frozenset[str] = frozenset()
    batch: frozenset[str] = frozenset()
    target: Version | None = None
    policy: Policy = field(default_factory=Policy)


@dataclass(frozen=True)
class Look:
    """Everything a gate sees at once."""

    state: ClusterState
    health: Health
    settings: Settings
    explanations: tuple[Explanation, ...] = ()


def polls(moment: str) -> Iterator[float]:
    """For how many seconds the server holds the health request of each look."""
    return chain([0.0], repeat(SHORT_POLL)) if moment == "before_batch" else repeat(LONG_POLL)


def look(client: OpenSearchClient, moment: str, long_poll: float = LONG_POLL) -> Look:
    """One look for a gate: health, nodes, state, before the upgrade settings; and why copies are not assigned.

    As long as copies are under way nothing is explained: it would cost much and change nothing.

    Raises:
        Refusal: the answer cannot be had.
    """
    health = observe_health(client, long_poll)
    state = observe(client)
    explanations = () if still_moving(state, health) else explain(client, state)
    settings = read_settings(client) if moment == "before_upgrade" else Settings({}, {})
    return Look(state, health, settings, explanations)


def explain(client: OpenSearchClient, state: ClusterState) -> tuple[Explanation, ...]:
    """Explanations of the unassigned copies; copies in the same situation share one question.

    Raises:
        Refusal: the server does not let us ask, or cannot be reached.
    """
    found: list[Explanation] = []
    for group in list(_alike(state))[:EXPLANATIONS]:
        copy = group[0]
        try:
            answer = client.post(
                "/_cluster/allocation/explain",
                {"index": copy.index, "shard": copy.shard, "primary": copy.primary},
                filter_path="index,shard,primary,can_allocate,node_allocation_decisions.node_id,"
                "node_allocation_decisions.deciders.decider,node_allocation_decisions.deciders.decision",
            )
            explanation = parse_explanation(answer)
        except Refusal as error:
            if any(reason.code != "opensearch_answer" for reason in error.verdict.reasons):
                raise
            # The copy was assigned between the two calls, or the index is gone: the next look sees it.
            continue
        except KeyError:
            continue
        found.extend(
            Explanation(c.index, c.shard, c.primary, explanation.can_allocate, explanation.refusing) for c in group
        )
    return tuple(found)


def _alike(state: ClusterState) -> Iterable[list[ShardCopy]]:
    """Unassigned copies in groups of the same index, the same member with the primary, and the same other holders."""
    siblings: dict[tuple[str, int], list[ShardCopy]] = defaultdict(list)
    for copy in state.copies:
        siblings[(copy.index, copy.shard)].append(copy)
    groups: dict[object, list[ShardCopy]] = defaultdict(list)
    for copy in unassigned(state):
        others = siblings[(copy.index, copy.shard)]
        holders = frozenset(other.member for other in others if other.member)
        primary = next((other.member for other in others if other.primary), None)
        groups[(copy.index, copy.primary, primary, holders)].append(copy)
    return groups.values()


def judge(seen: Look, scope: Scope) -> Verdict:
    """The verdict of the gate `scope` on one look.

    While a member is away, the shards are not judged: what is not assigned may come back with it.
    """
    state = seen.state
    progress = Verdict()
    if all(state.named(name) for name in scope.members | scope.batch):
        progress = judge_progress(state, seen.health, seen.explanations, _outdated(state, scope))
    present = judge_present(state, scope.members, scope.batch)
    if scope.moment == "before_upgrade":
        verdicts = (present, *_before_upgrade(state, seen.settings, progress, scope))
    elif scope.moment == "before_batch":
        verdicts = (present, judge_batch(state, scope.batch, scope.policy), _not_only_slow(progress))
    elif scope.moment == "after_batch":
        # Whether others are there is the question of the next batch: of several that are broken each is cured alone.
        others = judge_present(state, scope.members - scope.batch, ())
        remarks = Verdict(tuple(remark(r.code, r.message, r.remedy) for r in others.reasons))
        verdicts = (judge_joined(state.named, scope.batch, scope.target), remarks, progress)
    else:
        verdicts = (judge_joined(state.named, scope.members, scope.target), progress)
    return combine((judge_blocks(state), _judge_fresh(seen.health), *verdicts))


def _not_only_slow(progress: Verdict) -> Verdict:
    """What of the progress concerns a batch that is proven to be safe: not what is merely still under way.

    A primary that is lost and a replica that cannot come back any more say that something is wrong.
    """
    return Verdict(tuple(r for r in progress.reasons if r.state is not State.WAITING or r.code == "primary_unassigned"))


def _before_upgrade(state: ClusterState, settings: Settings, progress: Verdict, scope: Scope) -> Iterator[Verdict]:
    yield judge_voting(state, frozenset(), scope.policy)
    yield _judge_versions(state, scope)
    yield _judge_allocation(settings)
    yield judge_overrides(state)
    if settings.effective(ENABLE) in ALLOCATING:
        # What moves is not worth a remark yet: the gate of the first batch waits for it.
        yield Verdict(tuple(reason for reason in progress.reasons if reason.state is not State.WAITING))


def judge_joined(
    named: Callable[[str], ClusterMember | None], names: Collection[str], target: Version | None
) -> Verdict:
    """Every named member is in the cluster and says itself that it runs the target version."""
    reasons: list[Reason] = []
    for name in sorted(names):
        member = named(name)
        if member is None:
            reasons.append(waiting("not_joined", f"{name} has not joined the cluster.", f"Look at the logs of {name}."))
        elif target is not None and member.version != target:
            reasons.append(
                refused(
                    "wrong_version",
                    f"{name} runs {member.version} and not {target}.",
                    "What it was given is not that version, whatever its name says: give the right image, or package.",
                )
            )
    return Verdict(tuple(reasons))


def _outdated(state: ClusterState, scope: Scope) -> frozenset[str]:
    if scope.target is None:
        return frozenset()
    return frozenset(m.id for m in state.members.values() if m.version < scope.target)


def _judge_fresh(health: Health) -> Verdict:
    """A green that was not reached within the long poll may be older than the task queue: it is looked at again."""
    if not health.timed_out or health.status != "green":
        return Verdict()
    return Verdict(
        (waiting("tasks_pending", f"The elected manager is still busy ({health.pending_tasks} tasks are pending)."),)
    )


def _judge_versions(state: ClusterState, scope: Scope) -> Verdict:
    if scope.target is None:
        return Verdict()
    members = [(m.name, m.version) for m in state.members.values() if not scope.members or m.name in scope.members]
    created = [(index.name, index.created) for index in state.indices.values()]
    return combine((judge_path(sorted(members), scope.target), judge_created(created, scope.target)))


def _judge_allocation(settings: Settings) -> Verdict:
    """Allocation is `all` in the end, or replicas would never come back and no gate could ever pass.

    What an interrupted run left restricted counts as put back: that is done before the first batch.
    """
    undo = carried_undo(settings)
    ours = split_ours(undo, settings)[0] if undo else ()
    put_back = {(change.setting, change.scope): change.was for change in ours}
    transient, persistent = (
        put_back.get((ENABLE, scope), settings.scope(scope).get(ENABLE)) for scope in ("transient", "persistent")
    )
    effective = persistent if transient is None else transient
    if effective in ALLOCATING:
        return Verdict()
    return Verdict(
        (
            refused(
                "allocation_disabled",
                f"{ENABLE} is set to {effective}: replicas could not come back after a restart.",
                f"Set {ENABLE} to all or null, let the cluster recover, then run again.",
            ),
        )
    )
