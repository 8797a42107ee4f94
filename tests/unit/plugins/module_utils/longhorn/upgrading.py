"""The upgrades by Longhorn itself, as objects of its API, for tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import all_of
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe import upgrades
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.upgrades import (
    LonghornUpgrade,
    UpgradeKinds,
    Upgrades,
)

from tests.unit.plugins.module_utils.longhorn.world import NEW

Json = Mapping[str, Any]


def named(name: str, spec: Json, status: Json, run: str = "") -> dict[str, Any]:
    """An object of the API."""
    labels = {"upgrade.stateful/run": run} if run else {}
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7", "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": status}


def manager(
    state: str, node_state: str | None = None, nodes: tuple[str, ...] = ("n1",), run: str = "", **status: Any
) -> dict[str, Any]:
    """A DataEngineUpgradeManager that is at node n1, or not there yet if that has no state."""
    own = {} if node_state is None else {"n1": {"state": node_state, "message": ""}}
    at = "n1" if node_state not in {None, "completed", "error"} else ""
    told = {"ownerID": "n1", "instanceManagerImage": NEW, "state": state, "upgradingNode": at, "upgradeNodes": own}
    return named("upgrade", {"dataEngine": "v2", "nodes": list(nodes)}, {**told, **status}, run)


def node_upgrade(state: str, node: str = "n1", **status: Any) -> dict[str, Any]:
    """The NodeDataEngineUpgrade of that manager."""
    spec = {"nodeID": node, "dataEngine": "v2", "instanceManagerImage": NEW, "dataEngineUpgradeManager": "upgrade"}
    return named(f"upgrade-{node}", spec, {"ownerID": node, "state": state, **status})


def instance_manager_upgrade(
    state: str, node: str = "n1", image: str = NEW, run: str = "", **status: Any
) -> dict[str, Any]:
    """An InstanceManagerUpgrade."""
    return named(
        f"imu-{node}", {"nodeID": node, "targetImage": image}, {"ownerID": node, "state": state, **status}, run
    )


def of_managers(*managers: Json, nodes: tuple[Json, ...] = ()) -> Upgrades:
    """The observation of these managers and their nodes."""
    found = all_of("NodeDataEngineUpgrade", nodes, upgrades.node_upgrade)
    read = all_of("DataEngineUpgradeManager", managers, upgrades.manager)
    return Upgrades(UpgradeKinds.DATA_ENGINE_UPGRADES, upgrades.with_node_upgrades(read, found))


def of_instance_managers(*items: Json, control: Json | None = None) -> Upgrades:
    """The observation of these InstanceManagerUpgrades and, if it is there, the control."""
    read: tuple[LonghornUpgrade, ...] = all_of("InstanceManagerUpgrade", items, upgrades.instance_manager_upgrade)
    told = named("longhorn-instance-manager-upgrade-control", {"targetImage": NEW}, control or {})
    current, nodes = all_of("InstanceManagerUpgradeControl", [told], upgrades.control)[0]
    return Upgrades(UpgradeKinds.INSTANCE_MANAGER_UPGRADES, read, current, nodes)
