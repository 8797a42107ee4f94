"""Whether OpenShift is fit for the next step of an upgrade. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.release import Release
from ...common.verdict import Reason, as_verdict, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.kinds import ARBITER, MASTER, REQUIRED
from ..observe.state import DEGRADED, MachineConfigPool, OpenShift, Operator


@as_verdict
def judge_operators(seen: OpenShift) -> Iterator[Reason]:
    """Whether every ClusterOperator is available and not degraded."""
    for each in seen.operators:
        if not each.well:
            yield waiting("operator_unwell", f"{_trouble(each)}", "See the pods of that operator.", about=each.name)


@as_verdict
def judge_version(seen: OpenShift) -> Iterator[Reason]:
    """Whether the cluster version operator can carry out what it has, as `oc adm upgrade` asks before an update
    (`checkForUpgrade` in `pkg/cli/admin/upgrade` of openshift/oc). Operators that are not well have their own reasons.
    """
    # None begins while the ClusterVersion is not valid. The other check is one of the client alone.
    anyway = (
        " If only an update corrects it, begin that by oc adm upgrade --to=VERSION --allow-upgrade-with-warnings, and"
        " run the playbook at once: it pauses the pools of workers, and continues with that update."
    )
    for name, said, way_out in (("Invalid", "is not valid", ""), ("Failing", "cannot be reconciled", anyway)):
        found = seen.version.condition(name)
        if found.true and (name == "Invalid" or all(each.well for each in seen.operators)):
            cause = found.message or found.reason or "it does not say why."
            remedy = f"Do what this message asks for.{way_out}"
            yield waiting("version_unwell", f"The ClusterVersion {said}: {cause}", remedy)


def _trouble(operator: Operator) -> str:
    away = not operator.available.true
    said = operator.available if away else operator.degraded
    text = f": {said.message or said.reason}" if said.message or said.reason else ""
    return f"ClusterOperator {operator.name} is {'not available' if away else 'degraded'}{text or '.'}"


@as_verdict
def judge_nodes(seen: OpenShift, *, spare: bool = False) -> Iterator[Reason]:
    """Whether every Kubernetes node is Ready and has enough of everything, and none was cordoned by a person.

    With `spare` also the spare ones, each of which counts against the most that may be unavailable in its pool.

    The machine config operator cordons the Kubernetes nodes that it is at work on, and uncordons them itself.
    """
    for each in seen.nodes.values():
        if (each.is_handled and each.state not in DEGRADED) or (each.is_spare and not spare):
            continue
        if each.state in DEGRADED:
            said = f"Kubernetes node {each.name} cannot be updated ({each.state}): {each.reason}"
            yield waiting("kubernetes_node_degraded", said, "Do what this message asks for.", about=each.name)
        elif not each.ready:
            yield waiting(
                "kubernetes_node_unfit", f"Kubernetes node {each.name} is not Ready.", "Bring it back.", about=each.name
            )
        elif each.unschedulable:
            yield waiting(
                "kubernetes_node_unfit",
                f"Kubernetes node {each.name} is cordoned, and not by the machine config operator.",
                "Uncordon it.",
                about=each.name,
            )
        for pressure in each.pressures:
            said = f"Kubernetes node {each.name} {pressure}."
            yield waiting("kubernetes_node_unfit", said, "Free some, or move pods away.", about=each.name)


def left_alone(seen: OpenShift, target: Release) -> tuple[str, ...]:
    """The Kubernetes nodes that the machine config operator neither works on nor takes next by itself."""
    commenced, completed = seen.version.is_commenced(str(target)), seen.version.has_completed(str(target))
    found: list[str] = []
    for name, members in seen.members.items():
        left = any(not seen.is_done(each, target) for each in members)
        going = commenced and left and (not completed if name == MASTER else not seen.pools[name].paused)
        found += [] if going else [each for each in members if not seen.nodes[each].is_handled]
    return tuple(found)


def restarting_ones(seen: OpenShift) -> tuple[str, ...]:
    """The Kubernetes nodes that OpenShift updates, or will update by itself, where no run holds a pool any more."""
    version = seen.version
    completed = version.has_completed(version.wanted or version.desired)
    return tuple(
        name
        for pool, members in seen.members.items()
        for name in members
        if seen.nodes[name].is_handled
        or (
            not is_held_by_person(seen.pools[pool])
            and not (completed and seen.nodes[name].is_updated_to(seen.pools[pool].config))
        )
    )


@as_verdict
def judge_pools(seen: OpenShift, target: Release) -> Iterator[Reason]:
    """Whether every pool can be followed to the target: it is not degraded, its configuration says of which version it
    is, and the update of the control plane does not wait for one that is paused."""
    ahead = not seen.version.has_completed(str(target))
    for name, pool in seen.pools.items():
        if not seen.members.get(name):
            continue
        if pool.degraded.true:
            said = f"MachineConfigPool {name} is degraded: {pool.degraded.message or pool.degraded.reason}"
            yield waiting("pool_degraded", said, "Do what this message asks for.", about=name)
        if not pool.config:
            said = f"MachineConfigPool {name} has no configuration yet, to which its Kubernetes nodes could be updated."
            remedy = f"See oc describe machineconfigpool {name}, and the pod machine-config-controller."
            yield waiting("pool_not_rendered", said, remedy, about=name)
        elif not pool.release:
            yield refused(
                "pool_release_unknown",
                f"MachineConfigPool {name} has the configuration {pool.config}, which does not say to which version of"
                " OpenShift it belongs, so it cannot be known when its Kubernetes nodes are done.",
                "Upgrade to OpenShift 4.10 or later by its own means first.",
            )
        yield from _of_limit(seen, pool, ahead=ahead)
        if ahead and pool.required and is_held_by_person(pool):
            waits = "OpenShift completes no update before the Kubernetes nodes of this pool are updated"
            said = f"MachineConfigPool {name} is paused by another user, and {waits}."
            yield refused("pool_required", said, "Set its spec.paused to false.")
        elif ahead and pool in seen.required_pools:
            yield _goes_with_control_plane(seen, pool)
        elif is_held_by_person(pool):
            yield remark(
                "pool_paused",
                f"MachineConfigPool {name} is paused by another user, so that its"
                f" {len(seen.members[name])} Kubernetes nodes stay as they are.",
                "Run the playbook again once it is no longer paused.",
            )


def _of_limit(seen: OpenShift, pool: MachineConfigPool, *, ahead: bool) -> Iterator[Reason]:
    if not pool.is_limited and not is_held_by_person(pool):
        yield refused(
            "pool_limit_unreadable",
            f"MachineConfigPool {pool.name} has the maxUnavailable {pool.max_unavailable}, which is neither a number"
            " nor a percentage, so the machine config operator takes none of its Kubernetes nodes.",
            "Correct its spec.maxUnavailable.",
        )
    if ahead and pool.name == MASTER and (away := _without_majority(seen, pool)):
        yield refused(
            "pool_limit_of_control_plane",
            f"MachineConfigPool {MASTER} has the maxUnavailable {pool.max_unavailable}, so that the machine config"
            f" operator takes {away} Kubernetes nodes at once, without which etcd has no majority.",
            "Set its spec.maxUnavailable to 1.",
        )


def _without_majority(seen: OpenShift, pool: MachineConfigPool) -> int:
    """The Kubernetes nodes of the control plane that go at once if that leaves etcd no majority; 0 if it has one, or
    if they go one by one.

    The machine config operator takes as many as `maxUnavailable` says, as of any pool (`updateCandidateMachines` in
    `pkg/controller/node/node_controller.go`). An arbiter has a member of etcd, too.
    """
    masters, arbiters = len(seen.masters), len(seen.members.get(ARBITER, ()))
    voters, at_once = masters + arbiters, min(masters, pool.at_once(masters))
    return at_once if at_once > 1 and 2 * (voters - at_once) <= voters else 0


def _goes_with_control_plane(seen: OpenShift, pool: MachineConfigPool) -> Reason:
    """The remark on a pool that OpenShift updates before it completes the update, so that no run may pause it."""
    said = (
        f"MachineConfigPool {pool.name} has the label {REQUIRED}, so that OpenShift updates its Kubernetes nodes with"
        f" the control plane, {pool.at_once(len(seen.members[pool.name]))} at a time, and no gate is asked in between."
    )
    if pool.name == ARBITER:
        # The machine config operator puts the label of its own pools back.
        said += " Before the correction of OCPBUGS-64681 it may go together with a master."
        return remark("pool_with_control_plane", said)
    said += " One of them may be away together with a master."
    remedy = f"For batches of their own: oc label machineconfigpool {pool.name} {REQUIRED}-"
    return remark("pool_with_control_plane", said, remedy)


def is_held_by_person(pool: MachineConfigPool) -> bool:
    """Whether a pool is paused, and not by a run."""
    return pool.paused and not pool.is_held


@as_verdict
def judge_whole(seen: OpenShift, target: Release) -> Iterator[Reason]:
    """Whether OpenShift is on the target, with every pool that no person has paused, but for spare workers."""
    if not seen.version.has_completed(str(target)):
        yield waiting("control_plane_updating", f"The control plane is not on {target} yet.")
    for pool in (*seen.worker_pools, *seen.required_pools):
        left = [name for name in seen.planned[pool.name] if not seen.is_done(name, target)]
        again = [name for name in left if _goes_again(seen, pool, name, target)]
        if len(left) > len(again) and not is_held_by_person(pool):
            behind = enumerate_few(set(left) - set(again))
            said = f"MachineConfigPool {pool.name} has Kubernetes nodes that are not on {target}: {behind}."
            yield waiting("kubernetes_node_updating", said, "Run the playbook again.", about=pool.name)
        elif again and pool.paused and not is_held_by_person(pool):
            yield _reconfigured(pool, again, target)


def _goes_again(seen: OpenShift, pool: MachineConfigPool, name: str, target: Release) -> bool:
    """Whether a Kubernetes node is on the target, and goes to a newer configuration of the same version."""
    current = seen.nodes[name].current
    return pool.release == seen.releases.get(current) == str(target) and current != pool.config


def _reconfigured(pool: MachineConfigPool, names: Collection[str], target: Release) -> Reason:
    return refused(
        "pool_reconfigured",
        f"MachineConfigPool {pool.name} has a newer configuration of {target} than Kubernetes nodes"
        f" {enumerate_few(names)}. Once it is released, the machine config operator takes them without any gate.",
        "Run the playbook again: it takes them batch by batch. To do without gates, run the playbook settle.",
    )
