"""The parts that every controller shares: work that is due at a time, and events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sandbox.kubernetes.kinds import EVENTS
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, timestamp
from tests.sandbox.kubernetes.resources import Resources

Place = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True)
class Durations:
    """Seconds that things take."""

    control: float = 0.02
    """Until a controller has looked at a change."""
    prepare: float = 0.2
    """Until the volumes and the network of a pod are there."""
    pull: float = 0.3
    """Until an image is pulled that is not on the Kubernetes node."""
    start: float = 0.1
    """Until the process of a container runs."""
    mounted: float = 0.5
    """Until the change of a Secret or ConfigMap has arrived in the files of a pod."""
    stop: float = 0.3
    """Until a process has ended that was asked to."""
    run: float = 0.1
    """The time that a process runs if it has nothing to do."""
    node_lost: float = 40.0
    """Until a Kubernetes node counts as lost."""
    eviction: float = 300.0
    """Until the pods of a lost Kubernetes node are deleted."""
    resized: float = 3.0
    """Until the resizer has made a volume larger."""
    freed: float = 5.0
    """Until the controller of quotas has taken off what has gone."""
    namespace: float = 1.0
    """Between two looks at a namespace that is on its way out."""


class Work:
    """Things to look at. Each is looked at once, however often it was asked for before that."""

    def __init__(self, resources: Resources, delay: float, look: Callable[[Place], None]) -> None:
        self._resources, self._clock = resources, resources.store.clock
        self._delay, self._look = delay, look
        self._waiting: set[Place] = set()

    def add(self, place: Place) -> None:
        """Look at it soon."""
        if place not in self._waiting:
            self._waiting.add(place)
            self._clock.later(self._delay, lambda: self._do(place))

    def _do(self, place: Place) -> None:
        away = self._resources.controllers_back_at - self._clock.now()
        if away > 0:
            self._clock.later(away, lambda: self._do(place))
            return
        self._waiting.discard(place)
        try:
            self._look(place)
        except Refused as error:
            if error.code != 404:
                # Another has changed it in between, or it may not be so yet: again, as a controller does.
                self._clock.later(1.0, lambda: self.add(place))


@dataclass
class Recorder:
    """Writes events as one component does; repeated ones are counted."""

    resources: Resources
    component: str
    host: str = ""
    _sent: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def report(self, kind: Kind, about: Json, type_: str, reason: str, message: str) -> None:
        """Report that something happened to an object; `type_` is Normal or Warning."""
        metadata = about["metadata"]
        namespace = metadata.get("namespace") or "default"
        key = (metadata["uid"], reason, message)
        now = timestamp(self.resources.store.clock.now())
        try:
            if key in self._sent and self.resources.store.kept(EVENTS, namespace, self._sent[key]):
                self.resources.change(EVENTS, namespace, self._sent[key], lambda item: _again(item, now))
                return
            made = self.resources.create(EVENTS, namespace, self._event(kind, about, (type_, reason, message), now))
            self._sent[key] = made["metadata"]["name"]
        except Refused:
            # A namespace on its way out takes no events.
            return

    def _event(self, kind: Kind, about: Json, said: tuple[str, str, str], now: str) -> Json:
        metadata = about["metadata"]
        source = {"component": self.component, **({"host": self.host} if self.host else {})}
        return {
            "metadata": {"name": f"{metadata['name']}.{self.resources.store.version:016x}"},
            "involvedObject": {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                **({"namespace": metadata["namespace"]} if "namespace" in metadata else {}),
                "name": metadata["name"],
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "type": said[0],
            "reason": said[1],
            "message": said[2],
            "source": source,
            "reportingComponent": self.component,
            "reportingInstance": self.host,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def _again(event: Json, now: str) -> None:
    event["count"] += 1
    event["lastTimestamp"] = now


def with_condition(item: Json, type_: str, status: str, now: str, **said: str) -> None:
    """Write a condition; its time changes only with its status."""
    conditions = item.setdefault("status", {}).setdefault("conditions", [])
    before = next((each for each in conditions if each["type"] == type_), None)
    since = before["lastTransitionTime"] if before is not None and before["status"] == status else now
    found = {"type": type_, "status": status, "lastTransitionTime": since}
    found |= {key: value for key, value in said.items() if value}
    if before is None:
        conditions.append(found)
    else:
        before.clear()
        before.update(found)
