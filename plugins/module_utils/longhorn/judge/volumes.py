"""The volumes of a node, and what can be said of each: whether it is whole, busy, or without a copy elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ...common.verdict import Reason, Verdict, refused, waiting
from ...common.words import enumerate_few
from ..observe.state import FAULTED, HEALTHY, RUNNING, UNDER_WAY, Longhorn, Replica, Volume
from .copies import healthy_nodes, keeps_copy, rebuilding
from .reasons import RESTORED, replicas_go


def touched(seen: Longhorn, node: str) -> tuple[Volume, ...]:
    """The attached v2 volumes with an engine or a replica on the node."""
    return tuple(each for each in seen.volumes_on.get(node, ()) if each.attached)


def exposed(seen: Longhorn, node: str) -> tuple[Volume, ...]:
    """The attached v2 volumes with an engine, a replica or the frontend of their workload on the node."""
    served = [each for each in seen.v2_volumes if each.attached and node in {each.node, each.at_node}]
    return tuple(dict.fromkeys((*touched(seen, node), *served)))


SNAPSHOT_TICKET = "snapshot-controller"
"""The type of the ticket with which Longhorn attaches a detached volume for a snapshot."""


def is_attached_for_snapshot(seen: Longhorn, volume: Volume) -> bool:
    """Whether a volume is attached for a snapshot alone: Longhorn detaches it by itself once that is taken.

    `handleAttachmentTicketCreation` in `controller/snapshot_controller.go` of longhorn-manager 1.12. Between the end of
    the ticket and that of the attachment there is no ticket at all.
    """
    attachment = seen.attachment_of.get(volume.name)
    if not volume.attached or attachment is None:
        return False
    ours = any(each.volume == volume.name and each.attached is None for each in seen.snapshots)
    return attachment.types == {SNAPSHOT_TICKET} or (not attachment.types and ours)


def detached(seen: Longhorn, node: str) -> tuple[Volume, ...]:
    """The detached v2 volumes with a replica on the node, of which Longhorn can take a snapshot."""
    there = (each for each in seen.volumes_on.get(node, ()) if not each.attached and not tuple(unsettled(each)))
    return tuple(each for each in there if not (each.cloning or (each.restoring and not each.standby)))


def moved_from(seen: Longhorn, node: str) -> tuple[Volume, ...]:
    """The volumes whose engine a run has moved away from the node."""
    return seen.moved_from.get(node, ())


def may_return(seen: Longhorn, volume: Volume) -> bool:
    """Whether an instance manager runs where the engine of a volume goes once a run's change of it is put back."""
    return not {volume.home_mark, volume.returns_to}.isdisjoint(seen.running_managers)


def is_sent_elsewhere(volume: Volume) -> bool:
    """Whether someone has set the node of its engine since a run set it."""
    return bool(volume.engine_set) and volume.engine_node != volume.engine_set


def judge_copies(seen: Longhorn, node: str) -> Verdict:
    """Whether every attached volume with a replica on the node keeps a healthy one elsewhere, and none is busy."""
    reasons = []
    for volume in touched(seen, node):
        held = healthy_nodes(seen, volume)
        if held - {node} and not keeps_copy(seen, volume, {node}):
            reasons.append(replicas_go(volume, {node}))
        elif not held - {node}:
            said = f"Volume {volume.name} has no healthy replica outside node {node}."
            remedy = "Wait until its replicas are rebuilt, or give it more replicas."
            reasons.append(waiting("last_replica", said, remedy, about=volume.name))
        reasons += busy(seen, volume)
    return Verdict(tuple(reasons))


def arriving(seen: Longhorn, node: str) -> tuple[Volume, ...]:
    """The v2 volumes that are wanted on the node, and not attached yet: their instances are about to start there."""
    wanted = [each for each in seen.v2_volumes if each.node and node in {each.node, each.engine_node}]
    return tuple(each for each in wanted if not each.attached)


