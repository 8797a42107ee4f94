# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The looks of the gates: what is asked, and how often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TypeVar

from ..common.errors import Refusal, refusal
from .background import LongTask
from .checks import BEFORE_BATCH, BEFORE_UPGRADE, Selection
from .client import OpenSearchClient
from .disk import Disks
from .observe import observe, observe_disks, observe_health, observe_tasks
from .progress import Explanation, parse_explanation, still_moving, unassigned
from .settings import Settings
from .shard_allocation import read_settings
from .state import ClusterState, Health, ShardCopy

Seen = TypeVar("Seen")

EXPLANATIONS = 500
"""At most so many explanations per look: each costs the elected manager all deciders times all data members."""
LONG_POLL = 2.0
"""Seconds the server holds the health request until green: reacts at once, without asking more often."""


@dataclass(frozen=True)
class Look:
    """Everything a gate sees at once; what none of its checks needs is empty."""

    state: ClusterState
    health: Health
    settings: Settings
    explanations: tuple[Explanation, ...] = ()
    disks: Disks = field(default_factory=Disks)
    tasks: tuple[LongTask, ...] = ()


def polls(moment: str) -> Iterator[float]:
    """For how many seconds the server holds the health request of each look; asking more often only slows recoveries.

    A batch may be proven safe before the cluster is green, so the first look before it is not held.
    """
    return chain([0.0] if moment == BEFORE_BATCH else [], repeat(LONG_POLL))


def look(
    client: OpenSearchClient,
    moment: str,
    long_poll: float = LONG_POLL,
    selection: Selection | None = None,
    before: Look | None = None,
) -> Look:
    """One look for a gate: health, nodes, state, before the upgrade settings; and why copies are not assigned.

    As long as copies are under way nothing is explained: it would cost much and change nothing. What every member has
    to be asked for is asked once for a gate, where `before` is its look before this one: the disks, and the long tasks
    again only while there are any.

    Raises:
        Refusal: the answer cannot be had.
    """
    made = (selection or Selection()).at(moment)
    health = observe_health(client, long_poll)
    state = observe(client)
    wanted = unassigned(state)
    if not made & {"unassigned", "progress"}:
        wanted = tuple(copy for copy in wanted if copy.primary)
    explanations = () if still_moving(state, health) else explain(client, state, wanted)
    settings = read_settings(client) if moment == BEFORE_UPGRADE else Settings({}, {})
    disks, tasks = (before.disks, before.tasks) if before else (Disks(), ())
    if "disk" in made and before is None:
        disks = _unless_denied("disk", lambda: observe_disks(client))
    if "tasks" in made and (before is None or tasks):
        tasks = _unless_denied("tasks", lambda: observe_tasks(client))
    return Look(state, health, settings, explanations, disks, tasks)


def _unless_denied(check: str, ask: Callable[[], Seen]) -> Seen:
    """What is asked for one check alone.

    Raises:
        Refusal: it cannot be had; where it is not allowed, with the way to go on without.
    """
    try:
        return ask()
    except Refusal as error:
        reason = error.verdict.reasons[0]
        if reason.code != "opensearch_rights":
            raise
        remedy = f"Give the user that permission, or leave the check out with skip_checks: [{check}]."
        raise refusal("opensearch_rights", reason.message, remedy) from error


def explain(client: OpenSearchClient, state: ClusterState, copies: Collection[ShardCopy]) -> tuple[Explanation, ...]:
    """Explanations of these unassigned copies; copies in the same situation share one question.

    Raises:
        Refusal: the server does not let us ask, or cannot be reached.
    """
    found: list[Explanation] = []
    for group in list(_alike(state, copies))[:EXPLANATIONS]:
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


def _alike(state: ClusterState, copies: Iterable[ShardCopy]) -> Iterable[list[ShardCopy]]:
    """Unassigned copies in groups of the same index, the same member with the primary, and the same other holders."""
    siblings: dict[tuple[str, int], list[ShardCopy]] = defaultdict(list)
    for copy in state.copies:
        siblings[(copy.index, copy.shard)].append(copy)
    groups: dict[object, list[ShardCopy]] = defaultdict(list)
    for copy in copies:
        others = siblings[(copy.index, copy.shard)]
        holders = frozenset(other.member for other in others if other.member)
        primary = next((other.member for other in others if other.primary), None)
        groups[(copy.index, copy.primary, primary, holders)].append(copy)
    return groups.values()
