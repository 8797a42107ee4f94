"""The progress of the cluster version operator and the machine config operator, each wait in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ...common.release import Release
from ...common.verdict import Reason, as_verdict, refused, waiting
from ...draining.judge.budgets import drain_blocked
from ...draining.observe.workloads import KeptPod
from ..observe.state import DEGRADED, ConfiguredNode, MachineConfigPool, OpenShift
from .health import is_held_by_person

UPDATING = "kubernetes_node_updating"
CONTROL_PLANE = "control_plane_updating"
BACKUP, SEVERAL = 'Precondition "EtcdRecentBackup" failed', "Multiple precondition checks failed"
"""Words of a release that is not accepted. Up to 4.14 a minor update is refused until etcd is backed up, which the
etcd operator does when it reads that (`pkg/payload/precondition/clusterversion/etcdbackup.go` of
cluster-version-operator; `pkg/operator/upgradebackupcontroller` of cluster-etcd-operator)."""


@as_verdict
def judge_control_plane(seen: OpenShift, target: Release, kept: Sequence[KeptPod] = ()) -> Iterator[Reason]:
    """Whether the control plane is on the target, and the pools have their new configurations.

    `kept` are the pods that budgets keep on its Kubernetes nodes.
    """
    version = seen.version
    accepted = version.condition("ReleaseAccepted")
    if version.wanted not in ("", str(target)):
        yield _changed(version.wanted, target)
    elif not version.is_commenced(str(target)):
        yield refused(
            "update_withdrawn",
            f"Something else has withdrawn the update to {target}, so the cluster version operator does not begin it.",
            "Find out who has done that, and run again if the update is wanted.",
        )
    elif accepted.false and BACKUP in accepted.message and SEVERAL not in accepted.message:
        said = f"OpenShift backs up etcd before the update to {target}: {accepted.message}"
        yield waiting("etcd_backup", said, "See ClusterOperator etcd, and the pod cluster-backup in openshift-etcd.")
    elif accepted.false and version.observed_generation >= version.generation:
        yield refused(
            "release_not_accepted",
            f"OpenShift does not accept the release {target}: {accepted.message or accepted.reason}",
            "Do what this message asks for: the update then begins by itself. To withdraw it: oc adm upgrade --clear.",
        )
    elif not version.has_completed(str(target)):
        if version.desired != str(target):
            invalid = version.condition("Invalid")
            said = f"The cluster version operator has not begun the update to {target} yet"
            said += f": {invalid.message or invalid.reason}" if invalid.true else "."
            yield waiting("update_not_begun", said, "See the pod cluster-version-operator.")
            return
        yield waiting(CONTROL_PLANE, _of_control_plane(seen, target), "See oc adm upgrade.")
        if kept:
            # Its Kubernetes nodes are drained one by one.
            yield drain_blocked(kept)
    else:
        for name, pool in seen.pools.items():
            if seen.members.get(name) and pool.release != str(target):
                said = f"MachineConfigPool {name} has no configuration of {target} yet."
                yield waiting(CONTROL_PLANE, said, "See ClusterOperator machine-config.", about=name)


def _changed(version: str, target: Release) -> Reason:
    return refused(
        "update_changed",
        f"Something else has set the desired update of OpenShift to {version}, and this run upgrades to {target}.",
        "Find out who has done that, and run again with the version that is wanted.",
    )


@as_verdict
def judge_unchanged(seen: OpenShift, target: Release) -> Iterator[Reason]:
    """Whether the control plane is still on the target, and no other update is wanted.

    After another one the pools have its configuration, to which they would be let go.
    """
    newest = (each.version for each in seen.version.history[:1])
    other = next((each for each in (seen.version.wanted, *newest) if each not in ("", str(target))), "")
    if other:
        yield _changed(other, target)


def _of_control_plane(seen: OpenShift, target: Release) -> str:
    """The words of the cluster version operator, and the Kubernetes node that the machine config operator is at."""
    failing = seen.version.condition("Failing")
    said = failing.message if failing.true else seen.version.condition("Progressing").message
    at = [
        f"{name} {doing_of(seen.nodes[name], seen.pool_of(name))[0]}"
        for name in seen.control_plane
        if name in seen.nodes and seen.nodes[name].is_handled
    ]
    doing = "; ".join(filter(None, (said, *at))) or "it has started."
    return f"The control plane is being updated to {target}: {doing}"


def left_of_control_plane(seen: OpenShift, target: Release) -> tuple[float, ...]:
    """The amount that is left: operators of another version, then Kubernetes nodes of the control plane."""
    operators = sum(1 for each in seen.operators if each.version != str(target))
    return operators, sum(1 for name in seen.control_plane if not seen.is_done(name, target))


@as_verdict
def judge_taken(seen: OpenShift, names: Collection[str], target: Release) -> Iterator[Reason]:
    """Whether the machine config operator has taken these Kubernetes nodes."""
    for name in names:
        if seen.is_configured(name) and not is_taken(seen, name, target):
            said = f"The machine config operator has not taken Kubernetes node {name} yet"
            remedy, pool = "See the pod machine-config-controller.", seen.pool_of(name)
            if is_held_by_person(pool):
                said += f", since another user has paused MachineConfigPool {pool.name}"
                remedy = "Set its spec.paused to false, or run the playbook again, which leaves that pool as it is."
            yield waiting("kubernetes_node_waits", f"{said}.", remedy, about=name)


def is_taken(seen: OpenShift, name: str, target: Release) -> bool:
    """Whether the machine config operator is to bring a Kubernetes node to the target, or has done so.

    One that is at work goes on with the configuration that it was given, also if its pool gets a newer one.
    """
    node = seen.nodes[name]
    at_work = node.is_handled and seen.releases.get(node.desired) == str(target)
    return at_work or is_taken_last(seen, name, target)


def is_taken_last(seen: OpenShift, name: str, target: Release) -> bool:
    """The same, and the operator would not take it again: its pool has no newer configuration for it."""
    pool = seen.pool_of(name)
    return pool.release == str(target) and seen.nodes[name].desired == pool.config


def taken_spare_ones(seen: OpenShift, pool: str, target: Release) -> list[str]:
    """The spare Kubernetes nodes of a pool that the machine config operator has taken, and that are not done."""
    spare = [name for name in seen.members[pool] if seen.nodes[name].is_spare]
    return [name for name in spare if is_taken(seen, name, target) and not seen.is_done(name, target)]


@as_verdict
def judge_updated(
    seen: OpenShift, names: Collection[str], target: Release, kept: Collection[KeptPod] = ()
) -> Iterator[Reason]:
    """Whether these Kubernetes nodes are on the target. One that was removed, or is in no pool now, is not waited for.

    `kept` are the pods that budgets keep on Kubernetes nodes that are drained.
    """
    for name in names:
        if seen.is_configured(name) and not seen.has_reached(name, target):
            stays = [each for each in kept if each.kubernetes_node == name]
            yield drain_blocked(stays) if stays else _stage(seen.nodes[name], seen.pool_of(name), target)


def is_drained(node: ConfiguredNode) -> bool:
    """Whether a drain of the Kubernetes node is asked for, and not done."""
    return node.wanted_drain.startswith("drain-") and node.last_drain != node.wanted_drain


def _stage(node: ConfiguredNode, pool: MachineConfigPool, target: Release) -> Reason:
    if node.state in DEGRADED:
        said = f"Kubernetes node {node.name} cannot be updated ({node.state}): {node.reason}"
        return waiting("kubernetes_node_degraded", said, "Do what this message asks for.", about=node.name)
    doing, remedy = doing_of(node, pool)
    said = f"Kubernetes node {node.name} {doing} on its way to {target}."
    return waiting(UPDATING, said, remedy, about=f"{node.name} {doing}")


def doing_of(node: ConfiguredNode, pool: MachineConfigPool) -> tuple[str, str]:
    """The thing that happens to a Kubernetes node, and what a person looks at if it takes too long.

    A drain is asked for by one annotation, and another one says that it is done (machine-config-operator,
    `pkg/controller/drain/drain_controller.go`).
    """
    if node.desired != pool.config and not node.is_handled:
        return f"waits for the machine config operator (MachineConfigPool {pool.name})", ""
    if not node.ready:
        return "reboots", "See its console."
    if node.wanted_drain.startswith("drain-"):
        if is_drained(node):
            return "is being drained", "See its pods."
        return "gets its new configuration, and reboots", "See its pod machine-config-daemon."
    if node.current != node.desired or node.wanted_drain != node.last_drain:
        return "is taken by its daemon", "See its pod machine-config-daemon."
    return "comes back", "Uncordon it if a person has cordoned it."


def left_of_nodes(seen: OpenShift, names: Collection[str], target: Release) -> tuple[float, ...]:
    """The steps that are left, summed over these Kubernetes nodes: each is taken, updated, and back."""
    there = [seen.nodes[name] for name in names if seen.is_configured(name)]
    left = [
        (not is_taken(seen, each.name, target))
        + (each.current != seen.pool_of(each.name).config)
        + (not seen.is_done(each.name, target))
        for each in there
    ]
    return (float(sum(left)),)
