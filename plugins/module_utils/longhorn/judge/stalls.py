"""The causes for which an upgrade by Longhorn itself does not go on, each with its remedy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...common.verdict import Reason, waiting
from ..observe.state import Longhorn, Volume
from ..observe.upgrades import LonghornUpgrade
from .copies import lenders
from .reasons import POD_EVENTS, no_lender
from .stages import SwitchStage
from .volumes import busy, is_whole, rebuilds, touched

ABORTS: Mapping[str, tuple[str, str]] = {
    "timeout": (
        "it took longer than Longhorn allows for one node",
        "Fix what held it up, or raise the setting v2-instance-manager-upgrade-timeout.",
    ),
    "target-image-changed": (
        "the image that Longhorn upgrades to was changed",
        "Settle on one default instance manager image, and run again.",
    ),
    "orphaned-imu": (
        "Longhorn's own list of nodes does not name it as the one under way",
        "See InstanceManagerUpgradeControl; run again once it names no node.",
    ),
    "no-temporary-node": (
        "no other node can run an engine any more",
        "Bring up a node with a healthy replica of each volume and a running v2 instance manager.",
    ),
}
"""The reasons that Longhorn v1.13 gives for taking an upgrade back, each with its meaning and a remedy."""


def causes(seen: Longhorn, upgrade: LonghornUpgrade, node: str, stage: SwitchStage) -> Iterator[Reason]:
    """The causes for which the upgrade may wait in this stage of the node; none if nothing is found."""
    if upgrade.abort_requested:
        yield _aborted(upgrade, node)
    yield from _of_owner(seen, upgrade)
    if node not in seen.nodes:
        return
    yield from _of_node(seen, node, stage)
    for volume in touched(seen, node):
        yield from _of_volume(seen, volume, node, stage)


def _aborted(upgrade: LonghornUpgrade, node: str) -> Reason:
    unknown = (f"of {upgrade.abort_reason!r}" if upgrade.abort_reason else "someone asked for it", "")
    why, remedy = ABORTS.get(upgrade.abort_reason, unknown)
    said = f"Upgrade {upgrade.name} of node {node} is taken back, because {why}."
    return waiting("upgrade_aborts", said, remedy, about=upgrade.name)


def _of_owner(seen: Longhorn, upgrade: LonghornUpgrade) -> Iterator[Reason]:
    """The longhorn-manager that should work on the upgrade."""
    if not upgrade.owner:
        said = f"No longhorn-manager has taken up upgrade {upgrade.name}."
        remedy = "If this does not pass, see whether longhorn-manager runs, and whether its version knows this kind."
        yield waiting("upgrade_without_owner", said, remedy, about=upgrade.name)
    elif upgrade.owner not in seen.nodes or not seen.nodes[upgrade.owner].ready:
        said = f"The longhorn-manager on node {upgrade.owner}, which works on upgrade {upgrade.name}, is not ready."
        yield waiting("upgrade_owner_away", said, "Bring it up, or wait until another takes over.", about=upgrade.name)


def _of_node(seen: Longhorn, node: str, stage: SwitchStage) -> Iterator[Reason]:
    if not seen.nodes[node].ready:
        cause = seen.nodes[node].conditions.get("Ready")
        why = f": {cause.message.rstrip('.')}" if cause and cause.message else ""
        yield waiting("node_not_ready", f"Longhorn node {node} is not ready{why}.", "Bring it up.", about=node)
    if stage is SwitchStage.REPLACING and node not in seen.running_managers:
        there = [f"{each.name} is {each.state or 'not started yet'}" for each in seen.managers_of.get(node, ())]
        said = f"No instance manager runs on node {node}: {', '.join(there) or 'there is none'}."
        yield waiting("manager_starts", said, POD_EVENTS, about=node)


def _of_volume(seen: Longhorn, volume: Volume, node: str, stage: SwitchStage) -> Iterator[Reason]:
    if stage in {SwitchStage.PENDING, SwitchStage.INITIALIZING, SwitchStage.SWITCHING_OVER, SwitchStage.SWITCHING_BACK}:
        yield from busy(seen, volume)
    if stage is SwitchStage.SWITCHING_OVER and volume.home == node and not next(lenders(seen, volume, node), ""):
        yield no_lender(volume, node)
    if volume.switchover == "reverting":
        said = f"Longhorn reverts the switch of the engine of volume {volume.name}."
        yield waiting("switch_reverts", said, "See the events of the volume for the cause.", about=volume.name)
    if stage in {SwitchStage.PENDING, SwitchStage.INITIALIZING, SwitchStage.REBUILDING} and not is_whole(seen, volume):
        yield rebuilds(seen, volume)
