"""StatefulSets: as many pods as wanted, in order or at once, on the revision that strategy and partition ask for.

The order of steps is that of the real controller (pkg/controller/statefulset/stateful_set_control.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.sandbox.kubernetes.controllers.revisions import forget_old, revisions_of, template_of
from tests.sandbox.kubernetes.controllers.work import Durations, Place, Recorder, Work
from tests.sandbox.kubernetes.kinds import CLAIMS, PODS, STATEFUL_SETS
from tests.sandbox.kubernetes.objects import (
    Json,
    Refused,
    condition_of,
    controller_of,
    copied,
    is_ready,
    owner_of,
    seconds_of,
)
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.selectors import selected
from tests.sandbox.kubernetes.store import Change

REVISION = "controller-revision-hash"
_NAME = "statefulset.kubernetes.io/pod-name"
_INDEX = "apps.kubernetes.io/pod-index"


@dataclass
class _Look:
    """One set at one time."""

    pool: Json
    pods: dict[int, Json]
    current: Json
    update: Json

    @property
    def in_order(self) -> bool:
        return bool(self.pool["spec"]["podManagementPolicy"] == "OrderedReady")

    @property
    def start(self) -> int:
        return int(self.pool["spec"].get("ordinals", {}).get("start", 0))

    @property
    def ordinals(self) -> range:
        return range(self.start, self.start + int(self.pool["spec"]["replicas"]))

    @property
    def partition(self) -> int:
        return int(self.pool["spec"]["updateStrategy"].get("rollingUpdate", {}).get("partition", 0))

    @property
    def rolls(self) -> bool:
        return bool(self.pool["spec"]["updateStrategy"]["type"] == "RollingUpdate")

    def revision_for(self, ordinal: int) -> Json:
        """The revision from which a pod of this ordinal is made now."""
        return self.current if self.rolls and ordinal < self.start + self.partition else self.update


class StatefulSets:
    """The controller of all StatefulSets."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources = resources
        self._events = Recorder(resources, "statefulset-controller")
        self._work = Work(resources, durations.control, self._reconcile)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        metadata = change.item["metadata"]
        if change.kind == STATEFUL_SETS and change.type != "DELETED":
            self._work.add((metadata["namespace"], metadata["name"]))
        elif change.kind == PODS:
            owner = controller_of(change.item)
            if owner and owner["kind"] == "StatefulSet":
                self._work.add((metadata["namespace"], owner["name"]))
            elif not owner:
                for pool in self._resources.store.each(STATEFUL_SETS, metadata["namespace"]):
                    if _ordinal(pool, metadata["name"]) is not None:
                        self._work.add((metadata["namespace"], pool["metadata"]["name"]))

    def _reconcile(self, place: Place) -> None:
        pool = self._resources.get(STATEFUL_SETS, *place)
        if pool["metadata"].get("deletionTimestamp"):
            return
        current, update = revisions_of(self._resources, pool)
        look = _Look(pool, self._pods(pool), current, update)
        failure: Refused | None = None
        try:
            self._act(look)
        except Refused as error:
            failure = error
        look.pods = self._pods(pool)
        self._write_status(look)
        used = {pod["metadata"]["labels"].get(REVISION, "") for pod in look.pods.values()}
        names = {each["metadata"]["name"] for each in (current, update)}
        forget_old(self._resources, pool, used | names)
        if failure is not None:
            raise failure

    def _pods(self, pool: Json) -> dict[int, Json]:
        """The pods of a set by ordinal; one without a controller that it may take over is taken over."""
        found = {}
        for pod in self._resources.store.each(PODS, pool["metadata"]["namespace"]):
            ordinal = _ordinal(pool, pod["metadata"]["name"])
            owner = controller_of(pod)
            if ordinal is None or not selected(pool["spec"]["selector"], pod["metadata"].get("labels", {})):
                continue
            if owner is None and not _is_terminating(pod):
                found[ordinal] = self._adopt(pool, copied(pod))
            elif owner is not None and owner["uid"] == pool["metadata"]["uid"]:
                found[ordinal] = pod
        return found

    def _adopt(self, pool: Json, pod: Json) -> Json:
        metadata = pod["metadata"]
        metadata.setdefault("ownerReferences", []).append(owner_of(STATEFUL_SETS, pool))
        return self._resources.replace(PODS, metadata["namespace"], metadata["name"], pod)

    def _act(self, look: _Look) -> None:
        """Make, remove or replace pods; in order, one step at a time."""
        for ordinal in look.ordinals:
            if not self._keep(look, ordinal) and look.in_order:
                return
        condemned = sorted((each for each in look.pods if each not in look.ordinals), reverse=True)
        for ordinal in condemned:
            pod = look.pods[ordinal]
            if not _is_terminating(pod):
                self._delete(look.pool, pod)
            if look.in_order:
                return
        if look.rolls:
            self._roll(look)

    def _keep(self, look: _Look, ordinal: int) -> bool:
        """Have a pod there; whether it is as it should be before the next one comes."""
        pod = look.pods.get(ordinal)
        if pod is not None and pod["status"].get("phase") in {"Failed", "Succeeded"}:
            if not _is_terminating(pod):
                self._delete(look.pool, pod)
            return False
        if pod is None:
            self._create(look, ordinal)
            return False
        if pod["status"].get("phase") == "Pending":
            self._claim(look.pool, pod["metadata"]["name"])
        return not _is_terminating(pod) and self._is_available(look.pool, pod)

    def _roll(self, look: _Look) -> None:
        """Replace the highest pod of another revision, unless one at or above it is not well."""
        for ordinal in reversed(look.ordinals):
            if ordinal < look.start + look.partition:
                return
            pod = look.pods.get(ordinal)
            if pod is None:
                return
            if _revision(pod) != look.update["metadata"]["name"] and not _is_terminating(pod):
                self._delete(look.pool, pod)
                return
            if _is_terminating(pod) or not self._is_available(look.pool, pod):
                return

    def _is_available(self, pool: Json, pod: Json) -> bool:
        """Whether it has been Ready for as long as the set asks for."""
        seconds = pool["spec"].get("minReadySeconds", 0)
        if not _is_running_and_ready(pod):
            return False
        since = seconds_of(condition_of(pod, "Ready")["lastTransitionTime"])
        left = since + seconds - self._resources.store.clock.now()
        if not seconds or left <= 0:
            return True
        place = (pool["metadata"]["namespace"], pool["metadata"]["name"])
        self._resources.store.clock.later(left, lambda: self._work.add(place))
        return False

    def _delete(self, pool: Json, pod: Json) -> None:
        metadata = pod["metadata"]
        self._resources.delete(
            PODS, metadata["namespace"], metadata["name"], {"preconditions": {"uid": metadata["uid"]}}
        )
        name = pool["metadata"]["name"]
        message = f"Delete Pod {metadata['name']} in StatefulSet {name} successful"
        self._events.report(STATEFUL_SETS, pool, "Normal", "SuccessfulDelete", message)

    def _create(self, look: _Look, ordinal: int) -> None:
        pool = look.pool
        name = f"{pool['metadata']['name']}-{ordinal}"
        said = f"Create Pod {name} in StatefulSet {pool['metadata']['name']}"
        try:
            self._claim(pool, name)
            self._resources.create(PODS, pool["metadata"]["namespace"], _pod(look, ordinal, name))
        except Refused as error:
            if error.reason != "AlreadyExists":
                message = f"{said} failed error: {error.message}"
                self._events.report(STATEFUL_SETS, pool, "Warning", "FailedCreate", message)
            raise
        self._events.report(STATEFUL_SETS, pool, "Normal", "SuccessfulCreate", f"{said} successful")

    def _claim(self, pool: Json, pod: str) -> None:
        """Make the claims of a pod that are not there."""
        namespace = pool["metadata"]["namespace"]
        for template in pool["spec"].get("volumeClaimTemplates", []):
            name = f"{template['metadata']['name']}-{pod}"
            there = self._resources.store.kept(CLAIMS, namespace, name)
            if there is not None:
                if there["metadata"].get("deletionTimestamp"):
                    raise Refused(500, "", f"pvc {name} is being deleted")
                continue
            labels = {
                **template["metadata"].get("labels", {}),
                **pool["spec"]["selector"].get("matchLabels", {}),
            }
            annotations = template["metadata"].get("annotations")
            metadata = {"name": name, "labels": labels, **({"annotations": annotations} if annotations else {})}
            self._resources.create(CLAIMS, namespace, {"metadata": metadata, "spec": copied(template["spec"])})
            message = f"Create Claim {name} Pod {pod} in StatefulSet {pool['metadata']['name']} success"
            self._events.report(STATEFUL_SETS, pool, "Normal", "SuccessfulCreate", message)

    def _write_status(self, look: _Look) -> None:
        pods = list(look.pods.values())
        ready = [pod for pod in pods if _is_running_and_ready(pod)]
        staying = [pod for pod in pods if not _is_terminating(pod)]
        counts = {
            "readyReplicas": len(ready),
            "currentReplicas": sum(_revision(pod) == look.current["metadata"]["name"] for pod in staying),
            "updatedReplicas": sum(_revision(pod) == look.update["metadata"]["name"] for pod in staying),
        }
        current, update = (each["metadata"]["name"] for each in (look.current, look.update))
        if look.rolls and counts["updatedReplicas"] == len(pods) == counts["readyReplicas"]:
            current, counts["currentReplicas"] = update, counts["updatedReplicas"]
        status = {
            "observedGeneration": look.pool["metadata"]["generation"],
            "replicas": len(pods),
            "availableReplicas": sum(self._is_available(look.pool, pod) for pod in ready),
            **{key: value for key, value in counts.items() if value},
            "currentRevision": current,
            "updateRevision": update,
            "collisionCount": 0,
        }

        def change(item: Json) -> None:
            item["status"] = status

        metadata = look.pool["metadata"]
        writing = Writing(manager="kube-controller-manager", subresource="status")
        self._resources.change(STATEFUL_SETS, metadata["namespace"], metadata["name"], change, writing)


