"""The sentences of reasons that more than one judge gives. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.state import Longhorn, Node, Volume, VolumeSnapshot

REPLACEMENT = "instance_manager_replacement"
"""The name of the unverified step: an instance manager is replaced while volumes on it are attached."""
WITHOUT_SNAPSHOT = "detached_without_snapshot"
"""The name under which a user accepts that detached volumes get no snapshot."""


LOST = "If the node is gone for good, delete it in Longhorn, then settle."
"""The last part of the remedy for a node that a run has begun, which is first in the order until it is back."""
POD_EVENTS = "If this does not pass, look at the events of its pod: huge pages, CPU, the image."
"""The remedy for an instance manager that does not run."""


def node_unknown(name: str) -> Reason:
    """The refusal of a node that Longhorn does not have."""
    remedy = "Name nodes as Longhorn lists them. If it was removed since the plan was made, run again."
    return refused("node_unknown", f"Longhorn has no node {name}.", remedy)


RESTORED = "Once its maintenance is over, run node_engine_switch with state restored, outside of a run"
"""The first part of the remedy for a node that was emptied."""


def node_emptied(name: str) -> Reason:
    """The refusal to change a node that someone has emptied outside of a run."""
    said = f"Node {name} was emptied outside of a run (node_engine_switch with state evacuated), and no run changes it."
    return refused("node_emptied", said, f"{RESTORED}; then run again. Or leave the node out (upgrade_nodes).")


def stays_emptied(name: str) -> Reason:
    """The remark on a node that someone has emptied outside of a run."""
    said = f"Node {name} was emptied outside of a run (node_engine_switch with state evacuated), and stays so."
    return remark("node_stays_emptied", said, f"{RESTORED}.")


def node_unfit(seen: Longhorn, node: Node) -> Iterator[Reason]:
    """The wait for a node on which Longhorn would start no instance manager now. It makes no pod of one on a Kubernetes
    node that is cordoned (`handlePod` in `controller/instance_manager_controller.go`)."""
    name = node.name
    if not node.ready:
        cause = node.conditions.get("Ready")
        why = f": {cause.message.rstrip('.')}" if cause and cause.message else ""
        remedy = f"Bring it up. {LOST}" if node.begun else "Bring it up."
        yield waiting("node_not_ready", f"Longhorn node {name} is not ready{why}.", remedy, about=name)
    known = seen.kubernetes_nodes.get(name)
    if known is None or known.unschedulable:
        said = f"Kubernetes node {name} is {'missing' if known is None else 'cordoned'}."
        remedy = "Uncordon it: replicas are rebuilt only where they may run."
        if known is None:
            remedy = "Bring it back to the cluster, or delete the node in Longhorn if it is gone for good."
            remedy += " Then settle." if node.begun else ""
        yield waiting("node_cordoned", said, remedy, about=name)


def image_changed(agreed: str, present: str) -> Reason:
    """The refusal to go on once Longhorn's default image is not the one that was agreed to."""
    return refused(
        "image_changed",
        f"Longhorn's default instance manager image is {present or 'not set'} now, and the run is to bring nodes to"
        f" {agreed}.",
        "Find out who has changed it. If it is to stay, run again: the plan shows the versions and asks for consent to"
        f" it. Otherwise bring Longhorn back to the version of {agreed}, then run again.",
    )


def scheduling_changed(node: str) -> Reason:
    """The refusal to close a node again that someone has opened since the run closed it."""
    return refused(
        "scheduling_changed",
        f"Someone has set allowScheduling of Longhorn node {node} to true since the run has closed it for replicas.",
        "It is left as it is. Set it to false to let this node be changed, or run again once it may be closed.",
    )


def engine_node_changed(volume: Volume, node: str) -> Reason:
    """The refusal to move an engine again that someone has sent elsewhere since the run moved it."""
    writer = f", as field manager {volume.engine_writer}" if volume.engine_writer else ""
    return refused(
        "engine_node_changed",
        f"The run set engineNodeID of volume {volume.name} to {volume.engine_set} to change node {node}, and someone"
        f" has set it to {volume.engine_node or 'nothing'} since{writer}.",
        "It is left as it is. Find out who needs the engine there; once it may be moved again, run again.",
    )


def system_not_upgraded(node: str, image: str) -> Reason:
    """The refusal of a node for which Longhorn itself has made no instance manager of the image."""
    return refused(
        "system_not_upgraded",
        f"Node {node} has no instance manager of image {image}, not even a stopped one.",
        "Upgrade the Longhorn system first, and wait until longhorn-manager runs on this node.",
    )


def manager_missing(node: str, image: str) -> Reason:
    """The wait for the instance manager of the image, which has been there: Longhorn may make it anew."""
    said = f"Node {node} has no instance manager of image {image} any more."
    remedy = f"If this does not pass, see that longhorn-manager runs on this node: it makes that object. {LOST}"
    return waiting("manager_missing", said, remedy, about=node)


def backing_images(seen: Longhorn, node: str) -> Iterator[Reason]:
    """The refusals to replace the instance manager of a node on which volumes that have a backing image have a replica.

    Longhorn 1.12 has removed the backing images of the v2 data engine (the release notes of v1.12.0, "V2 Backing Image
    Removal"). Their copies are known from the status of the instance manager that ran before, which is not read anew
    and is emptied when it ends (`syncInstanceStatus` in `controller/instance_manager_controller.go`). No replica starts
    without its copy (`GetBackingImagePathForReplicaStarting` in `controller/replica_controller.go`).
    """
    held = {each.volume for each in seen.replicas if each.node == node}
    for volume in seen.v2_volumes:
        if volume.backing_image and volume.name in held:
            yield refused(
                "backing_image_removed",
                f"Volume {volume.name} has backing image {volume.backing_image}, and Longhorn 1.12 has removed those of"
                f" the v2 data engine: its replica on node {node} would never start again.",
                "Back the volume up, delete it, and restore the backup, as the release notes of Longhorn 1.12.0 say.",
            )


