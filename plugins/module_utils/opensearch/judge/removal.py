# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The removal of a member with its pod: it holds no shard, and is the one that its StatefulSet removes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, as_verdict, refused
from ...common.words import enumerate_few
from ...kubernetes.state import StatefulSet
from ..observe.copies import left_on
from ..observe.state import ClusterState


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
def judge_last(pool: StatefulSet, name: str) -> Iterator[Reason]:
    """Whether a member is the one that its StatefulSet removes next."""
    last = pool.member_names()[-1]
    if name != last:
        yield refused(
            "removal_of_another",
            f"Member {name} is to be removed, and StatefulSet {pool.name} would delete {last} now.",
            "Remove the members with the highest ordinals, one after the other.",
        )
