# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server in memory, in the place of the client: objects with UIDs, resourceVersions and preconditions.

It can be out of reach, before or after a write was made, and something else can act between any two requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from ansible_collections.stateful.upgrade.plugins.module_utils.common.errors import Unreachable
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict, refused
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.answers import refusal_of, request_of
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.client import KubernetesClient

Json = dict[str, Any]


@dataclass
class ApiMemory:
    """The objects by path, and what was asked."""

    objects: dict[str, Json] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    before: list[Callable[[], None]] = field(default_factory=list)
    """What something else does before the next requests, one each."""
    away: bool = False
    lose_answers: int = 0
    """So many writes from now on are made and not answered."""
    _count: int = 0

    def client(self) -> KubernetesClient:
        """Itself, for code that wants the client."""
        return cast(KubernetesClient, self)

    def judge_connection(self) -> Verdict:
        """Nobody could read what is sent to it."""
        return Verdict()

    def get(self, path: str) -> Json | None:
        """The object, or None."""
        self._reached("GET", path)
        return _copy(self.objects[path]) if path in self.objects else None

    def list(self, path: str, label_selector: str | None = None) -> Any:
        """The objects of a collection that carry the labels."""
        self._reached("GET", path)
        wanted = dict(each.split("=") for each in (label_selector or "").split(",") if each)
        items = [item for each, item in self.objects.items() if each.rpartition("/")[0] == path]
        return [_copy(item) for item in items if wanted.items() <= item["metadata"].get("labels", {}).items()]

    def post(self, path: str, body: Json) -> Json:
        """Make an object; 409 where there is one."""
        self._reached("POST", path)
        full = f"{path}/{body['metadata']['name']}"
        if full in self.objects:
            raise refusal_of("memory", request_of("POST", path), 409, {"message": "already exists"}, retry=False)
        self.put_there(full, body)
        return self._answered(full)

    def patch(self, path: str, body: Json, _kind: str = "merge", dry_run: bool = False) -> Json:
        """Merge; 404 where there is nothing, 409 where it is not the version that was observed."""
        self._reached("PATCH", path)
        request = request_of("PATCH", path)
        if path not in self.objects:
            raise refusal_of("memory", request, 404, {"kind": "Status", "message": "not found"}, retry=False)
        present = self.objects[path]
        if body["metadata"].get("resourceVersion") not in {None, present["metadata"]["resourceVersion"]}:
            raise refusal_of("memory", request, 409, {"message": "the object has been modified"}, retry=False)
        merged: Json = _merged(present, body)
        if dry_run:
            return merged
        self._write(path, merged)
        return self._answered(path)

    def delete(self, path: str, uid: str, resource_version: str | None = None) -> bool:
        """Delete exactly this object; 409 where a precondition does not hold."""
        self._reached("DELETE", path)
        if path not in self.objects:
            return False
        metadata = self.objects[path]["metadata"]
        if metadata["uid"] != uid or resource_version not in {None, metadata["resourceVersion"]}:
            raise refusal_of("memory", request_of("DELETE", path), 409, {"message": "precondition"}, retry=False)
        del self.objects[path]
        self._answered("")
        return True

    def put_there(self, path: str, body: Json) -> None:
        """Put an object there, as its first version."""
        self._count += 1
        namespace = path.partition("/namespaces/")[2].partition("/")[0]
        metadata = {"uid": f"uid-{self._count}", "namespace": namespace, **body["metadata"]}
        self._write(path, {**body, "metadata": metadata})

    def _write(self, path: str, body: Json) -> None:
        self._count += 1
        self.objects[path] = _copy(body)
        self.objects[path]["metadata"]["resourceVersion"] = str(self._count)

    def _reached(self, method: str, path: str) -> None:
        self.asked.append((method, path))
        if self.before:
            self.before.pop(0)()
        if self.away:
            raise unreachable()

    def _answered(self, path: str) -> Json:
        if self.lose_answers:
            self.lose_answers -= 1
            raise unreachable()
        return _copy(self.objects.get(path, {}))


def unreachable() -> Unreachable:
    """The failure of a request that got no answer."""
    return Unreachable(refused("kubernetes_unreachable", "The Kubernetes API cannot be reached.", "Check the network."))


def _copy(item: Json) -> Json:
    copied: Json = json.loads(json.dumps(item))
    return copied


def _merged(present: Any, body: Any) -> Any:
    """RFC 7386."""
    if not isinstance(body, dict):
        return body
    merged = dict(present) if isinstance(present, dict) else {}
    for key, value in body.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged
