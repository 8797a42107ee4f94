# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The way in which the engines of this cluster are switched, from what its API server offers, and a look at it."""

from __future__ import annotations

from collections.abc import Collection

from ...common.errors import refusal
from ...common.reading import listed, text
from ...kubernetes.answers import reading
from ...kubernetes.client import KubernetesClient
from . import upgrades
from .kinds import API, path_of
from .reading import all_of
from .upgrades import KINDS, Upgrades, Way


def offered(client: KubernetesClient) -> frozenset[str]:
    """The kinds of Longhorn that the API server offers, by their plural names.

    Raises:
        Refusal: it offers none, or it did not answer.
    """
    answer = client.get(API)
    if answer is None:
        raise refusal(
            "longhorn_missing",
            f"The Kubernetes API at {client.host} does not offer {API.removeprefix('/apis/')}.",
            "Install Longhorn, or check kubernetes.context.",
        )
    with reading(f"to get {API}"):
        return frozenset(listed(answer, "resources", lambda each: text(each, "name")))


def way_of(kinds: Collection[str]) -> Way:
    """The way for a cluster with these kinds. Pure.

    Raises:
        Refusal: only one kind of a way is there, or both ways are, so that nobody can say which one Longhorn follows.
    """
    found = {way: [each for each in names if each in kinds] for way, names in KINDS.items()}
    for way, there in found.items():
        missing = [each for each in KINDS[way] if each not in there]
        if there and missing:
            raise refusal(
                "kinds_incomplete",
                f"The API server offers {there[0]} and not {missing[0]}, which Longhorn uses together.",
                "Complete the custom resource definitions of this Longhorn, or remove those that are left over.",
            )
    ways = [way for way, there in found.items() if there]
    if len(ways) > 1:
        raise refusal(
            "kinds_ambiguous",
            f"The API server offers both {ways[0].value} and {ways[1].value}, and Longhorn follows one of them.",
            "Remove the custom resource definitions that are not of this Longhorn.",
        )
    return ways[0] if ways else Way.OUTSIDE


def look_at_upgrades(client: KubernetesClient, namespace: str, way: Way) -> Upgrades:
    """The upgrades by Longhorn itself; none if its engines are switched from outside.

    Raises:
        Refusal: an answer cannot be had or understood.
    """
    if way is Way.ENGINE_UPGRADES:
        # Nodes first: a manager that is read later never lacks an object that it has made.
        items = client.list(path_of(namespace, upgrades.NODE_UPGRADES))
        nodes = all_of("NodeDataEngineUpgrade", items, upgrades.node_upgrade)
        items = client.list(path_of(namespace, upgrades.MANAGERS))
        managers = all_of("DataEngineUpgradeManager", items, upgrades.manager)
        return Upgrades(way, upgrades.with_node_upgrades(managers, nodes))
    if way is Way.INSTANCE_MANAGER_UPGRADES:
        items = client.list(path_of(namespace, upgrades.CONTROLS))
        controls = all_of("InstanceManagerUpgradeControl", items, upgrades.control)
        items = client.list(path_of(namespace, upgrades.INSTANCE_MANAGER_UPGRADES))
        found = all_of("InstanceManagerUpgrade", items, upgrades.instance_manager_upgrade)
        current, nodes_of = controls[0] if controls else ("", {})
        return Upgrades(way, found, current, nodes_of)
    return Upgrades(way)