def unsettled(volume: Volume) -> Iterator[Reason]:
    """The wait for a volume that is not attached, and has not come to rest as detached either."""
    if volume.attached:
        return
    if volume.robustness == FAULTED:
        said = f"Volume {volume.name} is faulted, and {volume.state or 'of unknown state'}."
        remedy = "Salvage it or restore it, as Longhorn's documentation says."
        yield waiting("volume_faulted", said, remedy, about=volume.name)
    elif volume.node or volume.state not in {"detached", ""}:
        said = f"Volume {volume.name} is {volume.state or 'of unknown state'}."
        yield waiting("volume_in_between", said, "Wait until it is attached or detached.", about=volume.name)


def busy(seen: Longhorn, volume: Volume) -> Iterator[Reason]:
    """The work on a volume during which its engine is left alone. Each of them ends by itself."""
    engine = seen.engine_of.get(volume.name)
    work = list(engine.busy) if engine else []
    work += ["an expansion"] if volume.expanding or (engine and engine.expanding) else []
    work += ["a migration"] if volume.migration_node or volume.at_migration_node else []
    work += ["a restore"] if volume.restoring and not volume.standby else []
    work += ["a clone"] if volume.cloning else []
    backups = [each.name for each in seen.backups if each.volume == volume.name and each.state in UNDER_WAY]
    work += [f"backup {each}" for each in backups]
    work += ["a snapshot for which Longhorn has attached it"] if is_attached_for_snapshot(seen, volume) else []
    if work:
        said = f"Volume {volume.name} is busy with {', '.join(dict.fromkeys(work))}."
        yield waiting("volume_busy", said, "Let it end, or stop it.", about=volume.name)
    for place in rebuilding(seen, volume):
        said = f"Volume {volume.name} rebuilds its replica on node {place}{_progress(seen, volume)}."
        yield waiting("replica_rebuilds", said, about=volume.name)


def immovable(volume: Volume) -> Iterator[Reason]:
    """The blockers of moving the engine of an attached volume, whatever becomes of its copies.

    An engine without a frontend has no port (`Create` in `pkg/spdk/engine.go` of longhorn-spdk-engine), and a disabled
    frontend never reports another target (`SwitchOverTarget` in `pkg/spdk/enginefrontend.go`), for which Longhorn waits
    (`processEngineSwitchover` in `controller/volume_controller.go` of longhorn-manager 1.12). The data locality changes
    to or from strict-local only while a volume is detached (`validateDataLocalityUpdate` of its webhook).
    """
    name = volume.name
    if volume.frontend == "ublk":
        said = f"Volume {name} has the frontend ublk, whose engine cannot be moved."
        yield refused("frontend_ublk", said, "Detach it, or make it anew with the frontend blockdev.")
    elif volume.standby:
        said = f"Volume {name} is a standby volume without a frontend, whose engine Longhorn cannot move."
        remedy = f"Leave node {volume.home} out (upgrade_nodes), activate the volume, or delete it and make it anew."
        yield refused("frontend_disabled", said, remedy)
    elif not volume.frontend:
        said = f"Volume {name} is attached without a frontend, and Longhorn cannot move its engine."
        remedy = "Let the work end for which it is attached. If that is maintenance, detach it."
        yield waiting("frontend_disabled", said, remedy, about=name)
    if volume.data_locality == "strict-local":
        yield refused(
            "strict_local",
            f"Volume {name} is strict-local: its engine has to stay with its only replica.",
            "Detach it. While it is detached, its data locality can be changed, and a second replica be given.",
        )


def keeps_engine(seen: Longhorn, volume: Volume) -> Iterator[Reason]:
    """The waits during which a run's change of the node of an engine is not put back.

    Longhorn only moves the engine of an attached volume. One that was placed for a volume that is not attached yet
    is neither started nor stopped once it is wanted elsewhere, until the volume is detached
    (`openVolumeDependentResources` in `controller/volume_controller.go`).
    """
    engine = seen.engine_of.get(volume.name)
    if volume.attached:
        yield from busy(seen, volume)
    elif engine is not None and engine.node not in ("", volume.returns_to):
        said = f"Volume {volume.name} is {volume.state or 'of unknown state'}, and its engine is on node {engine.node}."
        remedy = "Wait until it is attached or detached. If this lasts, scale its workload down until it is detached."
        yield waiting("volume_in_between", said, remedy, about=volume.name)


