"""Looks at a system that lives in objects of Kubernetes: the holder of the lock, and how many changes there were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.sandbox.kubernetes.kinds import LEASES
from tests.sandbox.kubernetes.store import Change, Store


@dataclass(frozen=True)
class Sight:
    """The things that are seen at one time."""

    holder: str = ""
    changes: int = 0
    """The changes of objects of the system until now."""


class Looking:
    """The looks at one system. `is_own` says whether a change is one of its objects."""

    def __init__(self, store: Store, namespace: str, is_own: Callable[[Change], bool]) -> None:
        self._store, self._namespace, self._is_own = store, namespace, is_own
        self._changed, self._changes = True, 0
        self.sight = Sight()
        """The last one."""

    def note(self, change: Change) -> None:
        """A listener of the store."""
        own = self._is_own(change)
        self._changes += own
        self._changed |= own or change.kind == LEASES

    def look(self) -> bool:
        """Look again. The result says whether anything has changed."""
        changed, self._changed = self._changed, False
        if changed:
            holders = [
                str(each["spec"].get("holderIdentity") or "") for each in self._store.each(LEASES, self._namespace)
            ]
            self.sight = Sight(next(filter(None, holders), ""), self._changes)
        return changed
