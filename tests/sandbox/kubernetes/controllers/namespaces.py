"""Namespaces: each has a service account, and one that is deleted is emptied first."""

from __future__ import annotations

from tests.sandbox.kubernetes.controllers.work import Durations, Place, Work
from tests.sandbox.kubernetes.kinds import NAMESPACES, SERVICE_ACCOUNTS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Change


class Namespaces:
    """The controllers of namespaces and their service accounts."""

    def __init__(self, resources: Resources, durations: Durations) -> None:
        self._resources, self._durations = resources, durations
        self._work = Work(resources, durations.control, self._look)
        resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == NAMESPACES and change.type != "DELETED":
            self._work.add(("", change.item["metadata"]["name"]))

    def _look(self, place: Place) -> None:
        name = place[1]
        item = self._resources.get(NAMESPACES, "", name)
        if "deletionTimestamp" not in item["metadata"]:
            if self._resources.store.kept(SERVICE_ACCOUNTS, name, "default") is None:
                self._resources.create(SERVICE_ACCOUNTS, name, {"metadata": {"name": "default"}})
            return
        if self._empty(name):
            self._finalize(name)
        else:
            self._resources.store.clock.later(self._durations.namespace, lambda: self._work.add(place))

    def _empty(self, namespace: str) -> bool:
        """Delete everything in it; whether nothing is left."""
        left = False
        for kind in [each for each in self._resources.kinds if each.namespaced]:
            for item in self._resources.store.list(kind, namespace):
                if "deletionTimestamp" not in item["metadata"]:
                    _item, gone = self._resources.delete(kind, namespace, item["metadata"]["name"])
                    left = left or not gone
                else:
                    left = True
        return not left

    def _finalize(self, name: str) -> None:
        def change(item: Json) -> None:
            item["spec"]["finalizers"] = []

        self._resources.change(NAMESPACES, "", name, change, Writing(manager="kube-controller-manager"))
