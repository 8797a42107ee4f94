"""Whether Kubernetes nodes may go down now, and whether all volumes are whole, for any data engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...common.verdict import Reason, Verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.state import V2, Longhorn, Volume
from .copies import at_rest, keeps_copy, sound_nodes
from .reasons import node_unknown, replicas_go
from .volumes import busy, is_unused, is_whole, places, unsettled


def may_go_down(seen: Longhorn, batch: Collection[str], expected: Collection[str]) -> Verdict:
    """Whether these Kubernetes nodes may go down together.

    Every volume with a replica on them keeps a healthy one elsewhere, no engine there serves a workload elsewhere, no
    work is under way on these volumes, and no other node is down already.
    """
    reasons = [*_nodes(seen, batch, expected)]
    for _name, volume in sorted(seen.volumes.items()):
        if {volume.home, *places(seen, volume)} & set(batch):
            reasons += _of_volume(seen, volume, batch)
    return Verdict(tuple(dict.fromkeys(reasons)))


def _nodes(seen: Longhorn, batch: Collection[str], expected: Collection[str]) -> Iterator[Reason]:
    for name in sorted(set(batch) - seen.nodes.keys()):
        yield node_unknown(name)
    for name in sorted((set(expected) | seen.nodes.keys()) - set(batch)):
        node = seen.nodes.get(name)
        if node is None:
            remedy = (
                "Bring it back. If it is gone for good, leave it out of expected; a run does so once it is run again."
            )
            yield waiting("node_missing", f"Longhorn node {name} is missing.", remedy, about=name)
        elif not node.ready:
            cause = node.conditions.get("Ready")
            why = f": {cause.message.rstrip('.')}" if cause and cause.message else ""
            yield waiting("node_not_ready", f"Longhorn node {name} is not ready{why}.", "Bring it up.", about=name)


def _of_volume(seen: Longhorn, volume: Volume, batch: Collection[str]) -> Iterator[Reason]:
    name, engine = volume.name, seen.engine_of.get(volume.name)
    if is_unused(seen, volume):
        yield from unsettled(volume)
        return
    held = sound_nodes(seen, volume)
    if held and not held - set(batch):
        said = f"Volume {name} has its only healthy replicas on {enumerate_few(held)}."
        remedy = "Give it a replica on another node first."
        yield (waiting if volume.attached and volume.number_of_replicas > len(held) else refused)(
            "last_replica", said, remedy
        )
    elif held and not keeps_copy(seen, volume, batch):
        yield replicas_go(volume, batch)
    elif not held:
        said = f"Volume {name} has no healthy replica at all."
        yield waiting("no_replica", said, "Wait until Longhorn has salvaged it, or restore it.", about=name)
    yield from unsettled(volume)
    if not volume.attached:
        return
    if engine is not None and engine.node in batch and volume.node not in batch:
        yield refused(
            "engine_serves_elsewhere",
            f"The engine of volume {name} is on node {engine.node} and serves a workload on node {volume.node}.",
            "Move the engine away first (node_engine_switch with state evacuated).",
        )
    elif volume.switchover or (volume.home in batch and volume.node not in batch):
        said = f"The engine of volume {name} is being moved to node {volume.home}."
        yield waiting("engine_moves", said, "Wait until it has arrived.", about=name)
    yield from busy(seen, volume)


def all_whole(seen: Longhorn, expected: Collection[str], names: Collection[str] | None = None) -> Verdict:
    """Whether all attached volumes are healthy with their engines where they are wanted, and all nodes are ready.

    With `names` only the volumes with an engine or a replica on these nodes count.
    """
    reasons = [*_nodes(seen, (), expected)]
    for name, volume in sorted(seen.volumes.items()):
        if names is not None and not places(seen, volume) & set(names):
            continue
        reasons += unsettled(volume)
        if not volume.attached:
            continue
        if not is_whole(seen, volume):
            said = f"Volume {name} is {volume.robustness or 'in an unknown state'}, or has replicas to rebuild."
            reasons.append(
                waiting(
                    "volume_degraded",
                    said,
                    "It is rebuilt once a rebuild slot and a disk with room are free. If fewer nodes take replicas"
                    " than it is to have, lower its numberOfReplicas.",
                    about=name,
                )
            )
        elif volume.data_engine == V2 and not at_rest(seen, volume):
            said = f"The engine of volume {name} is not settled on node {volume.home}."
            reasons.append(waiting("engine_moves", said, about=name))
    return Verdict(tuple(reasons))
