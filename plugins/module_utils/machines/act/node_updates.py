"""Each change of a NodeUpdate, guarded by the object that was seen."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...common.task import Task
from ...common.timestamps import timestamp_text
from ...kubernetes.client import Json, KubernetesClient
from ...kubernetes.paths import in_namespace
from ..observe.node_updates import NODE_UPDATE, NODE_UPDATES, SYSTEM_NOTE, NodePhase, NodeUpdate
from ..observe.upgrade_tasks import API, GROUP, VERSION


@dataclass(frozen=True)
class NodeUpdateChanges:
    """The changes that a task makes, noted in its journal.

    Raises:
        Conflict: from every method, if the object was changed since it was seen.
        Refusal: from every method: the run may not act any more, a right is missing, or the change is refused.
    """

    task: Task
    client: KubernetesClient
    namespace: str

    def path(self, name: str) -> str:
        """The path of a NodeUpdate."""
        return in_namespace(API, self.namespace, NODE_UPDATES, name)

    def create(
        self, name: str, spec: Mapping[str, Any], deadline: datetime, labels: Mapping[str, str], system: str
    ) -> None:
        """Ask for work on the machine with this id, which is empty if it is not known."""
        notes = {"annotations": {SYSTEM_NOTE: system}} if system else {}
        body: Json = {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": NODE_UPDATE,
            "metadata": {"name": name, "labels": dict(labels), **notes},
            "spec": {**spec, "attempt": 1, "phase": "Ongoing", "deadline": timestamp_text(deadline)},
        }
        with self._doing("create_node_update", name):
            self.client.post(in_namespace(API, self.namespace, NODE_UPDATES), body)

    def retry(self, seen: NodeUpdate, deadline: datetime) -> None:
        """Ask for one more attempt. One that has failed counts against the budget of its kind."""
        failed = seen.phase is NodePhase.FAILED
        counted = {seen.failure.value: seen.retried.get(seen.failure, 0) + 1} if failed else {}
        own = {"attempt": seen.attempt + 1, "phase": "Ongoing", "deadline": timestamp_text(deadline)}
        self._patch("retry_node_update", seen, {**own, **({"retried": counted} if counted else {})})

    def abort(self, seen: NodeUpdate) -> None:
        """Have the work that is under way come to a defined end."""
        self._patch("abort_node_update", seen, {"phase": "Abort"})

    def remove(self, seen: NodeUpdate) -> None:
        """Remove the object of work that has ended."""
        with self._doing("remove_node_update", seen.name):
            self.client.delete(self.path(seen.name), seen.uid, resource_version=seen.resource_version)

    def _patch(self, action: str, seen: NodeUpdate, spec: Mapping[str, Any]) -> None:
        guard = {"uid": seen.uid, "resourceVersion": seen.resource_version}
        with self._doing(action, seen.name):
            self.client.patch(self.path(seen.name), {"metadata": guard, "spec": dict(spec)}, "merge")

    def _doing(self, action: str, name: str) -> AbstractContextManager[None]:
        self.task.still_wanted()
        return self.task.journal.doing((action, f"{NODE_UPDATE} {name}", {}))
