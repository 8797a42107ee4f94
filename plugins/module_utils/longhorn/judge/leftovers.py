"""The things that a failed upgrade leaves on its node, which Longhorn does not put right. Pure.

With the design's kinds, engines are away and the node takes no replicas. The mark on the node says that a run of this
collection started it, and whether it took replicas before. Without a mark that is not known, and a person has to put it
right. Longhorn 1.13 leaves engines away if no instance manager ran at their home when it took the upgrade back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...common.verdict import Reason, refused, waiting
from ...common.words import enumerate_few
from ..observe.state import Longhorn, Volume
from ..observe.upgrades import LonghornUpgrade, UpgradeKinds
from .copies import at_rest
from .stages import Act
from .volumes import busy, touched

CLOSED = "@closed"
"""The end of the mark on a node that took no replicas before its upgrade."""


@dataclass(frozen=True)
class Leftovers:
    """Acts that put the node right, the reasons to wait for them, and the volumes whose engines have to stay."""

    acts: tuple[Act, ...] = ()
    reasons: tuple[Reason, ...] = ()
    staying: tuple[Volume, ...] = ()


def left_by_run(seen: Longhorn, node: str) -> Leftovers:
    """The leftovers on a node that a run has begun, if the newest upgrade that a run made of it has failed."""
    known = seen.nodes.get(node)
    failed = _newest_failed(seen, node)
    marked = known is not None and known.begun
    if known is None or failed is None or (not marked and seen.upgrades.kinds is UpgradeKinds.DATA_ENGINE_UPGRADES):
        return Leftovers()
    running = node in seen.running_managers
    away = _away(seen, failed, node)
    staying = tuple(each for each in away if each.attached and not running)
    going = [each for each in away if each not in staying]
    held = {each.name: tuple(busy(seen, each)) for each in going if each.attached}
    acts = [Act("send_home", each.name, node) for each in going if not held.get(each.name)]
    reasons = [reason for each in held.values() for reason in each]
    volumes = failed.progress[node].volumes if node in failed.progress else {}
    unsettled = [each for each in touched(seen, node) if running and each.name in volumes and not at_rest(seen, each)]
    coming = dict.fromkeys(each.name for each in (*going, *unsettled))
    if coming:
        said = f"Engines return to node {node}: {enumerate_few(coming)}."
        reasons.append(waiting("engines_return", said, about=node))
    if marked and not known.allow_scheduling and not known.mark.endswith(CLOSED):
        acts.append(Act("reopen_node", node, node))
        said = f"Node {node} takes replicas again, as it did before upgrade {failed.name}."
        reasons.append(waiting("node_opens", said, about=node))
    return Leftovers(tuple(acts), tuple(reasons), staying)


def left_by_another(seen: Longhorn, upgrade: LonghornUpgrade, node: str) -> Iterator[Reason]:
    """The refusal that says what a person has to put right on a node whose upgrade no run has started."""
    known = seen.nodes.get(node)
    if seen.upgrades.kinds is not UpgradeKinds.DATA_ENGINE_UPGRADES or known is None or known.mark:
        return
    away = [each.name for each in _away(seen, upgrade, node)]
    left = [f"engines of volumes {enumerate_few(away)} away from it"] if away else []
    left += [] if known.allow_scheduling else ["it closed for replicas"]
    if left:
        engines = (
            f"Set engineNodeID of {enumerate_few(away)} to {node} once its instance manager runs. " if away else ""
        )
        opened = f"Set allowScheduling of Longhorn node {node} to true." if not known.allow_scheduling else ""
        yield refused(
            "upgrade_left_node",
            f"Upgrade {upgrade.name} has failed at node {node}, and has left {' and '.join(left)}.",
            f"{engines}{opened}".strip(),
        )


def _newest_failed(seen: Longhorn, node: str) -> LonghornUpgrade | None:
    """The newest upgrade of the node that a run has made, if it has failed."""
    made = [each for each in seen.upgrades.upgrades if each.run and each.covers(node)]
    newest = max(made, key=lambda each: each.age, default=None)
    return newest if newest is not None and newest.has_failed_at(node) else None


def _away(seen: Longhorn, upgrade: LonghornUpgrade, node: str) -> list[Volume]:
    """The volumes of the node in this upgrade whose engine is wanted elsewhere: where the upgrade moved it, if that is
    known."""
    progress = upgrade.of(node)
    places = {name: each.temporary_node for name, each in progress.volumes.items()} if progress else {}
    found = [(seen.volumes[name], place) for name, place in places.items() if name in seen.volumes]
    return [each for each, place in found if each.engine_node not in {"", node} and place in {"", each.engine_node}]
