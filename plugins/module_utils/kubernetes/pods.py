# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading pods, what is said of them, and the Kubernetes nodes they run on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.errors import Refusal, Unreachable
from .client import Json, KubernetesClient
from .paths import CORE, in_namespace
from .state import Container, Event, Pod, StatefulSet

REVISION_LABEL = "controller-revision-hash"


def pod_path(namespace: str, name: str = "") -> str:
    """The path of a pod, or of all in the namespace."""
    return in_namespace(CORE, namespace, "pods", name)


def list_pods(client: KubernetesClient, namespace: str, selector: str | None = None) -> tuple[Pod, ...]:
    """The pods that match a label selector; without one all of the namespace."""
    return tuple(pod(item) for item in client.list(pod_path(namespace), label_selector=selector))


def pods_of(client: KubernetesClient, pool: StatefulSet) -> dict[str, Pod]:
    """The pods that belong to a StatefulSet, by name."""
    found = list_pods(client, pool.namespace, pool.selector)
    return {each.name: each for each in found if each.owner_uid == pool.uid}


def pod(item: Json) -> Pod:
    """The observation of an API object."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    labels: dict[str, str] = metadata.get("labels") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or []}
    owner = [each["uid"] for each in metadata.get("ownerReferences") or [] if each.get("controller")]
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        labels=labels,
        revision=labels.get(REVISION_LABEL, ""),
        phase=status.get("phase") or "",
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        ready=(conditions.get("Ready") or {}).get("status") == "True",
        terminating=bool(metadata.get("deletionTimestamp")),
        grace_seconds=metadata.get("deletionGracePeriodSeconds") or 0,
        kubernetes_node=spec.get("nodeName") or "",
        scheduling_message=_unscheduled(conditions.get("PodScheduled") or {}),
        address=status.get("podIP") or "",
        images={each["name"]: each.get("image") or "" for each in spec.get("containers") or []},
        containers=(
            *(_container(each, init=True) for each in status.get("initContainerStatuses") or []),
            *(_container(each, init=False) for each in status.get("containerStatuses") or []),
        ),
        owner_uid=owner[0] if owner else "",
        created=metadata.get("creationTimestamp") or "",
    )


def _unscheduled(condition: Mapping[str, Any]) -> str:
    return str(condition.get("message") or "") if condition.get("status") == "False" else ""


def _container(status: Mapping[str, Any], init: bool) -> Container:
    states: Json = status.get("state") or {}
    state = next(iter(states), "")
    details: Json = states.get(state) or {}
    last = (status.get("lastState") or {}).get("terminated") or {}
    return Container(
        name=status["name"],
        image=status.get("image") or "",
        state=state,
        reason=details.get("reason") or "",
        message=details.get("message") or "",
        exit_code=details.get("exitCode"),
        restart_count=status.get("restartCount") or 0,
        last_reason=last.get("reason") or "",
        last_exit_code=last.get("exitCode"),
        ready=bool(status.get("ready")),
        init=init,
    )


def list_events(client: KubernetesClient, namespace: str, kind: str, name: str, uid: str = "") -> tuple[Event, ...]:
    """The events about one object, oldest first. Empty where they may not be read: they only explain."""
    fields = {"involvedObject.kind": kind, "involvedObject.name": name, "involvedObject.uid": uid}
    selector = ",".join(f"{key}={value}" for key, value in fields.items() if value)
    try:
        items = client.list(in_namespace(CORE, namespace, "events"), field_selector=selector)
    except Unreachable:
        raise
    except Refusal:
        return ()
    return tuple(sorted(map(_event, items), key=lambda event: event.last_seen))


def _event(item: Json) -> Event:
    series = item.get("series") or {}
    return Event(
        type=item.get("type") or "",
        reason=item.get("reason") or "",
        message=item.get("message") or "",
        count=series.get("count") or item.get("count") or 1,
        last_seen=series.get("lastObservedTime")
        or item.get("lastTimestamp")
        or item.get("eventTime")
        or item["metadata"].get("creationTimestamp")
        or "",
    )


def kubernetes_node_is_ready(client: KubernetesClient, name: str) -> bool | None:
    """Whether a Kubernetes node is Ready; None where that may not be read (Kubernetes nodes are no namespace's)."""
    try:
        item = client.get(f"/api/v1/nodes/{name}")
    except Unreachable:
        raise
    except Refusal:
        return None
    if item is None:
        return False
    conditions = (item.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
