"""PodDisruptionBudgets: how many of their pods are well, and how many may be away."""

from __future__ import annotations

import math

from tests.sandbox.kubernetes.controllers.work import Durations, Place, Work, with_condition
from tests.sandbox.kubernetes.kinds import BUDGETS, PODS
from tests.sandbox.kubernetes.objects import Json, condition_of, controller_of, is_ready, seconds_of, timestamp
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.selectors import selected
from tests.sandbox.kubernetes.store import Change

_FORGOTTEN_AFTER = 120.0
"""`DeletionTimeout` in `pkg/controller/disruption/disruption.go` of Kubernetes."""


class Budgets:
    """The controller of all budgets."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources = resources
        self._work = Work(resources, durations.control, self._count)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        metadata = change.item["metadata"]
        if change.kind == BUDGETS and change.type != "DELETED":
            self._work.add((metadata["namespace"], metadata["name"]))
        elif change.kind == PODS:
            for budget in self._resources.store.each(BUDGETS, metadata["namespace"]):
                self._work.add((metadata["namespace"], budget["metadata"]["name"]))

    def _count(self, place: Place) -> None:
        budget = self._resources.get(BUDGETS, *place)
        selector = budget["spec"].get("selector")
        pods = [
            pod
            for pod in self._resources.store.each(PODS, place[0])
            if selected(selector, pod["metadata"].get("labels", {}))
            and pod["status"].get("phase") not in {"Succeeded", "Failed"}
        ]
        expected, desired = self._wanted(budget["spec"], pods)
        disrupted = self._disrupted(budget, pods)
        healthy = sum(
            is_ready(pod) and "deletionTimestamp" not in pod["metadata"] and pod["metadata"]["name"] not in disrupted
            for pod in pods
        )
        allowed = max(0, healthy - desired) if expected else 0
        now = timestamp(self._resources.store.clock.now())

        def change(item: Json) -> None:
            item["status"] = {
                "conditions": item.get("status", {}).get("conditions", []),
                "currentHealthy": healthy,
                "desiredHealthy": desired,
                **({"disruptedPods": disrupted} if disrupted else {}),
                "disruptionsAllowed": allowed,
                "expectedPods": expected,
                "observedGeneration": budget["metadata"]["generation"],
            }
            reason = "SufficientPods" if allowed else "InsufficientPods"
            with_condition(item, "DisruptionAllowed", "True" if allowed else "False", now, reason=reason)
            condition_of(item, "DisruptionAllowed")["message"] = ""

        writing = Writing(manager="kube-controller-manager", subresource="status")
        self._resources.change(BUDGETS, *place, change, writing)

    def _disrupted(self, budget: Json, pods: list[Json]) -> Json:
        """The pods whose eviction was let through and that do not go yet, for two minutes (`buildDisruptedPodMap`)."""
        there = {each["metadata"]["name"] for each in pods if "deletionTimestamp" not in each["metadata"]}
        noted = budget.get("status", {}).get("disruptedPods", {}).items()
        now = self._resources.store.clock.now()
        return {name: at for name, at in noted if name in there and now < seconds_of(at) + _FORGOTTEN_AFTER}

    def _wanted(self, spec: Json, pods: list[Json]) -> tuple[int, int]:
        """The number of pods that there should be, and of those that should be well."""
        if "maxUnavailable" in spec or isinstance(spec.get("minAvailable"), str):
            expected = self._replicas(pods)
            if "maxUnavailable" in spec:
                return expected, max(0, expected - _share(spec["maxUnavailable"], expected))
            return expected, _share(spec["minAvailable"], expected)
        return len(pods), int(spec.get("minAvailable", 1))

    def _replicas(self, pods: list[Json]) -> int:
        """The replicas of all controllers of these pods."""
        found: dict[str, int] = {}
        for pod in pods:
            owner = controller_of(pod)
            kind = self._resources.kinds.named(owner["apiVersion"], owner["kind"]) if owner else None
            if owner and kind:
                item = self._resources.store.get(kind, pod["metadata"]["namespace"], owner["name"])
                found[owner["uid"]] = int((item or {}).get("spec", {}).get("replicas", 0))
        return sum(found.values())


def _share(value: int | str, of: int) -> int:
    """A number, or a percentage of the pods, rounded up."""
    return math.ceil(int(value.rstrip("%")) * of / 100) if isinstance(value, str) else value