def _pod(look: _Look, ordinal: int, name: str) -> Json:
    """A new pod."""
    pool, revision = look.pool, look.revision_for(ordinal)
    template = template_of(revision)
    labels = {
        **template["metadata"].get("labels", {}),
        _INDEX: str(ordinal),
        REVISION: revision["metadata"]["name"],
        _NAME: name,
    }
    metadata = {
        "name": name,
        "generateName": f"{pool['metadata']['name']}-",
        "labels": labels,
        "ownerReferences": [owner_of(STATEFUL_SETS, pool)],
    }
    if template["metadata"].get("annotations"):
        metadata["annotations"] = template["metadata"]["annotations"]
    spec = template["spec"]
    claims = [each["metadata"]["name"] for each in pool["spec"].get("volumeClaimTemplates", [])]
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in claims]
    volumes += [each for each in spec.get("volumes", []) if each["name"] not in claims]
    spec |= {"hostname": name, **({"volumes": volumes} if volumes else {})}
    if pool["spec"].get("serviceName"):
        spec["subdomain"] = pool["spec"]["serviceName"]
    return {"metadata": metadata, "spec": spec}


def _ordinal(pool: Json, name: str) -> int | None:
    prefix, _dash, number = name.rpartition("-")
    return int(number) if prefix == pool["metadata"]["name"] and number.isdecimal() else None


def _revision(pod: Json) -> str:
    return str(pod["metadata"].get("labels", {}).get(REVISION, ""))


def _is_terminating(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _is_running_and_ready(pod: Json) -> bool:
    return pod["status"].get("phase") == "Running" and is_ready(pod)
