"""Longhorn as tables describe it: nodes, and volumes with their engine and their replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.conditions import StatusCondition
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.state import (
    Engine,
    Frontend,
    InstanceManager,
    KubernetesNode,
    Longhorn,
    LonghornDisk,
    Node,
    Replica,
    Volume,
    VolumeSnapshot,
)

OLD = "longhornio/longhorn-instance-manager:v1.12.0"
NEW = "longhornio/longhorn-instance-manager:v1.12.1"
TRUE = StatusCondition("True", "", "")

Places = Mapping[str, tuple[str, Iterable[str]]]


def volume(name: str, engine: str, replicas: int, **more: Any) -> Volume:
    """An attached, healthy volume whose workload and engine are on the same node."""
    plain = Volume(
        name=name,
        data_engine="v2",
        node=engine,
        engine_node="",
        number_of_replicas=replicas,
        frontend="blockdev",
        data_locality="disabled",
        standby=False,
        migration_node="",
        home_mark="",
        state="attached",
        robustness="healthy",
        at_node=engine,
        engine_at=engine,
        at_migration_node="",
        switchover="",
        expanding=False,
        restoring=False,
        cloning=False,
    )
    return replace(plain, **more)


def engine_of(name: str, node: str, replicas: Iterable[str], **more: Any) -> Engine:
    """A running engine that reads and writes these replicas."""
    plain = Engine(f"{name}-e-0", name, node, True, "running", dict.fromkeys(replicas, "RW"), {}, (), False, ())
    return replace(plain, **more)


def manager(node: str, image: str = OLD, state: str = "running", **more: Any) -> InstanceManager:
    """An instance manager of the v2 data engine."""
    name = f"im-{node}-{image[-1]}"
    return replace(InstanceManager(name, f"uid-{name}", image, node, "v2", state, False, 6, ()), **more)


def node(name: str, **more: Any) -> Node:
    """A ready node with a block disk."""
    conditions = {"Ready": TRUE, "HugePagesAvailable": TRUE}
    return replace(Node(name, True, "", conditions, (LonghornDisk("disk-1", "block", TRUE, TRUE),)), **more)


def world(places: Places, nodes: Iterable[str] = ("n1", "n2", "n3"), **more: Any) -> Longhorn:
    """Longhorn with these volumes: the node of the engine and those of the replicas, by the name of the volume.

    Every node has a running manager of the old image and a stopped one of the new image.
    """
    names = tuple(nodes)
    replicas, engines, frontends, volumes = [], [], [], {}
    for name, (at, held) in places.items():
        there = tuple(held)
        own = [
            Replica(f"{name}-r-{number}", name, place, "running", "", "2026-11-21T02:00:00Z")
            for number, place in enumerate(there, start=1)
        ]
        replicas += own
        volumes[name] = volume(name, at, len(there))
        engines.append(engine_of(name, at, [each.name for each in own]))
        frontends.append(Frontend(f"{name}-ef", name, at, f"{name}-e-0", "running", ("10.0.0.1", 1), ("10.0.0.1", 1)))
    instances: dict[str, list[str]] = {}
    held_on: list[Replica | Engine | Frontend] = [*replicas, *engines, *frontends]
    for each in held_on:
        instances.setdefault(each.node, []).append(each.name)
    managers = [
        *(manager(name, OLD, instances=tuple(instances.get(name, ()))) for name in names),
        *(manager(name, NEW, "stopped") for name in names),
    ]
    plain = Longhorn(
        namespace="longhorn-system",
        nodes={name: node(name) for name in names},
        volumes=volumes,
        engines=tuple(engines),
        frontends=tuple(frontends),
        replicas=tuple(replicas),
        managers=tuple(managers),
        settings={
            "default-instance-manager-image": NEW,
            "replica-replenishment-wait-interval": "600",
            "concurrent-replica-rebuild-per-node-limit": "5",
        },
        kubernetes_nodes={name: KubernetesNode(name, False, frozenset({OLD, NEW})) for name in names},
    )
    return replace(plain, **more)


def with_volume(seen: Longhorn, name: str, **more: Any) -> Longhorn:
    """The same with fields of one volume changed."""
    return replace(seen, volumes={**seen.volumes, name: replace(seen.volumes[name], **more)})


def with_engine(seen: Longhorn, name: str, **more: Any) -> Longhorn:
    """The same with fields of one volume's engine changed."""
    return replace(seen, engines=tuple(replace(each, **more) if each.volume == name else each for each in seen.engines))


def with_replica(seen: Longhorn, name: str, **more: Any) -> Longhorn:
    """The same with fields of one replica changed."""
    return replace(seen, replicas=tuple(replace(each, **more) if each.name == name else each for each in seen.replicas))


def with_node(seen: Longhorn, name: str, **more: Any) -> Longhorn:
    """The same with fields of one node changed."""
    return replace(seen, nodes={**seen.nodes, name: replace(seen.nodes[name], **more)})


def with_managers(seen: Longhorn, name: str, *managers: InstanceManager) -> Longhorn:
    """The same with other managers on one node."""
    return replace(seen, managers=(*(each for each in seen.managers if each.node != name), *managers))


def marked(seen: Longhorn, name: str, *snapshots: str, ready: bool = True) -> Longhorn:
    """The same with a node on which a run has started work, and its snapshots of these volumes."""
    made = tuple(VolumeSnapshot(f"s-{each}", f"u-{each}", each, "run-1", "t", ready, "") for each in snapshots)
    return replace(with_node(seen, name, mark="run-1", allow_scheduling=False), snapshots=made)


def moved(seen: Longhorn, name: str, to: str, home: str = "n1") -> Longhorn:
    """The same with the engine of a volume moved away by a run, and settled."""
    return with_engine(with_volume(seen, name, engine_node=to, engine_at=to, home_mark=home), name, node=to)
