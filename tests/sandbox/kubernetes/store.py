"""The store of all objects: one version number for all, and every change reported and kept."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.objects import Json, Kind, copied

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""As the API server's: no vowel, so that no words come about."""


@dataclass(frozen=True)
class Change:
    """An event of one object: ADDED, MODIFIED or DELETED. No one may change the objects that it holds."""

    version: int
    type: str
    kind: Kind
    item: Json
    before: Json | None


Listener = Callable[[Change], None]


class Store:
    """Objects by kind, namespace and name."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.version = 1
        self.compacted = 0
        """Changes up to this version are forgotten."""
        self.history: list[Change] = []
        self.listeners: list[Listener] = []
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Json]] = {}
        self._count = 0

    def get(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """A copy of the object."""
        found = self.kept(kind, namespace, name)
        return copied(found) if found is not None else None

    def kept(self, kind: Kind, namespace: str, name: str) -> Json | None:
        """The object itself, for who only reads."""
        return self._of(kind).get((namespace, name))

    def list(self, kind: Kind, namespace: str = "") -> list[Json]:
        """Copies of all objects of a kind, in a namespace or everywhere, ordered as the API server orders them."""
        return [copied(item) for item in self.each(kind, namespace)]

    def each(self, kind: Kind, namespace: str = "") -> Iterator[Json]:
        """The objects themselves, for who only reads."""
        found = self._of(kind)
        for key in sorted(found):
            if key in found and namespace in {"", key[0]}:
                yield found[key]

    def put(self, kind: Kind, item: Json) -> Json:
        """Keep a copy of an object as the next version, and give the object with its version."""
        metadata = item["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self._of(kind).get(key)
        self.version += 1
        metadata["resourceVersion"] = str(self.version)
        kept = self._of(kind)[key] = copied(item)
        self._tell("ADDED" if before is None else "MODIFIED", kind, kept, before)
        return item

    def remove(self, kind: Kind, item: Json) -> None:
        """Forget an object; its last version is the one of its removal."""
        metadata = item["metadata"]
        before = self._of(kind).pop((metadata.get("namespace", ""), metadata["name"]))
        self.version += 1
        last = copied(item)
        last["metadata"]["resourceVersion"] = str(self.version)
        self._tell("DELETED", kind, last, before)

    def compact(self) -> None:
        """Forget all changes until now, so that no watch can start before them."""
        self.compacted = self.version
        self.history.clear()

    def new_uid(self) -> str:
        """A UID that no other object has."""
        self._count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"sandbox {self._count}"))

    def new_suffix(self) -> str:
        """Five letters after a `generateName`."""
        return letters(int(uuid.UUID(self.new_uid())), 5)

    def _of(self, kind: Kind) -> dict[tuple[str, str], Json]:
        return self._objects.setdefault(kind.key, {})

    def _tell(self, type_: str, kind: Kind, item: Json, before: Json | None) -> None:
        change = Change(self.version, type_, kind, item, before)
        self.history.append(change)
        for listener in list(self.listeners):
            listener(change)


def letters(number: int, count: int) -> str:
    """So many letters that stand for a number."""
    found = ""
    for _place in range(count):
        number, rest = divmod(number, len(_LETTERS))
        found += _LETTERS[rest]
    return found
