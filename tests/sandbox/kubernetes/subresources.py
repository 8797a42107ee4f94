"""Subresources that are no part of an object: its scale, the eviction and the log of a pod, and commands in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.kinds import BUDGETS, PODS
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, bad_request, condition_of, is_ready, timestamp
from tests.sandbox.kubernetes.requests import Target
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.selectors import selected
from tests.sandbox.web import Answer, Request

_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
Stream = Callable[[Json, str, Request], Answer]
"""Answers a request for a websocket to a pod's container, as the kubelet of the pod does."""


def scale_of(kind: Kind, item: Json) -> Json:
    """The scale of a set."""
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = item["spec"].get("selector", {}).get("matchLabels", {})
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: item["metadata"][key] for key in kept if key in item["metadata"]},
        "spec": {"replicas": item["spec"].get("replicas", 1)},
        "status": {
            "replicas": item.get("status", {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def scaling(wanted: Json) -> Callable[[Json], None]:
    """The change of a set that makes its scale as wanted."""

    def change(item: Json) -> None:
        version = wanted.get("metadata", {}).get("resourceVersion")
        if version:
            item["metadata"]["resourceVersion"] = version
        item["spec"]["replicas"] = int(wanted.get("spec", {}).get("replicas", 0))

    return change


def evict(resources: Resources, target: Target, body: Json, *, dry_run: bool = False) -> Json:
    """Delete a pod as far as its budget allows. Raises Refused: 429 where it does not, 500 where there are several.

    As in pkg/registry/core/pod/storage/eviction.go, no budget is asked for a pod that is pending, has ended or is
    already being deleted (`canIgnorePDB`). Preconditions are checked last, after the budget has counted the pod.
    """
    sent = body.get("metadata", {}).get("name", target.name)
    if sent != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = resources.get(PODS, target.namespace, target.name)
    labels = pod["metadata"].get("labels", {})
    free = (
        pod.get("status", {}).get("phase") in {"Succeeded", "Failed", "Pending"}
        or "deletionTimestamp" in pod["metadata"]
    )
    budgets = [
        budget
        for budget in resources.store.each(BUDGETS, target.namespace)
        if not free and selected(budget["spec"].get("selector"), labels)
    ]
    if len(budgets) > 1:
        said = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise Refused(500, "", said)
    for budget in budgets:
        if not _needs_no_room(budget, pod):
            _count_out(resources, budget, target.name, dry_run=dry_run)
    options = {**(body.get("deleteOptions") or {}), **({"dryRun": ["All"]} if dry_run else {})}
    resources.delete(PODS, target.namespace, target.name, options)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _needs_no_room(budget: Json, pod: Json) -> bool:
    """Whether a pod that is not Ready may go, since it does not count as healthy."""
    status = budget.get("status", {})
    always = budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    met = status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0
    return not is_ready(pod) and (always or met)


def _count_out(resources: Resources, budget: Json, pod: str, *, dry_run: bool) -> None:
    """Have a budget let one pod fewer go (`checkAndDecrement`). Raises Refused."""
    metadata, status = budget["metadata"], budget.get("status", {})
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        cause = f"The disruption budget {metadata['name']} is still being processed by the server."
        details = {"causes": [{"reason": "DisruptionBudget", "message": cause}], "retryAfterSeconds": 10}
        raise Refused(429, "TooManyRequests", _VIOLATES, details, {"Retry-After": "10"})
    if status.get("disruptionsAllowed", 0) < 1:
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        needs = f"The disruption budget {metadata['name']} needs {desired} healthy pods and has {healthy} currently"
        raise Refused(429, "TooManyRequests", _VIOLATES, {"causes": [{"reason": "DisruptionBudget", "message": needs}]})
    now = timestamp(resources.store.clock.now())

    def change(item: Json) -> None:
        item["status"]["disruptionsAllowed"] -= 1
        item["status"].setdefault("disruptedPods", {})[pod] = now
        if not item["status"]["disruptionsAllowed"]:
            with_condition(item, "DisruptionAllowed", "False", now, reason="InsufficientPods")
            condition_of(item, "DisruptionAllowed")["message"] = ""

    if not dry_run:
        writing = Writing(manager="kube-apiserver", subresource="status")
        resources.change(BUDGETS, metadata["namespace"], metadata["name"], change, writing)


def log(
    resources: Resources, target: Target, query: Mapping[str, str], lines: Callable[[Json, str, bool], list[str]]
) -> str:
    """The log of a container. Raises Refused (400) where there is none to be had."""
    pod = resources.get(PODS, target.namespace, target.name)
    names = [each["name"] for each in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"])]
    name = query.get("container") or names[-1]
    if name not in names:
        raise bad_request(f"container {name} is not valid for pod {target.name}")
    statuses = pod.get("status", {}).get("containerStatuses", [])
    state: Json = next((each["state"] for each in statuses if each["name"] == name), {})
    waiting = state.get("waiting", {}).get("reason", "ContainerCreating" if not state else "")
    if waiting and waiting != "CrashLoopBackOff":
        why = {"ContainerCreating": "ContainerCreating", "PodInitializing": "PodInitializing"}.get(
            waiting, "trying and failing to pull image" if "Image" in waiting else waiting
        )
        raise bad_request(f'container "{name}" in pod "{target.name}" is waiting to start: {why}')
    found = lines(pod, name, query.get("previous") == "true")
    if query.get("tailLines"):
        found = found[-int(query["tailLines"]) :]
    return "".join(f"{each}\n" for each in found)


def execute(resources: Resources, target: Target, request: Request, stream: Stream) -> Answer:
    """A command in a container (server source, streamLocation in pkg/registry/core/pod). Raises Refused."""
    pod = resources.get(PODS, target.namespace, target.name)
    container = _container(pod, request.query.get("container", ""))
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {target.name} does not have a host assigned")
    headers = {key.lower(): value.lower() for key, value in request.headers.items()}
    if headers.get("upgrade") != "websocket":
        raise bad_request("Upgrade request required")
    return stream(pod, container, request)


def not_running(container: str) -> Answer:
    """The answer of a kubelet about a container that does not run."""
    return Answer(500, f'container not found ("{container}")', {"Content-Type": "text/plain; charset=utf-8"})


def _container(pod: Json, wanted: str) -> str:
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [each["name"] for each in (*spec.get("initContainers", []), *spec["containers"])]
    if not wanted and len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    if not wanted:
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")
    if wanted not in names:
        raise bad_request(f"container {wanted} is not valid for pod {name}")
    return wanted
