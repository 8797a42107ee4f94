"""The gates: the judgement of each moment of an upgrade.

The list of the checks, with the moments of each, is in `checks`; the requests for them are in `looking`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from ...common.verdict import Reason, Verdict, as_verdict, combine, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.disk import with_gains
from ..observe.look import Look
from ..observe.products import product_of
from ..observe.settings import ARCHIVED, ENABLE, Settings, allocates, carried_undo, excluded_by
from ..observe.state import ClusterState, Health
from ..observe.version import Version
from .admission import MODE, judge_migration, judge_stored_format
from .awareness import judge_awareness
from .back import judge_back
from .background import judge_snapshots, judge_snapshots_of, judge_tasks
from .certificates import judge_certificates
from .changes import removals
from .checks import AFTER_BATCH, BEFORE_BATCH, BEFORE_UPGRADE, CHECKS, Selection
from .configured import judge_configured, judge_search_role
from .disk import ZONE, judge_disks, judge_losses
from .filters import as_put_back, judge_excluded, judge_index_filters
from .hops import of_later_hops
from .last_snapshot import judge_last_snapshot
from .managed_indices import judge_managed, shrinking
from .policy import Policy, awaiting
from .progress import Expectation, judge_overrides, judge_progress, without_place
from .quorum import judge_voting
from .safety import BATCH_RULES, judge_blocks, judge_last_copies, judge_present
from .throttling import judge_limits, naming_limits
from .upgrade_path import judge_created, judge_path, opens_read_only

BACKLOG = 100
"""Pending tasks above which the elected manager does not keep up, whatever the health is."""


@dataclass(frozen=True)
class Scope:
    """The scope of a gate. `members` are the names of all expected members, `batch` those about to go, or just back."""

    moment: str
    members: frozenset[str] = frozenset()
    batch: frozenset[str] = frozenset()
    target: Version | None = None
    policy: Policy = field(default_factory=Policy)
    selection: Selection = field(default_factory=Selection)
    snapshot_age: float | None = None
    """The greatest age of the last successful snapshot, in seconds; None if it may have any age."""
    takes: str = ""
    """The repository in which the run takes a snapshot of its own before its first batch; empty if it takes none."""
    zone: str = ZONE
    """The attribute that says in which zone a member is."""
    batches: tuple[tuple[str, ...], ...] = ()
    """The names of the members of each batch of the plan, if there is one."""
    later: tuple[Version, ...] = ()
    """The versions that the members go to after the target, one after the other."""
    gains: Mapping[str, int] = field(default_factory=dict)
    """The bytes by which the disks of some members grow before the first batch."""


class _Gate:
    """One look of one gate, as its checks judge it."""

    def __init__(self, seen: Look, scope: Scope) -> None:
        self.seen = seen
        self.state = seen.state
        self.scope = scope
        self.down = seen.state.ids(scope.batch)
        self.policy = awaiting(scope.policy, seen.state, scope.members, scope.batch)

    @property
    def settled(self) -> bool:
        """Whether copies that are not assigned now stay so: all members are there, and no restriction of an
        interrupted run keeps copies away."""
        scope = self.scope
        restricted = scope.moment == BEFORE_UPGRADE and not allocates(self.seen.settings.effective(ENABLE))
        return not restricted and all(self.state.named(name) for name in scope.members | scope.batch)

    @property
    def going(self) -> frozenset[str]:
        """The names of the members that are to restart."""
        if self.scope.moment != BEFORE_UPGRADE:
            return self.scope.batch
        return frozenset(chain.from_iterable(self.scope.batches)) if self.scope.batches else self.scope.members

    @property
    def growing(self) -> frozenset[str]:
        """The ids of the members whose disks the run makes larger."""
        return self.state.ids(name for name, gain in self.scope.gains.items() if gain)

    @cached_property
    def progress(self) -> tuple[Reason, ...]:
        """The reasons about the shards.

        While a member is away they are not judged: copies that are not assigned may come back with it. Nor are they
        judged while an interrupted run keeps them from being allocated: that is put back before the first batch.
        """
        if not self.settled:
            return ()
        before, may_be_red = self.scope.moment == BEFORE_UPGRADE, self.scope.policy.allow_red_indices
        expectation = Expectation(_outdated(self.state, self.scope), may_be_red, self.growing, complete=before)
        return judge_progress(self.state, self.seen.health, self.seen.explanations, expectation).reasons


def judge(seen: Look, scope: Scope) -> Verdict:
    """The verdict of the gate `scope` on one look: the reasons of all its checks, and remarks on skipped ones."""
    gate, made = _Gate(seen, scope), scope.selection.at(scope.moment)
    verdicts = (JUDGES[check.name](gate) for check in CHECKS if check.in_gate and check.name in made)
    return combine((*verdicts, scope.selection.said(scope.moment)))


def _judge_present(gate: _Gate) -> Verdict:
    """Whether the members are there. After a batch a missing other one is a remark: the next batch judges it."""
    scope = gate.scope
    if scope.moment != AFTER_BATCH:
        return judge_present(gate.state, scope.members, scope.batch)
    others = judge_present(gate.state, scope.members - scope.batch, ())
    return Verdict(tuple(remark(reason.code, reason.message, reason.remedy) for reason in others.reasons))


def _judge_voting(gate: _Gate) -> Verdict:
    """The vote. Exclusions of an interrupted run count as put back, since that is done before the first batch."""
    down = gate.down if gate.scope.moment == BEFORE_BATCH else frozenset()
    ours = frozenset(excluded_by(carried_undo(gate.seen.settings)))
    return judge_voting(gate.state, down, gate.policy, ours)


def _judge_back(gate: _Gate) -> Verdict:
    scope = gate.scope
    names = scope.batch if scope.moment == AFTER_BATCH else scope.members
    return judge_back({member.name: member for member in gate.state.members.values()}, names, scope.target)


def _of_progress(check: str) -> Callable[[_Gate], Verdict]:
    """The reasons about the shards that belong to a check."""
    codes = next(each.codes for each in CHECKS if each.name == check)
    return lambda gate: Verdict(tuple(reason for reason in gate.progress if reason.code in codes))


def _judge_copies(gate: _Gate) -> Verdict:
    """The proof of the copies, with an immediate refusal for copies that it would wait for in vain.

    Before the upgrade there is only that refusal, unless the check `unassigned` reports it.
    """
    scope = gate.scope
    outdated = _outdated(gate.state, scope)
    hopeless = without_place(gate.seen.explanations, outdated, gate.growing) if gate.settled else {}
    if scope.moment == BEFORE_BATCH:
        proof = naming_limits(BATCH_RULES["copies"](gate.state, gate.down, gate.policy), gate.seen.explanations)
        stuck = judge_last_copies(gate.state, gate.down, hopeless, scope.policy.allow_red_indices)
        return combine((proof, stuck))
    if "unassigned" in scope.selection.at(scope.moment):
        return Verdict()
    return judge_last_copies(gate.state, gate.state.members, hopeless, scope.policy.allow_red_indices)


def _judge_snapshots(gate: _Gate) -> Verdict:
    if gate.scope.moment == BEFORE_BATCH:
        return judge_snapshots_of(gate.state, gate.down)
    return judge_snapshots(gate.state, gate.scope.takes)


def _judge_disk(gate: _Gate) -> Verdict:
    scope = gate.scope
    disks = with_gains(gate.seen.disks, scope.gains)
    here = judge_disks(disks)
    if scope.moment != BEFORE_UPGRADE:
        return here
    return combine((here, judge_losses(disks, gate.state, scope.batches, scope.zone)))


def _judge_configured(gate: _Gate) -> Verdict:
    seen, target = gate.seen, gate.scope.target
    if seen.configured is None or target is None:
        return Verdict()
    here = judge_configured(seen.configured, seen.settings, seen.state, target)
    later = ((judge_configured(seen.configured, seen.settings, seen.state, each), each) for each in gate.scope.later)
    return combine((here, of_later_hops(later, _oldest(seen.state))))


def _judge_search_role(gate: _Gate) -> Verdict:
    state, target = gate.state, gate.scope.target
    if target is None:
        return Verdict()
    later = ((judge_search_role(state, each), each) for each in gate.scope.later)
    return combine((judge_search_role(state, target), of_later_hops(later, _oldest(state))))


def _judge_last_snapshot(gate: _Gate) -> Verdict:
    """The way back, if there is a new version to come back from, or if the user asks for one."""
    if gate.scope.takes or (gate.scope.snapshot_age is None and _all_on(gate.scope.target, gate.state)):
        return Verdict()
    saved = gate.seen.saved
    return Verdict() if saved is None else judge_last_snapshot(saved, gate.state, gate.scope.snapshot_age)


def _of_batch(rule: str) -> Callable[[_Gate], Verdict]:
    """The same rule as in the proof of a batch."""
    return lambda gate: BATCH_RULES[rule](gate.state, gate.down, gate.policy)


@as_verdict
def judge_batch_known(present: Collection[str], batch: Collection[str], expected: Collection[str]) -> Iterator[Reason]:
    """Whether each name of a batch is that of a member: nothing would be proven for any other name.

    A member that is away is known by the names that are `expected`.
    """
    unknown = sorted({*batch} - {*present} - {*expected})
    if unknown:
        yield refused(
            "batch_unknown",
            f"{enumerate_few(unknown)} of the batch {'is' if len(unknown) == 1 else 'are'} neither in the cluster nor"
            " expected, so nothing would be proven.",
            "Give the names that the members themselves have (node.name), and name members that are away in expected.",
        )


UPGRADED = "batch_upgraded"
"""The code of the remark that someone else has upgraded the batch."""


@as_verdict
def judge_upgraded(state: ClusterState, scope: Scope) -> Iterator[Reason]:
    """A remark if every member of the batch runs the target already, so that it needs no gate; otherwise nothing."""
    members = [state.named(name) for name in sorted(scope.batch)]
    if scope.target is None or not members or any(each is None or each.version != scope.target for each in members):
        return
    message = (
        f"Someone else has upgraded {enumerate_few(scope.batch)}: every member of the batch runs {scope.target}"
        " already, so it needs no gate."
    )
    yield remark(UPGRADED, message)


def _outdated(state: ClusterState, scope: Scope) -> frozenset[str]:
    if scope.target is None:
        return frozenset()
    return frozenset(m.id for m in state.members.values() if m.version < scope.target)


def _oldest(state: ClusterState) -> Version | None:
    return min((member.version for member in state.members.values()), default=None)


def _all_on(target: Version | None, state: ClusterState) -> bool:
    return bool(state.members) and all(member.version == target for member in state.members.values())


@as_verdict
def _judge_pending(health: Health) -> Iterator[Reason]:
    """Whether the health is up to date. If the long poll ended before green, it may be older than the task queue."""
    if health.timed_out and (health.status == "green" or health.pending_tasks > BACKLOG):
        yield waiting(
            "tasks_pending",
            f"The elected manager is still busy ({health.pending_tasks} tasks are pending).",
            "If this lasts, see GET _cluster/pending_tasks for what keeps it busy.",
        )


@as_verdict
def _judge_archived(settings: Settings) -> Iterator[Reason]:
    for change in removals(settings):
        yield remark(
            "archived_setting_found",
            f"The {change.path[0]} setting {change.name.removeprefix(ARCHIVED)} = {change.was!r} is unknown to"
            " the version that runs. The first change of settings removes it for good, since the server would"
            " refuse that change otherwise.",
            "Set what replaces it in this version, if it is still wanted.",
        )


def _judge_versions(state: ClusterState, settings: Settings, scope: Scope) -> Verdict:
    if scope.target is None:
        return Verdict()
    members = [(m.name, m.version) for m in state.members.values() if not scope.members or m.name in scope.members]
    path, readable = judge_path(sorted(members), scope.target), _judge_readable(state, scope.target)
    migration = judge_migration(state, settings.effective(MODE), scope.target)
    of_later = (
        (combine((_judge_readable(state, each), judge_stored_format(state, each))), each) for each in scope.later
    )
    later = of_later_hops(of_later, _oldest(state))
    return combine((path, readable, migration, judge_stored_format(state, scope.target), later))


def _judge_readable(state: ClusterState, target: Version) -> Verdict:
    """Whether a version opens every index."""
    created = [
        (index.name, index.created)
        for index in state.indices.values()
        if not (index.verified and opens_read_only(index.created, target))
    ]
    return judge_created(created, target)


def _judge_allocation(gate: _Gate) -> Verdict:
    """Whether replicas can come back. What an interrupted run has set is put back before the first batch.

    A setting of the cluster hides that in the configuration of the elected manager, which allocates all copies.
    """
    settings = as_put_back(gate.seen.settings)
    found, elected = _judge_with(gate, settings), gate.state.members.get(gate.state.elected or "")
    own = gate.seen.configured.allocation.get(elected.name, {}) if gate.seen.configured and elected else {}
    if not own or elected is None:
        return found
    of_both = _judge_with(gate, replace(settings, persistent={**own, **settings.persistent}))
    file = product_of(elected.version).settings_file
    remedy = f"It is set in {file} of {elected.name}. Change it there, or set another value in the cluster."
    further = (replace(each, remedy=remedy) for each in of_both.reasons if each not in found.reasons)
    return combine((found, Verdict(tuple(further))))


def _judge_with(gate: _Gate, settings: Settings) -> Verdict:
    limits = combine((_judge_enable(settings), judge_limits(settings)))
    if not gate.settled:
        return limits
    left = gate.scope.policy.allow_red_indices
    rules = (rule(gate.state, settings, gate.going, left) for rule in (judge_excluded, judge_awareness))
    return combine((limits, *rules))


def _judge_overrides(gate: _Gate) -> Verdict:
    """Whether indices let their replicas come back. If copies may yet move, it is not known which ones stay.

    An index that is being shrunk is waited for by another check.
    """
    overrides = judge_overrides(gate.state)
    if not gate.settled:
        return overrides
    left, passing = gate.scope.policy.allow_red_indices, shrinking(gate.seen.managed)
    filters = {name: found for name, found in gate.seen.filters.items() if name not in passing}
    return combine((overrides, judge_index_filters(gate.state, filters, gate.going, left)))


@as_verdict
def _judge_enable(settings: Settings) -> Iterator[Reason]:
    """Whether allocation is not restricted; otherwise replicas would never come back, and no gate could ever pass."""
    effective = settings.effective(ENABLE)
    if not allocates(effective):
        yield refused(
            "allocation_disabled",
            f"{ENABLE} is set to {effective}: replicas could not come back after a restart.",
            f"Set {ENABLE} to all or null, let the cluster recover, then run again.",
        )


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
    "allocation": _judge_allocation,
    "overrides": _judge_overrides,
    "disk": _judge_disk,
    "snapshots": _judge_snapshots,
    "tasks": lambda gate: judge_tasks(gate.seen.tasks),
    "index_management": lambda gate: judge_managed(gate.seen.managed) if gate.seen.managed else Verdict(),
    "archived": lambda gate: _judge_archived(gate.seen.settings),
    "settings": _judge_configured,
    "search_role": _judge_search_role,
    "certificates": lambda gate: judge_certificates(gate.seen.certificates),
    "last_snapshot": _judge_last_snapshot,
}
"""The judgement of each check of `checks`."""
