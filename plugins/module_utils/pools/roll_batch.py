"""One batch of members to replace, and the acts that were made on it. Pure: no client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..common.verdict import Verdict
from ..kubernetes.state import Pod, StatefulSet
from .judge import pod_is_current, pod_is_settled, pool_of
from .partition import lowered_for


@dataclass(frozen=True)
class ObservedBatch:
    """A batch as observed immediately before anything is done to it."""

    pools: tuple[StatefulSet, ...]
    pods: Mapping[str, Pod]
    """The pods of all these pools, by name."""
    members: Sequence[str]
    verdict: Verdict
    marked: Callable[[Pod], bool]
    """Is this pod replaced although it is of the wanted revision?"""

    @cached_property
    def homes(self) -> dict[str, StatefulSet]:
        """The pool of each member, in the order of the batch; members that no pool keeps are left out."""
        found = ((name, pool_of(self.pools, name)) for name in self.members)
        return {name: pool for name, pool in found if pool is not None}

    def of(self, pool: StatefulSet) -> list[str]:
        """The members of this pool."""
        return [name for name, home in self.homes.items() if home is pool]

    def going(self, pool: StatefulSet) -> list[str]:
        """The members of this pool that are to be replaced."""
        return [pod.name for pod in self.outdated if self.homes[pod.name] is pool]

    def lowered(self, pool: StatefulSet) -> StatefulSet:
        """The pool with its partition low enough for the members to replace, if a run has set that partition.

        The controller replaces only those of another revision.
        """
        return lowered_for(pool, [name for name in self.going(pool) if not pod_is_current(pool, self.pods[name])])

    @cached_property
    def outdated(self) -> tuple[Pod, ...]:
        """The pods to delete: of another revision or marked, Ready or broken, and not already being deleted."""
        found = ((pool, self.pods[name]) for name, pool in self.homes.items() if name in self.pods)
        return tuple(pod for pool, pod in found if not self._is_wanted(pool, pod) and not pod.terminating)

    @cached_property
    def settled(self) -> tuple[str, ...]:
        """The members whose pods are of the wanted revision, not marked, Ready, and not being deleted."""
        found = ((pool, self.pods[name]) for name, pool in self.homes.items() if name in self.pods)
        return tuple(pod.name for pool, pod in found if self._is_wanted(pool, pod) and pod_is_settled(pool, pod))

    def _is_wanted(self, pool: StatefulSet, pod: Pod) -> bool:
        return pod_is_current(pool, pod) and not self.marked(pod)

    def followed(self) -> dict[str, str]:
        """The members to follow, each with the UID of the pod to delete; empty if none of its pods is to be deleted."""
        uids = {pod.name: pod.uid for pod in self.outdated}
        return {name: uids.get(name, "") for name in self.members if name not in self.settled}


@dataclass
class Done:
    """The acts so far, kept through any refusal."""

    deleted: list[str] = field(default_factory=list)
    proven_at: float = 0.0
    """The time of the last proof on the task's clock, in seconds."""
    prepared: bool = False
    """Whether something else than pods was changed."""
    let_through: list[str] = field(default_factory=list)
    """Members that the controller replaces by itself, since the partition was lowered for them."""
    left: list[str] = field(default_factory=list)
    """Members that stay up although they were to go, since the proof did not hold any more."""

    @property
    def gone(self) -> list[str]:
        """The members that are away, or go without a further act."""
        return [*self.deleted, *(name for name in self.let_through if name not in self.deleted)]
