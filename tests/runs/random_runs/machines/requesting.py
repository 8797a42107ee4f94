"""The UpgradeTask that requests the upgrade of a story, and the Machines of Cluster API behind its machines."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.runs.machines import NAMESPACE, Machines
from tests.runs.owned_machines import CLUSTERS, CONTROL_PLANE, SKIP, OwnedMachines
from tests.runs.random_runs.machines.story import MachinesStory
from tests.runs.upgrade_tasks import Tasks, abort_it, with_management

ABORT = "Abort"


class Requesting:
    """A person who requests the upgrade, and requests it again where a task was aborted or deleted."""

    def __init__(self, found: Machines, story: MachinesStory) -> None:
        self._found, self._story = found, story
        self.tasks = with_management(found) if story.elsewhere else Tasks(found)
        self.machines: OwnedMachines | None = None
        if story.owned:
            self.tasks.owner, self.tasks.prefix = CONTROL_PLANE, "m-"
            self.tasks.namespace = CLUSTERS if story.elsewhere else NAMESPACE
            self.machines = OwnedMachines(self.tasks)
        self._number = 0
        self.left_out: Collection[str] = ()
        """The machines that are gone for good."""
        self.made_again: set[str] = set()
        """The machines that others have taken the names of."""
        self.request()

    @property
    def _name(self) -> str:
        return f"next-{self._number}"

    def request(self) -> None:
        """Request the upgrade of the machines that are left by a task, unless one is there that goes on."""
        names = [each for each in self._story.names if each not in self.left_out]
        if self._story.by_task and (self._is_gone() or self._is_over(names)):
            self._number += 1
            self.tasks.request(self._name, machines=tuple(names))

    def _is_over(self, names: list[str]) -> bool:
        spec = self.tasks.task(self._name)["spec"]
        return spec["phase"] == ABORT or [each["nodeName"] for each in spec["machinesRequireUpgrade"]] != names

    def abort(self) -> None:
        """Have the upgrade aborted."""
        if self._story.by_task and not self._is_gone():
            abort_it(self.tasks, self._name)

    def delete(self) -> None:
        """Delete the task."""
        if self._story.by_task and not self._is_gone():
            self.tasks.resources.delete(self.tasks.kind, self.tasks.namespace, self._name)

    def variables(self, given: dict[str, Any]) -> dict[str, Any]:
        """The variables of a run with the present task, and the connection to its Machines."""
        own: dict[str, Any] = {"upgrade_management": self.tasks.management} if self._story.owned else {}
        if self._story.by_task:
            own["upgrade_request"] = f"upgradetask/{self.tasks.namespace}/{self._name}"
            given = {name: value for name, value in given.items() if name != "target_version"}
        return {**given, **own}

    def left(self) -> list[str]:
        """The sentences about what an upgrade that is done has left, or has not said."""
        found = [f"Machine {name} carries {', '.join(notes)}" for name, notes in self._marked().items()]
        if self.machines is not None:
            said = self.machines.conditions()
            # No run has worked on one that has joined with the version, and none waits for one that is being deleted.
            others = {name for name in said if not self.machines.has(name)}
            others |= {name for name in self.made_again if said.get(name) is None}
            found += [
                f"Machine {name} says {each}"
                for name, each in said.items()
                if each != ("True", "UpToDate") and name not in others
            ]
        if self._story.by_task and not self._is_gone():
            phase, progress = self.tasks.phase(self._name), self.tasks.progress(self._name)
            found += [f"the task says {phase}"] if phase != "Complete" else []
            found += [f"the task says {each} of {name}" for name, each in progress.items() if each != "UpToDate"]
        return found

    def free(self) -> list[str]:
        """The machines whose Machines may be replaced by Cluster API now."""
        held = {name for name, notes in self._marked().items() if SKIP in notes}
        return [name for name in self._story.names if self.machines and self.machines.has(name) and name not in held]

    def _marked(self) -> dict[str, dict[str, str]]:
        if self.machines is None:
            return {}
        return {name: notes for name, notes in self.machines.marked().items() if self.machines.has(name)}

    def _is_gone(self) -> bool:
        return self.tasks.resources.store.kept(self.tasks.kind, self.tasks.namespace, self._name) is None
