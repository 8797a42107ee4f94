# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool as Kubernetes sees it: its StatefulSet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..common.errors import refusal
from .client import Json, KubernetesClient

_FLEETING = frozenset({"emptyDir", "configMap", "secret", "projected", "downwardAPI", "ephemeral", "image"})


@dataclass(frozen=True)
class Owner:
    """An ownerReference."""

    kind: str
    name: str
    api_version: str
    controller: bool


@dataclass(frozen=True)
class StatefulSet:
    """One StatefulSet at one moment. Counters are 0 and revisions None where the JSON has none (a set just created)."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    observed_generation: int | None
    replicas: int
    first_ordinal: int
    update_strategy: Mapping[str, Any]
    pod_management_policy: str
    selector: str
    update_revision: str | None
    images: Mapping[str, str]
    init_images: Mapping[str, str]
    owner: Owner | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    image_managers: Mapping[str, tuple[str, ...]]
    """Container to the field managers of its image."""
    strategy_managers: tuple[str, ...]
    ephemeral: bool
    """Whether all volumes go with the pod: no claim templates, and no volume that outlives the pod."""
    min_ready_seconds: int
    has_readiness_probe: bool
    template: Json = field(default_factory=dict, repr=False, compare=False)
    """The spec of the pod template as it is."""

    @property
    def strategy(self) -> str:
        """`OnDelete` or `RollingUpdate`."""
        return str(self.update_strategy.get("type") or "RollingUpdate")

    @property
    def partition(self) -> int:
        """The ordinal below which RollingUpdate keeps pods on their revision; 0 where there is none."""
        return int((self.update_strategy.get("rollingUpdate") or {}).get("partition") or 0)

    @property
    def path(self) -> str:
        """The path of this object in the API."""
        return path_of(self.namespace, self.name)

    def ordinal(self, pod: str) -> int | None:
        """The ordinal of one of this set's pods, or None if the set makes no pod of that name."""
        prefix, _dash, number = pod.rpartition("-")
        if prefix != self.name or not number.isdecimal() or str(int(number)) != number:
            return None
        ordinal = int(number)
        return ordinal if self.first_ordinal <= ordinal < self.first_ordinal + self.replicas else None

    def member_names(self) -> tuple[str, ...]:
        """The names of all the pods this set keeps, in order."""
        return tuple(f"{self.name}-{self.first_ordinal + index}" for index in range(self.replicas))


def path_of(namespace: str, name: str = "") -> str:
    """The path of a StatefulSet, or of all in the namespace."""
    return f"/apis/apps/v1/namespaces/{namespace}/statefulsets" + (f"/{name}" if name else "")


def list_stateful_sets(
    client: KubernetesClient, namespace: str, names: Iterable[str] | None = None, label_selector: str | None = None
) -> tuple[StatefulSet, ...]:
    """The named StatefulSets in the order given, else those that match the label selector, by name.

    Raises:
        Refusal: a named one does not exist, or the answer cannot be had.
    """
    if names is not None:
        return tuple(get_stateful_set(client, namespace, name) for name in names)
    found = client.list(path_of(namespace), label_selector=label_selector)
    return tuple(sorted((stateful_set(item) for item in found), key=lambda each: each.name))


def get_stateful_set(client: KubernetesClient, namespace: str, name: str) -> StatefulSet:
    """One StatefulSet.

    Raises:
        Refusal: it does not exist, or the answer cannot be had.
    """
    item = client.get(path_of(namespace, name))
    if item is None:
        raise refusal(
            "pool_missing",
            f"There is no StatefulSet {name} in namespace {namespace}.",
            "Check the pool, the namespace and kubernetes.context.",
        )
    return stateful_set(item)


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
        image_managers={each["name"]: _managers(metadata, _image_field(each["name"])) for each in containers},
        strategy_managers=_managers(metadata, ("f:spec", "f:updateStrategy")),
        ephemeral=not spec.get("volumeClaimTemplates") and _all_fleeting(template.get("volumes") or []),
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


def _image_field(container: str) -> tuple[str, ...]:
    key = f'k:{{"name":"{container}"}}'
    return ("f:spec", "f:template", "f:spec", "f:containers", key, "f:image")


def _managers(metadata: Mapping[str, Any], path: tuple[str, ...]) -> tuple[str, ...]:
    """The field managers that own a field, by `metadata.managedFields`."""
    found: dict[str, None] = {}
    for entry in metadata.get("managedFields") or []:
        fields: Any = entry.get("fieldsV1")
        for step in path:
            fields = fields.get(step) if isinstance(fields, Mapping) else None
        if fields is not None:
            found[str(entry.get("manager"))] = None
    return tuple(found)


def _all_fleeting(volumes: Iterable[Mapping[str, Any]]) -> bool:
    return all(kind in _FLEETING for volume in volumes for kind in volume if kind != "name")
