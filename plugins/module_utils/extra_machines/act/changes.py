"""Each change of a MachineDeployment and of its machines, in one patch that is guarded by what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...common.task import Task
from ...run.lock.lock_watch import writer_of
from ...run.undo.undo import Change, Undo
from ...run.undo.undo_annotation import UNDO, patch_of
from ..observe.look import ClusterApi
from ..observe.state import DELETE_FIRST, OUR_MARK, REPLICAS, Machine, MachineDeployment


@dataclass(frozen=True)
class MachineChanges:
    """The changes that a task makes, noted in its journal. In check mode the server answers and changes nothing.

    Raises:
        Conflict: from every method, if the object was changed since it was seen.
        Refusal: from every method: the run may not act any more, a right is missing, or the change is refused.
    """

    task: Task
    api: ClusterApi

    def add(self, seen: MachineDeployment, extra: int) -> None:
        """Give it more machines, with the undo."""
        change = Change(REPLICAS, seen.replicas, seen.replicas + extra)
        self._deployment("add_machines", seen, Undo(writer_of(self.task), (change,)), change.set_to)

    def adopt(self, seen: MachineDeployment) -> bool:
        """Make the undo that it carries this run's, so that no other run puts it back. The result says whether it was
        another run's."""
        writer = writer_of(self.task)
        if seen.undo is None or not writer.lock or seen.undo.writer.run == writer.run:
            return False
        self._deployment("adopt_machines", seen, seen.undo.extended(writer, ()), None)
        return True

    def remove(self, seen: MachineDeployment, replicas: int) -> None:
        """Take its extra machines away, and the undo with them."""
        self._deployment("remove_machines", seen, None, replicas)

    def forget(self, seen: MachineDeployment) -> None:
        """Remove nothing but the undo."""
        self._deployment("remove_undo", seen, None, None)

    def mark(self, seen: MachineDeployment, machine: Machine) -> None:
        """Have a machine go first when its MachineDeployment gets smaller."""
        self._machine("mark_machine", seen, machine, OUR_MARK)

    def unmark(self, seen: MachineDeployment, machine: Machine) -> None:
        """Have it go like any other."""
        self._machine("unmark_machine", seen, machine, None)

    def _deployment(self, action: str, seen: MachineDeployment, undo: Undo | None, replicas: int | None) -> None:
        wanted = {REPLICAS: replicas} if replicas is not None else {}
        patch = patch_of(dict(seen.raw), undo, wanted)
        patch["metadata"]["uid"] = seen.uid
        shown: dict[str, Any] = {"replicas": replicas} if replicas is not None else {"set": [UNDO]}
        self._patch((action, seen.key, shown), self.api.deployment_path(seen.namespace, seen.name), patch)

    def _machine(self, action: str, seen: MachineDeployment, machine: Machine, mark: str | None) -> None:
        metadata = {"uid": machine.uid, "resourceVersion": machine.resource_version}
        patch = {"metadata": {**metadata, "annotations": {DELETE_FIRST: mark}}}
        shown = {"machine_deployment": seen.key}
        self._patch((action, machine.name, shown), self.api.machine_path(seen.namespace, machine.name), patch)

    def _patch(self, noted: tuple[str, str, dict[str, Any]], path: str, patch: dict[str, Any]) -> None:
        if not self.task.check_mode:
            self.task.still_wanted()
        with self.task.journal.doing(noted):
            self.api.client.patch(path, patch, "merge", dry_run=self.task.check_mode)
