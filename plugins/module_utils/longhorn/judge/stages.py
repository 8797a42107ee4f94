"""The state of the switch of one node's engine, found only from what is observed.

The objects carry all that a run has started: the mark on the Longhorn node, and on each volume the mark with the node
that its engine was moved from. So a run that takes over after a kill finds the same state, and continues from it. The
names of the states are those of the design "v2 data engine live upgrade".
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum

from ...common.verdict import Reason, Verdict, waiting
from ...common.words import enumerate_few
from ..observe.state import InstanceManager, Longhorn, Node, Volume
from .copies import at_rest, healthy_nodes, lenders
from .interruptions import interrupted_before, run_of
from .reasons import (
    LOST,
    POD_EVENTS,
    REPLACEMENT,
    WITHOUT_SNAPSHOT,
    backing_images,
    disks_wait,
    engine_node_changed,
    engine_node_unknown,
    engine_stays,
    manager_missing,
    no_lender,
    node_unfit,
    node_unknown,
    not_accepted,
    scheduling_changed,
    snapshot_failed,
    snapshots_wait,
    system_not_upgraded,
)
from .volumes import (
    arriving,
    busy,
    detached,
    exposed,
    immovable,
    is_sent_elsewhere,
    is_whole,
    judge_copies,
    keeps_engine,
    may_return,
    moved_from,
    not_whole,
    rebuilds,
    touched,
    unsettled,
)


class SwitchStage(Enum):
    """The states of one node, in their order."""

    UNDEFINED = "undefined"
    PENDING = "pending"
    INITIALIZING = "initializing"
    FAILING_REPLICAS = "failing-replicas"
    SWITCHING_OVER = "switching-over"
    REPLACING = "upgrading-instance-manager"
    SWITCHING_BACK = "switching-back"
    REBUILDING = "rebuilding-replica"
    FINALIZING = "finalizing"
    COMPLETED = "completed"
    ERROR = "error"


EARLY = frozenset({SwitchStage.UNDEFINED, SwitchStage.PENDING, SwitchStage.INITIALIZING, SwitchStage.SWITCHING_OVER})
"""The states in which a run may be stopped: all that it did can be put back at once."""
BEGINNINGS = frozenset({"delete_manager", "create_upgrade"})
"""The acts that replace an instance manager."""
NEED_QUIET = BEGINNINGS | {"move_engine"}
"""The acts that no recurring job may meet."""


@dataclass(frozen=True)
class WantedSwitch:
    """What is wanted for one node."""

    node: str
    image: str
    """The image that its instance manager is to run; empty if its engines are only to be moved away."""
    accepted: frozenset[str] = frozenset()
    """The unverified steps that the user has accepted by name."""
    extra_replicas: bool = False
    """Whether volumes with a single replica get a second one."""
    run: str = ""
    """The run that asks; empty outside a run."""
    followed: frozenset[str] = frozenset()
    """The upgrades by Longhorn itself that were seen under way since this was first asked."""
    in_one_object: tuple[str, ...] = ()
    """The nodes that one upgrade by Longhorn itself is to bring to the image; empty if each node has its own."""
    prepared: bool = False
    """Whether an earlier look of this task has shown its instance manager of the image."""
    quiet: frozenset[str] = frozenset()
    """The recurring jobs that were seen held off for long enough (`QUIET` in `recurring_jobs`)."""


@dataclass(frozen=True)
class Act:
    """One act that is due: its kind, the object, and the node that it is about."""

    kind: str
    target: str
    node: str = ""
    uid: str = ""
    version: str = ""
    """The resourceVersion that the object has to have, where the act asks for it."""
    nodes: tuple[str, ...] = ()
    """All nodes of an upgrade by Longhorn itself, in their order; empty for every other act."""


@dataclass(frozen=True)
class SwitchStep:
    """The state of a node, the acts that are due in it, and the verdict while it is not completed."""

    stage: SwitchStage
    acts: tuple[Act, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)


def step(seen: Longhorn, wanted: WantedSwitch) -> SwitchStep:
    """The state of the node, and what is due."""
    name = wanted.node
    node = seen.nodes.get(name)
    if node is None:
        return _refused(node_unknown(name))
    if not wanted.image:
        return _evacuate(seen, node, wanted)
    old = [each for each in seen.managers_of.get(name, ()) if each.image != wanted.image]
    new = next((each for each in seen.managers_of.get(name, ()) if each.image == wanted.image), None)
    if new is None and (wanted.prepared or node.mark or moved_from(seen, name)):
        return _waits(SwitchStage.REPLACING, manager_missing(name, wanted.image))
    if new is None:
        return _refused(system_not_upgraded(name, wanted.image))
    return _leave(seen, node, wanted, old) if old else _return(seen, node, new)


def _refused(reason: Reason) -> SwitchStep:
    return SwitchStep(SwitchStage.ERROR, (), Verdict((reason,)))


def _waits(stage: SwitchStage, *reasons: Reason, acts: tuple[Act, ...] = ()) -> SwitchStep:
    return SwitchStep(stage, acts, Verdict(reasons))


def _begin(seen: Longhorn, node: Node, resting: Collection[Volume] = (), *, anew: bool = False) -> SwitchStep | None:
    """The step until the node is marked, takes no new replicas, and every volume on it has a snapshot.

    `resting` are the detached volumes among them. The error of such a snapshot says that no engine runs yet, until
    Longhorn has attached the volume for it; so it is waited for. `anew` says that the mark is not the wanted one.
    """
    if node.mark and node.allow_scheduling and not node.opened:
        # The run closes the node and marks it in one patch, and opens it only once the old instance manager is gone.
        return _refused(scheduling_changed(node.name))
    if not node.mark or node.allow_scheduling or anew:
        said = f"Node {node.name} is taken out of scheduling."
        return _waits(
            SwitchStage.INITIALIZING,
            waiting("engine_begins", said, about=node.name),
            acts=(Act("keep_replicas", node.name), Act("mark_node", node.name)),
        )
    found = {each.volume: each for each in seen.snapshots if each.run == run_of(node)}
    missing = [each.name for each in (*exposed(seen, node.name), *resting) if each.name not in found]
    unready = [each for each in found.values() if not each.ready and each.volume in seen.volumes]
    failed = [each for each in unready if each.error and each.attached and not each.taken]
    if failed:
        return SwitchStep(SwitchStage.ERROR, (), Verdict(tuple(snapshot_failed(each, node.name) for each in failed)))
    if missing or unready:
        waited = [each for each in unready if each.taken or not each.attached]
        at_rest_then = {each.volume for each in waited if not each.attached}
        detached = {each.name for each in resting} & {*missing} | at_rest_then
        said = next((each.error for each in waited if each.error), "")
        names = [*missing, *(each.volume for each in unready)]
        return _waits(
            SwitchStage.INITIALIZING,
            snapshots_wait(node.name, names, detached, [each.name for each in waited if each.taken], said),
            acts=tuple(Act("snapshot", each, node.name) for each in missing),
        )
    return None


def add_replicas(seen: Longhorn, node: str, stage: SwitchStage = SwitchStage.INITIALIZING) -> SwitchStep | None:
    """The step until each volume with a single replica has a second one that is whole."""
    alone = [each for each in touched(seen, node) if each.number_of_replicas == 1]
    # Longhorn's webhook refuses a second one of a strict-local volume.
    single = [each for each in alone if each.data_locality != "strict-local"]
    growing = [each for each in touched(seen, node) if each.carries_undo and not is_whole(seen, each)]
    if not single and not growing:
        return None
    names = enumerate_few(each.name for each in (*single, *growing))
    said = f"Volumes with a single replica get a second one before node {node} is changed: {names}."
    acts = tuple(Act("add_replica", each.name, node) for each in single)
    remedy = "Let another node take replicas, and give it a disk with room."
    return _waits(stage, waiting("replicas_grow", said, remedy, about=node), acts=acts)


def _evacuate(seen: Longhorn, node: Node, wanted: WantedSwitch) -> SwitchStep:
    fixed = () if node.mark else _fixed(seen, node.name)
    if fixed:
        return _waits(SwitchStage.UNDEFINED, *fixed)
    begun = _begin(seen, node, anew=not (wanted.run or node.emptied))
    if begun is not None:
        return begun
    return _switch_over(seen, node) or SwitchStep(SwitchStage.COMPLETED)


def _fixed(seen: Longhorn, node: str) -> tuple[Reason, ...]:
    """The reasons for which an engine on the node cannot be moved away."""
    return tuple(reason for each in touched(seen, node) if each.home == node for reason in immovable(each))


def _leave(seen: Longhorn, node: Node, wanted: WantedSwitch, old: list[InstanceManager]) -> SwitchStep:
    """The step while an instance manager of another image is there."""
    held = sorted({instance for each in old for instance in each.instances})
    attached = exposed(seen, node.name)
    if not held and not attached:
        # Longhorn removes an instance manager without instances by itself, and starts the one of the new image.
        said = f"Longhorn replaces the instance manager of node {node.name} by itself, since nothing runs in it."
        return _waits(SwitchStage.REPLACING, waiting("manager_swaps", said, about=node.name))
    if REPLACEMENT not in wanted.accepted:
        return _refused(not_accepted(node.name, [each.name for each in attached], held))
    harmed = (*interrupted_before(seen, node.name, wanted.image), *backing_images(seen, node.name))
    if harmed:
        return SwitchStep(SwitchStage.ERROR, (), Verdict(harmed))
    unfit = tuple(node_unfit(seen, node))
    if not node.mark and node.name in seen.running_managers:
        # The new instance manager would be waited for until the disks are ready, with the engines away. Without a
        # running one only its replacement brings back what the node has.
        unfit += (*_fixed(seen, node.name), *disks_wait(node), *not_whole(seen, node.name))
    if unfit and not node.mark:
        return _waits(SwitchStage.UNDEFINED, *unfit)
    resting = () if WITHOUT_SNAPSHOT in wanted.accepted else detached(seen, node.name)
    begun = _begin(seen, node, resting) or (add_replicas(seen, node.name) if wanted.extra_replicas else None)
    due = begun or _switch_over(seen, node)
    if due is not None:
        return due
    proof = judge_copies(seen, node.name)
    if not proof.passed:
        return SwitchStep(SwitchStage.REPLACING, (), proof)
    coming = [reason for each in arriving(seen, node.name) for reason in unsettled(each)]
    if coming or unfit:
        return _waits(SwitchStage.REPLACING, *coming, *unfit)
    said = f"The instance manager of node {node.name} is being replaced."
    going = tuple(
        Act("delete_manager", each.name, node.name, each.uid, each.version) for each in old if not each.deleting
    )
    return _waits(SwitchStage.REPLACING, waiting("manager_goes", said, about=node.name), acts=going)


def _switch_over(seen: Longhorn, node: Node) -> SwitchStep | None:
    """The step while an engine is on the node, or one that was moved away from it is not settled."""
    acts: list[Act] = []
    reasons: list[Reason] = []
    sent = [each for each in moved_from(seen, node.name) if each.attached and is_sent_elsewhere(each)]
    if sent:
        return SwitchStep(SwitchStage.ERROR, (), Verdict(tuple(engine_node_changed(each, node.name) for each in sent)))
    there = {each.volume for each in seen.engines_on.get(node.name, ())}
    for volume in touched(seen, node.name):
        engine = seen.engine_of.get(volume.name)
        elsewhere = volume.name not in there and volume.home != node.name
        if elsewhere and (volume.home_mark != node.name or at_rest(seen, volume)):
            continue
        fixed = tuple(immovable(volume)) if volume.home == node.name else ()
        if fixed:
            reasons += fixed
            continue
        blocked = tuple(busy(seen, volume))
        lost = volume.home != node.name and volume.home not in healthy_nodes(seen, volume)
        if volume.home == node.name or (lost and not volume.switchover):
            best = next(lenders(seen, volume, node.name), "")
            if not best:
                reasons.append(no_lender(volume, node.name))
            elif blocked or engine is None:
                reasons += blocked
            else:
                acts.append(Act("move_engine", volume.name, best))
        reasons += [*engine_node_unknown(seen, volume)] or [_switching(volume, node.name)]
    return _waits(SwitchStage.SWITCHING_OVER, *reasons, acts=tuple(acts)) if reasons or acts else None


def _switching(volume: Volume, node: str) -> Reason:
    if volume.switchover == "reverting":
        said = f"Longhorn reverts the switch of the engine of volume {volume.name} away from node {node}."
        return waiting("switch_reverts", said, "See the events of the volume for the cause.", about=volume.name)
    said = f"The engine of volume {volume.name} is being moved away from node {node}."
    return waiting("engine_moves", said, about=volume.name)


def _return(seen: Longhorn, node: Node, new: InstanceManager) -> SwitchStep:
    """The step once no instance manager of another image is there."""
    begun = bool(node.mark) or bool(moved_from(seen, node.name))
    if not new.running:
        said = f"The instance manager {new.name} of node {node.name} is {new.state or 'not started yet'}."
        remedy = f"{POD_EVENTS} {LOST}" if begun else POD_EVENTS
        return _waits(SwitchStage.REPLACING, waiting("manager_starts", said, remedy, about=node.name))
    if begun and (shut := tuple(disks_wait(node))):
        return _waits(SwitchStage.REPLACING, *shut)
    if not begun:
        return SwitchStep(SwitchStage.COMPLETED)
    coming = come_home(seen, node.name)
    if coming is not None:
        return coming
    ill = [each for each in touched(seen, node.name) if not is_whole(seen, each)]
    if ill:
        # Longhorn rebuilds a failed replica only on a node that takes replicas (replica_scheduler.go of 1.12).
        acts = () if node.allow_scheduling else (Act("open_node", node.name),)
        return _waits(SwitchStage.REBUILDING, *(rebuilds(seen, each) for each in ill), acts=acts)
    return SwitchStep(SwitchStage.FINALIZING, (Act("unmark_node", node.name),))


def come_home(seen: Longhorn, node: str) -> SwitchStep | None:
    """The step while engines that a run has moved away from the node are not back; None once they are.

    They stay where they are as long as no instance manager runs where they return to.
    """
    away = moved_from(seen, node)
    staying = [each for each in away if each.attached and not (may_return(seen, each) or is_sent_elsewhere(each))]
    away = tuple(each for each in away if each not in staying)
    runs = node in seen.running_managers
    unsettled = [each for each in touched(seen, node) if runs and each.home == node and not at_rest(seen, each)]
    if not away and not unsettled:
        return _waits(SwitchStage.SWITCHING_BACK, *(engine_stays(each, node) for each in staying)) if staying else None
    coming = [each for each in away if not tuple(keeps_engine(seen, each))]
    places = enumerate_few([*(each.returns_to for each in away), *(each.home for each in unsettled)])
    said = f"Engines return to node {places}: {enumerate_few(each.name for each in (*away, *unsettled))}."
    back = tuple(Act("return_engine", each.name, node) for each in coming)
    held = [reason for each in away if each not in coming for reason in keeps_engine(seen, each)]
    return _waits(SwitchStage.SWITCHING_BACK, waiting("engines_return", said, about=node), *held, acts=back)
