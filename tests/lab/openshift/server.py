"""The API server as the stand-ins read it and write to it. Every write is held to the definitions, field by field."""

from __future__ import annotations

from collections.abc import Callable

from kubernetes import client

from tests.lab.api import MERGE
from tests.lab.longhorn.requests import JSON, ask
from tests.sandbox.kubernetes.objects import Json, Kind, Refused, copied

_ATTEMPTS = 5


class Server:
    """The objects of a lab, written by one component."""

    def __init__(self, api: client.ApiClient, component: str) -> None:
        self.api, self._component = api, component

    def ask(self, method: str, path: str, body: Json | None = None, content: str = JSON) -> Json:
        """The answer to a request. Raises Refused."""
        return ask(self.api, method, path, body, content, self._component)

    def get(self, kind: Kind, name: str, namespace: str = "") -> Json | None:
        """An object; None if there is none. Raises Refused."""
        try:
            return self.ask("GET", kind.path(namespace, name))
        except Refused as error:
            if error.code == 404:
                return None
            raise

    def all(self, kind: Kind, namespace: str = "") -> list[Json]:
        """All objects of a kind, by name. Raises Refused."""
        return sorted(self.ask("GET", kind.path(namespace))["items"], key=lambda each: str(each["metadata"]["name"]))

    def create(self, kind: Kind, body: Json, namespace: str = "") -> None:
        """Make an object, and write its status, too. Raises Refused."""
        whole = {**copied(body), "apiVersion": kind.api_version, "kind": kind.kind}
        status = whole.pop("status", None)
        self.ask("POST", kind.path(namespace), whole)
        if status:
            self.ask("PATCH", kind.path(namespace, body["metadata"]["name"]) + "/status", {"status": status}, MERGE)

    def merge(self, kind: Kind, name: str, patch: Json, namespace: str = "", *, status: bool = False) -> None:
        """Change fields of an object, whoever else writes others. Raises Refused."""
        self.ask("PATCH", kind.path(namespace, name) + ("/status" if status else ""), patch, MERGE)

    def tell(self, kind: Kind, name: str, change: Callable[[Json], object]) -> None:
        """Write the status of an object over the version that is there, unless nothing changes. Raises Refused."""
        path = kind.path("", name)
        for attempt in range(_ATTEMPTS):
            draft = self.ask("GET", path)
            before = copied(draft)
            change(draft)
            if draft == before:
                return
            try:
                self.ask("PUT", f"{path}/status", draft)
            except Refused as error:
                if error.code != 409 or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
