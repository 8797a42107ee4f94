"""The marks of an upgrade on the Machines of a management cluster: whose they are, how far they have come, and a hold.

A mark lasts from the start of a run until its machine is seen back, or until things are put back. The hold keeps
MachineHealthChecks from replacing a machine whose disks may have the only copy of data: from before the first work on
it until it is seen back. After a failure it stays, until the upgrade continues or a person lets the machine go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from ..common.attempts import refusals_of
from ..common.errors import Denied, Refusal
from ..common.task import Task
from ..common.timestamps import in_seconds, now_text
from ..common.verdict import Reason, Verdict
from ..extra_machines.observe.look import ClusterApi, cluster_api
from ..kubernetes.answers import is_not_found
from ..kubernetes.client import connect
from ..kubernetes.rights import missing_rights
from ..run.lock.lease import lease_at
from ..run.lock.lock_watch import Writers
from ..run.start.request_sources import place_of
from .act.marking import MachineMarking
from .judge.marks import MarkRelease, home_of, is_of_task, judge_markable, progress_of, release_of, stays_held
from .judge.up_to_date import MachineProgress, UpToDate
from .observe.owned_look import owned_machines
from .observe.owned_machines import OwnedMachine, is_hold
from .observe.state import KubeadmCluster, plain
from .observe.upgrade_tasks import ENDED
from .rights import MANAGEMENT
from .upgrade_task import BEGINNING, UpgradeTask

MODULE = "machine_upgrade"
"""The module whose option `take_over` puts back the marks of another run."""


@dataclass(frozen=True)
class MachineMarks:
    """The Machines of one cluster, and the acts of one task on them."""

    task: Task
    seen: KubeadmCluster
    api: ClusterApi
    home: tuple[str, str]
    """Namespace and name of their Cluster."""

    @classmethod
    def of(cls, task: Task, seen: KubeadmCluster) -> MachineMarks | None:
        """None without a connection to the management cluster, or without machines of Cluster API.

        Raises:
            Refusal: the connection is wrong, Cluster API is not served there, or the machines are of several Clusters.
        """
        management = task.params["management"]
        if not management:
            return None
        # A connection that is wrong is named also where the machines are not of Cluster API.
        client, home = connect(management), home_of(seen)
        return None if home is None else cls(task, seen, cluster_api(client), home)

    def missing(self) -> Verdict:
        """The rights that are missing in the management cluster."""
        return missing_rights(self.api.client, self.home[0], MANAGEMENT)

    def judge(self, names: Sequence[str]) -> Verdict:
        """Whether the Machines of these Kubernetes nodes may be marked."""
        marks = {self.owned[name].mark for name in names if name in self.owned}
        ended = {each for each in marks if is_of_task(each) and each != self._own and self._has_ended(each)}
        return judge_markable(self.seen, self.owned, names, self._own, ended)

    def await_turn(self, names: Sequence[str]) -> Verdict:
        """Mark the Machines of these Kubernetes nodes, which wait for their turn."""
        verdict = self.judge(names)
        for each in self._among(names) if verdict.passed else ():
            self._marking.mark(each, self._own, held=False)
            self._report(each, MachineProgress.WAITING, "")
        return verdict

    def hold(self, names: Sequence[str]) -> Verdict:
        """Keep the Machines of these Kubernetes nodes from being replaced, before anything is done on them.

        The verdict is that of a second look: a MachineHealthCheck may have looked at them before they were held.
        """
        verdict = self.judge(names)
        if not verdict.passed:
            return verdict
        for each in self._among(names):
            self._marking.mark(each, self._own, held=True)
            self._report(each, MachineProgress.IN_PROGRESS, f"Run {self.task.run} upgrades it.")
        return replace(self).judge(names)

    def done(self, names: Sequence[str], target: str) -> Iterator[Reason]:
        """Take the marks off the Machines of these Kubernetes nodes, which are back on the target."""
        for each in self._among(names):
            if each.undo is not None:
                self._report(each, MachineProgress.DONE, f"It has version {target}.")
                yield from self._marking.unmark(each)

    def put_back(self, busy: Collection[str]) -> tuple[Reason, ...]:
        """Take off what runs have left, except on machines that have stopped halfway. The result names those.

        On the machines that are `busy` something is at work, which may restart them.
        """
        remarks: list[Reason] = []

        def again(machine: OwnedMachine) -> None:
            remarks.extend(self._put_back(machine, at_work=machine.kubernetes_node in busy))

        left = [each for each in self.owned.values() if each.undo is not None and not each.going]
        refusals = refusals_of([partial(again, each) for each in left])
        return (*remarks, *refusals)

    def _put_back(self, machine: OwnedMachine, *, at_work: bool) -> tuple[Reason, ...]:
        node, ended = self.seen.machines.get(machine.kubernetes_node), False
        if machine.undo is None:
            return ()
        self._marking.writers.judge(machine.undo.writer)
        if is_of_task(machine.mark):
            ended = self._has_ended(machine.mark)
        release = release_of(
            machine,
            ready=node is not None and node.ready and not at_work,
            begun=node is not None and node.carries_undo,
            ours=machine.undo.writer.run == self.task.run,
            ended=ended,
            failed=bool(self.task.params["stopped"]),
        )
        if release is MarkRelease.HOLD:
            said = f"Stopped before its drain. {self.task.params['stopped']}"
            self._report(machine, MachineProgress.FAILED, said, undrained=True)
            return self._marking.unmark(machine, is_hold)
        if release is MarkRelease.NOTHING:
            cause = self.task.params["stopped"] if machine.undo.writer.run == self.task.run else ""
            said = " ".join(filter(None, (f"Run {machine.undo.writer.run} has stopped halfway.", cause)))
            begun = not at_work or (node is not None and node.carries_undo)
            self._report(machine, MachineProgress.FAILED, said, undrained=not begun)
            return (stays_held(machine),)
        target = plain(self.task.params["target_version"] or "")
        if node is not None and node.is_on(target):
            # It has come back after the run that worked on it had ended.
            self._report(machine, MachineProgress.DONE, f"It has version {target}.")
        elif progress_of(machine) is not MachineProgress.DONE:
            self._marking.report(machine, None)
        if release is MarkRelease.ALL:
            return self._marking.unmark(machine)
        return (*self._marking.unmark(machine, lambda made: not is_hold(made)), stays_held(machine))

    @cached_property
    def owned(self) -> Mapping[str, OwnedMachine]:
        """The Machines by their Kubernetes nodes, as they are at the first look.

        Raises:
            Refusal: they cannot be had or understood.
        """
        return owned_machines(self.api, *self.home)

    def _among(self, names: Collection[str]) -> list[OwnedMachine]:
        return [self.owned[name] for name in names if name in self.owned]

    @cached_property
    def _marking(self) -> MachineMarking:
        store = partial(lease_at, connect(self.task.params["kubernetes"]))
        return MachineMarking(self.task, self.api, Writers(self.task, store, MODULE))

    @property
    def _own(self) -> str:
        source = self.task.params["task_source"]
        if source.startswith(BEGINNING):
            return "/".join(place_of(source, BEGINNING, self.task.params))
        return self.task.run

    def _has_ended(self, mark: str) -> bool:
        """Whether the UpgradeTask of a mark has ended, or is gone. One that may not be seen has not."""
        namespace, _slash, name = mark.partition("/")
        try:
            found = UpgradeTask(self.api.client, namespace, name).state()
        except Denied:
            return False
        except Refusal as error:
            if not is_not_found(error):
                raise
            return True
        return found is None or found.ends or found.phase in ENDED

    def _report(
        self, machine: OwnedMachine, progress: MachineProgress, message: str, *, undrained: bool = False
    ) -> None:
        now = UpToDate(machine.name, progress, message, in_seconds(now_text()), undrained)
        self._marking.report(machine, now)
