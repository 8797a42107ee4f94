"""The part of a plan that is about the pods on the Kubernetes nodes that it drains."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..common.verdict import Verdict, combine
from ..kubernetes.client import KubernetesClient
from ..kubernetes.rights import missing_rights
from ..run.away_sets import AwaySets
from .judge.budgets import judge_budgets
from .judge.forced_drains import ForcedRung, judge_forced, may_be_forced
from .judge.longhorn_budgets import judge_manager_budgets
from .judge.residents import IsAsked, judge_residents, judge_unasked
from .judge.room import judge_room
from .judge.undrainable import judge_undrainable
from .observe.workload_look import look_at_workloads
from .observe.workloads import PlacedPod
from .rights import FORCED_DRAIN

Batches = Mapping[str, Collection[str]]
"""The Kubernetes nodes of each batch by its name."""


@dataclass(frozen=True)
class PlannedDrains:
    """The Kubernetes nodes that a plan drains."""

    batches: Batches
    moving: Batches
    """Those whose pods move to other Kubernetes nodes, each group by a name."""
    apart: Mapping[str, AwaySets] = field(default_factory=dict)
    """The sets of a batch that may be away at once, each at another time. All of another batch are away at once."""

    undrained: frozenset[str] = frozenset()
    """Those that restart with their pods, without a cordon and a drain."""

    @classmethod
    def at_once(cls, batches: Batches) -> PlannedDrains:
        """Batches whose Kubernetes nodes are away at once, and whose pods move."""
        return cls(batches, batches)


def judge_drains(
    client: KubernetesClient,
    drains: PlannedDrains,
    rungs: Collection[ForcedRung],
    unmanaged: Collection[str] | None = None,
    spared: Collection[tuple[str, str]] = (),
    is_asked: IsAsked | None = None,
) -> Verdict:
    """Whether these can be drained: budgets, forced drains, the clusters on them, and room on the others.

    In the namespaces with the patterns `unmanaged` pods without a controller may be lost; None if something else than a
    run drains, which does not ask about them. Pods that are `spared`, by namespace and name, leave by other means.
    `is_asked` says which clusters a run asks; None if that is not its task.

    Raises:
        Refusal: an answer cannot be had for another cause than a missing right, or is not understood.
    """
    going = {name for members in drains.batches.values() for name in members}
    drained, batches = going - drains.undrained, _without(drains.batches, drains.undrained)
    seen, remarks = look_at_workloads(client) if going else (None, ())
    if seen is None:
        return Verdict(remarks)
    seen = replace(seen, pods=tuple(each for each in seen.pods if (each.namespace, each.name) not in spared))
    forced = _forced(client, seen.pods, drained, rungs) if drained else ()
    budgets = judge_budgets(seen.budgets, [pod for pod in seen.pods if not may_be_forced(pod, rungs)], drained)
    lost = judge_undrainable(seen.pods, drained, unmanaged) if unmanaged is not None else Verdict()
    longhorn = judge_manager_budgets(seen, batches, drains.apart)
    residents = judge_residents(seen, drains.batches, drains.apart)
    unasked = judge_unasked(seen, going, is_asked) if is_asked is not None else Verdict()
    rest = (longhorn, lost, residents, unasked, judge_room(seen, drains.moving), Verdict(remarks))
    return combine((budgets, *forced, *rest))


def _without(batches: Batches, names: Collection[str]) -> Batches:
    """The batches without these Kubernetes nodes."""
    left = {batch: [each for each in members if each not in names] for batch, members in batches.items()}
    return {batch: members for batch, members in left.items() if members}


def _forced(
    client: KubernetesClient, pods: Collection[PlacedPod], drained: Collection[str], rungs: Collection[ForcedRung]
) -> Iterator[Verdict]:
    """The pods that may be forced to leave, and the rights that are missing in the namespaces of those there now."""
    yield judge_forced(pods, drained, rungs)
    covered = [each for each in pods if each.kubernetes_node in drained and may_be_forced(each, rungs)]
    for namespace in sorted({each.namespace for each in covered}):
        yield missing_rights(client, namespace, FORCED_DRAIN, seen=True)
