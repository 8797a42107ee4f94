"""The observer of runs on machines of kubeadm: quorum of etcd, cordons, machines at a time, versions, the lock, work
that is begun once, and Machines that are held."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from unittest.mock import patch

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.act.draining import Draining
from ansible_collections.stateful.upgrade.plugins.module_utils.machines import delegated, machine_upgrade, planning
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.node_updates import (
    NodeDecision,
    NodeStep,
    WantedWork,
    next_step,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.judge.order import turns
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.machine_marks import MachineMarks
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.host_operations import (
    HostState,
    HostStatus,
    host_status,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.node_updates import (
    FailureKind,
    NodeUpdate,
)
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.observe.state import KubeadmCluster
from ansible_collections.stateful.upgrade.plugins.module_utils.run.colouring import Turn
from ansible_collections.stateful.upgrade.plugins.plugin_utils import kubeadm_failures, os_image_answers

from tests.runs.machines import NAMESPACE, Machines
from tests.runs.observer import acts
from tests.runs.observer.counting import Looking, Sight
from tests.runs.observer.lock import Held
from tests.runs.observer.machine_work import WorkOnMachines, is_work
from tests.runs.observer.watching import Watching, asking
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, is_ready
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request

UNDO = "upgrade.stateful/undo"
OLD = "1.0.0"
"""A version that every machine has passed."""


class MachinesObserver(Watching[Sight]):
    """It watches one cluster, from now on. It forgets nothing, over all runs."""

    def __init__(self, sandbox: Sandbox, found: Machines, most: int, versions: Sequence[str]) -> None:
        """`most` is the number of workers that may be away at a time, as the user wants it, and `versions` are
        those at the start, on the way, and at the end."""
        super().__init__(
            sandbox, Looking(sandbox.kubernetes.server.store, NAMESPACE, lambda change: change.kind == NODES), Held()
        )
        self._found, self._most, self._versions = found, most, versions
        self.work = WorkOnMachines(found.machines, {name: door.host for name, door in found.doors.items()})
        """The work on the machines until now."""
        self.by_person: Collection[str] = ()
        """The machines that a person has cordoned, which the events of the story keep."""
        self.early: Callable[[], list[str]] = list
        """The machines that went too early for a database on them, or before it was ready."""
        self.left: Callable[[], list[str]] = list
        """The sentences about what runs have left in that database, at the UpgradeTask, and at Machines."""
        self.free: Callable[[], list[str]] = list
        """The machines that Cluster API may replace now."""

    def behind(self, target: str) -> list[str]:
        """The machines whose kubelets are not on the target, or that have no Kubernetes node."""
        there = {*self._there()}
        return [
            name
            for name in self._found.cluster.described.machines
            if name not in there or self._version(name) != target
        ]

    def ended(self, code: int, *, target: str = "") -> None:
        """See `Watching`."""
        self.look()
        self._keep("gate", self.early())
        self._keep("twice", self.work.by_agents())
        if code == 0 and target:
            self._note("end", [f"{each} is not on {target}" for each in self.behind(target)])
            self._note("end", [f"{each} is cordoned still" for each in self._closed() if each not in self.by_person])
            self._note("end", [*self.left(), *self._left_over(self._there())])

    def left_over(self) -> Iterator[str]:
        """What is not put back after an abort that has ended well, unless a run is at work again.

        A machine that is not Ready may be half upgraded, and stays cordoned.
        """
        self.look()
        if not self.is_held_by_other:
            yield from self._left_over([each for each in self._there() if is_ready(self._node(each))])

    def _left_over(self, names: Collection[str]) -> Iterator[str]:
        yield from (f"{each} carries an undo" for each in names if self._is_marked(each))
        yield from [f"the lock is still held by {self._now.holder}"] if self._now.holder else []

    def refused(self, said: str, names: Collection[str]) -> None:
        """A run has ended with this sentence, and nothing has happened but to these machines."""
        if not any(name in said for name in names):
            self._note("named", [f"the sentence names none of {', '.join(sorted(names))}: {said}"])

    def _act(self, request: Request, before: Sight, status: int, at: float) -> None:
        if acts.is_on_lock(request):
            self._wrote_lock(before, status, at)
            return
        if 200 <= status < 300 and acts.is_on_host(request):
            self._note("twice", self.work.requested(request, asking()))
        if is_work(request) and 200 <= status < 300 and not before.holder and not self._is_note(request):
            self._note("lock", [f"{request.method} {request.path} is made, and no run holds the lock"])

    def note(self, change: Change) -> None:
        """See `Watching`."""
        super().note(change)
        self._note("twice", self.work.changed(change))

    def _saw(self, request: Request, at: float) -> None:
        """See `Watching`: nothing is judged by the looks of a run."""

    def _judge(self) -> None:
        plane, described = self._found.cluster.control_plane, self._found.cluster.described
        if len(described.control_plane) > 1 and not plane.has_quorum:
            self._keep("quorum", [f"etcd has {len(plane.voters)} of {len(described.control_plane)} members"])
        there = self._there()
        marked = [name for name in there if self._is_marked(name)]
        masters = [name for name in marked if name in described.control_plane]
        workers = [name for name in marked if name in described.workers]
        together = [f"{' and '.join(masters)} are taken together"] if len(masters) > 1 else []
        together += [f"{' and '.join(workers)} are taken together"] if len(workers) > self._most else []
        together += [f"{' and '.join([*masters, *workers])} are taken together"] if masters and workers else []
        self._keep("together", together)
        self._keep("versions", self._too_far())
        free = self.free() if marked else []
        self._keep("held", [f"{name} is worked on, and may be replaced" for name in marked if name in free])
        opened = [name for name in self.by_person if name in there and name not in self._closed()]
        self._keep("cordon", [f"{name} is uncordoned, which a person has cordoned" for name in opened])

    def _too_far(self) -> list[str]:
        """The machines that have gone further while others were not yet on the version before."""
        places = {name: self._versions.index(self._version(name)) for name in self._there()}
        last = min(places.values())
        return [f"{name} is on {self._versions[place]} too early" for name, place in places.items() if place > last + 1]

    def _there(self) -> list[str]:
        """The machines that have a Kubernetes node now."""
        return [name for name in self._found.machines if self._found.cluster.is_registered(name)]

    def _node(self, name: str) -> Json:
        return self._found.cluster.node(name)

    def _closed(self) -> list[str]:
        return [name for name in self._there() if self._node(name)["spec"].get("unschedulable")]

    def _is_marked(self, name: str) -> bool:
        return UNDO in self._node(name)["metadata"].get("annotations", {})

    def _version(self, name: str) -> str:
        return str(self._node(name)["status"]["nodeInfo"]["kubeletVersion"]).removeprefix("v")


@contextmanager
def cordon_left() -> Iterator[None]:
    """No machine is uncordoned, and the run says nothing of it."""
    with patch.object(Draining, "uncordon", lambda _draining, _name: ()):
        yield


@contextmanager
def return_not_awaited() -> Iterator[None]:
    """The next machine goes before the one before it is back, and none is uncordoned."""
    with (
        patch.object(machine_upgrade, "judge_returned", lambda *_given: Verdict()),
        patch.object(machine_upgrade, "judge_machines", lambda *_given: Verdict()),
        patch.object(machine_upgrade, "judge_control_plane", lambda *_given: Verdict()),
        patch.object(machine_upgrade, "_uncordoned", lambda *_given: ()),
    ):
        yield


@contextmanager
def workloads_not_ready() -> Iterator[None]:
    """Databases are asked, and nothing is made ready for the drain."""
    with patch.dict(machine_upgrade.SYSTEM.states, ready=lambda _task: Outcome(Verdict(), more={"workloads": {}})):
        yield


@contextmanager
def versions_passed_over() -> Iterator[None]:
    """Workers go to the target alone, whatever is on the way."""

    def without_workers(seen: KubeadmCluster, *given: Any) -> list[Turn]:
        found = turns(seen, *given)
        return [each for each in found if not each.target or {*each.members} <= {*seen.control_plane}]

    with (
        patch.object(planning, "turns", without_workers),
        patch.object(machine_upgrade, "judge_past", lambda *_given: Verdict()),
    ):
        yield


@contextmanager
def done_machine_again() -> Iterator[None]:
    """Machines that are on the target are in the next plan again."""

    def of_all(seen: KubeadmCluster, *given: Any) -> list[Turn]:
        old = {name: replace(each, kubelet=OLD) for name, each in seen.machines.items()}
        return turns(replace(seen, machines=old), *given)

    with patch.object(planning, "turns", of_all):
        yield


@contextmanager
def kubeadm_again() -> Iterator[None]:
    """A `kubeadm upgrade` is tried again whatever its end was."""
    with patch.object(kubeadm_failures, "may_pass", lambda result, _budgets: int(result.get("attempts", 1)) < 2):
        yield


@contextmanager
def delegated_work_again() -> Iterator[None]:
    """Delegated work that has ended well gets a second attempt."""

    def again(seen: NodeUpdate | None, wanted: WantedWork, now: datetime) -> NodeDecision:
        decision = next_step(seen, wanted, now)
        is_first = seen is not None and seen.attempt == 1
        return NodeDecision(NodeStep.RETRY) if is_first and decision.step is NodeStep.READY else decision

    with patch.object(delegated, "next_step", again):
        yield


@contextmanager
def operation_again() -> Iterator[None]:
    """An operation of an agent that is under way counts as a failure that may pass, so that it is started again."""

    def failed(item: Json) -> HostStatus:
        found = host_status(item)
        if found.state is not HostState.RUNNING:
            return found
        return replace(found, state=HostState.FAILED, failure=FailureKind.TRANSIENT)

    with patch.object(os_image_answers, "host_status", failed):
        yield


@contextmanager
def machine_not_held() -> Iterator[None]:
    """Cluster API may replace a Machine while it is worked on."""
    with patch.object(MachineMarks, "hold", lambda *_given: Verdict()):
        yield


BUGS: Mapping[str, tuple[Callable[[], AbstractContextManager[None]], frozenset[str]]] = {
    "cordon_left": (cordon_left, frozenset({"end", "together"})),
    "delegated_work_again": (delegated_work_again, frozenset({"twice"})),
    "done_machine_again": (done_machine_again, frozenset({"twice"})),
    "kubeadm_again": (kubeadm_again, frozenset({"twice"})),
    "machine_not_held": (machine_not_held, frozenset({"held"})),
    "operation_again": (operation_again, frozenset({"twice"})),
    "return_not_awaited": (return_not_awaited, frozenset({"together", "end", "quorum"})),
    "versions_passed_over": (versions_passed_over, frozenset({"versions"})),
    "workloads_not_ready": (workloads_not_ready, frozenset({"gate"})),
}
"""Bugs on purpose, each with the rules of which one at least has to find it."""