def _progress(seen: Longhorn, volume: Volume) -> str:
    engine = seen.engine_of.get(volume.name)
    rebuilds = engine.rebuilds.values() if engine else ()
    return f" ({min(rebuilds)}%)" if rebuilds else ""


def is_whole(seen: Longhorn, volume: Volume) -> bool:
    """Whether an attached volume is healthy, with as many healthy replicas as it wants."""
    return (
        volume.robustness == HEALTHY
        and not rebuilding(seen, volume)
        and len(_running(seen, volume)) >= volume.number_of_replicas
    )


def _running(seen: Longhorn, volume: Volume) -> list[Replica]:
    """The replicas that run with whole data."""
    return [each for each in seen.replicas_of.get(volume.name, ()) if each.state == RUNNING and each.sound]


def rebuilds(seen: Longhorn, volume: Volume) -> Reason:
    """The wait for an attached volume to be whole."""
    name, engine = volume.name, seen.engine_of.get(volume.name)
    errors = f" The last attempt failed: {engine.rebuild_errors[0]}." if engine and engine.rebuild_errors else ""
    remedy = _remedy(seen, {each.node for each in seen.replicas_of.get(name, ()) if not each.sound})
    if volume.robustness == HEALTHY:
        # Its number of replicas was raised.
        there, wanted = len(_running(seen, volume)), volume.number_of_replicas
        lacks = f"Volume {name} has {there} of the {wanted} replicas that are wanted{_progress(seen, volume)}.{errors}"
        return waiting("volume_degraded", lacks, remedy, about=name)
    said = f"Volume {name} is {volume.robustness or 'in an unknown state'}{_progress(seen, volume)}.{errors}"
    return waiting("volume_degraded", said, remedy, about=name)


def _remedy(seen: Longhorn, lost: Collection[str]) -> str:
    """What brings back the replicas that were lost on these nodes. A run has Longhorn wait for them, so none is built
    elsewhere for that time. No run ends that wait while a node stays emptied."""
    shut = [each for each in seen.nodes.values() if each.name in lost and not (each.allow_scheduling or each.begun)]
    emptied = [each.name for each in shut if each.emptied]
    if emptied:
        return f"No replica comes back on {enumerate_few(emptied)}, which was emptied outside of a run. {RESTORED}."
    if shut:
        return (
            f"No replica comes back on {enumerate_few(each.name for each in shut)}, which takes none: allow scheduling"
            " there, or settle, so that Longhorn builds one elsewhere."
        )
    return "It is rebuilt once a rebuild slot and a disk with room are free."


def not_whole(seen: Longhorn, node: str) -> Iterator[Reason]:
    """The waits for the attached volumes of a node before it is begun: one that lacks replicas would lose one more.

    Since the gate before, a person may have raised its number of replicas, or a replica may have failed.
    """
    yield from (rebuilds(seen, each) for each in touched(seen, node) if not is_whole(seen, each))


def is_unused(seen: Longhorn, volume: Volume) -> bool:
    """Whether a volume has never been attached, so that no replica of it holds data.

    Longhorn notes a replica as healthy once the first engine reads and writes it (`isFirstAttachment` in
    `controller/volume_controller.go`).
    """
    replicas = seen.replicas_of.get(volume.name, ())
    noted = any(each.healthy_at or each.failed_at for each in replicas)
    return bool(replicas) and not (volume.attached or noted)


def places(seen: Longhorn, volume: Volume) -> frozenset[str]:
    """The nodes with an engine or a replica of a volume, whichever data engine it has."""
    engines = {each.node for each in seen.engines_of.get(volume.name, ())}
    return frozenset(engines | {each.node for each in seen.replicas_of.get(volume.name, ())})


def left_to_rebuild(seen: Longhorn, volumes: Iterable[Volume]) -> tuple[float, ...]:
    """The amount that is left to rebuild of these volumes: those that are not whole, then percents. A new minimum is
    progress."""
    ill = [each for each in volumes if each.attached and not is_whole(seen, each)]
    engines = [seen.engine_of[each.name] for each in ill if each.name in seen.engine_of]
    percent = sum(100 - max(each.rebuilds.values(), default=0) for each in engines)
    return (float(len(ill)), float(percent))
