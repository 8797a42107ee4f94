"""The Kubernetes nodes that the machine config operator takes, or would take, although they are in no batch. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, as_verdict, refused, waiting
from ...common.words import enumerate_few
from ...run.colouring import most_of
from ..observe.state import DEGRADED, MachineConfigPool, OpenShift
from .health import is_held_by_person
from .progress import doing_of


@as_verdict
def judge_turn(seen: OpenShift, names: Collection[str], *, opened: bool = False) -> Iterator[Reason]:
    """Whether the machine config operator takes the Kubernetes nodes of a batch, and no other ones in their place.

    One that has joined, or whose pool has got another configuration since it was updated, may come first in the order
    of the operator. So may a spare one, after which the gates are asked again. `opened` is true once the pools of the
    batch were let go, while the operator was at work on no other one.
    """
    for pool in seen.worker_pools:
        own = [name for name in seen.members[pool.name] if name in names]
        if not own or is_held_by_person(pool):
            continue
        said = _ahead(seen, pool, own) or (_taken(seen, pool.name, own) if opened else "")
        if said:
            remedy = "Run the playbook again: its plan has them, too."
            yield refused("out_of_turn", f"{said}, and no gate was asked for that.", remedy)


def _ahead(seen: OpenShift, pool: MachineConfigPool, own: Collection[str]) -> str:
    """The words on those that it would take before the last one of the batch that is not taken; empty without any."""
    left = [name for name in seen.members[pool.name] if seen.nodes[name].desired != pool.config]
    last = max((place for place, name in enumerate(left) if name in own), default=0)
    others = [name for name in left[:last] if not _is_in_turn(seen, pool, name, own)]
    if not others:
        return ""
    return (
        f"The configuration of MachineConfigPool {pool.name} is another one than that of Kubernetes nodes"
        f" {enumerate_few(others)}, so the machine config operator takes them before {left[last]} of the batch"
    )


def _taken(seen: OpenShift, pool: str, own: Collection[str]) -> str:
    """The words on those that it has taken, although they are not in the batch; empty without any."""
    others = _at_work(seen, pool, own)
    if not others:
        return ""
    return (
        f"The machine config operator is at work on Kubernetes nodes {enumerate_few(others)} of MachineConfigPool"
        f" {pool}, which are not in the batch"
    )


def _is_new_spare(seen: OpenShift, pool: MachineConfigPool, name: str) -> bool:
    """Whether it is a spare one, and was not updated to the version of its pool yet."""
    node = seen.nodes[name]
    return node.is_spare and seen.releases.get(node.desired) != pool.release


def _at_work(seen: OpenShift, pool: str, own: Collection[str]) -> list[str]:
    nodes = [seen.nodes[name] for name in seen.members[pool] if name not in own]
    return [each.name for each in nodes if each.is_handled and each.state not in DEGRADED and not each.is_spare]


def limit_of_batch(seen: OpenShift, pool: MachineConfigPool, names: Collection[str], most: str | None) -> int | None:
    """The `maxUnavailable` with which a pool is let go for its Kubernetes nodes of a batch; None if it has it.

    A larger one would let the machine config operator take others with them: it may be larger by now, a share may be of
    more Kubernetes nodes, and some of the batch may be gone or done. `most` is the option `max_unavailable`.
    """
    members = seen.members[pool.name]
    left = [name for name in members if seen.nodes[name].desired != pool.config]
    first = next((place for place, name in enumerate(left) if not _is_in_turn(seen, pool, name, names)), len(left))
    at_work = sum(1 for name in members if name in names and seen.nodes[name].is_handled)
    now, allowed = pool.at_once(len(members)), pool.at_once_before(len(members))
    allowed = min(allowed, most_of(most, len(members)) or allowed)
    needed = min(allowed, max(1, first + at_work))
    if now > needed:
        fitting = needed if first < len(left) else allowed
        return fitting if now > fitting else None
    return needed if now < needed and pool.limit_before is not None else None


def _is_in_turn(seen: OpenShift, pool: MachineConfigPool, name: str, names: Collection[str]) -> bool:
    return name in names or _is_new_spare(seen, pool, name)


@as_verdict
def judge_others(seen: OpenShift, names: Collection[str]) -> Iterator[Reason]:
    """Whether the machine config operator is at work on no other Kubernetes node than those of a batch.

    Something else may have ended the pause of a pool, or have configured the control plane.
    """
    for pool in seen.members:
        for name in _at_work(seen, pool, names):
            doing, remedy = doing_of(seen.nodes[name], seen.pools[pool])
            said = f"Kubernetes node {name}, which is not in this batch, {doing}."
            yield waiting("kubernetes_node_updating", said, remedy, about=f"{name} {doing}")
