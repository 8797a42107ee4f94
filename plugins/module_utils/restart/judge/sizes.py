# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The members that a pool gains or loses, since the user wants another number of them. Pure.

A new member gets its key before its pod is made. A member that is not wanted is excluded from allocation, shown to hold
no shard, and only then deleted with its pod, one at a time and the one with the highest ordinal first: a StatefulSet
removes no other (Kubernetes documentation, StatefulSets, Deployment and Scaling Guarantees).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ...kubernetes.state import StatefulSet
from ...opensearch.observe.state import ClusterState

FEWEST_MANAGERS = 3
"""The manager-eligible members that have to stay. Below that, the voting configuration keeps members that are gone
(server source, Reconfigurator, and the documentation of `cluster.auto_shrink_voting_configuration`)."""


@dataclass(frozen=True)
class Size:
    """The wanted size of one pool."""

    pool: StatefulSet
    replicas: int

    @property
    def added(self) -> tuple[str, ...]:
        """The members that are to come, the lowest ordinal first."""
        return tuple(name for name in self._wanted if name not in self.pool.member_names())

    @property
    def removed(self) -> tuple[str, ...]:
        """The members that are to go, the highest ordinal first."""
        return tuple(name for name in reversed(self.pool.member_names()) if name not in self._wanted)

    @cached_property
    def _wanted(self) -> Sequence[str]:
        return replace(self.pool, replicas=self.replicas).member_names()


def sizes_in(pools: Iterable[StatefulSet], replicas: Mapping[str, int]) -> tuple[Size, ...]:
    """The pools that are to have another size than they have; `replicas` are the wanted numbers by pool."""
    wanted = (Size(pool, replicas[pool.name]) for pool in pools if pool.name in replicas)
    return tuple(size for size in wanted if size.replicas != size.pool.replicas)


@as_verdict
def judge_sizes(
    sizes: Collection[Size],
    state: ClusterState,
    *,
    together: bool,
    others: Collection[str] = (),
    unsure: Collection[str] = (),
) -> Iterator[Reason]:
    """Whether the pools can have these sizes, as far as that shows before shards move.

    `together` says that the run restarts all processes at once. `others` are members that the user narrows the run to.
    `unsure` are the pools whose new pods are not known to run the version that their members run.
    """
    for size in sizes:
        if size.replicas < 1:
            yield refused(
                "pool_too_small",
                f"Pool {size.pool.name} is to have {size.replicas} members, and has to have one at least.",
                "Correct replicas. A pool that is to go as a whole is drained and deleted by hand.",
            )
        if size.added and size.pool.name in unsure:
            yield refused(
                "added_of_other_version",
                f"New members of pool {size.pool.name} ({enumerate_few(size.added)}) would run the image of its"
                " template, which is not known to hold the version that its members run.",
                "Upgrade the cluster first (playbook stateful.upgrade.opensearch), or put the image of the template"
                " back.",
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
            " The cluster would go on counting on members that are gone.",
            f"Keep {FEWEST_MANAGERS} of them.",
        )
    electable = {member.name for member in state.members.values() if member.electable}
    if electable and electable <= {*removed} and eligible - electable:
        yield refused(
            "removal_leaves_few_managers",
            f"Without {enumerate_few(sorted(electable))} no member that can be elected is left; the others only vote.",
            "Keep a manager-eligible member without the role voting_only.",
        )
