"""The members that come and go with a run, in its plan: new ones before all batches, and a batch for each that goes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..common.task import Task
from ..common.verdict import Verdict, combine
from ..common.words import first_few
from ..kubernetes.state import StatefulSet
from ..pools.size import Size, sizes_in
from .judge.drain import judge_room
from .judge.sizes import judge_sizes
from .observe.client import connect
from .observe.copies import left_on
from .observe.explaining import explain_moves
from .observe.look import MembersAndPods

REMOVAL = "removal"
"""The value of `by` for a batch whose member is removed."""
_REMEDY = "Add a member, or fix what the deciders name; or leave the size of the pool as it is."


@dataclass(frozen=True)
class PlannedSizes:
    """The pools that get another size with a run."""

    sizes: tuple[Size, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    conditions: tuple[str, ...] = ()
    """The words for them that consent covers. They stay the same while the sizes change."""

    @property
    def added(self) -> list[str]:
        """The members that come."""
        return [name for size in self.sizes for name in size.added]

    @property
    def removed(self) -> list[str]:
        """The members that go, in their order."""
        return [name for size in self.sizes for name in size.removed]

    def details(self) -> Iterator[str]:
        """The lines of the plan."""
        for size in self.sizes:
            if size.added:
                yield f"{_joined(size.added)} added to pool {size.pool.name}: the configuration first, then the pod"
            if size.removed:
                yield f"{_joined(size.removed)} removed from pool {size.pool.name}, after the shards have moved away"

    def batches(self, before: int, members: Collection[str], kinds: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """A batch for each member that goes, after so many others. `members` are all that are there at first."""
        there = [*members]
        going = [(one.pool.name, name) for one in self.sizes for name in one.removed]
        for number, (pool, name) in enumerate(going, start=before + 1):
            kind = kinds[pool]
            yield {
                "name": f"batch-{number:02d}.{name}",
                "pools": [pool],
                "members": [name],
                "cures": False,
                "kind": kind,
                "reason": f"{kind}; it is removed with its pod",
                "proof": "its shards move to other members first",
                "outdated": [],
                "by": REMOVAL,
                "expected": [*there],
            }
            there.remove(name)


def replicas_in(given: Iterable[Mapping[str, Any]] | None) -> dict[str, int]:
    """The wanted number of members by pool, from the option of a module."""
    return {each["pool"]: each["replicas"] for each in given or () if each.get("replicas") is not None}


def names_with(pools: Iterable[StatefulSet], given: Iterable[Mapping[str, Any]] | None) -> dict[str, tuple[str, ...]]:
    """The members of each pool, with those that it is to gain."""
    pools, wanted = [*pools], replicas_in(given)
    gained = {size.pool.name: size.added for size in sizes_in(pools, wanted)}
    return {pool.name: (*pool.member_names(), *gained.get(pool.name, ())) for pool in pools}


def plan_sizes(task: Task, seen: MembersAndPods) -> PlannedSizes:
    """The changes of sizes that the user wants, and whether the shards of members that go fit elsewhere.

    Raises:
        Refusal: the servers give no answer.
    """
    wanted = replicas_in(task.params["configuration"])
    sizes = sizes_in((pool for pool in seen.sets if seen.pods[pool.name]), wanted)
    conditions = tuple(f"{count} members of {pool}" for pool, count in sorted(wanted.items()))
    removed = [name for size in sizes for name in size.removed]
    room = Verdict()
    if removed:
        search = connect(task.params["opensearch"], task.params["kubernetes"])
        moves = task.ask(lambda: explain_moves(search, seen.state, left_on(seen.state, removed)))
        room = Verdict(tuple(replace(each, remedy=_REMEDY) for each in judge_room(removed, moves).reasons))
    return PlannedSizes(sizes, room, conditions)


def judge_planned(
    task: Task, seen: MembersAndPods, planned: PlannedSizes, *, together: bool, unsure: Collection[str]
) -> Verdict:
    """Whether the run may change the sizes. See `judge_sizes`."""
    narrowed = task.params["members"] or ()
    judged = judge_sizes(planned.sizes, seen.state, together=together, others=narrowed, unsure=unsure)
    return combine((planned.verdict, judged))


def _joined(names: Sequence[str]) -> str:
    return f"{first_few(names)} {'is' if len(names) == 1 else 'are'}"
