"""The objects with which Longhorn upgrades the engines of its nodes by itself: two kinds of objects, one observation.

The field names are those of the design "v2 data engine live upgrade" and of its code (`DataEngineUpgradeManager`,
`NodeDataEngineUpgrade`), and those of the v1.13 line (`InstanceManagerUpgrade`, `InstanceManagerUpgradeControl`). No
release has the former, and the names of the latter are unverified until v1.13 is out. Pure: no client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from ...common.reading import Json, flag, named, part, text, text_map, texts, whole, within
from ...run.undo.undo_annotation import UNDO
from .kinds import RUN

MANAGERS = "dataengineupgrademanagers"
NODE_UPGRADES = "nodedataengineupgrades"
INSTANCE_MANAGER_UPGRADES = "instancemanagerupgrades"
CONTROLS = "instancemanagerupgradecontrols"
AUTOMATIC = ("allow-v2-instance-manager-automatic-upgrade", "allow-instance-manager-automatic-upgrade")
"""The names that the setting may have with which Longhorn v1.13 upgrades node after node by itself."""

UNDEFINED = ""
COMPLETED = "completed"
ENDED_BADLY = frozenset({"error", "failed"})
"""The last states of an upgrade, or of one node in it, that did not succeed."""


class UpgradeKinds(Enum):
    """The two kinds of objects, each with the resources of the API: first that of the objects which a run makes."""

    DATA_ENGINE_UPGRADES = (MANAGERS, NODE_UPGRADES)
    INSTANCE_MANAGER_UPGRADES = (INSTANCE_MANAGER_UPGRADES, CONTROLS)


@dataclass(frozen=True)
class VolumeProgress:
    """The progress of one volume in the upgrade of a node. A field that the kind lacks is empty."""

    state: str = ""
    message: str = ""
    original_node: str = ""
    temporary_node: str = ""


@dataclass(frozen=True)
class NodeProgress:
    """The progress of one node in an upgrade."""

    state: str
    message: str = ""
    volumes: Mapping[str, VolumeProgress] = field(default_factory=dict)
    attempts: int = 0
    """The attempts that have failed before this one."""

    @property
    def ended(self) -> bool:
        """Whether the upgrade does nothing more with the node."""
        return self.state == COMPLETED or self.failed

    @property
    def failed(self) -> bool:
        """Whether it ended without success."""
        return self.state in ENDED_BADLY


@dataclass(frozen=True)
class LonghornUpgrade:
    """One upgrade of nodes by Longhorn itself."""

    name: str
    uid: str
    version: str
    """Its resourceVersion."""
    run: str
    """The run that made it; empty if someone else made it."""
    nodes: tuple[str, ...]
    """The nodes that it upgrades; none stands for all."""
    image: str
    """The image that the instance managers are to run; empty while Longhorn has not said."""
    state: str
    message: str = ""
    owner: str = ""
    """The node of the longhorn-manager that works on it."""
    current_node: str = ""
    progress: Mapping[str, NodeProgress] = field(default_factory=dict)
    abort_requested: bool = False
    abort_reason: str = ""
    carries_undo: bool = False
    created: str = ""
    """The time at which it was made."""

    @property
    def age(self) -> tuple[str, int, str]:
        """A later upgrade is greater. Of one second, the number at the end of the names that runs give decides."""
        return self.created, len(self.name), self.name

    @property
    def active(self) -> bool:
        """Whether it has not ended."""
        return self.state != COMPLETED and self.state not in ENDED_BADLY

    def covers(self, node: str) -> bool:
        """Whether it upgrades this node."""
        return not self.nodes or node in self.nodes

    def of(self, node: str) -> NodeProgress | None:
        """The progress of a node in it; None before the node's turn."""
        return self.progress.get(node)

    def has_failed_at(self, node: str) -> bool:
        """Whether it has failed at the node, or as a whole before it was done with the node."""
        progress = self.of(node)
        if progress is not None and progress.ended:
            return progress.failed
        return self.covers(node) and not self.active and self.state != COMPLETED


@dataclass(frozen=True)
class Upgrades:
    """All upgrades by Longhorn itself, at one time."""

    kinds: UpgradeKinds | None = None
    """The kinds that were looked at; none if the engines are switched from outside."""
    upgrades: tuple[LonghornUpgrade, ...] = ()
    current_node: str = ""
    """The node at which Longhorn is when it goes from node to node by itself (v1.13)."""
    nodes: Mapping[str, NodeProgress] = field(default_factory=dict)
    """The nodes as Longhorn counts them when it goes from node to node by itself (v1.13)."""

    def active(self) -> tuple[LonghornUpgrade, ...]:
        """The upgrades that have not ended, in the order of their names."""
        return tuple(sorted((each for each in self.upgrades if each.active), key=lambda each: each.name))

    def are_at(self, node: str) -> bool:
        """Whether Longhorn itself is at work on this node."""
        found = [each.of(node) for each in self.active()]
        return any(each is not None and not each.ended and each.state != "pending" for each in found)


