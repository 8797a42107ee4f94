# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading StatefulSets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..common.errors import Refusal, refusal
from .client import Json, KubernetesClient
from .paths import in_namespace
from .state import Namespace, Owner, StatefulSet


def path_of(namespace: str, name: str = "") -> str:
    """The path of a StatefulSet, or of all in the namespace."""
    return in_namespace("/apis/apps/v1", namespace, "statefulsets", name)


def list_stateful_sets(
    client: KubernetesClient, namespace: str, label_selector: str | None = None
) -> tuple[StatefulSet, ...]:
    """The StatefulSets of a namespace that match the label selector, by name.

    Raises:
        Refusal: the answer cannot be had.
    """
    found = client.list(path_of(namespace), label_selector=label_selector)
    return tuple(sorted((stateful_set(item) for item in found), key=lambda each: each.name))


def get_stateful_set(client: KubernetesClient, namespace: str, name: str) -> StatefulSet:
    """One StatefulSet.

    Raises:
        Refusal: it does not exist, or the answer cannot be had.
    """
    item = client.get(path_of(namespace, name))
    if item is None:
        raise _missing(namespace, name)
    return stateful_set(item)


def named_in(seen: Namespace, name: str) -> StatefulSet:
    """One StatefulSet of a namespace.

    Raises:
        Refusal: it does not exist.
    """
    for each in seen.sets:
        if each.name == name:
            return each
    raise _missing(seen.name, name)


def _missing(namespace: str, name: str) -> Refusal:
    return refusal(
        "pool_missing",
        f"There is no StatefulSet {name} in namespace {namespace}.",
        "Check the pool, the namespace and kubernetes.context.",
    )


def stateful_set(item: Json) -> StatefulSet:
    """The observation of an API object."""
    metadata, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    template = (spec.get("template") or {}).get("spec") or {}
    containers = template.get("containers") or []
    replicas = spec.get("replicas")
    return StatefulSet(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        generation=metadata.get("generation") or 0,
        observed_generation=status.get("observedGeneration"),
        replicas=1 if replicas is None else replicas,
        first_ordinal=(spec.get("ordinals") or {}).get("start") or 0,
        update_strategy=spec.get("updateStrategy") or {"type": "RollingUpdate"},
        pod_management_policy=spec.get("podManagementPolicy") or "OrderedReady",
        selector=selector_text(spec.get("selector") or {}),
        update_revision=status.get("updateRevision") or None,
        images=_images(containers),
        init_images=_images(template.get("initContainers") or []),
        owner=controlling_owner(metadata),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        managers=_managers(metadata),
        claims=tuple(each["metadata"]["name"] for each in spec.get("volumeClaimTemplates") or []),
        min_ready_seconds=spec.get("minReadySeconds") or 0,
        has_readiness_probe=any(each.get("readinessProbe") for each in containers),
        template=template,
    )


def controlling_owner(metadata: Mapping[str, Any]) -> Owner | None:
    """The owner that controls an object, else its first owner, else None."""
    owners = [
        Owner(each["kind"], each["name"], each["apiVersion"], bool(each.get("controller")))
        for each in metadata.get("ownerReferences") or []
    ]
    return next((each for each in owners if each.controller), owners[0] if owners else None)


def selector_text(selector: Mapping[str, Any]) -> str:
    """A LabelSelector in the form of the query parameter `labelSelector`."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or []:
        key, values = each["key"], ",".join(each.get("values") or [])
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(forms.get(each["operator"], f"!{key}"))
    return ",".join(parts)


def _images(containers: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {each["name"]: each.get("image") or "" for each in containers}


def _managers(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    entries = metadata.get("managedFields") or []
    return tuple(dict.fromkeys(str(each.get("manager")) for each in entries if not each.get("subresource")))
