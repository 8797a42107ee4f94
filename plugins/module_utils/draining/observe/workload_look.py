"""One look at all pods, their Kubernetes nodes, volumes and budgets, each list read once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ...common.reading import Json, flag, listed, part, text, text_map, within
from ...common.verdict import Reason
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.kubernetes_nodes import PATH as NODES
from ...kubernetes.pod_usage import quantity
from ...kubernetes.pods import list_budgets
from .optional import asked
from .placed_pods import in_thousandths, placed_pods, terms_in
from .workloads import RoomyNode, Taint, Term, VolumeReplica, Workloads, is_of_manager

VOLUMES = "/api/v1/persistentvolumes"
REPLICAS = "/apis/longhorn.io/v1beta2/replicas"
SETTINGS = "/apis/longhorn.io/v1beta2/settings"
DEFAULT_POLICY = "block-if-contains-last-replica"
"""The default of `node-drain-policy` (`types/setting.go` of longhorn-manager)."""
LONGHORN = "driver.longhorn.io"
"""The CSI driver of Longhorn (`types/types.go` of longhorn-manager)."""


@dataclass(frozen=True)
class BoundVolume:
    """A volume that a claim has, and the terms for where it can be used; None if it can be used everywhere."""

    claim: tuple[str, str]
    terms: tuple[Term, ...] | None
    driver: str
    """The name of its CSI driver; empty without one."""
    handle: str
    """The name by which that driver knows it, which for Longhorn is that of the volume."""


def look_at_workloads(client: KubernetesClient) -> tuple[Workloads | None, tuple[Reason, ...]]:
    """The workloads, and remarks on what cannot be had for a missing right; None without the pods.

    Raises:
        Refusal: an answer cannot be had for another cause, or is not understood.
    """
    with ThreadPoolExecutor(max_workers=4) as pool:
        budgets = pool.submit(list_budgets, client, "")
        nodes = pool.submit(client.list_as, NODES, _node)
        volumes = pool.submit(asked, lambda: client.list_as(VOLUMES, _volume), "the zones of volumes")
        pods, remarks = asked(
            lambda: placed_pods(client), "the pods that budgets keep, and the room for those that move"
        )
        found, more = volumes.result()
        there = [each for each in found or () if each is not None]
        if pods is None:
            return None, remarks
        longhorn = {each.claim: each.handle for each in there if each.driver == LONGHORN}
        kept = budgets.result()
        managed = any(is_of_manager(each) for each in kept)
        replicas, rest = _replicas(client) if longhorn or managed else ((), ())
        policy, unknown = _drain_policy(client) if managed and replicas is not None else ("", ())
        return (
            Workloads(
                pods,
                kept,
                {each.name: each for each in nodes.result()},
                {each.claim: each.terms for each in there if each.terms is not None},
                longhorn,
                replicas or (),
                policy or "",
            ),
            (*remarks, *more, *rest, *unknown),
        )


def _replicas(client: KubernetesClient) -> tuple[tuple[VolumeReplica, ...] | None, tuple[Reason, ...]]:
    found, remarks = asked(lambda: client.list_as(REPLICAS, _replica), "where the replicas of Longhorn are")
    return (None if found is None else tuple(dict.fromkeys(each for each in found if each is not None))), remarks


def _drain_policy(client: KubernetesClient) -> tuple[str | None, tuple[Reason, ...]]:
    """The setting `node-drain-policy`, with the default where no one has set it."""
    found, remarks = asked(
        lambda: client.list_as(SETTINGS, _value, field_selector="metadata.name=node-drain-policy"),
        "whether Longhorn lets its instance managers leave (setting node-drain-policy)",
    )
    return (None if found is None else next(filter(None, found), DEFAULT_POLICY)), remarks


def _value(item: Json) -> str:
    with reading_object("Setting", item):
        return text(item, "value", "")


def _replica(item: Json) -> VolumeReplica | None:
    """A replica; None if it is nowhere yet (`datastore/longhorn.go` of longhorn-manager)."""
    with reading_object("Replica", item):
        spec, status = part(item, "spec", {}), part(item, "status", {})
        was_healthy, failed = bool(text(spec, "healthyAt", "")), bool(text(spec, "failedAt", ""))
        volume, node = text(spec, "volumeName", ""), text(spec, "nodeID", "")
        stopped = text(spec, "desireState", "") == text(status, "currentState", "") == "stopped"
    if not (volume and node):
        return None
    return VolumeReplica(volume, node, was_healthy and not failed, was_healthy or failed, stopped)


def _node(item: Json) -> RoomyNode:
    with reading_object("Node", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})
        amounts = {name: quantity(amount) for name, amount in part(status, "allocatable", {}).items()}
        return RoomyNode(
            name=text(metadata, "name"),
            labels=text_map(metadata, "labels"),
            taints=listed(spec, "taints", _taint, ()),
            closed=flag(spec, "unschedulable", default=False),
            allocatable=in_thousandths({name: amount for name, amount in amounts.items() if amount is not None}),
        )


def _taint(item: Json) -> Taint:
    return Taint(*(text(item, name, "") for name in ("key", "value", "effect")))


def _volume(item: Json) -> BoundVolume | None:
    """A volume; None if no claim has it now. A claim that is gone leaves its name in a volume that is kept."""
    with reading_object("PersistentVolume", item):
        spec, status = part(item, "spec", {}), part(item, "status", {})
        if text(status, "phase", "") != "Bound":
            return None
        claim = within(spec, "claimRef", lambda found: (text(found, "namespace", ""), text(found, "name", "")), {})
        required = part(part(spec, "nodeAffinity", {}), "required", {})
        csi = part(spec, "csi", {})
        driver, handle = text(csi, "driver", ""), text(csi, "volumeHandle", "")
        return BoundVolume(claim, terms_in(required) if required else None, driver, handle)
