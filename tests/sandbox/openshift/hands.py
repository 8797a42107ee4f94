"""The API server as the stand-ins write to it: each under its component's name, so that others stand out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.sandbox.kubernetes.objects import Json, Kind, copied
from tests.sandbox.kubernetes.resources import Resources, Writing

_STRICT = Writing(strict="Strict")
_STATUS = Writing(strict="Strict", subresource="status")


class Acting:
    """The component that writes at this time; empty: it is none of the stand-ins."""

    def __init__(self) -> None:
        self.component = ""

    @contextmanager
    def named(self, component: str) -> Iterator[None]:
        """Write as a component within the block."""
        before, self.component = self.component, component
        try:
            yield
        finally:
            self.component = before


@dataclass(frozen=True)
class Hand:
    """One component that writes. The definitions judge all of it."""

    resources: Resources
    acting: Acting
    component: str

    def create(self, kind: Kind, namespace: str, body: Json) -> Json:
        """Make an object, and write its status, too. Raises Refused."""
        with self.acting.named(self.component):
            made = self.resources.create(kind, namespace, body, _STRICT)
            status = body.get("status")
            if status and kind.status:
                made = self.resources.change(
                    kind, namespace, made["metadata"]["name"], lambda item: item.update(status=copied(status)), _STATUS
                )
        return made

    def change(self, kind: Kind, namespace: str, name: str, change: Callable[[Json], object]) -> None:
        """Write an object. Raises Refused."""
        self._write(kind, namespace, name, change, _STRICT)

    def tell(self, kind: Kind, namespace: str, name: str, change: Callable[[Json], object]) -> None:
        """Write the status of an object. Raises Refused."""
        self._write(kind, namespace, name, change, _STATUS)

    def _write(self, kind: Kind, namespace: str, name: str, change: Callable[[Json], object], writing: Writing) -> None:
        def on_draft(item: Json) -> None:
            change(item)

        with self.acting.named(self.component):
            self.resources.change(kind, namespace, name, on_draft, writing)

    def delete(self, kind: Kind, namespace: str, name: str) -> None:
        """Delete an object. Raises Refused."""
        with self.acting.named(self.component):
            self.resources.delete(kind, namespace, name)
