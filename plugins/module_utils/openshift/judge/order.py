"""The order of an upgrade of OpenShift: the control plane, then the Kubernetes nodes of each pool. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ...common.release import Release, release_in
from ...common.words import enumerate_few
from ...run.away_sets import AwaySets, Part
from ...run.colouring import Turn, most_of
from ...run.record.figures import seconds_between
from ...run.start.approvals import digest_text
from ..observe.kinds import ARBITER, MASTER
from ..observe.minors import kubernetes_minor
from ..observe.state import COMPLETED, MachineConfigPool, OpenShift
from ..observe.target import UpgradeTarget
from .health import is_held_by_person
from .legs import Leg, legs_of


def turns(
    seen: OpenShift,
    target: Release,
    most: str | None = None,
    coming: Mapping[str, int] | None = None,
    through: Sequence[Release] = (),
) -> list[Turn]:
    """The batches in their order: those of a pool are as large as it lets go at once, in the order of the operator.

    With `most` they are no larger than that. Spare Kubernetes nodes are in no batch. By pool, `coming` are those that
    the run adds first: a share of the pool counts them, too, and with a smaller batch the operator would take others
    without any gate. `through` are the versions on the way.
    """
    found = list[Turn]()
    for leg in legs_of(seen, target, through):
        own = _of_leg(seen, leg, most, coming or {}) if leg.of_workers else [_of_masters(seen, leg, chained=through)]
        found += own if leg.release == target else [_on_the_way(each, leg) for each in own]
    return found


def _of_masters(seen: OpenShift, leg: Leg, chained: Sequence[Release]) -> Turn:
    reason = f"the control plane goes to {leg.release}" if chained else "the control plane goes first"
    with_it = enumerate_few([pool.name for pool in seen.required_pools])
    reason += f", with MachineConfigPool {with_it}" if with_it else ""
    # A pool that goes with them may let several go at once.
    whose = f"those of MachineConfigPool {MASTER}" if with_it else "its Kubernetes nodes"
    at_once = seen.pools[MASTER].at_once(len(seen.masters))
    proof = f"{whose} go {'one by one' if at_once == 1 else f'{at_once} at a time'}, so that etcd keeps its majority"
    if len(seen.masters) == 1:
        proof = f"{seen.masters[0]} is its only Kubernetes node, so the Kubernetes API is away while that restarts"
        proof += " with its pods" if seen.nodes[seen.masters[0]].restarts_in_place else ""
    # Pacemaker keeps etcd going on one of two (openshift/enhancements, `two-node-fencing/tnf.md`).
    elif len(seen.masters) == 2 and ARBITER not in {pool.name for pool in seen.required_pools}:
        proof = f"{whose} go one by one, and each time the other one alone has etcd, which needs fencing"
    return Turn(list(seen.control_plane), reason, proof)


def with_control_plane(seen: OpenShift) -> list[list[str]]:
    """The Kubernetes nodes that go with the control plane although they are none of it, those together that their pool
    lets go at once."""
    found = list[list[str]]()
    for pool in seen.required_pools:
        names, at_once = seen.planned[pool.name], pool.at_once(len(seen.members[pool.name]))
        found += [list(names[start : start + at_once]) for start in range(0, len(names), at_once)]
    return found


def away_with_control_plane(seen: OpenShift) -> AwaySets:
    """The Kubernetes nodes that may be away at once while OpenShift updates the control plane, each time others.

    The machine config operator goes through the pools independently of each other, and the next one of a pool goes as
    soon as one is back. One that does not come back, such as one whose drain waits, stays away while all others go
    (machine-config-operator, `getAllCandidateMachines` in `pkg/controller/node`). An arbiter is the exception: it waits
    until no master is away, and no master goes while it is away (`updatePools` in `node_controller.go` there, since
    OCPBUGS-64681).
    """
    pools = {pool.name: pool for pool in seen.required_pools}
    arbiter = pools.pop(ARBITER, None)
    others = [_part_of(seen, pool) for pool in pools.values()]
    return AwaySets([[_part_of(seen, pool), *others] for pool in (seen.pools[MASTER], arbiter) if pool is not None])


def _part_of(seen: OpenShift, pool: MachineConfigPool) -> Part:
    return Part(frozenset(seen.planned[pool.name]), pool.at_once(len(seen.members[pool.name])))


def _of_leg(seen: OpenShift, leg: Leg, most: str | None, coming: Mapping[str, int]) -> Iterator[Turn]:
    for pool in seen.worker_pools:
        if not is_held_by_person(pool):
            yield from _of_pool(seen, pool, leg.release, most, coming.get(pool.name, 0))


def _on_the_way(turn: Turn, leg: Leg) -> Turn:
    reason = f"{turn.reason}, to {leg.release}" if leg.of_workers else turn.reason
    return replace(turn, reason=reason, target=str(leg.release))


def lowered(seen: OpenShift, pool: MachineConfigPool, most: str | None, coming: int = 0) -> int | None:
    """The `maxUnavailable` that a pool gets for the time of a run; None if its own is no more than `most`."""
    count = len(seen.members[pool.name]) + coming
    fewer = most_of(most, count)
    return fewer if fewer is not None and pool.at_once(count) > fewer else None


def in_windows(
    turns: Sequence[Turn], masters: Collection[str], control_plane: Sequence[str], workers: Sequence[str]
) -> list[Turn]:
    """The batches with the alerts that are hidden during them: those of the control plane, and those of all others."""
    return [
        replace(each, silences=workers if set(masters).isdisjoint(each.members) else control_plane) for each in turns
    ]


def in_time(turns: Sequence[Turn], masters: Collection[str], late: int, timeout: int, worker_late: int) -> list[Turn]:
    """The batches with the seconds after which each is late. Those of the control plane have a `timeout` of their own,
    since its operators are updated before its Kubernetes nodes are."""
    return [
        replace(each, late_after=worker_late)
        if set(masters).isdisjoint(each.members)
        else replace(each, late_after=late, timeout=timeout)
        for each in turns
    ]


def _of_pool(
    seen: OpenShift, pool: MachineConfigPool, target: Release, most: str | None, coming: int
) -> Iterator[Turn]:
    count = len(seen.members[pool.name]) + coming
    at_once = lowered(seen, pool, most, coming) or pool.at_once(count)
    left = [name for name in seen.planned[pool.name] if not seen.is_done(name, target)]
    kept = max(0, count - at_once)
    in_place = any(seen.nodes[name].restarts_in_place for name in left)
    how = "they restart with their pods, since OpenShift drains none" if in_place else "evictions respect every budget"
    proof = f"{pool.name} keeps {kept} of its {count} Kubernetes nodes, and {how}"
    for start in range(0, len(left), at_once):
        zone = seen.nodes[left[start]].zone
        reason = f"next of {pool.name}" + (f" in zone {zone}" if zone else "")
        yield Turn(left[start : start + at_once], reason, proof)


def measured(seen: OpenShift, batches: Sequence[Turn]) -> dict[str, int]:
    """The number of batches of the control plane, and their seconds by the last update in the history.

    The oldest entry is the installation. Empty if there was no update, or the control plane is not to be updated.
    """
    updates = [each for each in seen.version.history[:-1] if each.state == COMPLETED]
    if not updates or not batches or set(batches[0].members).isdisjoint(seen.masters):
        return {}
    seconds = seconds_between(updates[0].started, updates[0].completed)
    times = sum(not {*each.members}.isdisjoint(seen.masters) for each in batches)
    return {"batches": times, "seconds": times * round(seconds)} if seconds is not None and seconds > 0 else {}


def digest(
    seen: OpenShift,
    target: UpgradeTarget,
    without: Collection[str] = (),
    spare: Collection[str] = (),
    through: Sequence[Release] = (),
) -> str:
    """The digest of the result of the plan and its conditions, and not of how far it has come.

    Kubernetes nodes come and go by themselves (autoscaling), so consent covers their pools. A channel that no one has
    asked for is not the run's, and may change once the update is commenced. `without` are the steps that are left out
    and further conditions, `spare` the pools that get spare workers, and `through` the versions on the way.
    """
    pools = sorted(pool.name for pool in seen.worker_pools if not is_held_by_person(pool))
    asked = {
        **({"channel": target.channel} if target.is_asked_for else {}),
        **({"image": str(target.image)} if target.image else {}),
        **({"spare": sorted(spare)} if spare else {}),
        **({"through": [*map(str, through)]} if through else {}),
    }
    own = [seen.version.cluster_id, str(target), sorted([*target.accepted, *without]), pools]
    return digest_text([*own, asked] if asked else own)


def versions(seen: OpenShift, target: Release) -> dict[str, str]:
    """The version of each Kubernetes node by name."""
    return {
        name: str(target) if seen.is_done(name, target) else _version_of(seen, name, str(target))
        for names in seen.planned.values()
        for name in names
    }


def _version_of(seen: OpenShift, name: str, target: str) -> str:
    """The version of a Kubernetes node that is not on the target: the newest one in the history of its kubelet."""
    history = [each.version for each in seen.version.history if each.state == COMPLETED]
    minor = seen.nodes[name].kubernetes_minor
    left = [each for each in history if each != target]
    own = (each for each in left if (found := release_in(each)) is not None and kubernetes_minor(found) == minor)
    return next(own, next(iter(left), seen.version.present))
