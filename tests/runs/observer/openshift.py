"""The observer of runs on an OpenShift: the breaches that its own observer knows, and the lock before each act."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from unittest.mock import patch

from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Outcome, Task
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.draining.judge import forced_drains
from ansible_collections.stateful.upgrade.plugins.module_utils.monitoring.alertmanager import Alertmanager
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import health_gate
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.act.changes import Acts
from ansible_collections.stateful.upgrade.plugins.module_utils.openshift.openshift_upgrade import SYSTEM
from ansible_collections.stateful.upgrade.plugins.module_utils.run.output import upgrade_notice
from ansible_collections.stateful.upgrade.plugins.module_utils.run.start import upgrade_request

from tests.runs.observer import acts
from tests.runs.observer.counting import Looking, Sight
from tests.runs.observer.forced_drains import ForcedDrains
from tests.runs.observer.lock import Held, under_lock
from tests.runs.observer.notices import HOOK
from tests.runs.observer.watching import Watching, asking
from tests.sandbox.openshift.kinds import CURRENT, DESIRED, OWN, annotations_of, rendered
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request

LOOK_AGE = 10.0
"""The most seconds for which a run that is held up may rely on its last look at the lock."""
GROUPS = {each.group for each in OWN}
OUTSIDE = ("/api/v2/", HOOK, "/apis/upgrade.managed.openshift.io/")
"""The beginnings of the paths of an Alertmanager, a webhook and requests, which are no part of the cluster.

