# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates: what is judged at each moment of an upgrade.

Which checks there are, and when each is made, is in `checks`; what is asked for them in `looks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ...common.verdict import Reason, Verdict, combine, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.look import Look
from ..observe.settings import ALLOCATING, ARCHIVED, ENABLE, Settings, carried_undo
from ..observe.state import ClusterState, Health
from ..observe.version import Version
from .admission import MODE, judge_migration, judge_stored_format
from .back import judge_back
from .background import judge_snapshots, judge_snapshots_of, judge_tasks
from .changes import removals, split_ours
from .checks import AFTER_BATCH, BEFORE_BATCH, BEFORE_UPGRADE, CHECKS, Selection
from .disk import judge_disks
from .last_copies import judge_last_copies
from .policy import Policy, awaiting
from .progress import Expectation, judge_overrides, judge_progress, without_place
from .quorum import judge_voting
from .safety import BATCH_RULES, judge_blocks, judge_present
from .upgrade_path import judge_created, judge_path

BACKLOG = 100
"""More pending tasks than this say, whatever the health is, that the elected manager does not keep up."""


@dataclass(frozen=True)
class Scope:
    """What a gate is about. `members` are the names of all that should be there, `batch` those about to go or back."""

    moment: str
    members: frozenset[str] = frozenset()
    batch: frozenset[str] = frozenset()
    target: Version | None = None
    policy: Policy = field(default_factory=Policy)
    selection: Selection = field(default_factory=Selection)


class _Gate:
    """One look before one gate: what the checks judge."""

    def __init__(self, seen: Look, scope: Scope) -> None:
        self.seen = seen
        self.state = seen.state
        self.scope = scope
        self.down = seen.state.ids(scope.batch)
        self.policy = awaiting(scope.policy, seen.state, scope.members, scope.batch)

    @property
    def settled(self) -> bool:
        """Whether what is not assigned now stays so: everybody is there, and nothing that is put back keeps it away."""
        scope = self.scope
        restricted = scope.moment == BEFORE_UPGRADE and self.seen.settings.effective(ENABLE) not in ALLOCATING
        return not restricted and all(self.state.named(name) for name in scope.members | scope.batch)

    @cached_property
    def progress(self) -> tuple[Reason, ...]:
        """What is said of the shards.

        While a member is away they are not judged: what is not assigned may come back with it. Nor are they while an
        interrupted run keeps them from being allocated: that is put back before the first batch.
        """
        if not self.settled:
            return ()
        before, may_be_red = self.scope.moment == BEFORE_UPGRADE, self.scope.policy.allow_red_indices
        expectation = Expectation(_outdated(self.state, self.scope), may_be_red, complete=before)
        return judge_progress(self.state, self.seen.health, self.seen.explanations, expectation).reasons


def judge(seen: Look, scope: Scope) -> Verdict:
    """The verdict of the gate `scope` on one look: that of each of its checks, and which were skipped."""
    gate, made = _Gate(seen, scope), scope.selection.at(scope.moment)
    verdicts = (JUDGES[check.name](gate) for check in CHECKS if check.name in made)
    return combine((*verdicts, scope.selection.said(scope.moment)))


def _judge_present(gate: _Gate) -> Verdict:
    """After a batch, whether others are there is the question of the next one: each that is broken is cured alone."""
    scope = gate.scope
    if scope.moment != AFTER_BATCH:
        return judge_present(gate.state, scope.members, scope.batch)
    others = judge_present(gate.state, scope.members - scope.batch, ())
    return Verdict(tuple(remark(reason.code, reason.message, reason.remedy) for reason in others.reasons))


def _judge_voting(gate: _Gate) -> Verdict:
    """What an interrupted run left excluded counts as put back: that is done before the first batch."""
    down = gate.down if gate.scope.moment == BEFORE_BATCH else frozenset()
    undo = carried_undo(gate.seen.settings)
    ours = frozenset(undo.excluded) if undo else frozenset()
    return judge_voting(gate.state, down, gate.scope.policy, ours)


def _judge_back(gate: _Gate) -> Verdict:
    scope = gate.scope
    names = scope.batch if scope.moment == AFTER_BATCH else scope.members
    return judge_back({member.name: member for member in gate.state.members.values()}, names, scope.target)


def _of_progress(check: str) -> Callable[[_Gate], Verdict]:
    """That part of what is said of the shards which belongs to a check."""
    codes = next(each.codes for each in CHECKS if each.name == check)
    return lambda gate: Verdict(tuple(reason for reason in gate.progress if reason.code in codes))


def _judge_copies(gate: _Gate) -> Verdict:
    """The proof; and at once what it would wait for in vain, before the upgrade where nothing else has said it."""
    scope = gate.scope
    hopeless = without_place(gate.seen.explanations, _outdated(gate.state, scope)) if gate.settled else {}
    if scope.moment == BEFORE_BATCH:
        proof = BATCH_RULES["copies"](gate.state, gate.down, gate.policy)
        stuck = judge_last_copies(gate.state, gate.down, hopeless, scope.policy.allow_red_indices)
        return combine((proof, stuck))
    if "unassigned" in scope.selection.at(scope.moment):
        return Verdict()
    return judge_last_copies(gate.state, gate.state.members, hopeless, scope.policy.allow_red_indices)


def _judge_snapshots(gate: _Gate) -> Verdict:
    if gate.scope.moment == BEFORE_BATCH:
        return judge_snapshots_of(gate.state, gate.down)
    return judge_snapshots(gate.state)


def _of_batch(rule: str) -> Callable[[_Gate], Verdict]:
    """What the proof of a batch asks, too."""
    return lambda gate: BATCH_RULES[rule](gate.state, gate.down, gate.policy)


JUDGES: Mapping[str, Callable[[_Gate], Verdict]] = {
    "blocks": lambda gate: judge_blocks(gate.state),
    "pending_tasks": lambda gate: _judge_pending(gate.seen.health),
    "present": _judge_present,
    "versions": lambda gate: _judge_versions(gate.state, gate.seen.settings, gate.scope),
    "joined": _judge_back,
    **{rule: _of_batch(rule) for rule in BATCH_RULES},
    "copies": _judge_copies,
    "voting": _judge_voting,
    "primaries": _of_progress("primaries"),
    "unassigned": _of_progress("unassigned"),
    "progress": _of_progress("progress"),
    "allocation": lambda gate: _judge_allocation(gate.seen.settings),
    "overrides": lambda gate: judge_overrides(gate.state),
    "disk": lambda gate: judge_disks(gate.seen.disks),
    "snapshots": _judge_snapshots,
    "tasks": lambda gate: judge_tasks(gate.seen.tasks),
    "archived": lambda gate: _judge_archived(gate.seen.settings),
}
"""What each check of `checks` judges."""


UPGRADED = "batch_upgraded"
"""The code of the remark that somebody else has upgraded the batch."""


def judge_upgraded(state: ClusterState, scope: Scope) -> Verdict:
    """A remark where every member of the batch runs the target already, so that it needs no gate; otherwise nothing."""
    members = [state.named(name) for name in sorted(scope.batch)]
    if scope.target is None or not members or any(each is None or each.version != scope.target for each in members):
        return Verdict()
    message = (
        f"Somebody else has upgraded {enumerate_few(scope.batch)}: every member of the batch runs {scope.target}"
        " already, so nothing is waited for before it."
    )
    return Verdict((remark(UPGRADED, message),))


def _outdated(state: ClusterState, scope: Scope) -> frozenset[str]:
    if scope.target is None:
        return frozenset()
    return frozenset(m.id for m in state.members.values() if m.version < scope.target)


def _judge_pending(health: Health) -> Verdict:
    """A green that was not reached within the long poll may be older than the task queue: it is looked at again."""
    if not health.timed_out or (health.status != "green" and health.pending_tasks <= BACKLOG):
        return Verdict()
    return Verdict(
        (
            waiting(
                "tasks_pending",
                f"The elected manager is still busy ({health.pending_tasks} tasks are pending).",
                "If this lasts, see GET _cluster/pending_tasks for what keeps it busy.",
            ),
        )
    )


def _judge_archived(settings: Settings) -> Verdict:
    return Verdict(
        tuple(
            remark(
                "archived_setting_found",
                f"The {change.scope} setting {change.setting.removeprefix(ARCHIVED)} = {change.was!r} is unknown to"
                " the version that runs. The first change of settings removes it for good, for the server would refuse"
                " that change otherwise.",
                "Set what replaces it in this version, if it is still wanted.",
            )
            for change in removals(settings)
        )
    )


def _judge_versions(state: ClusterState, settings: Settings, scope: Scope) -> Verdict:
    if scope.target is None:
        return Verdict()
    members = [(m.name, m.version) for m in state.members.values() if not scope.members or m.name in scope.members]
    created = [(index.name, index.created) for index in state.indices.values()]
    path, readable = judge_path(sorted(members), scope.target), judge_created(created, scope.target)
    migration = judge_migration(state, settings.effective(MODE), scope.target)
    return combine((path, readable, migration, judge_stored_format(state, scope.target)))


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
