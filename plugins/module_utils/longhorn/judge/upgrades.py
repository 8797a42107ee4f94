"""The state of a node whose engine is switched by an upgrade of Longhorn itself, and what is due.

An upgrade that is active is followed, whoever made it, and no second one is made. A node is done when its instance
manager runs the image and its volumes are whole, and not when an upgrade says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from ...common.verdict import Reason, Verdict, combine, refused, remark, waiting
from ...common.words import enumerate_few
from ..observe.state import Longhorn, Volume
from ..observe.upgrades import (
    AUTOMATIC,
    UNDEFINED,
    LonghornUpgrade,
    NodeProgress,
    UpgradeKinds,
    Upgrades,
    VolumeProgress,
)
from .leftovers import left_by_another, left_by_run
from .reasons import POD_EVENTS, engine_stays, node_unfit, node_unknown
from .settings import of_v2, truth
from .stages import Act, SwitchStage, SwitchStep, WantedSwitch, add_replicas
from .stalls import causes
from .volumes import immovable, is_whole, judge_copies, not_whole, rebuilds, touched

STAGES: Mapping[str, SwitchStage] = {
    UNDEFINED: SwitchStage.UNDEFINED,
    "pending": SwitchStage.PENDING,
    "initializing": SwitchStage.INITIALIZING,
    "failing-replicas": SwitchStage.FAILING_REPLICAS,
    "switching-over": SwitchStage.SWITCHING_OVER,
    "relocating-engines": SwitchStage.SWITCHING_OVER,
    "upgrading-instance-manager": SwitchStage.REPLACING,
    "waiting-for-source-im": SwitchStage.REPLACING,
    "switching-back": SwitchStage.SWITCHING_BACK,
    "restoring-engines": SwitchStage.SWITCHING_BACK,
    "rebuilding-replica": SwitchStage.REBUILDING,
    "waiting-for-healthy-volumes": SwitchStage.REBUILDING,
    "finalizing": SwitchStage.FINALIZING,
    "completed": SwitchStage.COMPLETED,
    "error": SwitchStage.ERROR,
    "failed": SwitchStage.ERROR,
}
"""The stage for each state of a node, of both kinds of objects."""


def step(seen: Longhorn, wanted: WantedSwitch) -> SwitchStep:
    """The state of the node, and what is due."""
    node, found = wanted.node, seen.upgrades
    if node not in seen.nodes:
        return _ended(node_unknown(node))
    under_way = found.active()
    at_node = next((each for each in under_way if _is_at(each, node)), None)
    if at_node is not None:
        return _follow(seen, wanted, at_node)
    own = [each for each in found.upgrades if _is_known(each, wanted) and each.image in {"", wanted.image}]
    failed = _after_failure(seen, node, own)
    if failed is not None:
        return failed
    if runs_image(seen, node, wanted.image):
        return _settle(seen, node, own)
    if under_way:
        return SwitchStep(SwitchStage.PENDING, (), Verdict(tuple(_other(each, node) for each in under_way)))
    ended = [each for each in own if each.covers(node)]
    if ended:
        return SwitchStep(
            SwitchStage.REPLACING, (), Verdict(tuple(_without_effect(seen, each, wanted) for each in ended))
        )
    return _begin(seen, wanted)


def _after_failure(seen: Longhorn, node: str, own: Collection[LonghornUpgrade]) -> SwitchStep | None:
    """The step while a failed upgrade has left something on the node, and the refusal if the run knows the upgrade."""
    rest = left_by_run(seen, node)
    if rest.reasons:
        return SwitchStep(SwitchStage.SWITCHING_BACK, rest.acts, Verdict(rest.reasons))
    failed = [each for each in own if each.has_failed_at(node)]
    if failed:
        # Also on the new image: an engine may be away, or the node closed for replicas.
        by_hand = [reason for each in failed for reason in left_by_another(seen, each, node)]
        staying = [engine_stays(each, node) for each in rest.staying]
        return _ended(*(_failed(seen, each, node) for each in failed), *staying, *by_hand)
    if rest.staying:
        return SwitchStep(SwitchStage.REPLACING, (), Verdict((_without_manager(rest.staying, node),)))
    return None


def _is_known(upgrade: LonghornUpgrade, wanted: WantedSwitch) -> bool:
    """Whether the run has made or followed this upgrade, so that the end of it is the end of its own attempt."""
    return upgrade.name in wanted.followed or bool(wanted.run and upgrade.run == wanted.run)


def _is_at(upgrade: LonghornUpgrade, node: str) -> bool:
    progress = upgrade.of(node)
    return upgrade.covers(node) and not (progress and progress.ended)


def runs_image(seen: Longhorn, node: str, image: str) -> bool:
    """Whether the only instance manager of the node runs the image."""
    there = [each for each in seen.managers_of.get(node, ()) if each.image != image]
    present = seen.running_managers.get(node)
    return not there and present is not None and present.image == image


def _ended(*reasons: Reason) -> SwitchStep:
    return SwitchStep(SwitchStage.ERROR, (), Verdict(reasons))


def _settle(seen: Longhorn, node: str, own: Iterable[LonghornUpgrade]) -> SwitchStep:
    """The step once the node runs the image, and no upgrade works on it. `own` are the upgrades that the run knows."""
    away = sorted(_homeless(seen, node, own))
    if away:
        said = f"Engines have not returned to node {node}: {enumerate_few(away)}."
        remedy = "See the events of the volumes; set their engineNodeID to that node if nothing moves them."
        return SwitchStep(
            SwitchStage.SWITCHING_BACK, (), Verdict((waiting("engines_return", said, remedy, about=node),))
        )
    ill = [each for each in touched(seen, node) if not is_whole(seen, each)]
    if ill:
        return SwitchStep(SwitchStage.REBUILDING, (), Verdict(tuple(rebuilds(seen, each) for each in ill)))
    if seen.nodes[node].mark:
        return SwitchStep(SwitchStage.FINALIZING, (Act("unmark_node", node),), Verdict((_finalized(node),)))
    return SwitchStep(SwitchStage.COMPLETED)


def _finalized(node: str) -> Reason:
    return waiting("node_finalized", f"The mark of the run is taken from node {node}.", about=node)


def _without_manager(staying: Collection[Volume], node: str) -> Reason:
    names = enumerate_few(each.name for each in staying)
    said = f"No instance manager runs on node {node}, to which the engines of {names} are to return."
    return waiting("manager_starts", said, POD_EVENTS, about=node)


def _homeless(seen: Longhorn, node: str, own: Iterable[LonghornUpgrade]) -> Iterator[str]:
    """The attached volumes whose engine was on the node before these upgrades, and is not there now."""
    for upgrade in own:
        progress = upgrade.of(node)
        for name, each in progress.volumes.items() if progress else ():
            volume = seen.volumes.get(name)
            if volume and volume.attached and each.original_node == node and volume.engine_at != node:
                yield name


def _begin(seen: Longhorn, wanted: WantedSwitch) -> SwitchStep:
    """The step in which an upgrade of the node is made, once nothing stands in the way."""
    by_itself = tuple(automatic(seen))
    if by_itself:
        return SwitchStep(SwitchStage.UNDEFINED, (), Verdict(by_itself))
    nodes = _of_one_upgrade(seen, wanted)
    growing = (add_replicas(seen, each, SwitchStage.UNDEFINED) for each in nodes if wanted.extra_replicas)
    if first := next(filter(None, growing), None):
        return first
    unfit = Verdict(tuple(reason for each in nodes for reason in node_unfit(seen, seen.nodes[each])))
    # Where no instance manager runs, only the upgrade brings replicas back.
    ill = Verdict(tuple(reason for each in nodes if each in seen.running_managers for reason in not_whole(seen, each)))
    fixed = Verdict(tuple(reason for each in nodes for reason in _fixed(seen, each)))
    blocked = combine((unfit, ill, fixed, *(judge_copies(seen, each) for each in nodes)))
    if not blocked.passed:
        return SwitchStep(SwitchStage.UNDEFINED, (), blocked)
    asked = f"the engine of node {nodes[0]}" if len(nodes) == 1 else f"the engines of {enumerate_few(nodes)}"
    said = f"Longhorn is asked to upgrade {asked}."
    acts = [Act("create_upgrade", wanted.node, nodes=nodes)]
    if seen.upgrades.kinds is UpgradeKinds.DATA_ENGINE_UPGRADES:
        # Longhorn v1.13 keeps the replicas of the node, and puts a failed upgrade right; the design does neither.
        acts = [Act("keep_replicas", wanted.node), *(Act("note_node", each) for each in nodes), *acts]
    return SwitchStep(SwitchStage.UNDEFINED, tuple(acts), Verdict((waiting("upgrade_made", said, about=wanted.node),)))


def _fixed(seen: Longhorn, node: str) -> Iterator[Reason]:
    """The reasons for which Longhorn could not move an engine away. v1.13 leaves those of standby volumes."""
    leaves_standby = seen.upgrades.kinds is UpgradeKinds.INSTANCE_MANAGER_UPGRADES
    for each in touched(seen, node):
        if each.home == node and not (leaves_standby and each.standby):
            yield from immovable(each)


def _of_one_upgrade(seen: Longhorn, wanted: WantedSwitch) -> tuple[str, ...]:
    """The nodes of the upgrade that is made: this one, then those that go with it and have not the image yet."""
    several = wanted.in_one_object if seen.upgrades.kinds is UpgradeKinds.DATA_ENGINE_UPGRADES else ()
    others = [each for each in several if each in seen.nodes and not runs_image(seen, each, wanted.image)]
    return tuple(dict.fromkeys((wanted.node, *others)))


def unfinished(seen: Longhorn, node: str) -> tuple[float, ...]:
    """The number of nodes that the active upgrades of this node have not ended at."""
    there = [each for each in seen.upgrades.active() if each.covers(node)]
    left = [one for each in there for one in map(each.of, each.nodes or seen.nodes) if not (one and one.ended)]
    return (float(len(left)),)


def one_upgrade(kinds: UpgradeKinds | None, nodes: Collection[str]) -> Iterator[Reason]:
    """The reasons about one upgrade for all these nodes: no such kind is offered, or what has no effect between
    nodes."""
    if kinds is not UpgradeKinds.DATA_ENGINE_UPGRADES:
        yield refused(
            "one_upgrade_not_offered",
            "One object for all nodes was asked for (upgrade_one_object), and the API server does not offer"
            " DataEngineUpgradeManager, the only kind that takes several nodes.",
            "Leave upgrade_one_object out: each node is then switched by itself, with a gate before it.",
        )
    elif len(nodes) > 1:
        yield remark(
            "nodes_without_gates",
            f"Longhorn goes through the {len(nodes)} nodes by itself, in one upgrade. Gates, tasks and approvals"
            " between nodes, pause, abort and the end of the run do not stop it: it does not wait for them.",
        )


def automatic(seen: Longhorn) -> Iterator[Reason]:
    """The refusal to make an upgrade of one node while Longhorn goes from node to node by itself."""
    if seen.upgrades.kinds is not UpgradeKinds.INSTANCE_MANAGER_UPGRADES:
        return
    for name in AUTOMATIC:
        if truth(of_v2(seen, name)):
            current = seen.upgrades.current_node
            at = f" It is at node {current}." if current else ""
            yield refused(
                "upgrades_automatic",
                f"The setting {name} is true, so Longhorn upgrades node after node by itself, with no gate between"
                f" them.{at}",
                "Set it to false: Longhorn finishes the node that it is at, and starts no other. Then run again.",
            )


def _follow(seen: Longhorn, wanted: WantedSwitch, upgrade: LonghornUpgrade) -> SwitchStep:
    """The step while an upgrade is at the node, or will be."""
    node = wanted.node
    if upgrade.image and upgrade.image != wanted.image:
        return _ended(_other_image(upgrade, wanted))
    progress = upgrade.of(node)
    if progress is None or (progress.state == UNDEFINED and upgrade.current_node not in {"", node}):
        return SwitchStep(*_in_turn(seen, upgrade, node))
    stage = STAGES.get(progress.state)
    if stage is None:
        said = f"Upgrade {upgrade.name} of node {node} is in an unknown state, {progress.state!r}."
        remedy = "Wait until it has ended, or look for a newer version of this collection."
        return SwitchStep(
            SwitchStage.UNDEFINED, (), Verdict((waiting("upgrade_state_unknown", said, remedy, about=node),))
        )
    reasons = (_under_way(seen, upgrade, node, progress), *causes(seen, upgrade, node, stage))
    return SwitchStep(stage, (), Verdict(reasons))


def _in_turn(seen: Longhorn, upgrade: LonghornUpgrade, node: str) -> tuple[SwitchStage, tuple[Act, ...], Verdict]:
    """The step of a node whose turn has not come in the upgrade."""
    state = upgrade.state or "undefined"
    at = f", and is at node {upgrade.current_node}" if upgrade.current_node else ""
    said = f"Upgrade {upgrade.name} is {state}{at}; node {node} has not had its turn.{_quoted(upgrade.message)}"
    first = waiting("upgrade_in_turn", said, about=upgrade.current_node or state)
    stage = SwitchStage.PENDING if upgrade.state else SwitchStage.UNDEFINED
    return stage, (), Verdict((first, *causes(seen, upgrade, upgrade.current_node, stage)))


def _under_way(seen: Longhorn, upgrade: LonghornUpgrade, node: str, progress: NodeProgress) -> Reason:
    state = progress.state or "undefined"
    retried = seen.upgrades.nodes.get(node, progress).attempts
    again = f" Longhorn has tried {retried} {'time' if retried == 1 else 'times'} before." if retried else ""
    said = f"Upgrade {upgrade.name} of node {node} is in state {state}.{_quoted(progress.message)}{again}"
    return waiting("upgrade_under_way", said, about=f"{node} {state}")


def _quoted(message: str) -> str:
    return f" Longhorn says: {message.rstrip('.')}." if message else ""


def _other_image(upgrade: LonghornUpgrade, wanted: WantedSwitch) -> Reason:
    return refused(
        "upgrade_of_other_image",
        f"Upgrade {upgrade.name}, which is in progress at node {wanted.node}, brings image {upgrade.image}, and not"
        f" {wanted.image}.",
        "Wait until it has ended, and see which image Longhorn has as its default; then run again.",
    )


def _other(upgrade: LonghornUpgrade, node: str) -> Reason:
    nodes = enumerate_few(upgrade.nodes) if upgrade.nodes else "all nodes"
    said = (
        f"Upgrade {upgrade.name} of {nodes} is {upgrade.state or 'undefined'}, and no second one is made now for"
        f" node {node}.{_quoted(upgrade.message)}"
    )
    return waiting("upgrade_elsewhere", said, "Wait until it has ended.", about=upgrade.name)


def _failed(seen: Longhorn, upgrade: LonghornUpgrade, node: str) -> Reason:
    progress = upgrade.of(node) or NodeProgress(upgrade.state)
    message = progress.message or upgrade.message
    volumes = sorted(name for name, each in progress.volumes.items() if each.state in {"error", "failed"})
    of_volumes = f" The volumes at fault: {enumerate_few(volumes)}." if volumes else ""
    state = progress.state if progress.failed else upgrade.state
    found = [f" {each.sentence()}" for each in causes(seen, upgrade, node, SwitchStage.ERROR)]
    current = upgrade.current_node if upgrade.active else ""
    goes_on = f" Longhorn continues with node {current}." if current else ""
    return refused(
        "upgrade_failed",
        f"Upgrade {upgrade.name} of node {node} has ended in state {state}"
        f"{': ' + message.rstrip('.') if message else ', without a message'}.{of_volumes}{''.join(found)}{goes_on}",
        "Fix the cause; the next run makes another upgrade of what is left.",
    )


def _without_effect(seen: Longhorn, upgrade: LonghornUpgrade, wanted: WantedSwitch) -> Reason:
    there = sorted(f"{each.image} ({each.state or 'unknown'})" for each in seen.managers_of.get(wanted.node, ()))
    said = (
        f"Upgrade {upgrade.name} is completed, and the instance managers of node {wanted.node} are"
        f" {enumerate_few(there) or 'missing'}, where only {wanted.image} should run."
    )
    return waiting("upgrade_without_effect", said, "See the log of longhorn-manager on this node.", about=wanted.node)


def volumes_of(found: Upgrades, node: str) -> Mapping[str, VolumeProgress]:
    """The volumes of a node with their original node, temporary node and state, as the newest upgrade of it says."""
    for each in sorted(found.upgrades, key=lambda each: (each.active, each.age), reverse=True):
        progress = each.of(node)
        if progress is not None and progress.volumes:
            return progress.volumes
    return {}


def _closed(seen: Longhorn, nodes: Collection[str], image: str) -> Iterator[Reason]:
    """The refusal of nodes that take no replicas: Longhorn does not open them while it upgrades them.

    A node that an upgrade has not completed may be closed because of it. By the design an upgrade is completed
    although it has failed at a node; the mark of the run that made it says that the node will be opened again.
    """
    for name in nodes:
        node = seen.nodes.get(name)
        if node is None or node.allow_scheduling or not touched(seen, name) or runs_image(seen, name, image):
            continue
        begun = any(each.covers(name) and each.state != "completed" for each in seen.upgrades.upgrades)
        if not begun and not any(act.kind == "reopen_node" for act in left_by_run(seen, name).acts):
            yield refused(
                "node_takes_no_replicas",
                f"Node {name} takes no replicas, so Longhorn would not rebuild those that its upgrade ends there.",
                "Allow scheduling on it, or detach its volumes.",
            )


def blockers(seen: Longhorn, nodes: Collection[str], image: str) -> Verdict:
    """The blockers of upgrading these nodes by this method, beyond those of any switch."""
    reasons = [*automatic(seen), *_closed(seen, nodes, image)]
    reasons += [
        _other_image(each, WantedSwitch(node, image))
        for each in seen.upgrades.active()
        for node in nodes
        if each.image and each.image != image and _is_at(each, node)
    ]
    return Verdict(tuple(dict.fromkeys(reasons)))