A silence is found again by its run, and ends by itself; the state of a request is noted before there is a lock.
"""


class OpenShiftObserver(Watching[Sight]):
    """It watches one OpenShift, from now on. It forgets nothing, over all runs."""

    def __init__(
        self, sandbox: Sandbox, openshift: OpenShift, namespace: str, versions: Sequence[str], left: Collection[str]
    ) -> None:
        """`versions` are those to which it goes, one after the other, and `left` the pools that a person has paused."""
        super().__init__(
            sandbox,
            Looking(openshift.kubernetes.server.store, namespace, lambda change: change.kind.group in GROUPS),
            Held(),
        )
        self._openshift, self._versions, self._left, self._told = openshift, versions, left, 0
        self._passed_over: Collection[str] = ()
        self._early_for: Callable[[], list[str]] = list
        self._hidden: Callable[[], list[str]] = list
        self.forced = ForcedDrains(openshift)
        self.told: Callable[..., list[tuple[str, str]]] = lambda **_whole: []
        """The rules that are broken by what was reported of the upgrade, each with a sentence."""
        self.sends_notices = False
        """Whether a run that ends before it has the lock, such as a refused one, notes in the record what it sends."""

    def watch(self, taken_early: Callable[[], list[str]], hidden: Callable[[], list[str]]) -> None:
        """Heed the workers that were taken although a database on them said no, and the alerts that are hidden."""
        self._early_for, self._hidden = taken_early, hidden

    def watch_over(self, versions: Collection[str]) -> None:
        """Heed the workers that are taken to one of these versions, over which workers pass."""
        self._passed_over = versions

    def asked(self, request: Request) -> None:
        """See `Watching`."""
        super().asked(request)
        self._note("forced", self.forced.judged(request))

    def ended(self, code: int, *, target: str = "") -> None:
        """See `Watching`."""
        self.look()
        self._keep("gate", self._early_for())
        told = self.told(whole=code == 0 and bool(target))
        for rule in sorted({rule for rule, _said in told}):
            self._keep(rule, [said for each, said in told if each == rule])
        if code == 0 and target:
            self._note("end", [f"alerts with {each} are hidden still" for each in self._hidden()])
            self._note("end", [f"{each} is left behind" for each in self._openshift.observer.leftovers()])
            self._note("end", [f"{each} is not on {target}" for each in self.behind(target)])
            self._note("end", [f"the lock is still held by {self._now.holder}"] if self._now.holder else [])

    def behind(self, target: str) -> list[str]:
        """The Kubernetes nodes that do not have the configuration of the target, but for those of paused pools."""
        return [
            node.name
            for pool in self._openshift.described.pools
            for node in pool.nodes
            if pool.name not in self._left
            and annotations_of(self._openshift.node(node.name))[CURRENT] != rendered(pool.name, target)
        ]

    def _act(self, request: Request, before: Sight, status: int, at: float) -> None:
        now = self._now
        if acts.is_on_lock(request):
            if self._wrote_lock(before, status, at):
                self._progress = replace(self._progress, run=now.holder, acted=self._number)
            return
        if not acts.is_act(request) or request.path.startswith(OUTSIDE) or self._is_note(request):
            return
        if now is before and not 200 <= status < 300:
            return
        repeated = self._last == request
        self._note("lock", under_lock(before.holder, at, self._progress, LOOK_AGE, repeated=repeated))
        self._progress = replace(self._progress, acted=self._number)

    def _is_note(self, request: Request) -> bool:
        is_of_record = acts.OF_RECORD.fullmatch(request.path) is not None
        is_notice = self.sends_notices and is_of_record and not self.has_held(asking())
        return is_notice or super()._is_note(request)

    def _saw(self, request: Request, at: float) -> None:
        if acts.is_look_at_lock(request):
            self._saw_lock(at)

    def _judge(self) -> None:
        found = self._openshift.observer.breaches
        new, self._told = found[self._told :], len(found)
        self._note("breach", [f"{each.what}: {each.about}, by {each.by}" for each in new if each.by != PERSON])
        self._keep("held", self._early())

    def _early(self) -> list[str]:
        """The workers that are taken before the control plane is done, though no person has let their pool go."""
        history = self._openshift.version()["status"]["history"]
        reached = {each["version"] for each in history if each["state"] == "Completed"}
        not_yet = [each for each in self._versions if each not in reached or each in self._passed_over]
        if not not_yet:
            return []
        let_go = {name for manager, name in self._openshift.observer.writes_of("spec.paused") if manager == PERSON}
        return [
            f"Kubernetes node {node.name} is taken to {version}, and the control plane is not on it, or passes it"
            for pool in self._openshift.described.pools[1:]
            for node in pool.nodes
            for version in not_yet
            if pool.name not in let_go
            and annotations_of(self._openshift.node(node.name))[DESIRED] == rendered(pool.name, version)
        ]


@contextmanager
def pools_not_held() -> Iterator[None]:
    """The update is started without holding the pools."""
    with patch.object(Acts, "hold", lambda _acts, _pool, _most=None: False):
        yield


@contextmanager
def pools_left_held() -> Iterator[None]:
    """At the end no pool is let go that is held, and the run says nothing of it."""

    def restore(task: Task) -> Outcome:
        return Outcome(Verdict())

    with patch.dict(SYSTEM.states, {"restored": restore}):
        yield


@contextmanager
def spare_workers_left() -> Iterator[None]:
    """No spare worker is removed, and the run says nothing of it."""

    def reduce(task: Task) -> Outcome:
        return Outcome(Verdict())

    with patch.dict(SYSTEM.states, {"reduced": reduce}):
        yield


@contextmanager
def lock_not_asked() -> Iterator[None]:
    """No act asks for the lock before it is made."""
    with (
        patch.object(Task, "still_wanted", lambda _task: None),
        patch.object(Task, "may_look", lambda *_given, **_more: None),
    ):
        yield


@contextmanager
def gate_not_asked() -> Iterator[None]:
    """The gate of a database lets every batch through without a look."""

    def passed(task: Task) -> Outcome:
        return Outcome(Verdict())

    with patch.object(health_gate, "_judged", passed):
        yield


@contextmanager
def forced_anywhere() -> Iterator[None]:
    """A rung is for every pod, in whichever namespace, and with whatever data."""
    with patch.object(forced_drains, "_covers", lambda _rung, _pod: True):
        yield


@contextmanager
def notices_again() -> Iterator[None]:
    """No notice is known to have been sent."""
    with patch.object(upgrade_notice, "is_sent", lambda _record, _key: False):
        yield


@contextmanager
def request_not_read() -> Iterator[None]:
    """Batches start without a look at the request."""
    with patch.object(upgrade_request, "judge_unchanged", lambda *_given, **_more: Verdict()):
        yield


@contextmanager
def windows_left() -> Iterator[None]:
    """No silence is ever ended."""
    with patch.object(Alertmanager, "end", lambda _manager, _silence: None):
        yield


BUGS: Mapping[str, tuple[Callable[[], AbstractContextManager[None]], frozenset[str]]] = {
    "pools_not_held": (pools_not_held, frozenset({"held"})),
    "pools_left_held": (pools_left_held, frozenset({"end"})),
    "spare_workers_left": (spare_workers_left, frozenset({"end"})),
    "lock_not_asked": (lock_not_asked, frozenset({"lock"})),
    "gate_not_asked": (gate_not_asked, frozenset({"gate"})),
    "forced_anywhere": (forced_anywhere, frozenset({"forced"})),
    "notices_again": (notices_again, frozenset({"notice"})),
    "request_not_read": (request_not_read, frozenset({"request"})),
    "windows_left": (windows_left, frozenset({"end"})),
}
"""Bugs of a run on purpose, each with the rules that find it."""
