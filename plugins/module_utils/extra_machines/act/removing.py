"""The extra machines go after an upgrade: those without a member are marked, and only then their number is lowered.

The number is lowered only if another look has found nothing to mark, the status is that of the present spec, and no
rollout is under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ...common.errors import Conflict, Denied, Refusal, Unreachable
from ...common.task import Task
from ...common.verdict import Reason, State, Verdict, remark
from ...run.lock.lock_watch import Writers
from ..judge.leaving import changed_by_another, choose, judge_settled, leaving
from ..observe.look import ClusterApi
from ..observe.state import Machine, MachineDeployment, Members
from .adding import WantedMachines
from .changes import MachineChanges


@dataclass
class Removal:
    """The way back, look by look."""

    task: Task
    api: ClusterApi
    writers: Writers
    wanted: Sequence[WantedMachines]
    members: Callable[[], Members]
    """The members as they are now."""
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    chosen: set[str] = field(default_factory=set)
    """The names of the machines that go."""
    _lowered: set[str] = field(default_factory=set)
    _remarks: dict[str, Reason] = field(default_factory=dict)

    def again(self) -> Verdict:
        """Look, and take away what can be taken away now. Each is tried even if another is refused.

        A refusal counts only once the others are done, so that they are not left half done because of it.
        """
        found: list[Reason] = []
        denied = False
        members: Members | None = None
        for each in self.wanted:
            try:
                present = self.api.deployment(each.namespace, each.name)
                if present is None or present.going:
                    self._gone(each)
                    continue
                self.before.setdefault(each.key, present.replicas)
                self.after[each.key] = present.replicas
                # They are asked for once a look, and only if any machine may have to go.
                members = members or (self.members() if present.undo is not None else None)
                found += self._one(present, members)
            except (Unreachable, Conflict):
                raise
            except Refusal as error:
                denied |= isinstance(error, Denied)
                found += error.verdict.reasons
        if denied:
            # A server that has just started denies what it will allow.
            raise Denied(*(each for each in found if each.state is State.REFUSED))
        if any(reason.state is State.WAITING for reason in found) and self.task.params.get("wait", True):
            found = [replace(each, state=State.WAITING) for each in found]
        return Verdict((*found, *self._remarks.values()))

    def _gone(self, each: WantedMachines) -> None:
        said = f"MachineDeployment {each.key} is gone, or is being deleted; nothing of it is to be put back."
        self._remarks[each.key] = remark("machine_deployment_gone", said)

    def _one(self, seen: MachineDeployment, members: Members | None) -> tuple[Reason, ...]:
        changes = MachineChanges(self.task, self.api)
        machines = self.api.machines(seen)
        if seen.undo is None or seen.change is None or members is None:
            return self._followed(seen, machines, changes)
        self.writers.judge(seen.undo.writer)
        if (changed := changed_by_another(seen)) is not None:
            self._unmark(seen, [each for each in machines if each.ours], changes)
            changes.forget(seen)
            self._remarks[seen.key] = changed
            return ()
        settled = judge_settled(seen, machines, members)
        if not settled.passed:
            return settled.reasons
        choice = choose(seen, machines, members, len(machines) - seen.change.was)
        if not choice.verdict.passed:
            return choice.verdict.reasons
        self._unmark(seen, choice.to_unmark, changes)
        for each in choice.to_mark:
            changes.mark(seen, each)
        if (choice.to_unmark or choice.to_mark) and not self.task.check_mode:
            # A member may have come to one of them in between.
            return self._one(seen, self.members())
        changes.remove(seen, seen.change.was)
        self.after[seen.key] = seen.change.was
        self.chosen.update(each.name for each in choice.chosen)
        self._lowered.add(seen.key)
        return self._left(replace(seen, replicas=seen.change.was, undo=None), machines)

    def _followed(
        self, seen: MachineDeployment, machines: Sequence[Machine], changes: MachineChanges
    ) -> tuple[Reason, ...]:
        """Nothing is to be lowered, or not any more. A run that was killed after that may have left marks."""
        marked = [each for each in machines if each.ours]
        if not marked and seen.key not in self._lowered:
            return ()
        if left := self._left(seen, machines):
            return left
        self._unmark(seen, marked, changes)
        return ()

    def _left(self, seen: MachineDeployment, machines: Sequence[Machine]) -> tuple[Reason, ...]:
        still = leaving(seen, machines)
        return (still,) if still is not None and not self.task.check_mode else ()

    def _unmark(self, seen: MachineDeployment, machines: Sequence[Machine], changes: MachineChanges) -> None:
        for each in machines:
            if not each.going:
                changes.unmark(seen, each)
