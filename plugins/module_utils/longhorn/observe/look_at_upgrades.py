"""One look at Longhorn with the upgrades that it makes by itself."""

from __future__ import annotations

from dataclasses import replace

from ...kubernetes.answers import all_of
from ...kubernetes.client import KubernetesClient
from . import upgrades
from .listing import all_objects
from .look import look
from .state import Longhorn
from .upgrades import CONTROLS, INSTANCE_MANAGER_UPGRADES, MANAGERS, NODE_UPGRADES, UpgradeKinds, Upgrades


def look_with_upgrades(client: KubernetesClient, namespace: str, kinds: UpgradeKinds) -> Longhorn:
    """Longhorn now. The upgrades are read first, so that what they have done is never missing in the rest of the look.

    Raises:
        Refusal: an answer cannot be had or understood, or no Longhorn is in this namespace.
    """
    found = upgrades_of(client, namespace, kinds)
    return replace(look(client, namespace), upgrades=found)


def upgrades_of(client: KubernetesClient, namespace: str, kinds: UpgradeKinds) -> Upgrades:
    """The upgrades of these kinds.

    Raises:
        Refusal: an answer cannot be had or understood.
    """
    if kinds is UpgradeKinds.DATA_ENGINE_UPGRADES:
        # The object of a node is read first, because the word of its manager counts.
        items = all_objects(client, namespace, NODE_UPGRADES)
        nodes = all_of("NodeDataEngineUpgrade", items, upgrades.node_upgrade)
        items = all_objects(client, namespace, MANAGERS)
        managers = all_of("DataEngineUpgradeManager", items, upgrades.manager)
        return Upgrades(kinds, upgrades.with_node_upgrades(managers, nodes))
    items = all_objects(client, namespace, CONTROLS)
    controls = all_of("InstanceManagerUpgradeControl", items, upgrades.control)
    items = all_objects(client, namespace, INSTANCE_MANAGER_UPGRADES)
    found = all_of("InstanceManagerUpgrade", items, upgrades.instance_manager_upgrade)
    current, counted = controls[0] if controls else ("", {})
    return Upgrades(kinds, found, current, counted)
