"""ResourceQuotas: counted again when one is changed at once, and when something has gone only later.

Admission adds what it lets in by itself. The worst that the real controller does is to take off late what has gone
(pkg/controller/resourcequota/resource_quota_monitor.go): until then the API server refuses what would fit.
"""

from __future__ import annotations

from tests.sandbox.kubernetes.admission import quotas
from tests.sandbox.kubernetes.controllers.work import Durations, Place, Work
from tests.sandbox.kubernetes.kinds import PODS, QUOTAS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Change

_ENDED = frozenset({"Succeeded", "Failed"})


class Quotas:
    """The controller of all quotas."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources = resources
        self._at_once = Work(resources, durations.control, self._count)
        self._later = Work(resources, durations.freed, self._count)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        item, metadata = change.item, change.item["metadata"]
        if change.kind == QUOTAS and change.type != "DELETED":
            if item["spec"].get("hard", {}) != item["status"].get("hard"):
                self._at_once.add((metadata["namespace"], metadata["name"]))
        elif change.kind in quotas.COUNTED and (change.type == "DELETED" or _has_ended(change)):
            for each in self._resources.store.each(QUOTAS, metadata["namespace"]):
                self._later.add((metadata["namespace"], each["metadata"]["name"]))

    def _count(self, place: Place) -> None:
        quota = self._resources.get(QUOTAS, *place)
        status = quotas.counted(self._resources.store, quota)

        def change(item: Json) -> None:
            item["status"] = status

        writing = Writing(manager="kube-controller-manager", subresource="status")
        self._resources.change(QUOTAS, *place, change, writing)


def _has_ended(change: Change) -> bool:
    ended = [each["status"].get("phase") in _ENDED for each in (change.item, change.before) if each is not None]
    return change.kind == PODS and ended[0] and not ended[-1]
