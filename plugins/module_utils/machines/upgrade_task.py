"""The UpgradeTask as request, and as the place where its upgrade is reported.

Its definition is `roles/machines/files/upgrade_task.yml`. One that is deleted, or whose phase is Abort, aborts its
upgrade; a new one of the same owner aborts those before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..common.attempts import until_unchanged
from ..common.errors import refusal
from ..common.reading import part, text, within
from ..common.timestamps import now_text
from ..common.verdict import Verdict
from ..kubernetes.answers import reading_object
from ..kubernetes.client import Json, KubernetesClient
from ..kubernetes.paths import in_namespace
from ..run.record.record import Record
from ..run.start.claims import NO_RUN
from ..run.start.request import Request, read_request
from ..run.start.request_sources import STATE, place_of
from ..run.start.upgrade_request import SUPERSEDE
from .judge.upgrade_task import faults_in, variables_of
from .observe.reading_tasks import upgrade_task
from .observe.upgrade_tasks import API, ENDED, UPGRADE_TASK, UPGRADE_TASKS, TaskPhase, UpgradeTaskState
from .task_status import ended_status, status_of, with_decision

BEGINNING = "upgradetask/"
"""The start of a source that is an UpgradeTask."""
SYSTEM = "machines"
"""The type of the request."""
DECIDED = ("invalid", "refused", "waiting", "delayed", "started")
"""The states of a request by which it is accepted or declined."""
MANAGEMENT, OWN = " of the management cluster (upgrade_management)", " of the cluster to upgrade (upgrade_kubernetes)"
"""The clusters that a task may be in."""
ATTEMPTS = 3


@dataclass(frozen=True)
class UpgradeTask:
    """One UpgradeTask."""

    client: KubernetesClient
    namespace: str
    name: str
    place: str = ""
    """The cluster that it is in, and the variable with the connection to it; empty if it is not said."""

    @classmethod
    def named(cls, given: str, connect: Any, options: Mapping[str, Any]) -> UpgradeTask:
        """The one that a source names: `upgradetask/NAME`, or `upgradetask/NAMESPACE/NAME`.

        It is next to its Machines: in the management cluster where one is given, else in the cluster to upgrade, and
        never looked for in the other one.

        Raises:
            Refusal: no namespace is given.
        """
        other = options.get("request_kubernetes")
        return cls(
            connect(other or options["kubernetes"]), *place_of(given, BEGINNING, options), MANAGEMENT if other else OWN
        )

    @property
    def where(self) -> str:
        """Its name."""
        return f"{UPGRADE_TASK} {self.name} in namespace {self.namespace}{self.place}"

    def state(self) -> UpgradeTaskState | None:
        """The task as it is now; None if it is gone.

        Raises:
            Refusal: it cannot be had or understood.
        """
        found = self.client.get(self._path())
        return upgrade_task(found) if found is not None else None

    def read(self) -> Request | None:
        """The request that its spec is; None if it is aborted or deleted.

        A task that has not started replaces the upgrade of an earlier task of the same owner, and continues one that
        was aborted: whoever makes a task requests the upgrade again.
        """
        seen = self.state()
        if seen is None or seen.ends:
            return None
        document = json.dumps({"type": SYSTEM, **variables_of(seen)}, ensure_ascii=False)
        request = read_request(document, self.where)
        # The digest says what is requested, which another task does not change.
        supersedes = SUPERSEDE if not seen.phase else {}
        faults = (*faults_in(seen), *request.faults)
        variables = {**request.variables, **supersedes}
        return replace(request, faults=faults, variables=variables, members=seen.kubernetes_nodes)

    def claim(self) -> tuple[str, ...]:
        """Abort the earlier tasks of the same owner. The result names those that it has aborted.

        Raises:
            Refusal: they cannot be had, or not be changed.
        """
        seen, asked = self.state(), list[str]()
        for each in self._others(seen) if seen is not None and not seen.ends else ():
            if each.ends:
                continue
            body: Json = {"metadata": {"uid": each.uid}, "spec": {"phase": TaskPhase.ABORT.value}}
            self.client.patch(self._path(each.name), body, "merge")
            asked.append(each.name)
            if not each.phase:
                self._write(lambda kept, _seen: ended_status(kept), each.name)
        return tuple(asked)

    def replaced(self) -> tuple[str, ...]:
        """The runs of the earlier tasks of the same owner; a name that no run has if none has written its name.

        Raises:
            Refusal: they cannot be had.
        """
        seen = self.state()
        others = self._others(seen) if seen is not None else []
        return tuple(each.run for each in others if each.run) or (NO_RUN,)

    def note(self, state: str) -> bool:
        """Note the state in an annotation, and as the condition Accepted with all reasons."""
        body: Json = {"metadata": {"annotations": {STATE: state}}}
        self.client.patch(self._path(), body, "merge")
        noted = json.loads(state)
        if noted.get("state") in DECIDED:
            decision = (noted["state"], str(noted.get("message") or ""), now_text())
            self._write(lambda kept, _seen: with_decision(kept, *decision))
        return True

    def judge(self) -> Verdict:
        """The connection to Kubernetes is judged elsewhere."""
        return Verdict()

    def answer(self, record: Record) -> None:
        """Report in its status how far the upgrade of the record has come, and end the tasks that it has replaced.

        Raises:
            Refusal: it cannot be read or written, or is not there.
        """
        self._write(lambda kept, seen: _answer(record, kept, seen))
        seen = self.state()
        if seen is None:
            raise refusal("request_missing", f"{self.where} does not exist.", "Correct that connection.")
        for each in self._others(seen) if seen is not None and record.run else ():
            if each.ends and each.phase not in ENDED:
                self._write(lambda kept, _seen: ended_status(kept), each.name)

    def _others(self, seen: UpgradeTaskState) -> list[UpgradeTaskState]:
        """The tasks of the same owner that are not complete, but for this one and newer ones."""
        found = [upgrade_task(each) for each in self.client.list(self._path(""))]
        return [
            each
            for each in found
            if each.owner == seen.owner != ""
            and each.uid != seen.uid
            and each.phase != TaskPhase.COMPLETE.value
            and _age(each) <= _age(seen)
        ]

    def _write(self, change: Callable[[Json, UpgradeTaskState], Json], name: str | None = None) -> None:
        """Write the status that `change` makes of the present one, over the object that was read."""

        def attempt() -> None:
            found = self.client.get(self._path(name))
            if found is None:
                return
            seen = upgrade_task(found)
            with reading_object(UPGRADE_TASK, found):
                kept = dict(part(found, "status", {}))
                version = within(found, "metadata", lambda metadata: text(metadata, "resourceVersion"))
                status = change(kept, seen)
            if status != kept:
                body: Json = {"metadata": {"resourceVersion": version}, "status": status}
                self.client.patch(self._path(name, "status"), body, "merge")

        until_unchanged(attempt, ATTEMPTS)

    def _path(self, name: str | None = None, subresource: str = "") -> str:
        return in_namespace(API, self.namespace, UPGRADE_TASKS, self.name if name is None else name, subresource)


def _answer(record: Record, kept: Json, seen: UpgradeTaskState) -> Json:
    """The status. A task that is to be aborted counts as aborted once none of its batches is under way, however its run
    ended."""
    if seen.ends and not any(each.state == "upgrading" for each in record.batches):
        return ended_status(kept)
    return status_of(record, seen.kubernetes_nodes, kept)


def _age(seen: UpgradeTaskState) -> tuple[str, str]:
    metadata = seen.raw["metadata"]
    return str(metadata.get("creationTimestamp", "")), seen.name
