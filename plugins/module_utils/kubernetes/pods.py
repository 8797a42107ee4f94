"""Reading pods, their events, the Kubernetes nodes they run on, and the PodDisruptionBudgets that cover them."""

from __future__ import annotations

from ..common.errors import Denied, Refusal, Unreachable
from ..common.reading import Json as Part
from ..common.reading import Unreadable, flag, listed, named, one_of, part, text, text_map, texts, whole, within
from .answers import images_of, reading_object
from .client import Json, KubernetesClient
from .paths import CORE, in_namespace
from .state import Budget, Container, KubernetesEvent, Pod, StatefulSet

STATUSES = frozenset({"True", "False", "Unknown"})
"""The values of a condition."""
REVISION_LABEL = "controller-revision-hash"


def pod_path(namespace: str, name: str = "") -> str:
    """The path of a pod, or of all pods in the namespace."""
    return in_namespace(CORE, namespace, "pods", name)


def list_pods(client: KubernetesClient, namespace: str, selector: str | None = None) -> tuple[Pod, ...]:
    """The pods that match a label selector; without one, all pods of the namespace."""
    return tuple(pod(item) for item in client.list(pod_path(namespace), label_selector=selector))


def pods_of(client: KubernetesClient, pool: StatefulSet) -> dict[str, Pod]:
    """The pods that belong to a StatefulSet, by name."""
    found = list_pods(client, pool.namespace, pool.selector)
    return {each.name: each for each in found if each.owner_uid == pool.uid}


def pod(item: Json) -> Pod:
    """The observation of an API object."""
    with reading_object("Pod", item):
        metadata, spec, status = part(item, "metadata"), part(item, "spec", {}), part(item, "status", {})
        labels = text_map(metadata, "labels")
        conditions = {text(each, "type"): each for each in listed(status, "conditions", dict, ())}
        owners = listed(metadata, "ownerReferences", _controller, ())
        owner_uid, owner, owner_version = next(filter(None, owners), ("", "", ""))
        scheduled = conditions.get("PodScheduled") or {}
        return Pod(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            resource_version=text(metadata, "resourceVersion"),
            labels=labels,
            revision=labels.get(REVISION_LABEL, ""),
            phase=text(status, "phase", ""),
            reason=text(status, "reason", ""),
            message=text(status, "message", ""),
            ready=_is_true(conditions.get("Ready")),
            terminating=bool(text(metadata, "deletionTimestamp", "")),
            grace_seconds=whole(metadata, "deletionGracePeriodSeconds", 0),
            finalizers=texts(metadata, "finalizers", ()),
            kubernetes_node=text(spec, "nodeName", ""),
            scheduling_message=text(scheduled, "message", "") if scheduled.get("status") == "False" else "",
            address=text(status, "podIP", ""),
            images=images_of(spec, "containers"),
            containers=(
                *listed(status, "initContainerStatuses", lambda each: _container(each, init=True), ()),
                *listed(status, "containerStatuses", lambda each: _container(each, init=False), ()),
            ),
            owner_uid=owner_uid,
            created=text(metadata, "creationTimestamp", ""),
            owner=owner,
            owner_version=owner_version,
            ready_since=text(conditions.get("Ready") or {}, "lastTransitionTime", ""),
            annotations=text_map(metadata, "annotations"),
            spec=spec,
        )


def _controller(reference: Part) -> tuple[str, str, str] | None:
    """The UID of a controller, its kind and name, and its apiVersion; None for an owner that is no controller."""
    if not flag(reference, "controller", default=False):
        return None
    named = f"{text(reference, 'kind', '')} {text(reference, 'name', '')}".strip()
    return text(reference, "uid"), named, text(reference, "apiVersion", "")


def _is_true(condition: Part | None) -> bool:
    return condition is not None and one_of(condition, "status", STATUSES) == "True"


def _container(status: Part, init: bool) -> Container:
    states = named(status, "state", lambda _name, details: details, {})
    state, details = next(iter(states.items()), ("", {}))
    last = within(status, "lastState.terminated", dict, {})
    return Container(
        name=text(status, "name"),
        image=text(status, "image", ""),
        state=state,
        reason=text(details, "reason", ""),
        message=text(details, "message", ""),
        exit_code=_exit_code(details),
        restart_count=whole(status, "restartCount", 0),
        last_reason=text(last, "reason", ""),
        last_exit_code=_exit_code(last),
        ready=flag(status, "ready", default=False),
        init=init,
        identity=text(status, "containerID", ""),
    )


