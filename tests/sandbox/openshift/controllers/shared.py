"""The things that all stand-ins share."""

from __future__ import annotations

from dataclasses import dataclass

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.objects import Json, Kind
from tests.sandbox.kubernetes.resources import Resources
from tests.sandbox.openshift.habits import Habits, Pace
from tests.sandbox.openshift.hands import Acting, Hand


@dataclass(frozen=True)
class Shared:
    """The Kubernetes in memory, and how fast and how kind everything is."""

    kubernetes: Kubernetes
    acting: Acting
    pace: Pace
    habits: Habits

    @property
    def resources(self) -> Resources:
        """All objects."""
        return self.kubernetes.server.resources

    @property
    def clock(self) -> Clock:
        """The time of everything here."""
        return self.kubernetes.clock

    def hand(self, component: str) -> Hand:
        """The writes of one component."""
        return Hand(self.resources, self.acting, component)

    def kept(self, kind: Kind, name: str, namespace: str = "") -> Json | None:
        """An object itself, for who only reads."""
        return self.resources.store.kept(kind, namespace, name)

    def each(self, kind: Kind, namespace: str = "") -> list[Json]:
        """All objects of a kind themselves, by name."""
        return list(self.resources.store.each(kind, namespace))
