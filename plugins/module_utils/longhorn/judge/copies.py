"""Healthy copies of volumes, and the nodes that may run the engine of one for a while."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...run.colouring import Placement
from ..observe.state import READ_WRITE, REBUILDING, RUNNING, V2, Longhorn, Volume

LEAST_API = 4
"""The lowest API version of an instance manager whose engines can be switched (longhorn-manager 1.12)."""


def healthy_nodes(seen: Longhorn, volume: Volume) -> frozenset[str]:
    """The nodes with a healthy replica of the volume.

    While it is attached, the engine has to read and write the replica, and the replica has to run in a running instance
    manager. While it is detached nothing runs, and the replica's own record decides.
    """
    return frozenset(_healthy_places(seen, volume))


def _healthy_places(seen: Longhorn, volume: Volume) -> tuple[str, ...]:
    """The node of each healthy replica."""
    engine = seen.engine_of.get(volume.name)
    replicas = [each for each in seen.replicas_of.get(volume.name, ()) if each.sound]
    if not volume.attached:
        return tuple(each.node for each in replicas if each.node)
    if engine is None or engine.state != RUNNING:
        return ()
    return tuple(
        each.node
        for each in replicas
        if each.state == RUNNING and engine.modes.get(each.name) == READ_WRITE and each.node in seen.running_managers
    )


def keeps_copy(seen: Longhorn, volume: Volume, without: Collection[str]) -> bool:
    """Whether a healthy replica of the volume stays outside these nodes, whichever Longhorn removes.

    It removes healthy replicas of an attached volume that are more than are wanted, such as after someone has lowered
    their number (`cleanupExtraHealthyReplicas` in `controller/volume_controller.go`).
    """
    places = sound_places(seen, volume)
    removed = max(0, len(places) - volume.number_of_replicas) if volume.attached else 0
    return len([each for each in places if each not in without]) > removed


def rebuilding(seen: Longhorn, volume: Volume) -> tuple[str, ...]:
    """The nodes on which a replica of the volume is being rebuilt."""
    engine = seen.engine_of.get(volume.name)
    if engine is None:
        return ()
    modes = engine.modes
    return tuple(
        sorted(each.node for each in seen.replicas_of.get(volume.name, ()) if modes.get(each.name) == REBUILDING)
    )


def sound_nodes(seen: Longhorn, volume: Volume) -> frozenset[str]:
    """The same for a volume of any data engine. Those of v1 need no running instance manager that could be switched."""
    return frozenset(sound_places(seen, volume))


def sound_places(seen: Longhorn, volume: Volume) -> tuple[str, ...]:
    """The node of each of these replicas: one may have several."""
    if volume.data_engine == V2 or not volume.attached:
        return _healthy_places(seen, volume)
    engine = seen.engine_of.get(volume.name)
    return tuple(
        each.node
        for each in seen.replicas_of.get(volume.name, ())
        if each.sound and engine is not None and engine.modes.get(each.name) == READ_WRITE
    )


def placement(seen: Longhorn) -> Placement:
    """The nodes that hold a healthy replica, for each volume, in the form that batches are made from."""
    found = {name: held for name, each in sorted(seen.volumes.items()) if (held := sound_nodes(seen, each))}
    return Placement([*found.values()], labels=[f"volume {name}" for name in found])


def lenders(seen: Longhorn, volume: Volume, home: str) -> Iterator[str]:
    """The nodes that can run the engine of the volume while its home is changed, the best first.

    Each has a healthy running replica of it and a running v2 instance manager that can switch. Nodes with fewer engines
    come first; among equals the name decides.
    """
    fit = [
        name
        for name in healthy_nodes(seen, volume)
        if name != home
        and seen.running_managers[name].api_version >= LEAST_API
        and name in seen.nodes
        and seen.nodes[name].ready
        and not seen.nodes[name].mark
    ]
    yield from sorted(fit, key=lambda name: (len(seen.engines_on.get(name, ())), name))


def at_rest(seen: Longhorn, volume: Volume) -> bool:
    """Whether the engine of an attached volume is where it is wanted, runs, and serves its frontend."""
    engine, frontend = seen.engine_of.get(volume.name), seen.frontend_of.get(volume.name)
    if engine is None or engine.state != RUNNING or volume.switchover:
        return False
    if engine.node != volume.home or volume.engine_at != volume.home:
        return False
    if volume.standby or not volume.frontend:
        return True
    return (
        frontend is not None
        and frontend.state == RUNNING
        and frontend.engine == engine.name
        and frontend.wanted_target == frontend.target
    )
