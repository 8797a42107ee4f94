"""Reading pods as the scheduler and a drain see them, from JSON to observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from ...common.reading import Json, listed, part, text, text_map, texts
from ...kubernetes.answers import reading_object
from ...kubernetes.client import KubernetesClient
from ...kubernetes.conditions import UNKNOWN, conditions
from ...kubernetes.pod_usage import requests_of
from .workloads import LabelRule, PlacedPod, PlacementRules, Term, Toleration

PODS = "/api/v1/pods"
MIRROR = "kubernetes.io/config.mirror"
RUNNING = "status.phase!=Succeeded,status.phase!=Failed"
"""The field selector of pods that have not ended: those that have take no room, and go at once."""


def placed_pods(client: KubernetesClient, kubernetes_node: str = "") -> tuple[PlacedPod, ...]:
    """The pods of all namespaces that have not ended, or those on one Kubernetes node.

    Raises:
        Refusal: they cannot be had or understood.
    """
    here = f",spec.nodeName={kubernetes_node}" if kubernetes_node else ""
    return tuple(client.list_as(PODS, placed_pod, field_selector=RUNNING + here))


def placed_pod(item: Json) -> PlacedPod:
    """A pod from its object."""
    with reading_object("Pod", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})
        owner, owner_name = next(_controllers(metadata), ("", ""))
        affinity = part(spec, "affinity", {})
        return PlacedPod(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            labels=text_map(metadata, "labels"),
            kubernetes_node=text(spec, "nodeName", ""),
            phase=text(status, "phase", ""),
            ready=conditions(status).get("Ready", UNKNOWN).true,
            terminating=bool(text(metadata, "deletionTimestamp", "")),
            owner=owner,
            is_static=MIRROR in text_map(metadata, "annotations"),
            owner_name=owner_name,
            uid=text(metadata, "uid", ""),
            requests={"pods": 1000, **in_thousandths(requests_of(spec))},
            rules=PlacementRules(
                labels=tuple(sorted(text_map(spec, "nodeSelector").items())),
                terms=_terms(part(affinity, "nodeAffinity", {})),
                tolerations=listed(spec, "tolerations", _toleration, ()),
            ),
            claims=tuple(name for each in listed(spec, "volumes", dict, ()) if (name := _claim(metadata, each))),
            has_scratch=any("emptyDir" in each for each in listed(spec, "volumes", dict, ())),
            finalizers=texts(metadata, "finalizers", ()),
            ends=text(metadata, "deletionTimestamp", ""),
            by_other_pods=any(
                part(affinity, kind, {}).get("requiredDuringSchedulingIgnoredDuringExecution")
                for kind in ("podAffinity", "podAntiAffinity")
            ),
            is_spread=any(
                text(each, "whenUnsatisfiable", "") == "DoNotSchedule"
                for each in listed(spec, "topologySpreadConstraints", dict, ())
            ),
        )


def in_thousandths(amounts: Mapping[str, Decimal]) -> dict[str, int]:
    """The amounts in thousandths, rounded up as Kubernetes does it, without those that are 0."""
    return {name: -int(-amount * 1000 // 1) for name, amount in amounts.items() if amount > 0}


def terms_in(selector: Json) -> tuple[Term, ...]:
    """The terms of a node selector (core/v1, `NodeSelector`)."""
    return listed(selector, "nodeSelectorTerms", _term, ())


def _terms(affinity: Json) -> tuple[Term, ...] | None:
    required = part(affinity, "requiredDuringSchedulingIgnoredDuringExecution", {})
    return terms_in(required) if required else None


def _term(item: Json) -> Term:
    return (*listed(item, "matchExpressions", _rule, ()), *listed(item, "matchFields", _rule, ()))


def _rule(item: Json) -> LabelRule:
    return LabelRule(text(item, "key"), text(item, "operator"), texts(item, "values", ()))


def _toleration(item: Json) -> Toleration:
    return Toleration(*(text(item, name, "") for name in ("key", "operator", "value", "effect")))


def _controllers(metadata: Json) -> Iterator[tuple[str, str]]:
    for each in listed(metadata, "ownerReferences", dict, ()):
        if each.get("controller") is True:
            yield text(each, "kind", ""), text(each, "name", "")


def _claim(metadata: Json, volume: Mapping[str, Any]) -> str:
    """The claim of a volume; that of an ephemeral one has the names of pod and volume (core/v1,
    `EphemeralVolumeSource`)."""
    if volume.get("ephemeral"):
        return f"{text(metadata, 'name')}-{text(volume, 'name')}"
    return text(part(volume, "persistentVolumeClaim", {}), "claimName", "")
