"""All objects as the controllers of Longhorn see them: an index of what their API server reports, strict writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.kinds import BUDGETS, PODS
from tests.sandbox.kubernetes.kinds import NODES as KUBERNETES_NODES
from tests.sandbox.kubernetes.objects import Json, Kind, copied
from tests.sandbox.longhorn.kinds import CRON_JOBS, JOBS, OWN, SETTINGS, UNVERIFIED, node_of, volume_of

FOLLOWED = (*OWN, *UNVERIFIED, CRON_JOBS, JOBS, PODS, BUDGETS, KUBERNETES_NODES)
Change = Callable[[Json], None]
Listener = Callable[[Kind, Json, bool], None]


class Server(Protocol):
    """An API server, in memory or a real one. Every write is held to the definition (`fieldValidation: Strict`)."""

    clock: Clock

    def create(self, kind: Kind, body: Json) -> Json:
        """Make an object; its status is written, too. Raises Refused."""

    def change(self, kind: Kind, name: str, change: Change, *, status: bool) -> None:
        """Write an object, or only its status. Raises Refused."""

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object. Raises Refused."""


class Objects:
    """No one may change the objects that it gives: `change` and `status` do, on a draft."""

    def __init__(self, server: Server) -> None:
        self.server, self.clock = server, server.clock
        self.listeners: list[Listener] = []
        self._items: dict[Kind, dict[str, Json]] = {kind: {} for kind in FOLLOWED}
        self._volumes: dict[tuple[Kind, str], set[str]] = {}
        self._nodes: dict[tuple[Kind, str], set[str]] = {}

    def seen(self, kind: Kind, item: Json, *, gone: bool) -> None:
        """Take note of what the API server has reported."""
        name = item["metadata"]["name"]
        before = self._items[kind].pop(name, None)
        if before is not None:
            self._volumes.get((kind, volume_of(kind, before)), set()).discard(name)
            self._nodes.get((kind, node_of(kind, before)), set()).discard(name)
        if not gone:
            self._items[kind][name] = item
            self._volumes.setdefault((kind, volume_of(kind, item)), set()).add(name)
            self._nodes.setdefault((kind, node_of(kind, item)), set()).add(name)
        for listener in self.listeners:
            listener(kind, item, gone)

    def get(self, kind: Kind, name: str) -> Json | None:
        """An object, if there is one of this name."""
        return self._items[kind].get(name)

    def all(self, kind: Kind) -> Iterator[Json]:
        """All of a kind, by name."""
        for name in sorted(self._items[kind]):
            if name in self._items[kind]:
                yield self._items[kind][name]

    def of_volume(self, kind: Kind, volume: str) -> list[Json]:
        """Those that belong to a volume, by name."""
        return [self._items[kind][name] for name in sorted(self._volumes.get((kind, volume), ()))]

    def of_node(self, kind: Kind, node: str) -> list[Json]:
        """Those that are on a Kubernetes node, by name."""
        return [self._items[kind][name] for name in sorted(self._nodes.get((kind, node), ()))]

    def setting(self, name: str) -> str:
        """The value of a setting; those that differ by data engine are JSON, and `v2` counts."""
        found = self.get(SETTINGS, name)
        return str(found["value"]) if found else ""

    def change(self, kind: Kind, name: str, change: Change) -> None:
        """Write an object if that changes it and it is still there."""
        self._write(kind, name, change, status=False)

    def status(self, kind: Kind, name: str, change: Change) -> None:
        """Write the status of an object (`change` gets the status) if that changes it and it is still there."""
        self._write(kind, name, lambda item: change(item.setdefault("status", {})), status=True)

    def _write(self, kind: Kind, name: str, change: Change, *, status: bool) -> None:
        present = self.get(kind, name)
        if present is None:
            return
        draft = copied(present)
        change(draft)
        if draft != present:
            self.server.change(kind, name, change, status=status)

    def put_spec(self, kind: Kind, name: str, spec: Json) -> None:
        """Write the whole spec of an object if it is another one, and if the object is still there."""
        present = self.get(kind, name)
        if present is not None and present["spec"] != spec:
            self.server.change(kind, name, lambda item: item.update(spec=copied(spec)), status=False)

    def put_status(self, kind: Kind, name: str, told: Json) -> None:
        """Write fields of the status of an object if they are other ones, and if the object is still there."""
        present = self.get(kind, name)
        if present is None or ("status" in present and _holds(present["status"], told)):
            return
        self.server.change(kind, name, lambda item: item.setdefault("status", {}).update(copied(told)), status=True)

    def create(self, kind: Kind, body: Json) -> Json:
        """Make an object, with its status. Raises Refused."""
        return self.server.create(kind, body)

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object if it is there."""
        present = self.get(kind, name)
        if present is not None and "deletionTimestamp" not in present["metadata"]:
            self.server.delete(kind, name)


class Drafts:
    """Copies of objects on which a controller works; `write` writes those that have changed."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._taken: dict[tuple[Kind, str], tuple[Json, bool]] = {}

    def take(self, kind: Kind, item: Json, *, status_only: bool = False) -> Json:
        """A draft of an object; `status_only` where its spec is written by others."""
        draft: Json = copied(item)
        draft.setdefault("status", {})
        self._taken[kind, item["metadata"]["name"]] = (draft, status_only)
        return draft

    def drop(self, kind: Kind, name: str) -> None:
        """Delete an object, and forget its draft."""
        self._taken.pop((kind, name), None)
        self._objects.delete(kind, name)

    def write(self) -> None:
        """Write spec and status of every draft."""
        for (kind, name), (draft, status_only) in self._taken.items():
            if not status_only:
                self._objects.put_spec(kind, name, draft["spec"])
            self._objects.put_status(kind, name, draft["status"])


def _holds(status: Json, told: Json) -> bool:
    """Whether a status has all of these fields with these values."""
    return all(name in status and status[name] == value for name, value in told.items())
