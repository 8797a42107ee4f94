"""Each mark on a Machine of a management cluster, guarded by the object that was seen.

Annotations carry their undo. The condition is written after them and removed before them, so that wherever a run is
killed the undo leads to all of it. Controllers of Cluster API leave conditions that they do not know as they are: they
merge their own into the latest object (cluster-api, `util/patch/patch.go`, `patchStatusConditions`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...common.attempts import until_unchanged
from ...common.reading import Json, listed, part, text
from ...common.task import Task
from ...common.verdict import Reason
from ...extra_machines.observe.look import ClusterApi
from ...extra_machines.observe.state import OUR_MARK
from ...kubernetes.answers import reading_object
from ...run.lock.lock_watch import Writers
from ...run.undo.temporary_changes import ATTEMPTS, change, put_back
from ...run.undo.undo import Change
from ..judge.up_to_date import UP_TO_DATE, UpToDate, condition_in, moved
from ..observe.owned_machines import MARK_PATH, SKIP_PATH, OwnedMachine, is_mark


@dataclass(frozen=True)
class MachineMarking:
    """The acts of one task.

    Raises:
        Refusal: from every method: the run may not act any more, the run lives that has marked the Machine, a right is
            missing, or the change is refused.
    """

    task: Task
    api: ClusterApi
    writers: Writers

    def mark(self, machine: OwnedMachine, own: str, *, held: bool) -> None:
        """Mark it as worked on by `own`. One that is held is not replaced; what a person has set for that stays."""
        wanted = {MARK_PATH: own}
        if held and not machine.is_kept_by_a_person:
            wanted[SKIP_PATH] = OUR_MARK
        change(self.task, self.api.client, self._path(machine), wanted, is_mark, self.writers.judge)

    def unmark(
        self, machine: OwnedMachine, chosen: Callable[[Change], bool] = lambda _change: True
    ) -> tuple[Reason, ...]:
        """Take the marks off, or those that are chosen. The result names values that another has changed since."""
        return put_back(self.task, self.api.client, self._path(machine), is_mark, self.writers.judge, chosen)[1]

    def report(self, machine: OwnedMachine, now: UpToDate | None) -> None:
        """Write its condition over the object that was read, and leave all others; None removes it."""

        def attempt() -> None:
            found = self.api.client.get(self._path(machine)) or {}
            metadata = found.get("metadata") or {}
            if metadata.get("uid") != machine.uid:
                return
            with reading_object("Machine", found):
                present = list(listed(part(found, "status", {}), "conditions", dict, ()))
                wanted = _with(present, machine.name, now)
            if wanted == present:
                return
            body: Json = {
                "metadata": {"uid": machine.uid, "resourceVersion": metadata["resourceVersion"]},
                "status": {"conditions": wanted},
            }
            if not self.task.check_mode:
                self.task.still_wanted()
            said = {"progress": now.progress.value if now else None}
            with self.task.journal.doing(("reported", machine.called, said)):
                self.api.client.patch(f"{self._path(machine)}/status", body, "merge", dry_run=self.task.check_mode)

        until_unchanged(attempt, ATTEMPTS)

    def _path(self, machine: OwnedMachine) -> str:
        return self.api.machine_path(machine.namespace, machine.name)


def _with(present: Sequence[Mapping[str, Any]], name: str, now: UpToDate | None) -> list[Any]:
    """The conditions, with this one in its present place, or at the end."""
    mine = [each for each in present if text(each, "type", "") == UP_TO_DATE]
    if now is None:
        return [each for each in present if each not in mine]
    after = moved(condition_in(name, mine[0]) if mine else None, now).as_condition()
    if not mine:
        return [*present, after]
    return [after if each is mine[0] else each for each in present]
