# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The acts on upgrades that Longhorn makes by itself: one is made for a node, and one is taken back."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable

from ...common.moments import now_text
from ...common.verdict import Reason, waiting
from ...engine.lock_watch import writer_of
from ...engine.undo import Change, Path, Undo
from ...kubernetes.client import Json
from ...kubernetes.undo_annotation import UNDO, carried_undo
from ..judge.stages import Act
from ..observe.kinds import RUN, path_of
from ..observe.look_at_upgrades import upgrades_of
from ..observe.upgrades import Kinds, Upgrade, Upgrades
from .changes import ACTS, At, perform

ABORT: Path = ("status", "abortRequested")
TAKE_BACK = Change(ABORT, True, None)
"""The undo of an InstanceManagerUpgrade: Longhorn brings the engines home once this is true."""


def perform_upgrades(at: At, acts: Iterable[Act]) -> list[Reason]:
    """Make the acts that are due, as `perform` does."""
    return perform(at, acts, {**ACTS, "create_upgrade": _create})


def _create(at: At, act: Act) -> None:
    """Make an upgrade of one node, unless one is active by now, whoever made it."""
    kinds = at.seen.upgrades.kinds
    if kinds is None:
        return
    there = upgrades_of(at.client, at.seen.namespace, kinds)
    if there.active():
        return
    made = _upgrade(at, act.target, _free_name(there, act.target), kinds)
    at.still_wanted()
    with at.task.journal.doing(("create_upgrade", act.target, {"upgrade": made["metadata"]["name"]})):
        at.client.post(path_of(at.seen.namespace, kinds.value[0]), made, dry_run=at.task.check_mode)


def _free_name(there: Upgrades, node: str) -> str:
    """The first name for the node that is free. Two that make one at the same moment choose the same name."""
    stem = f"upgrade-{hashlib.sha256(node.encode()).hexdigest()[:16]}"
    taken = {each.name for each in there.upgrades}
    return next(name for name in (f"{stem}-{number}" for number in range(1, len(taken) + 2)) if name not in taken)


def _upgrade(at: At, node: str, name: str, kinds: Kinds) -> Json:
    run = at.task.run or f"outside-{''.join(each for each in now_text() if each.isdigit())}"
    metadata: Json = {"name": name, "namespace": at.seen.namespace, "labels": {RUN: run}}
    if kinds is Kinds.DATA_ENGINE_UPGRADES:
        kind, spec = "DataEngineUpgradeManager", {"dataEngine": "v2", "nodes": [node]}
    else:
        kind, spec = "InstanceManagerUpgrade", {"nodeID": node, "targetImage": at.image}
        metadata["annotations"] = {UNDO: Undo(writer_of(at.task), (TAKE_BACK,)).text()}
    return {"apiVersion": "longhorn.io/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}


def take_back(at: At, keep: Collection[str]) -> list[Reason]:
    """Have Longhorn take back the upgrades that runs have made, except for those of the nodes in `keep`.

    The result says what is waited for. The kinds of the design offer no way back, so that their upgrade is waited for.

    Raises:
        Refusal: the run that made one lives, or the change was not made.
    """
    ours = [each for each in at.seen.upgrades.active() if each.run and not set(each.nodes) & set(keep)]
    return [_take_back(at, each) for each in ours]


def _take_back(at: At, upgrade: Upgrade) -> Reason:
    nodes = ", ".join(upgrade.nodes)
    if at.seen.upgrades.kinds is Kinds.DATA_ENGINE_UPGRADES:
        said = f"Upgrade {upgrade.name} of {nodes or 'all nodes'} goes on, since its kind offers no way back."
        remedy = "Cure what holds it up: its state and message, and those of its NodeDataEngineUpgrade, say what."
        return waiting("upgrade_goes_on", said, remedy, about=upgrade.name)
    if not upgrade.abort_requested and upgrade.carries_undo:
        _request_abort(at, upgrade)
    said = f"Longhorn takes upgrade {upgrade.name} of node {nodes} back, and brings the engines home."
    return waiting("upgrade_aborts", said, about=upgrade.name)


def _request_abort(at: At, upgrade: Upgrade) -> None:
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
