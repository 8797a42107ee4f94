"""The upgrader of delegated work in a story: it begins a second after it is asked, fails, hangs, and is away."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.runs.machines import NAMESPACE, Machines
from tests.runs.upgrade_tasks import Upgrader
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.store import Change

SOON, LATER = 1.0, 10.0
"""Seconds until it sees a change, and until it looks again at a machine without power."""
ENDED_BADLY = ("Failed", "Aborted")


class UpgraderInStory(Upgrader):
    """It sees each change of a NodeUpdate."""

    def __init__(self, found: Machines) -> None:
        super().__init__(found)
        self.is_away = False
        """It sees nothing."""
        self._clock, store = found.cluster.shared.clock, self.resources.store
        store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == self.kind and change.type != "DELETED":
            self._clock.later(SOON, self.begin_all)

    def begin_all(self) -> None:
        """See `Upgrader`. Work that was aborted before it has seen it is begun no more, which it says."""
        if self.is_away:
            return
        super().begin_all()
        for item in self.resources.store.list(self.kind):
            name, spec, seen = item["metadata"]["name"], item["spec"], item.get("status", {}).get("observedAttempt")
            if spec["phase"] == "Abort" and seen != spec["attempt"]:
                self.tell(name, phase="Aborted", observedAttempt=spec["attempt"])

    def come_back(self) -> None:
        """See again, and begin what was asked for in between."""
        self.is_away = False
        self.begin_all()

    def go_on(self) -> None:
        """Go on with the work that has hung, or end it where it is to be aborted."""
        self.hangs = False
        for item in self.resources.store.list(self.kind):
            name, spec, phase = item["metadata"]["name"], item["spec"], item.get("status", {}).get("phase")
            if phase == "InProgress" and name in self.hung:
                if spec["phase"] == "Abort":
                    self.tell(name, phase="Aborted", observedAttempt=spec["attempt"])
                else:
                    self._work(name, spec)
        self.hung.clear()

    def remove_failed(self) -> None:
        """Delete the NodeUpdates whose work has ended, and not well, as a person does who has corrected the cause."""
        for item in self.resources.store.list(self.kind):
            if item.get("status", {}).get("phase") in ENDED_BADLY:
                self.resources.delete(self.kind, NAMESPACE, item["metadata"]["name"])

    def _work(self, name: str, spec: Json) -> None:
        machine = self.found.machines[spec["nodeName"]]
        kept = self.resources.store.kept(self.kind, NAMESPACE, name)
        if not machine.has_power and kept is not None and kept["spec"]["phase"] == "Abort":
            self.tell(name, phase="Aborted", observedAttempt=spec["attempt"])
        elif not machine.has_power:
            self._clock.later(LATER, partial(self._work, name, spec))
        elif machine.packages.repository_away:
            self.tell(name, phase="Failed", observedAttempt=spec["attempt"], failureClass="Unreachable")
        else:
            super()._work(name, spec)

    def tell(self, name: str, **said: Any) -> None:
        """See `Upgrader`. It writes nothing where the object is gone, or of another attempt by now."""
        kept = self.resources.store.kept(self.kind, NAMESPACE, name)
        if kept is not None and kept["spec"]["attempt"] == said["observedAttempt"]:
            super().tell(name, **said)