def backing_image_left(volume: Volume, node: str) -> Reason:
    """The remark on a detached volume with a backing image where Longhorn replaces the instance manager by itself."""
    said = (
        f"Volume {volume.name} has backing image {volume.backing_image} and is detached. Its replica on node {node}"
        " does not start once Longhorn has replaced the instance manager there: Longhorn 1.12 has removed the backing"
        " images of the v2 data engine."
    )
    remedy = (
        "Attach the volume and back it up while the instance manager of another version runs at one of its replicas;"
        " then delete it, and restore the backup."
    )
    return remark("backing_image_left", said, remedy)


def not_accepted(node: str, volumes: list[str], instances: list[str]) -> Reason:
    """The refusal to replace an instance manager in which something runs."""
    what = f"volumes {enumerate_few(volumes)} are attached" if volumes else f"{enumerate_few(instances)} run"
    # An outage of the node may leave instances (longhorn.io/docs, "Orphaned Instance Cleanup").
    remedy = (
        "Scale down the workloads until these volumes are detached"
        if volumes
        else "Wait until these have ended, or delete the object orphans.longhorn.io of one whose volume is gone"
    )
    return refused(
        "replacement_not_accepted",
        f"The instance manager of node {node} would be replaced while {what} there, and it is not verified that I/O"
        " survives this on Longhorn 1.12.",
        f"{remedy}: Longhorn then replaces the instance manager by itself. Or accept the step by its name with"
        f" accept_unverified: [{REPLACEMENT}].",
    )


def no_lender(volume: Volume, node: str) -> Reason:
    """The wait for a node that can run the engine of the volume for that time."""
    return waiting(
        "no_other_node",
        f"No node can run the engine of volume {volume.name} while node {node} is changed.",
        "Bring up a node with a healthy replica of the volume and a running v2 instance manager.",
        about=volume.name,
    )


def engine_stays(volume: Volume, home: str) -> Reason:
    """The refusal to bring an engine home where no instance manager runs."""
    return refused(
        "engine_stays",
        f"The engine of volume {volume.name} stays on node {volume.engine_at}: no instance manager runs on node"
        f" {home}, from which it was moved.",
        "Bring that instance manager up, then settle or run again. If that node is gone for good, move the workload, or"
        f" set engineNodeID of the volume to another node than {volume.engine_node} with a healthy replica; then"
        " settle.",
    )


def engine_node_unknown(seen: Longhorn, volume: Volume) -> Iterator[Reason]:
    """The wait for someone to correct the name of a node, which Longhorn accepts although it has no such node."""
    if volume.engine_node and volume.engine_node not in seen.nodes:
        yield waiting(
            "engine_node_unknown",
            f"Volume {volume.name} wants its engine on node {volume.engine_node}, which Longhorn does not have.",
            "Correct its engineNodeID; empty is the node of its workload.",
            about=volume.name,
        )


def replicas_go(volume: Volume, nodes: Collection[str]) -> Reason:
    """The wait for Longhorn to remove healthy replicas that are more than are wanted."""
    said = (
        f"Volume {volume.name} has more healthy replicas than the {volume.number_of_replicas} that are wanted, and"
        f" Longhorn may remove those outside node {enumerate_few(nodes)}."
    )
    remedy = "Wait until it has removed them; raise the number of replicas if it was lowered by mistake."
    return waiting("last_replica", said, remedy, about=volume.name)


def disks_wait(node: Node) -> Iterator[Reason]:
    """The wait for the block disks of a node, which its instance manager serves."""
    shut = [disk.name for disk in node.disks if disk.type == "block" and not (disk.ready and disk.ready.true)]
    if shut:
        yield waiting(
            "disks_wait",
            f"Disks of node {node.name} are not ready yet: {enumerate_few(shut)}.",
            "Bring each up, or remove one that is gone for good from the Longhorn node.",
            about=node.name,
        )


def snapshots_wait(
    node: str, names: Collection[str], detached: Collection[str], lost: Collection[str], said: str = ""
) -> Reason:
    """The wait for snapshots of these volumes, of which some are `detached`; `said` has the words of Longhorn.

    `lost` are the snapshots that were taken and that the engine of their volume does not list."""
    remedy = (
        "Longhorn attaches a detached volume for its snapshot. If it cannot be attached, let it have none with"
        f" accept_unverified: [{WITHOUT_SNAPSHOT}]."
        if detached
        else f"If this does not pass, delete {enumerate_few(lost)}: another one is taken."
        if lost
        else ""
    )
    quoted = f" Longhorn says: {said.rstrip('.')}." if said else ""
    taken = f"Snapshots are being taken for node {node}: {enumerate_few(names)}.{quoted}"
    return waiting("snapshots_wait", taken, remedy, about=node)


def snapshot_failed(snapshot: VolumeSnapshot, node: str) -> Reason:
    """The refusal after a snapshot that cannot be taken."""
    return refused(
        "snapshot_failed",
        f"Snapshot {snapshot.name} of volume {snapshot.volume}, made before node {node} is changed, failed:"
        f" {snapshot.error}.",
        "Fix the cause it names, delete that snapshot, and run again.",
    )
