"""One look at OpenShift: every object that a judgement needs, asked for side by side."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...common.errors import Refusal, refusal
from ...common.reading import text_map, within
from ...kubernetes.answers import all_of, is_not_found, reading_object
from ...kubernetes.client import KubernetesClient
from . import reading
from .kinds import MASTER, NODES, OPERATORS, POOLS, RELEASE, UPGRADE_OPERATOR, VERSION, ZONE, config_path
from .state import ConfiguredNode, MachineConfigPool, OpenShift, pool_for

Answer = TypeVar("Answer")
AT_ONCE = 4
"""Objects and lists that are asked for at the same time."""


@dataclass
class Looking:
    """The looks of one task."""

    client: KubernetesClient
    _releases: dict[str, str] = field(default_factory=dict)
    """The version of each rendered configuration."""

    def look(self) -> OpenShift:
        """OpenShift now.

        Raises:
            Refusal: an answer cannot be had or understood, or this is no OpenShift.
        """
        client = self.client
        with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
            version = pool.submit(client.get, VERSION)
            lists = {path: pool.submit(client.list, path) for path in (OPERATORS, POOLS, NODES)}
            # Another Kubernetes has none of the lists either.
            whole = _if_known(version)
            if whole is None:
                raise refusal(
                    "openshift_missing",
                    "The Kubernetes API has no ClusterVersion, so this is not OpenShift.",
                    "Correct kubernetes (upgrade_kubernetes).",
                )
            # With a hosted control plane it may know no pools (openshift/hypershift, `resourcesToRemove`).
            found_pools = _if_known(lists[POOLS]) or []
            found = {path: lists[path].result() for path in (OPERATORS, NODES)}
        (said,) = all_of("ClusterVersion", [whole], reading.cluster_version)
        reached = said.desired if said.has_completed(said.desired) else ""
        pools = {each.name: each for each in (self._pool(item, reached) for item in found_pools)}
        nodes = {each.name: each for each in all_of("Node", found[NODES], reading.node, client.kept)}
        configs = {config for each in nodes.values() for config in (each.current, each.desired)}
        releases = {each: self._release(each) for each in sorted(configs)}
        operators = all_of("ClusterOperator", found[OPERATORS], reading.operator, client.kept)
        members = members_of(pools, nodes)
        if not members.get(MASTER):
            raise refusal(
                "control_plane_hosted",
                f"No Kubernetes node is in a MachineConfigPool {MASTER}, so the control plane of this OpenShift is"
                " hosted by another cluster, and cannot be upgraded from here.",
                "Upgrade it there: the release of its HostedCluster, then those of its NodePools.",
            )
        return OpenShift(said, operators, pools, nodes, members, releases)

    def _pool(self, item: dict[str, Any], reached: str) -> MachineConfigPool:
        """A pool. Once the control plane has `reached` a version, its configuration is asked for until it has it, too.

        A version that renders the same content keeps the name and changes the annotation (machine-config-operator,
        `syncGeneratedMachineConfig` in `pkg/controller/render/render_controller.go`).
        """
        with reading_object("MachineConfigPool", item):
            config = reading.config_of(item)
            if reached and self._releases.get(config) != reached:
                self._releases.pop(config, None)
            release = self._release(config)
        (pool,) = all_of("MachineConfigPool", [item], lambda name, each: reading.pool(name, each, release))
        return pool

    def _release(self, config: str) -> str:
        if config and config not in self._releases:
            found = self.client.get(config_path(config))
            if found is None:
                return ""
            with reading_object("MachineConfig", found):
                notes = within(found, "metadata", lambda data: text_map(data, "annotations"))
            self._releases[config] = notes.get(RELEASE, "")
        return self._releases.get(config, "")


def _if_known(answer: Future[Answer]) -> Answer | None:
    """The answer; None if the API does not know the kind."""
    try:
        return answer.result()
    except Refusal as error:
        if not is_not_found(error):
            raise
        return None


def members_of(pools: dict[str, MachineConfigPool], nodes: dict[str, ConfiguredNode]) -> dict[str, tuple[str, ...]]:
    """The Kubernetes nodes of each pool, by zone and then by age, those without a zone last, which is the order of the
    machine config operator (`sortNodeList` in `pkg/controller/node/node_controller.go`)."""
    found: dict[str, list[ConfiguredNode]] = {name: [] for name in pools}
    for node in nodes.values():
        chosen = pool_for(node.labels, pools)
        if chosen:
            found[chosen].append(node)
    return {
        name: tuple(
            each.name
            for each in sorted(there, key=lambda node: (ZONE not in node.labels, node.zone, node.created, node.name))
        )
        for name, there in found.items()
    }


def other_upgrader(client: KubernetesClient) -> bool:
    """Whether the managed upgrade operator is at work on this cluster."""
    found = client.get(UPGRADE_OPERATOR)
    return found is not None and bool(found.get("spec", {}).get("replicas", 1))
