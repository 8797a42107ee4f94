"""Putting back what runs have changed in Longhorn: engines first, then nodes, settings and recurring jobs.

A node that was emptied outside of a run stays so in every run, with the settings that it needs.

A change that is refused, as by Longhorn's webhook, is tried again, and does not keep the others from being made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ...common.errors import Refusal
from ...common.task import Task
from ...common.verdict import Reason, State, Verdict, waiting
from ...kubernetes.client import KubernetesClient
from ...run.lock.lock_watch import Writers
from ...run.undo.temporary_changes import put_back
from ...run.undo.undo import Path
from ..judge.copies import at_rest
from ..judge.reasons import engine_stays, stays_emptied
from ..judge.recurring_jobs import jobs_return, to_let_go
from ..judge.volumes import is_sent_elsewhere, keeps_engine, may_return
from ..observe.kinds import CRON_JOBS, NODES, SETTINGS, VOLUMES, path_of
from ..observe.state import Longhorn, Volume
from .changes import GONE, NOT_ADMITTED, OF_ENGINE, OF_RUN, TURNED_DOWN, At, is_known, judge_runs, turned_down

RETURNS = "engines_return"
"""The code of the wait for an engine that returns."""


def _under_way(reasons: Collection[Reason]) -> list[Reason]:
    """Those among the reasons that are about something in progress, which what follows has to wait for."""
    return [each for each in reasons if each.state is State.WAITING and each.code != TURNED_DOWN]


@dataclass
class Return:
    """The way back, look by look."""

    task: Task
    client: KubernetesClient
    namespace: str
    writers: Writers
    look: Callable[[KubernetesClient, str], Longhorn]
    take_back: Callable[[At, Collection[str]], list[Reason]]
    """Starts to take back what Longhorn does for runs by itself; the result says what is waited for."""
    keep: Collection[str] = ()
    """Nodes whose switch goes on, so that nothing of them is put back."""
    changed: bool = False
    remarks: list[Reason] = field(default_factory=list)
    _taken: list[Reason] = field(default_factory=list)
    """The words of `take_back` at the last look."""
    _held_up: list[Reason] = field(default_factory=list)
    """The reasons for which the last look has put back nothing but engines."""
    _stay: frozenset[str] = frozenset()
    """The nodes that stay emptied."""
    _returning: set[str] = field(default_factory=set)
    _judged: bool = False
    """Whether the runs that began the nodes in `keep` are known to be dead."""

    def again(self) -> tuple[Longhorn, Verdict]:
        """Look, and put back what can be put back now."""
        seen = self.look(self.client, self.namespace)
        if not self._judged:
            judge_runs(self.client, seen, self.keep, self.writers)
            self._judged = True
        # The journal also has what the task did before, such as to take the lock.
        before = len(self.task.journal.as_result())
        self._held_up = []
        self._stay = seen.emptied if self.task.run else frozenset()
        self.remarks += [each for each in map(stays_emptied, sorted(self._stay)) if each not in self.remarks]
        self._taken = self.take_back(At(self.task, self.client, seen, "", self.writers), self.keep)
        self.changed |= len(self.task.journal.as_result()) > before
        if _under_way(self._taken):
            return seen, Verdict((*self._taken, *self.remarks))
        reasons = [*self._taken, *(reason for volume in seen.v2_volumes for reason in self._engine(seen, volume))]
        self._held_up = _under_way(reasons)
        if self._held_up:
            # An engine that stays away is reported once the others are back.
            return seen, Verdict((*self._held_up, *self.remarks))
        return seen, Verdict((*reasons, *self._others(seen), *self.remarks))

    def once_out_of_time(self, seen: Longhorn) -> Verdict:
        """Put back what is not about engines, after one was waited for in vain, such as while its volume is rebuilt.

        Recurring jobs stay held off while an engine moves. The result says what was refused.
        """
        if not self._held_up:
            return Verdict()
        moves = any(each.code == RETURNS for each in self._held_up)
        return Verdict(tuple(self._others(seen, with_jobs=not moves)))

    def _others(self, seen: Longhorn, *, with_jobs: bool = True) -> list[Reason]:
        reasons = []
        # The mark of a node says what is still to be taken back there.
        for node in () if self._taken else seen.nodes.values():
            if node.carries_undo and node.name not in {*self.keep, *self._stay}:
                reasons += self._put_back(NODES, node.name)
        for name in sorted(seen.settings_with_undo) if not (self.keep or self._stay) else ():
            reasons += self._put_back(SETTINGS, name)
        return [*reasons, *(self._jobs(seen) if with_jobs else ())]

    def _jobs(self, seen: Longhorn) -> list[Reason]:
        """Let go of the recurring jobs that runs hold off. The next look shows that they are free."""
        held = to_let_go(seen, self.keep)
        reasons = [reason for each in held for reason in self._put_back(CRON_JOBS, each.name)]
        return [*reasons, jobs_return(held)] if held and not self.task.check_mode else reasons

    def _engine(self, seen: Longhorn, volume: Volume) -> list[Reason]:
        if volume.name in self._returning and volume.attached and not at_rest(seen, volume):
            said = f"The engine of volume {volume.name} returns to node {volume.home}."
            return [waiting(RETURNS, said, about=volume.name)]
        if not volume.carries_undo or volume.home_mark in self.keep:
            return []
        if volume.home_mark in self._stay:
            return self._put_back(VOLUMES, volume.name, OF_ENGINE)
        # One that someone has sent elsewhere is left where it is, so it need not be able to return.
        sent = is_sent_elsewhere(volume)
        ours = bool(volume.home_mark) and not sent
        moves = ours and volume.attached
        if moves and not may_return(seen, volume):
            return [engine_stays(volume, volume.home_mark)]
        if ours and (found := list(keeps_engine(seen, volume))):
            return found
        # A node whose switch continues needs the extra replicas of its volumes.
        kept = any(volume in seen.volumes_on.get(node, ()) for node in self.keep)
        refused = self._put_back(VOLUMES, volume.name, OF_RUN if kept else frozenset())
        if refused:
            return refused
        if not sent:
            self._returning.add(volume.name)
        if moves and not self.task.check_mode:
            said = f"The engine of volume {volume.name} returns to node {volume.returns_to}."
            return [waiting(RETURNS, said, about=volume.name)]
        return []

    def _put_back(self, kind: str, name: str, without: Collection[Path] = ()) -> list[Reason]:
        """Put back one object. The result says what is waited for if that is refused for now."""
        path, judge = path_of(self.namespace, kind, name), self.writers.judge
        try:
            changed, remarks = put_back(
                self.task, self.client, path, is_known, judge, lambda made: made.path not in without
            )
        except Refusal as error:
            cause = error.verdict.reasons[0]
            if cause.code == NOT_ADMITTED:
                return [turned_down(cause, name)]
            if cause.code != GONE:
                raise
            return []
        self.changed |= changed
        self.remarks += [each for each in remarks if each not in self.remarks]
        return []
