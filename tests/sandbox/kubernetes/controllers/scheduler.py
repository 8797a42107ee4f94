"""The scheduler: gives each pod a Kubernetes node, and its claims volumes in that node's zone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.sandbox.kubernetes.controllers.placement import Spread, refusals
from tests.sandbox.kubernetes.controllers.work import Durations, Place, Recorder, Work, with_condition
from tests.sandbox.kubernetes.kinds import CLAIMS, NODES, PODS, VOLUMES
from tests.sandbox.kubernetes.objects import Json, condition_of, timestamp
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Change

ZONE = "topology.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
_HOST = "kubernetes.io/hostname"
LOCAL_CLASS = "lab-local"
"""The StorageClass whose volumes are on one Kubernetes node; those of any other are in a zone."""


class Scheduler:
    """Places pods. `source` gives what lies behind a new volume of that name, as its spec says it."""

    def __init__(
        self, resources: Resources, durations: Durations, source: Callable[[str], Json] = lambda _volume: {}
    ) -> None:
        self._resources, self._source = resources, source
        self._events = Recorder(resources, "default-scheduler")
        self._refused = set[Place]()
        """The pods that no Kubernetes node could take when they were tried last."""
        self._work = Work(resources, durations.control, self._place)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == PODS and change.type != "DELETED":
            self._add(change.item)
        elif change.kind in {NODES, CLAIMS} or (change.kind == PODS and change.type == "DELETED"):
            for pod in self._resources.store.each(PODS):
                self._add(pod)
        if change.kind == PODS and _is_assigned(change):
            # A pod that has its Kubernetes node may be the one that the spread of another one waits for
            # (kube-scheduler, PodTopologySpread: the event AssignedPodAdd).
            for place in sorted(self._refused):
                self._work.add(place)

    def _add(self, pod: Json) -> None:
        waits = not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        if waits and pod["spec"].get("schedulerName") == "default-scheduler" and not pod["spec"].get("schedulingGates"):
            self._work.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def _place(self, place: Place) -> None:
        self._refused.discard(place)
        pod = self._resources.get(PODS, *place)
        if pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            return
        missing = self._missing_claim(pod)
        if missing:
            nodes = sum(1 for _node in self._resources.store.each(NODES))
            self._refuse(pod, f"0/{nodes} nodes are available: {missing}. {_preemption(nodes)}")
            return
        node, why = self._choose(pod)
        if node is None:
            self._refuse(pod, why)
            return
        name = node["metadata"]["name"]
        for claim in self._claims(pod):
            if not claim["spec"].get("volumeName"):
                self._provide(claim, node)
        now = timestamp(self._resources.store.clock.now())

        def bind(item: Json) -> None:
            item["spec"]["nodeName"] = name
            labels = item["metadata"].setdefault("labels", {})
            labels |= {key: value for key, value in node["metadata"]["labels"].items() if key in (ZONE, _REGION)}

        self._resources.change(PODS, *place, bind)
        self._resources.change(PODS, *place, lambda item: with_condition(item, "PodScheduled", "True", now), _STATUS)
        self._events.report(PODS, pod, "Normal", "Scheduled", f"Successfully assigned {'/'.join(place)} to {name}")

    def _choose(self, pod: Json) -> tuple[Json | None, str]:
        """The Kubernetes node with the fewest pods of those that can take it, or why there is none."""
        nodes = list(self._resources.store.each(NODES))
        pods = [
            each
            for each in self._resources.store.each(PODS)
            if each["status"].get("phase") not in {"Succeeded", "Failed"}
        ]
        volumes = [
            volume
            for claim in self._claims(pod)
            if (volume := self._resources.store.kept(VOLUMES, "", claim["spec"].get("volumeName", "")))
        ]
        by_node: dict[str, list[Json]] = {}
        for each in pods:
            by_node.setdefault(each["spec"].get("nodeName", ""), []).append(each)
        why: Counter[str] = Counter()
        fitting, rules = [], Spread(pod, nodes, pods)
        for node in nodes:
            there = by_node.get(node["metadata"]["name"], [])
            found = list(refusals(pod, node, volumes, there))
            spread = None if found else rules.refusal(node)
            found += [spread] if spread else []
            why.update(found)
            if not found:
                fitting.append((len(there), node["metadata"]["name"], node))
        if fitting:
            return min(fitting, key=lambda each: each[:2])[2], ""
        said = ", ".join(sorted(f"{count} {text}" for text, count in why.items()))
        return None, f"0/{len(nodes)} nodes are available: {said}. {_preemption(len(nodes))}"

    def _refuse(self, pod: Json, message: str) -> None:
        now, metadata = timestamp(self._resources.store.clock.now()), pod["metadata"]
        self._refused.add((metadata["namespace"], metadata["name"]))
        if condition_of(pod, "PodScheduled").get("message") == message:
            return
        self._resources.change(
            PODS,
            metadata["namespace"],
            metadata["name"],
            lambda item: with_condition(item, "PodScheduled", "False", now, reason="Unschedulable", message=message),
            _STATUS,
        )
        self._events.report(PODS, pod, "Warning", "FailedScheduling", message)

    def _claim_names(self, pod: Json) -> list[str]:
        volumes = pod["spec"].get("volumes", [])
        return [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]

    def _claims(self, pod: Json) -> list[Json]:
        namespace = pod["metadata"]["namespace"]
        found = (self._resources.store.kept(CLAIMS, namespace, name) for name in self._claim_names(pod))
        return [each for each in found if each is not None]

    def _missing_claim(self, pod: Json) -> str:
        there = {each["metadata"]["name"]: each for each in self._claims(pod)}
        for name in self._claim_names(pod):
            if name not in there:
                return f'persistentvolumeclaim "{name}" not found'
            if "deletionTimestamp" in there[name]["metadata"]:
                return f'persistentvolumeclaim "{name}" is being deleted'
        return ""

    def _provide(self, claim: Json, node: Json) -> None:
        """Make a volume in the zone of the Kubernetes node, and bind the claim to it."""
        metadata, storage_class = claim["metadata"], claim["spec"].get("storageClassName", "")
        key = _HOST if storage_class == LOCAL_CLASS else ZONE
        name = f"pvc-{metadata['uid']}"
        value = node["metadata"]["labels"][key]
        expression = {"key": key, "operator": "In", "values": [value]}
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        spec = {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "claimRef": reference,
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": storage_class,
            "volumeMode": "Filesystem",
            **self._source(name),
        }
        self._resources.create(VOLUMES, "", {"metadata": {"name": name}, "spec": spec})
        self._resources.change(VOLUMES, "", name, lambda item: _phase(item, "Bound"), _STATUS)
        place = (metadata["namespace"], metadata["name"])

        def bind(item: Json) -> None:
            item["spec"]["volumeName"] = name
            annotations = item["metadata"].setdefault("annotations", {})
            annotations |= {
                "pv.kubernetes.io/bind-completed": "yes",
                "volume.kubernetes.io/selected-node": node["metadata"]["name"],
            }

        def bound(item: Json) -> None:
            _phase(item, "Bound")
            item["status"] |= {"accessModes": spec["accessModes"], "capacity": spec["capacity"]}

        self._resources.change(CLAIMS, *place, bind)
        self._resources.change(CLAIMS, *place, bound, _STATUS)


_STATUS = Writing(manager="kube-scheduler", subresource="status")


def _phase(item: Json, phase: str) -> None:
    item.setdefault("status", {})["phase"] = phase


def _preemption(nodes: int) -> str:
    return f"preemption: 0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling."


def _is_assigned(change: Change) -> bool:
    """Whether a pod has got its Kubernetes node by this change."""
    had = change.before is not None and change.before["spec"].get("nodeName")
    return change.type != "DELETED" and bool(change.item["spec"].get("nodeName")) and not had
