# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates: what is looked at, and judged, at each moment of an upgrade."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ..common.errors import Refusal
from ..common.verdict import Reason, State, Verdict, combine, refused, waiting
from ..planning.versions import Version, judge_created, judge_path
from .client import UNREACHABLE, OpenSearchClient
from .observe import observe, observe_health
from .progress import Explanation, judge_progress, parse_explanation, unassigned
from .safety import Policy, judge_batch, judge_blocks, judge_present, judge_voting
from .settings import Settings, carried_undo
from .shard_allocation import ENABLE, read_settings
from .state import ClusterMember, ClusterState, Health, ShardCopy

MOMENTS = ("before_upgrade", "before_batch", "after_batch", "after_upgrade")
EXPLANATIONS = 50
"""At most so many explanations per look: each costs the elected manager all deciders times all data members."""
LONG_POLL = 2
"""Seconds the server holds the health request until green: reacts at once, without asking more often."""


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
    """Everything a gate sees at once; `trouble` stands for an answer that could not be had."""

    state: ClusterState | None = None
    health: Health | None = None
    settings: Settings | None = None
    explanations: tuple[Explanation, ...] = ()
    trouble: Verdict | None = None


def look(client: OpenSearchClient) -> Look:
    """One look for a gate. Calls: health, nodes, state, settings, and an explanation per group of unassigned copies.

    The cluster can be out of reach for a moment while members restart, so that is waited for; everything else that
    keeps an answer from being had is a refusal.
    """
    try:
        health = observe_health(client, LONG_POLL)
        state = observe(client)
        return Look(state, health, read_settings(client), explain(client, state))
    except Refusal as error:
        reasons = error.verdict.reasons
        if any(reason.code not in {UNREACHABLE, "opensearch_answer"} for reason in reasons):
            raise
        return Look(trouble=Verdict(tuple(waiting(r.code, r.message, r.remedy) for r in reasons)))


def explain(client: OpenSearchClient, state: ClusterState) -> tuple[Explanation, ...]:
    """Explanations of the unassigned copies; copies in the same situation share one question."""
    groups: dict[object, list[ShardCopy]] = {}
    for copy in unassigned(state):
        siblings = [c for c in state.copies if (c.index, c.shard) == (copy.index, copy.shard)]
        holders = frozenset(c.member for c in siblings if c.member)
        primary = next((c.member for c in siblings if c.primary), None)
        groups.setdefault((copy.index, copy.primary, primary, holders), []).append(copy)
    found: list[Explanation] = []
    for group in list(groups.values())[:EXPLANATIONS]:
        copy = group[0]
        try:
            answer = client.post(
                "/_cluster/allocation/explain",
                {"index": copy.index, "shard": copy.shard, "primary": copy.primary},
                filter_path="index,shard,can_allocate,node_allocation_decisions.node_id,"
                "node_allocation_decisions.deciders.decider,node_allocation_decisions.deciders.decision",
            )
            explanation = parse_explanation(answer)
        except (Refusal, KeyError):
            # The copy was assigned between the two calls, or the index is gone: the next look sees it.
            continue
        found.extend(Explanation(c.index, c.shard, explanation.can_allocate, explanation.refusing) for c in group)
    return tuple(found)


def judge(seen: Look, scope: Scope) -> Verdict:
    """The verdict of the gate `scope` on one look."""
    if seen.trouble is not None or seen.state is None or seen.health is None or seen.settings is None:
        return seen.trouble or Verdict((waiting("no_answer", "The cluster has not answered yet."),))
    state = seen.state
    outdated = _outdated(state, scope)
    common = (judge_blocks(state), _judge_fresh(seen.health))
    if scope.moment == "before_upgrade":
        return combine(
            (
                *common,
                judge_present(state, scope.members, scope.batch),
                judge_voting(state, frozenset(), scope.policy),
                _judge_versions(state, scope),
                _judge_allocation(seen.settings),
                _judge_progress_refusals(judge_progress(state, seen.health, seen.explanations, outdated)),
            )
        )
    if scope.moment == "before_batch":
        return combine(
            (
                *common,
                judge_present(state, scope.members, scope.batch),
                judge_batch(state, scope.batch, scope.policy),
                judge_progress(state, seen.health, seen.explanations, outdated)
                if _present(state, scope)
                else Verdict(),
            )
        )
    joined = judge_joined(state.named, scope.batch if scope.moment == "after_batch" else scope.members, scope.target)
    return combine(
        (
            *common,
            joined,
            judge_present(state, scope.members, ()),
            judge_progress(state, seen.health, seen.explanations, outdated),
        )
    )


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
                    "Its image does not hold the version its name says: give the right one with image.",
                )
            )
    return Verdict(tuple(reasons))


def _present(state: ClusterState, scope: Scope) -> bool:
    """A member of the batch that is away is what the batch cures: its shards are not waited for."""
    return all(state.named(name) for name in scope.batch)


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
    """Allocation is `all` in the end, or replicas would never come back and no gate could ever pass."""
    undo = carried_undo(settings)
    ours = {(change.setting, change.scope): change.was for change in undo.changes} if undo else {}
    values = {
        scope: ours.get((ENABLE, scope), settings.scope(scope).get(ENABLE)) for scope in ("transient", "persistent")
    }
    effective = values["transient"] or values["persistent"]
    if effective in (None, "all"):
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


def _judge_progress_refusals(verdict: Verdict) -> Verdict:
    """Before the upgrade, shards that move are a remark's worth: the gate of the first batch waits for them."""
    return Verdict(tuple(reason for reason in verdict.reasons if reason.state is not State.WAITING))
