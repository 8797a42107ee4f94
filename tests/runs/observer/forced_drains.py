"""The invariant about forced drains: a run evicts or deletes a pod only where a rung allows it, and not too early."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from tests.runs.observer.acts import is_of_controller
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json, controller_of
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.kinds import DESIRED_DRAIN, annotations_of
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.web import Request

OWN = "/api/v1/namespaces/"
DRAINED = "drain-"
"""The beginning of the annotation by which the daemon of a Kubernetes node asks for a drain."""


class ForcedDrains:
    """It knows since when each Kubernetes node is drained, and judges each eviction and deletion of a run."""

    def __init__(self, openshift: OpenShift, rungs: Sequence[Mapping[str, Any]] = ()) -> None:
        """`rungs` are those of `upgrade_allow_forced_drains`."""
        self._openshift, self._rungs = openshift, rungs
        self._since: dict[str, float] = {}
        self.forced: list[str] = []
        """The pods that runs have evicted or deleted, as a record names them."""
        openshift.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind != NODES or change.type == "DELETED":
            return
        wanted = annotations_of(change.item).get(DESIRED_DRAIN, "")
        if wanted != annotations_of(change.before or {"metadata": {}}).get(DESIRED_DRAIN, ""):
            self._since[change.item["metadata"]["name"]] = self._openshift.clock.now()

    def judged(self, request: Request) -> Iterator[str]:
        """A sentence for each thing that is wrong with a request that is about to be answered."""
        place = _pod_in(request)
        if not place or not is_of_controller(request):
            return
        pod = self._openshift.resources.store.kept(PODS, *place)
        if pod is None:
            return
        name = f"Pod {'/'.join(place)}"
        self.forced.append(name)
        since = self._drained_since(pod["spec"].get("nodeName", ""))
        if since is None:
            yield f"{name} is forced, and its Kubernetes node is not drained"
            return
        for fault in self._faults(request, pod, self._openshift.clock.now() - since):
            yield f"{name} is forced, and {fault}"

    def _drained_since(self, node: str) -> float | None:
        found = self._openshift.resources.store.kept(NODES, "", node)
        drained = found is not None and annotations_of(found).get(DESIRED_DRAIN, "").startswith(DRAINED)
        return self._since.get(node) if drained else None

    def _faults(self, request: Request, pod: Json, seconds: float) -> Iterator[str]:
        namespace, rung = pod["metadata"]["namespace"], _rung_of(request)
        if namespace == "default" or namespace.partition("-")[0] in ("openshift", "kube"):
            yield "nothing may be in a namespace of the platform"
        allowed = [
            each
            for each in self._rungs
            if each["rung"] == rung and any(fnmatchcase(namespace, name) for name in each["namespaces"])
        ]
        if not allowed:
            yield f"no rung {rung} is allowed there"
        elif all(seconds < each["after"] for each in allowed):
            yield f"the rung {rung} is not due: its drain lasts for {seconds:.0f} s"
        owner = controller_of(pod)
        if rung != "evict" and owner is not None and owner["kind"] == "StatefulSet":
            yield "it is one of a StatefulSet"
        if rung != "evict" and any("persistentVolumeClaim" in each for each in pod["spec"].get("volumes") or ()):
            yield "it has a claim"


def _pod_in(request: Request) -> tuple[str, str] | tuple[()]:
    """Namespace and name of the pod that a request evicts or deletes; empty if it does neither."""
    parts = request.path.removeprefix(OWN).split("/")
    if not request.path.startswith(OWN) or request.query.get("dryRun") or len(parts) < 3 or parts[1] != "pods":
        return ()
    evicted = request.method == "POST" and parts[3:] == ["eviction"]
    return (parts[0], parts[2]) if evicted or (request.method == "DELETE" and len(parts) == 3) else ()


def _rung_of(request: Request) -> str:
    if request.method == "POST":
        return "evict"
    body = request.body if isinstance(request.body, Mapping) else {}
    return "delete_now" if body.get("gracePeriodSeconds") == 0 else "delete"
