"""A real API server, as the controllers of Longhorn write to it and learn of its changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kubernetes import client

from tests.lab.longhorn.requests import ask
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, copied
from tests.sandbox.longhorn.kinds import NAMESPACE, UNVERIFIED
from tests.sandbox.longhorn.objects import FOLLOWED, Change, Objects

_ATTEMPTS = 5


class Remote:
    """A `Server`. Its clock follows the time; `look` gives an index what has changed since."""

    def __init__(self, api: client.ApiClient, clock: Clock, offers: str) -> None:
        self._api, self.clock = api, clock
        self._followed = [each for each in FOLLOWED if offers or each not in UNVERIFIED]
        self._objects: Objects | None = None
        self._known: dict[Kind, dict[str, Json]] = {}

    def follow(self, objects: Objects) -> None:
        """Report all objects that there are."""
        self._objects = objects
        self.look()

    def look(self) -> None:
        """Report every change since the last look."""
        for kind in self._followed:
            self._list(kind)

    def _list(self, kind: Kind) -> None:
        try:
            answer = self._ask("GET", kind.path(_place(kind)))
        except Refused as error:
            if error.code == 404:
                return
            raise
        found = {each["metadata"]["name"]: each for each in answer["items"]}
        known = self._known.setdefault(kind, {})
        for name in [name for name in known if name not in found]:
            self._tell(kind, known[name], gone=True)
        for name, item in found.items():
            if known.get(name, {}).get("metadata", {}).get("resourceVersion") != item["metadata"]["resourceVersion"]:
                self._tell(kind, {**item, "apiVersion": kind.api_version, "kind": kind.kind}, gone=False)

    def _tell(self, kind: Kind, item: Json, *, gone: bool) -> None:
        known = self._known.setdefault(kind, {})
        known.pop(item["metadata"]["name"], None)
        if not gone:
            known[item["metadata"]["name"]] = item
        if self._objects is not None:
            self._objects.seen(kind, item, gone=gone)

    def create(self, kind: Kind, body: Json) -> Json:
        """Make an object; its status is written, too. Raises Refused."""
        whole = {**copied(body), "apiVersion": kind.api_version, "kind": kind.kind}
        status = whole.pop("status", None)
        made = self._ask("POST", kind.path(_place(kind)), whole)
        self._tell(kind, made, gone=False)
        if status:
            name = made["metadata"]["name"]
            self.change(kind, name, lambda item: item.update(status=copied(status)), status=True)
            made = self._known[kind][name]
        return made

    def change(self, kind: Kind, name: str, change: Change, *, status: bool) -> None:
        """Write an object, or only its status, over the version that is there. Raises Refused."""
        path = kind.path(_place(kind), name)
        for attempt in range(_ATTEMPTS):
            with gone_already():
                draft = self._ask("GET", path)
                before = copied(draft)
                change(draft)
                if draft == before:
                    return
                try:
                    self._tell(kind, self._ask("PUT", f"{path}/status" if status else path, draft), gone=False)
                except Refused as error:
                    if error.code != 409 or attempt == _ATTEMPTS - 1:
                        raise
                    continue
            return

    def delete(self, kind: Kind, name: str) -> None:
        """Delete an object. Raises Refused."""
        with gone_already():
            self._ask("DELETE", kind.path(_place(kind), name), {"propagationPolicy": "Background"})

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        return ask(self._api, method, path, body)


@contextlib.contextmanager
def gone_already() -> Iterator[None]:
    """Someone else has deleted the object since the last look: the next look reports it."""
    try:
        yield
    except Refused as error:
        if error.code != 404:
            raise


def _place(kind: Kind) -> str:
    return NAMESPACE if kind.namespaced else ""
