"""One look at a batch of pods with the phases of their restarts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..common.verdict import Verdict, combine
from ..kubernetes.client import KubernetesClient
from ..kubernetes.owners import judge_owned
from ..kubernetes.pods import list_budgets
from ..kubernetes.state import Namespace, Pod, StatefulSet
from ..kubernetes.stateful_sets import observe_pools
from ..pools.disruption import judge_budgets
from ..pools.judge import is_down, judge_controller, judge_members, judge_others, pool_of
from .judge.phases import (
    SCHEDULED,
    TOGETHER,
    UNDER_WAY,
    Marked,
    RestartPhase,
    judge_alone,
    judge_words,
    marked,
    phase_of,
)
from .judge.pods_to_restart import judge_all_ready


@dataclass(frozen=True)
class RestartBatch:
    """The pods of one batch at one time."""

    names: tuple[str, ...]
    pools: tuple[StatefulSet, ...]
    there: Namespace
    verdict: Verdict
    """Whether all of them are there and can be understood."""
    pods: Mapping[str, Pod] = field(default_factory=dict)
    marks: Mapping[str, Marked] = field(default_factory=dict)
    phases: Mapping[str, RestartPhase | None] = field(default_factory=dict)
    """The phase of each pool, which a person has set for all its pods."""
    stops: bool = False
    """Whether the way of the run keeps a process stopped, so that those go too that a person wants stopped."""

    unproven: frozenset[str] = frozenset()
    """The pods with the phase `stop` whose processes run and have no proof that holds."""

    @cached_property
    def going(self) -> tuple[str, ...]:
        """The pods whose processes are to be stopped, and are not asked to yet."""
        there = ((name, mark) for name, mark in self.marks.items() if self.stops or not mark.stays_stopped)
        return tuple(name for name, mark in there if mark.phase in SCHEDULED or name in self.unproven)

    @cached_property
    def down(self) -> tuple[str, ...]:
        """The pods whose restart is under way."""
        marks = self.marks.items()
        return tuple(name for name, mark in marks if mark.phase in UNDER_WAY and name not in self.unproven)

    @cached_property
    def together(self) -> bool:
        """Whether the processes of the batch are all stopped before the first one starts."""
        return any(mark.phase in TOGETHER for mark in self.marks.values())

    def phase(self, name: str) -> str:
        """The phase of a pod as its annotation has it; empty if it has none."""
        mark = self.marks.get(name)
        return mark.phase.value if mark and mark.phase else ""

    def pool_of(self, name: str) -> str:
        """The name of the pool of a pod."""
        found = pool_of(self.pools, name)
        return found.name if found else ""


def annotations_of(pools: Iterable[StatefulSet], pods: Iterable[Pod]) -> dict[str, Mapping[str, str]]:
    """The annotations of pools and pods, by the words for each of them in a sentence."""
    return {
        **{f"StatefulSet {pool.name}": pool.annotations for pool in pools},
        **{f"pod {pod.name}": pod.annotations for pod in pods},
    }


def interrupted(there: Namespace, key: str) -> dict[str, list[str]]:
    """The pods of a restart of all members that has begun, by their pools; empty if there is none.

    Pods that it had not reached belong to it as well.

    Raises:
        ValueError: an annotation holds a word that is no phase.
    """
    found = {
        pool.name: {name: phase_of(pod.annotations, key) for name, pod in there.pods_of(pool).items()}
        for pool in there.sets
    }
    begun = any(phase in TOGETHER & UNDER_WAY for phases in found.values() for phase in phases.values())
    together = {pool: [name for name, phase in phases.items() if phase in TOGETHER] for pool, phases in found.items()}
    return {pool: names for pool, names in together.items() if names} if begun else {}


class RestartLooks:
    """The looks at one batch."""

    def __init__(self, client: KubernetesClient, params: Mapping[str, Any], *, stops: bool = False) -> None:
        """`stops` says whether the way of the run keeps a process stopped."""
        self.client = client
        self._stops = stops
        self._namespace: str = params["namespace"]
        self._pools: Sequence[str] = params["pools"]
        self._names = tuple(params["batch"])
        self._key: str = params["annotation"]

    def look(self) -> RestartBatch:
        """The batch now.

        Raises:
            Refusal: one of its pools does not exist, or the API gives no answer.
        """
        there, pools = observe_pools(self.client, self._namespace, self._pools)
        found = {name: pod for pool in pools for name, pod in there.pods_of(pool).items() if name in self._names}
        verdict = combine(
            (
                judge_members(pools, self._names),
                *(verdict for pool in pools for verdict in (judge_controller(pool), judge_owned(pool, there.pods))),
                judge_words(annotations_of(pools, found.values()), self._key),
            )
        )
        if not verdict.passed:
            return RestartBatch(self._names, pools, there, verdict, found)
        of_pods = ((name, found[name]) for name in self._names if name in found)
        marks = {name: marked(name, pod.uid, pod.annotations, key=self._key) for name, pod in of_pods}
        phases = {pool.name: phase_of(pool.annotations, self._key) for pool in pools}
        return RestartBatch(self._names, pools, there, verdict, found, marks, phases, self._stops)

    def judge_surroundings(self, seen: RestartBatch) -> Verdict:
        """Whether the other pods of the pools, and the disruption budgets, let the batch go now.

        No budget is asked about a restart of all members, to which the user has agreed.
        """
        pods = {name: pod for pool in seen.pools for name, pod in seen.there.pods_of(pool).items()}
        words = judge_words(annotations_of((), pods.values()), self._key)
        if not words.passed:
            return words
        budgets = () if seen.together else list_budgets(self.client, self._namespace)
        going = [seen.pods[name] for name in seen.going]
        # A person wants these stopped, so they are not waited for. The proof counts them as away.
        marks = [marked(name, pod.uid, pod.annotations, key=self._key) for name, pod in pods.items()]
        resting = {mark.name for mark in marks if mark.rests}
        others = judge_others(seen.pools, pods, {*self._names, *resting})
        up = judge_all_ready((), [p.name for p in going if is_down(p) and not seen.marks[p.name].stays_stopped])
        alone = judge_alone(mark for mark in marks if mark.name not in self._names)
        return combine((others, up if seen.together else Verdict(), alone, judge_budgets(budgets, going)))
