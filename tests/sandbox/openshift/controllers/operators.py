"""ClusterOperators: what each of them reports about itself, and its upgrade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.objects import Json, condition_of, timestamp
from tests.sandbox.openshift.controllers.shared import Shared
from tests.sandbox.openshift.kinds import OPERATORS

DEGRADED_FOR, SLOW, SLOW_MACHINE_CONFIG = 40 * 60.0, 30 * 60.0, 90 * 60.0
"""Seconds that the version operator waits before it says that it fails (`convertErrorToProgressing…`)."""


@dataclass(frozen=True)
class Health:
    """The state of an operator that the version operator waits for (`pkg/cvo/internal/operatorstatus.go`)."""

    reason: str = ""
    """Empty: it is of the version, available and not degraded."""
    message: str = ""


def health_of(operator: Json, version: str) -> Health:
    """As `checkOperatorHealth`: availability first, then degradation, then the version."""
    name = operator["metadata"]["name"]
    available, degraded = condition_of(operator, "Available"), condition_of(operator, "Degraded")
    if available.get("status") != "True":
        return Health("ClusterOperatorNotAvailable", f"Cluster operator {name} is not available")
    if degraded.get("status") != "False":
        return Health("ClusterOperatorDegraded", f"Cluster operator {name} is degraded")
    if version_of(operator) != version:
        return Health("ClusterOperatorUpdating", f"Cluster operator {name} is updating versions")
    return Health()


def version_of(operator: Json) -> str:
    """The version that an operator says it has reached."""
    found = operator.get("status", {}).get("versions") or []
    return next((str(each["version"]) for each in found if each["name"] == "operator"), "")


class Operators:
    """All operators but for the work of the machine-config one, which upgrades the pools."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._hand = shared.hand("operators")
        self.stays_degraded: dict[str, str] = {}
        """By operator: the message with which it stays degraded once its upgrade has started."""
        self._held_back: dict[str, str] = {}
        self.rolls: Callable[[str], None] = lambda _name: None
        """Called with each operator whose operands get another version."""
        self.machine_config: Callable[[str], None] = lambda _version: None
        """Upgrade the pools, then report the version of the machine-config operator."""

    def upgrade(self, name: str, version: str) -> None:
        """Start the upgrade of an operator; its object shows the progress."""
        clock, habits, pace = self._shared.clock, self._shared.habits, self._shared.pace
        self.rolls(name)
        self.tell(name, Progressing=("True", "Working", f"Working towards {version}"))
        if name in self.stays_degraded:
            self.tell(name, Degraded=("True", "SyncError", self.stays_degraded[name]))
        elif habits.flap:
            self.tell(name, Degraded=("True", "SyncError", "some pods are not ready yet"))
            clock.later(habits.flap, lambda: self._well(name))
        if name == "machine-config":
            clock.later(pace.operator, lambda: self.machine_config(version))
        else:
            clock.later(max(pace.operator, habits.flap), lambda: self.reached(name, version))

    def _well(self, name: str) -> None:
        if name not in self.stays_degraded:
            self.tell(name, Degraded=("False", "AsExpected", ""))

    def mend(self, name: str) -> None:
        """It is no longer degraded, and reports the version that it has reached."""
        self.stays_degraded.pop(name, None)
        self.tell(name, Degraded=("False", "AsExpected", ""))
        if name in self._held_back:
            self.reached(name, self._held_back.pop(name))

    def reached(self, name: str, version: str) -> None:
        """It is of another version; one that is degraded does not say so."""
        if name in self.stays_degraded:
            self._held_back[name] = version
        else:
            self.tell(name, version, Progressing=("False", "AsExpected", f"Cluster version is {version}"))

    def tell(self, name: str, version: str = "", **said: tuple[str, str, str]) -> None:
        """Write conditions of an operator, each as status, reason and message, and its version."""
        now = timestamp(self._shared.clock.now())

        def change(item: Json) -> None:
            for type_, (status, reason, message) in said.items():
                with_condition(item, type_, status, now, reason=reason, message=message)
            if version:
                item["status"]["versions"] = [{"name": "operator", "version": version}]

        self._hand.tell(OPERATORS, "", name, change)