def _message(status: Json) -> str:
    """The message of a status: the design names the field `errorMessage`, its code `message`, and v1.13 `errorMsg`."""
    said = (text(status, name, "").strip() for name in ("errorMessage", "message", "errorMsg"))
    return " ".join(dict.fromkeys(each for each in said if each))


def _parts(item: Json) -> tuple[Json, Json, Json]:
    return part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})


def manager(name: str, item: Json) -> LonghornUpgrade:
    """A DataEngineUpgradeManager, without what its NodeDataEngineUpgrades say (see `with_node_upgrades`)."""
    metadata, spec, status = _parts(item)
    return LonghornUpgrade(
        name=name,
        uid=text(metadata, "uid"),
        version=text(metadata, "resourceVersion", ""),
        run=text_map(metadata, "labels").get(RUN, ""),
        nodes=texts(spec, "nodes", ()),
        image=text(status, "instanceManagerImage", ""),
        state=_state(status),
        message=_message(status),
        owner=text(status, "ownerID", ""),
        current_node=text(status, "upgradingNode", ""),
        progress=named(status, "upgradeNodes", lambda _name, each: NodeProgress(_state(each), _message(each)), {}),
        created=text(metadata, "creationTimestamp", ""),
    )


def _state(status: Json) -> str:
    """The state. The code writes the first one as an empty text, the design calls it `undefined`."""
    found = text(status, "state", "")
    return UNDEFINED if found == "undefined" else found


@dataclass(frozen=True)
class NodeUpgrade:
    """A NodeDataEngineUpgrade: one node of a DataEngineUpgradeManager."""

    node: str
    manager: str
    progress: NodeProgress


def node_upgrade(_name: str, item: Json) -> NodeUpgrade:
    """A NodeDataEngineUpgrade."""
    _metadata, spec, status = _parts(item)
    volumes = named(status, "volumes", lambda _name, each: VolumeProgress(_state(each), _message(each)), {})
    progress = NodeProgress(_state(status), _message(status), volumes)
    return NodeUpgrade(text(spec, "nodeID"), text(spec, "dataEngineUpgradeManager", ""), progress)


def with_node_upgrades(
    managers: Iterable[LonghornUpgrade], nodes: Iterable[NodeUpgrade]
) -> tuple[LonghornUpgrade, ...]:
    """The managers, each with what the objects of its nodes say.

    The word of the manager counts for a node that it calls ended. Before that the object of the node knows more.
    """
    of_nodes: dict[str, dict[str, NodeProgress]] = {}
    for each in nodes:
        of_nodes.setdefault(each.manager, {})[each.node] = each.progress
    return tuple(_with_nodes(each, of_nodes.get(each.name, {})) for each in managers)


def _with_nodes(manager: LonghornUpgrade, own: Mapping[str, NodeProgress]) -> LonghornUpgrade:
    progress = dict(manager.progress)
    for node, said in own.items():
        by_manager = progress.get(node)
        if by_manager is None or not by_manager.ended:
            messages = dict.fromkeys(each for each in (said.message, by_manager.message if by_manager else "") if each)
            progress[node] = replace(said, message=" ".join(messages))
        else:
            progress[node] = replace(by_manager, volumes=said.volumes, message=by_manager.message or said.message)
    return replace(manager, progress=progress)


def instance_manager_upgrade(name: str, item: Json) -> LonghornUpgrade:
    """An InstanceManagerUpgrade, which is about one node."""
    metadata, spec, status = _parts(item)
    node, state, message = text(spec, "nodeID"), _state(status), _message(status)
    volumes = named(status, "engines", _engine, {})
    return LonghornUpgrade(
        name=name,
        uid=text(metadata, "uid"),
        version=text(metadata, "resourceVersion", ""),
        run=text_map(metadata, "labels").get(RUN, ""),
        nodes=(node,),
        image=text(spec, "targetImage"),
        state=state,
        message=message,
        owner=text(status, "ownerID", ""),
        current_node=node,
        progress={node: NodeProgress(state, message, volumes)},
        abort_requested=flag(status, "abortRequested", default=False),
        abort_reason=text(status, "abortReason", ""),
        carries_undo=UNDO in text_map(metadata, "annotations"),
        created=text(metadata, "creationTimestamp", ""),
    )


def _engine(_volume: str, found: Json) -> VolumeProgress:
    return VolumeProgress(
        original_node=text(found, "originalNodeID", ""), temporary_node=text(found, "temporaryNodeID", "")
    )


def control(_name: str, item: Json) -> tuple[str, Mapping[str, NodeProgress]]:
    """The InstanceManagerUpgradeControl: the node at which it is, and all nodes as it counts them."""

    def read(status: Json) -> tuple[str, Mapping[str, NodeProgress]]:
        nodes = named(
            status,
            "nodes",
            lambda _name, each: NodeProgress(_state(each), _message(each), attempts=whole(each, "retryCount", 0)),
            {},
        )
        return text(status, "currentNode", ""), nodes

    return within(item, "status", read, {})
