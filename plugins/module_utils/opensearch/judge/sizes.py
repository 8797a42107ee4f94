"""The size of a pool: what has to hold before it gains or loses members, for the time of a run or for good. Pure.

A member that is not wanted is excluded from allocation, shown to hold no shard, and only then deleted with its pod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ...kubernetes.state import StatefulSet
from ...pools.size import Size
from ..observe.copies import left_on
from ..observe.state import ClusterState
from .pools import Pool

FEWEST_MANAGERS = 3
"""The manager-eligible members that have to stay. Below that, the voting configuration keeps members that are gone
(server source, Reconfigurator, and the documentation of `cluster.auto_shrink_voting_configuration`)."""
OF_OTHER_VERSION = (
    "would run the image of its template, which is not known to hold the version that its members run.",
    "Upgrade the cluster first (playbook stateful.upgrade.opensearch), or put the image of the template back.",
)
"""The words and the remedy for new pods of a pool."""


@as_verdict
def judge_sizes(
    sizes: Collection[Size],
    state: ClusterState,
    *,
    together: bool,
    others: Collection[str] = (),
    unsure: Collection[str] = (),
) -> Iterator[Reason]:
    """Whether the pools can have these sizes for good, as far as that shows before shards move.

    `together` says that the run restarts all processes at once. `others` are members that the user limits the run to.
    `unsure` are the pools whose new pods are not known to run the version that their members run.
    """
    for size in sizes:
        if size.replicas < 1:
            yield refused(
                "pool_too_small",
                f"Pool {size.pool.name} is to have {size.replicas} members, and needs at least one.",
                "Correct replicas. A pool that is to go as a whole is drained and deleted by hand.",
            )
        if size.added and size.pool.name in unsure:
            yield refused(
                "added_of_other_version",
                f"New members of pool {size.pool.name} ({enumerate_few(size.added)}) {OF_OTHER_VERSION[0]}",
                OF_OTHER_VERSION[1],
            )
    yield from _few_managers(state, {name for size in sizes for name in size.removed})
    if sizes and (together or others):
        why = "restarts all processes at once" if together else f"is narrowed to {enumerate_few(sorted(others))}"
        yield refused(
            "size_in_own_run",
            f"The run {why}, and is to change the size of {enumerate_few(size.pool.name for size in sizes)}, too.",
            "Take replicas out of the configuration, and change the size in a run of its own.",
        )


def _few_managers(state: ClusterState, removed: Collection[str]) -> Iterator[Reason]:
    """The reasons why the members that stay could not elect a manager safely."""
    eligible = {member.name for member in state.members.values() if member.manager_eligible}
    if eligible & {*removed} and len(left := eligible - {*removed}) < FEWEST_MANAGERS:
        yield refused(
            "removal_leaves_few_managers",
            f"Without {enumerate_few(sorted(eligible & {*removed}))}, {len(left)} members that can be elected are left."
            " The cluster would still count on members that are gone.",
            f"Keep {FEWEST_MANAGERS} of them.",
        )
    electable = {member.name for member in state.members.values() if member.electable}
    if electable and electable <= {*removed} and eligible - electable:
        yield refused(
            "removal_leaves_few_managers",
            f"Without {enumerate_few(sorted(electable))} no member that can be elected is left; the others only vote.",
            "Keep a manager-eligible member without the role voting_only.",
        )


@as_verdict
def judge_extra(pool: StatefulSet, there: Collection[str], state: ClusterState) -> Iterator[Reason]:
    """Whether a pool may have one more member for the time of a run. It is asked before that is made.

    `there` are the volume claims that exist already under the names of its claims.
    """
    members = {member.name: member for member in state.members.values()}
    votes = [name for name in pool.member_names() if name in members and members[name].manager_eligible]
    down = [name for name in pool.member_names() if name not in members]
    if there:
        yield refused(
            "extra_member_claim_there",
            f"The volume claim {enumerate_few(sorted(there))} is there already, so that the extra member of pool"
            f" {pool.name} would start on the data of a former one.",
            "Delete the claim if its data is not needed, or choose another pool (upgrade_extra_member).",
        )
    if votes:
        yield refused(
            "extra_member_votes",
            f"The members of pool {pool.name} can be elected ({enumerate_few(sorted(votes))}), so that an extra one"
            " would change who votes.",
            "Choose a pool whose members cannot be elected (upgrade_extra_member).",
        )
    if down:
        yield refused(
            "extra_member_beside_broken",
            f"{enumerate_few(sorted(down))} of pool {pool.name} {'is' if len(down) == 1 else 'are'} not in the cluster,"
            " and an extra member does not replace another one.",
            "Bring it back first, or leave out upgrade_extra_member.",
        )


@as_verdict
def judge_empty(state: ClusterState, names: Collection[str]) -> Iterator[Reason]:
    """Whether these members hold no copy of any shard."""
    for name in names:
        if copies := left_on(state, [name]):
            shards = [f"{copy.index}[{copy.shard}]" for copy in copies]
            yield refused(
                "removal_holds_shards",
                f"Member {name} still holds {enumerate_few(shards)}, so it is not removed.",
                "Run again: its shards move to other members first.",
            )


@as_verdict
def judge_capacity(params: Mapping[str, Any], pools: Iterable[Pool], *, on_hosts: bool) -> Iterator[Reason]:
    """Whether there is the pool that is to have one member more, and the members are on Kubernetes nodes."""
    name, names = params.get("extra_member") or "", sorted(pool.name for pool in pools)
    if name and on_hosts:
        yield refused(
            "extra_member_on_hosts",
            "A member is to be added for the time of the upgrade, and the members are on plain hosts.",
            "Leave out upgrade_extra_member.",
        )
    elif name and name not in names:
        remedy = f"Correct upgrade_extra_member; there are {', '.join(names)}."
        yield refused("pool_unknown", f"There is no pool {name}, which is to have one member more.", remedy)
    if params.get("extra_machines") and on_hosts:
        yield refused(
            "extra_machines_on_hosts",
            "Machines are to be added for the time of the upgrade, and the members are on plain hosts.",
            "Leave out upgrade_extra_machines.",
        )
