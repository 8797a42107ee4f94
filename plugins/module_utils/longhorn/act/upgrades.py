"""The acts on upgrades that Longhorn makes by itself: one is made, and one is taken back."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...common.verdict import Reason, waiting
from ...kubernetes.client import Json
from ...run.lock.lock_watch import writer_of
from ...run.undo.undo import Change, Path, Undo, document_of, value_at
from ...run.undo.undo_annotation import UNDO, carried_undo, dotted, named
from ..judge.leftovers import CLOSED, left_by_run
from ..judge.reasons import engine_stays
from ..judge.stages import Act
from ..observe.kinds import NODES, RUN, VOLUMES, path_of
from ..observe.look_at_upgrades import upgrades_of
from ..observe.upgrades import LonghornUpgrade, UpgradeKinds, Upgrades
from .changes import ACTS, ENGINE, MARK, SCHEDULING, At, Performed, name_of_run, perform

ABORT: Path = ("status", "abortRequested")
TAKE_BACK = Change(ABORT, True, None)
"""The undo of an InstanceManagerUpgrade: Longhorn brings the engines home once this is true."""


def perform_upgrades(at: At, acts: Iterable[Act]) -> list[Reason]:
    """Make the acts that are due, as `perform` does."""
    return perform(at, acts, _KNOWN)


def _note_node(at: At, act: Act) -> None:
    """Mark the node as begun, and note whether it takes replicas, since the design does not restore that."""
    node = at.seen.nodes[act.target]
    closed = "" if node.allow_scheduling else CLOSED
    at.change(NODES, act.target, {MARK: node.mark or f"{name_of_run(at)}{closed}"})


def _send_home(at: At, act: Act) -> None:
    """Have an engine return that a failed upgrade has moved away. The node that was wanted before is recorded
    nowhere."""
    volume = at.seen.volumes[act.target]
    _repair(at, VOLUMES, act.target, ENGINE, volume.engine_node, "" if volume.node == act.node else act.node)


def _repair(at: At, kind: str, name: str, where: Path, was: Any, wanted: Any) -> None:
    """Set a value for good, if it still is as it was seen."""
    path = path_of(at.seen.namespace, kind, name)
    found = at.client.get(path)
    if found is None or value_at(found, where) != was:
        return
    at.still_wanted()
    guard: dict[Path, Any] = {("metadata", "resourceVersion"): found["metadata"]["resourceVersion"]}
    with at.task.journal.doing(("repaired", named(found), {"set": {dotted(where): wanted}})):
        at.client.patch(path, document_of({**guard, where: wanted}), "merge", dry_run=at.task.check_mode)


def _create(at: At, act: Act) -> None:
    """Make the upgrade of a node, or of several, unless one is active by now, whoever made it."""
    kinds = at.seen.upgrades.kinds
    if kinds is None:
        return
    there = upgrades_of(at.client, at.seen.namespace, kinds)
    if there.active():
        return
    made = _upgrade(at, act.nodes, _free_name(there, act.target), kinds)
    at.still_wanted()
    at.still_fresh(act.target)
    with at.task.journal.doing(("create_upgrade", act.target, {"upgrade": made["metadata"]["name"]})):
        at.client.post(path_of(at.seen.namespace, kinds.value[0]), made, dry_run=at.task.check_mode)


def _free_name(there: Upgrades, node: str) -> str:
    """The first name for the node that is free. Two runs that make one at the same time choose the same name."""
    stem = f"upgrade-{hashlib.sha256(node.encode()).hexdigest()[:16]}"
    taken = {each.name for each in there.upgrades}
    return next(name for name in (f"{stem}-{number}" for number in range(1, len(taken) + 2)) if name not in taken)


def _upgrade(at: At, nodes: tuple[str, ...], name: str, kinds: UpgradeKinds) -> Json:
    metadata: Json = {"name": name, "namespace": at.seen.namespace, "labels": {RUN: name_of_run(at)}}
    if kinds is UpgradeKinds.DATA_ENGINE_UPGRADES:
        kind, spec = "DataEngineUpgradeManager", {"dataEngine": "v2", "nodes": list(nodes)}
    else:
        kind, spec = "InstanceManagerUpgrade", {"nodeID": nodes[0], "targetImage": at.image}
        metadata["annotations"] = {UNDO: Undo(writer_of(at.task), (TAKE_BACK,)).text()}
    return {"apiVersion": "longhorn.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def take_back(at: At, keep: Collection[str]) -> list[Reason]:
    """Have Longhorn take back the upgrades that runs have made, except for those of the nodes in `keep`.

    The result says what is waited for. The kinds of the design offer no way back, so that their upgrade is waited for.
    If it has failed, everything that it has left is put right.

    Raises:
        Refusal: the run that made one lives, or the change was not made.
    """
    ours = [each for each in at.seen.upgrades.active() if each.run and not set(each.nodes) & set(keep)]
    if ours:
        return [_take_back(at, each) for each in ours]
    return [reason for node in at.seen.nodes.values() if node.name not in keep for reason in _put_right(at, node.name)]


def _put_right(at: At, node: str) -> list[Reason]:
    """Begin to put right what a failed upgrade has left on the node. The result says what is waited for, or stays."""
    left = left_by_run(at.seen, node)
    refusals = perform_upgrades(at, left.acts)
    return [*left.reasons, *refusals, *([] if left.reasons else [engine_stays(each, node) for each in left.staying])]


def _take_back(at: At, upgrade: LonghornUpgrade) -> Reason:
    nodes = ", ".join(upgrade.nodes)
    if at.seen.upgrades.kinds is UpgradeKinds.DATA_ENGINE_UPGRADES:
        said = f"Upgrade {upgrade.name} of {nodes or 'all nodes'} continues, since its kind offers no way back."
        remedy = "Fix what holds it up: its state and message, and those of its NodeDataEngineUpgrade, say what."
        return waiting("upgrade_goes_on", said, remedy, about=upgrade.name)
    if not upgrade.abort_requested and upgrade.carries_undo:
        _request_abort(at, upgrade)
    said = f"Longhorn takes upgrade {upgrade.name} of node {nodes} back, and brings the engines home."
    return waiting("upgrade_aborts", said, about=upgrade.name)


def _request_abort(at: At, upgrade: LonghornUpgrade) -> None:
    path = path_of(at.seen.namespace, "instancemanagerupgrades", upgrade.name)
    found = at.client.get(path)
    undo = carried_undo(found, lambda made: made == TAKE_BACK) if found is not None else None
    if found is None or undo is None:
        return
    at.writers.judge(undo.writer)
    at.still_wanted()
    version = found["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "status": {"abortRequested": True}}
    with at.task.journal.doing(("abort_upgrade", upgrade.name, {"nodes": list(upgrade.nodes)})):
        at.client.patch(f"{path}/status", patch, "merge", dry_run=at.task.check_mode)


_KNOWN: Mapping[str, Performed] = {
    **ACTS,
    "create_upgrade": _create,
    "note_node": _note_node,
    "send_home": _send_home,
    "reopen_node": lambda at, act: _repair(at, NODES, act.target, SCHEDULING, was=False, wanted=True),
}
