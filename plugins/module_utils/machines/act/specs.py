"""The new specification of a Machine, written over the objects that were read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...common.attempts import until_unchanged
from ...common.task import Task
from ...extra_machines.observe.look import ClusterApi
from ..judge.specs import patches_of
from ..observe.owned_look import owned_machine
from ..observe.owned_machines import OwnedMachine
from ..observe.requested import NamedObject
from ..observe.requested_look import present_of
from ..observe.upgrade_tasks import OBJECTS, SPECIFIED_VERSION

ATTEMPTS = 3


@dataclass(frozen=True)
class MachineSpecs:
    """The acts of one task."""

    task: Task
    api: ClusterApi
    owner: NamedObject

    def write(self, machine: OwnedMachine, wanted: Mapping[str, Any]) -> None:
        """Write the fields of the request that differ: the objects first, as Cluster API does, and then the Machine.

        Raises:
            Refusal: the run may not act any more, a right is missing, or the change is refused.
        """
        until_unchanged(lambda: self._attempt(machine, wanted), ATTEMPTS)

    def _attempt(self, machine: OwnedMachine, wanted: Mapping[str, Any]) -> None:
        path = self.api.machine_path(machine.namespace, machine.name)
        found = self.api.client.get(path)
        if found is None or (seen := owned_machine(found)).uid != machine.uid:
            return
        present, objects = present_of(self.api.client, seen, wanted)
        patches = patches_of(present, wanted, self.owner)
        for name in OBJECTS:
            if name in patches and name in objects:
                there = objects[name]
                self._patch(f"{name} of {machine.called}", there.path, there.item, patches[name])
        if SPECIFIED_VERSION in patches:
            self._patch(machine.called, path, found, patches[SPECIFIED_VERSION])

    def _patch(self, called: str, path: str, seen: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
        guard = {name: seen["metadata"][name] for name in ("uid", "resourceVersion")}
        body = {"metadata": guard, "spec": dict(spec)}
        self.task.act("wrote_spec", called, lambda: self.api.client.patch(path, body, "merge"))