def _exit_code(details: Part) -> int | None:
    found = details.get("exitCode")
    if found is None or (isinstance(found, int) and not isinstance(found, bool)):
        return found
    raise Unreadable("is no number", "exitCode")


def list_events(
    client: KubernetesClient, namespace: str, kind: str, name: str, uid: str = ""
) -> tuple[KubernetesEvent, ...]:
    """The events about one object, oldest first; none if the user may not read them, since they only explain."""
    fields = {"involvedObject.kind": kind, "involvedObject.name": name, "involvedObject.uid": uid}
    selector = ",".join(f"{key}={value}" for key, value in fields.items() if value)
    try:
        items = client.list(in_namespace(CORE, namespace, "events"), field_selector=selector)
    except Unreachable:
        raise
    except Refusal:
        return ()
    return tuple(sorted(map(_event, items), key=lambda event: event.last_seen))


def _event(item: Json) -> KubernetesEvent:
    with reading_object("Event", item):
        series, metadata = part(item, "series", {}), part(item, "metadata")
        return KubernetesEvent(
            type=text(item, "type", ""),
            reason=text(item, "reason", ""),
            message=text(item, "message", ""),
            count=whole(series, "count", 0) or whole(item, "count", 0) or 1,
            last_seen=text(series, "lastObservedTime", "")
            or text(item, "lastTimestamp", "")
            or text(item, "eventTime", "")
            or text(metadata, "creationTimestamp", ""),
        )


def kubernetes_node_is_ready(client: KubernetesClient, name: str) -> bool | None:
    """Whether a Kubernetes node is Ready; None if the user may not read it (that needs a ClusterRole)."""
    try:
        item = client.get(f"/api/v1/nodes/{name}")
    except Unreachable:
        raise
    except Refusal:
        return None
    if item is None:
        return False
    with reading_object("Node", item):
        conditions = within(item, "status", lambda status: listed(status, "conditions", dict, ()), {})
        return any(_is_true(each) for each in conditions if text(each, "type") == "Ready")


def list_budgets(client: KubernetesClient, namespace: str) -> tuple[Budget, ...]:
    """The budgets of a namespace, or of all if it is empty.

    There are none if the user may not list them, which the plan remarks.
    """
    group, plural = "/apis/policy/v1", "poddisruptionbudgets"
    try:
        found = client.list(in_namespace(group, namespace, plural) if namespace else f"{group}/{plural}")
    except Denied:
        return ()
    return tuple(_budget(item) for item in found)


def _budget(item: Json) -> Budget:
    with reading_object("PodDisruptionBudget", item):
        status, spec = part(item, "status", {}), part(item, "spec", {})
        selector = part(spec, "selector") if spec.get("selector") is not None else None
        text_map(selector or {}, "matchLabels")
        listed(selector or {}, "matchExpressions", _requirement, ())
        return Budget(
            name=within(item, "metadata", lambda metadata: text(metadata, "name")),
            selector=selector,
            allowed=whole(status, "disruptionsAllowed", 0),
            healthy=whole(status, "currentHealthy", 0),
            desired=whole(status, "desiredHealthy", 0),
            expected=whole(status, "expectedPods", 0),
            namespace=within(item, "metadata", lambda metadata: text(metadata, "namespace", "")),
            unready_go=text(spec, "unhealthyPodEvictionPolicy", "") == "AlwaysAllow",
            closed_since="".join(listed(status, "conditions", _closed_since, ())),
        )


def _closed_since(condition: Part) -> str:
    closed = text(condition, "type", "") == "DisruptionAllowed" and text(condition, "status", "") == "False"
    return text(condition, "lastTransitionTime", "") if closed else ""


def _requirement(each: Part) -> None:
    text(each, "key")
    texts(each, "values", ())
    one_of(each, "operator", ("In", "NotIn", "Exists", "DoesNotExist"))
