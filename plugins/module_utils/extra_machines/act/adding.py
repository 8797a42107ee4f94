"""More machines for the time of an upgrade: all is judged before anything is changed, then each is waited for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ...common.attempts import refusals_of
from ...common.errors import Refusal
from ...common.task import Task, passed_or_raise
from ...common.verdict import Verdict, combine
from ...kubernetes.rights import Right, missing_rights
from ...run.lock.lock_watch import Writers
from ..judge.adding import judge_addable, judge_at_work, judge_kept, judge_ready, missing
from ..observe.look import ClusterApi
from ..observe.state import MachineDeployment
from .changes import MachineChanges


@dataclass(frozen=True)
class WantedMachines:
    """The extra machines that one MachineDeployment is to have."""

    namespace: str
    name: str
    extra: int

    @property
    def key(self) -> str:
        """Its namespace and name, as results show it."""
        return f"{self.namespace}/{self.name}"


@dataclass
class Addition:
    """The way to more machines, look by look."""

    task: Task
    api: ClusterApi
    writers: Writers
    wanted: Sequence[WantedMachines]
    rights: Sequence[Right]
    """The rights in each namespace of MachineDeployments. They are asked for before anything is added, so that nothing
    is added that could not be taken away."""
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)

    def foresee(self) -> Verdict:
        """Judge whether all machines that are missing may be added.

        Raises:
            Refusal: one of them cannot be given more machines.
        """
        return self._judged_whole(*self._look())

    def again(self) -> Verdict:
        """Look, add what is missing, and judge whether all machines are Ready.

        Raises:
            Refusal: one of them cannot be given more machines; nothing was changed then.
        """
        seen, missed = self._look()
        kept = self._judged_whole(seen, missed)
        changes = MachineChanges(self.task, self.api)
        changed = False
        for each in self.wanted:
            present = seen[each.key]
            if present.undo is None:
                changes.add(present, each.extra)
                changed = True
                self.after[each.key] = present.replicas + each.extra
            else:
                changed |= changes.adopt(present)
                self.after[each.key] = present.replicas
        if self.task.check_mode:
            return kept
        # Its status is that of before the change, and its version another one.
        return combine([kept, *self._ready(self._look()[0] if changed else seen, changes)])

    def _judged_whole(self, seen: Mapping[str, MachineDeployment], missed: Verdict) -> Verdict:
        for key, each in seen.items():
            self.before.setdefault(key, each.replicas)
        kept = passed_or_raise(missed, *self._judged(seen))
        self._may_add({each.namespace for each in self.wanted if seen[each.key].undo is None})
        return kept

    def _judged(self, seen: Mapping[str, MachineDeployment]) -> list[Verdict]:
        verdicts: list[Verdict] = []
        writers: list[Callable[[], None]] = []
        for each in (each for each in self.wanted if each.key in seen):
            present = seen[each.key]
            verdicts += [judge_at_work(present), judge_kept(present)]
            if present.undo is None:
                verdicts.append(judge_addable(present, each.extra))
            else:
                writers.append(partial(self.writers.judge, present.undo.writer))
        return [*verdicts, Verdict(tuple(refusals_of(writers)))]

    def _look(self) -> tuple[dict[str, MachineDeployment], Verdict]:
        """The MachineDeployments that there are, and the verdict on those that there are not."""
        found: dict[str, MachineDeployment] = {}

        def look(each: WantedMachines) -> None:
            present = self.api.deployment(each.namespace, each.name)
            if present is None:
                raise Refusal(missing(each.namespace, each.name))
            found[each.key] = present

        missed = refusals_of([partial(look, each) for each in self.wanted])
        return found, Verdict(tuple(missed))

    def _may_add(self, namespaces: set[str]) -> None:
        passed_or_raise(*(missing_rights(self.api.client, each, self.rights, seen=True) for each in sorted(namespaces)))

    def _ready(self, seen: Mapping[str, MachineDeployment], changes: MachineChanges) -> list[Verdict]:
        verdicts = []
        for present in seen.values():
            machines = self.api.machines(present)
            # A run that was killed while it took machines away may have marked some, on which members are to come now.
            for each in machines:
                if each.ours and not each.going:
                    changes.unmark(present, each)
            verdicts.append(judge_ready(present, machines))
        return verdicts
