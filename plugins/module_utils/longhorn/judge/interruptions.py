"""Attached volumes that were interrupted since a run started with them. Pure.

If the engine or the frontend of a volume dies, Longhorn detaches the volume as faulted, and attaches it again. That can
happen between two looks, and leave no trace in the volume. The only traces are the time since when its attachment
ticket is satisfied (`controller/volume_attachment_controller.go` of v1.12) and, if Longhorn asks the workload for a new
mount, the time of that (`remountRequestedAt`, `controller/volume_controller.go`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...common.verdict import Reason, refused
from ...common.words import enumerate_few
from ..observe.kinds import label_of
from ..observe.reading import SHARE_TICKET
from ..observe.state import FAULTED, Attached, Longhorn, Node, Volume, VolumeSnapshot
from .reasons import REPLACEMENT
from .volumes import exposed, is_attached_for_snapshot

Before = Mapping[str, Attached]
"""The attachment of each volume while it was still well, by its name."""


def attached_now(seen: Longhorn, volume: Volume) -> Attached:
    """The attachment of a volume as it is now."""
    attachment = seen.attachment_of.get(volume.name)
    since = attachment.since.get(volume.node, frozenset()) if attachment else frozenset()
    return Attached(volume.node, volume.remounted, since)


def run_of(node: Node) -> str:
    """The run that has marked the node, as the snapshots made for it name it."""
    return node.mark.split("@")[0]


def before(seen: Longhorn, name: str) -> Before:
    """The volumes that the change of a node may interrupt, as they were when the run that started it first saw them.

    It is noted on the snapshots of that run. Volumes without one are as they are now. A standby volume serves no
    workload, so nothing is interrupted with it.
    """
    node = seen.nodes.get(name)
    run = run_of(node) if node else ""
    noted = {each.volume: each.attached for each in seen.snapshots if run and each.run == run and each.attached}
    served = [each for each in exposed(seen, name) if not is_attached_for_snapshot(seen, each)]
    now = {each.name: attached_now(seen, each) for each in served if each.robustness != FAULTED}
    standby = {each.name for each in seen.v2_volumes if each.standby}
    return {volume: each for volume, each in {**now, **noted}.items() if volume not in standby}


def without_earlier_moves(seen: Longhorn, node: str, image: str, earlier: Before) -> Before:
    """The attachments, with share managers where they are now as long as nothing of the node was replaced: one also
    moves when its own node is drained.

    `image` is the one that the node is to run; empty if its engines are only moved away.
    """
    running = seen.running_managers.get(node)
    if running is None or (image and running.image == image):
        return earlier
    found = dict(earlier)
    for name, then in earlier.items():
        volume = seen.volumes.get(name)
        if volume is not None and _move_of_share(seen, volume, then):
            found[name] = replace(attached_now(seen, volume), remounted=then.remounted)
    return found


def interrupted(seen: Longhorn, node: str, earlier: Before) -> Iterator[tuple[str, Reason]]:
    """The volumes that have been interrupted since, by name. One that its workload has released does not count."""
    for name, then in sorted(earlier.items()):
        volume = seen.volumes.get(name)
        how = _interruption(seen, volume, then) or _move_of_share(seen, volume, then) if volume is not None else ""
        if volume is not None and how:
            yield name, _interrupted(volume, node, how)


def _move_of_share(seen: Longhorn, volume: Volume, then: Attached) -> str:
    """The move of a shared volume, which is detached for it; empty if there was none.

    Its pods stay where they are: only its share manager has moved. Longhorn ends that of a faulted volume, and starts
    another one on any node (`isShareManagerRequiredForVolume` in `controller/share_manager_controller.go`).
    """
    attachment = seen.attachment_of.get(volume.name)
    shared = attachment is not None and SHARE_TICKET in attachment.types
    moved = shared and volume.attached and volume.node != then.node
    return f"its share manager has moved from node {then.node} to node {volume.node}" if moved else ""


def _interruption(seen: Longhorn, volume: Volume, then: Attached) -> str:
    """The way in which the volume was interrupted since then; empty if it was not."""
    now = attached_now(seen, volume)
    if volume.robustness == FAULTED:
        return "it is faulted"
    if now.remounted != then.remounted:
        return f"Longhorn asked for a new mount at {now.remounted}"
    if now.node != then.node:
        # Its workload has let go of it, or is on another node by now.
        return ""
    if not volume.attached:
        return f"it is {volume.state}"
    anew = then.since and then.since.isdisjoint(now.since)
    return f"it was detached, and attached again at {min(now.since, default='this time')}" if anew else ""


def _interrupted(volume: Volume, node: str, how: str) -> Reason:
    pods = f" ({enumerate_few(volume.workloads)})" if volume.workloads else ""
    return refused(
        "volume_interrupted",
        f"Volume {volume.name} was interrupted while node {node} was changed: {how}. No further node is started.",
        f"See that its workload{pods} is well. Scale down the workloads on the nodes that are left until their volumes"
        " are detached: Longhorn then replaces the instance managers by itself.",
    )


def interrupted_before(seen: Longhorn, node: str, image: str) -> Iterator[Reason]:
    """The refusal to replace an instance manager after a run to this image has interrupted a volume.

    Accepting the unverified step does not accept this.
    """
    found = [each for each in seen.snapshots if each.target == label_of(image) and is_evidence(seen, each)]
    if found:
        snapshots = " ".join(sorted(each.name for each in found))
        yield refused(
            "interrupted_before",
            f"Volumes were interrupted after a run to this image started with them:"
            f" {enumerate_few(sorted({each.volume for each in found}))}. So {REPLACEMENT} does not count as accepted"
            f" for node {node}.",
            "Scale down the workloads whose volumes are attached there: Longhorn then replaces the instance manager by"
            f" itself. If the interruption had another cause, remove the snapshots that say so: kubectl delete -n"
            f" {seen.namespace} snapshots.longhorn.io {snapshots}.",
        )


def is_evidence(seen: Longhorn, snapshot: VolumeSnapshot) -> bool:
    """Whether a volume was interrupted since this snapshot of it was made."""
    volume = seen.volumes.get(snapshot.volume)
    then = snapshot.attached
    return volume is not None and then is not None and bool(_interruption(seen, volume, then))
