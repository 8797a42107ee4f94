"""The API server in memory, as the controllers of Longhorn write to it."""

from __future__ import annotations

from tests.sandbox.kubernetes.objects import Json, Kind, copied
from tests.sandbox.kubernetes.resources import Resources, Writing
from tests.sandbox.kubernetes.store import Change as Told
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.sandbox.longhorn.objects import FOLLOWED, Change, Objects

_MANAGER = ""
"""No manager: to note the owner of each field takes half of all time, and no one applies Longhorn's objects."""


class InMemory:
    """A `Server`; `follow` keeps an index in step with it."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self.clock = resources.store.clock

    def follow(self, objects: Objects) -> None:
        """Report all objects that there are, and every change from now on."""
        for kind in FOLLOWED:
            for item in list(self._resources.store.each(kind, self._place(kind))):
                objects.seen(kind, item, gone=False)

        def changed(told: Told) -> None:
            if told.kind in FOLLOWED and told.item["metadata"].get("namespace", "") == self._place(told.kind):
                objects.seen(told.kind, told.item, gone=told.type == "DELETED")

        self._resources.store.listeners.append(changed)

    def create(self, kind: Kind, body: Json) -> Json:
        """Make an object; its status is written, too. Raises Refused."""
        made = self._resources.create(kind, self._place(kind), body, Writing(_MANAGER, strict="Strict"))
        status = body.get("status")
        if not status:
            return made
        name = made["metadata"]["name"]
        self.change(kind, name, lambda item: item.update(status=copied(status)), status=True)
        return self._resources.get(kind, self._place(kind), name)

    def change(self, kind: Kind, name: str, change: Change, *, status: bool) -> None:
        """Write an object, or only its status. Raises Refused."""
        writing = Writing(_MANAGER, strict="Strict", subresource="status" if status else "")

        def on_draft(item: Json) -> None:
            change(item)

        self._resources.change(kind, self._place(kind), name, on_draft, writing)

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object. Raises Refused."""
        self._resources.delete(kind, self._place(kind), name)

    def _place(self, kind: Kind) -> str:
        return NAMESPACE if kind.namespaced else ""
