"""The observer of runs on a Longhorn: it looks at the truth at each change, and collects what is wrong as sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tests.runs.observer import acts
from tests.runs.observer.lock import Held, under_lock
from tests.runs.observer.longhorn import rules
from tests.runs.observer.longhorn.looking import CHANGED, Looking, value_at
from tests.runs.observer.longhorn.rules import Consents
from tests.runs.observer.longhorn.sight import FIELDS, OURS, Place, Sight, Volume
from tests.runs.observer.longhorn.workload import Workload, asked
from tests.runs.observer.rules import listed
from tests.runs.observer.watching import Watching
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request

LOOK_AGE = 10.0
"""The most seconds for which a run that is held up may use its last look: a request that has no answer is made again
for as long."""
NOTICED = 60.0
"""The seconds within which Kubernetes and Longhorn have noticed all that a fault has done."""
PATH = re.compile(r"/apis/(?:longhorn\.io/v1beta2|batch/v1)/namespaces/[^/]+/([^/]+)(?:/([^/]+))?(?:/status)?")
LOOKED_AT = ("volumes", "engines", "replicas", "instancemanagers")
UPGRADES = ("dataengineupgrademanagers", "instancemanagerupgrades")
MADE_BY_RUNS = {("POST", each) for each in (*UPGRADES, "snapshots")} | {
    ("PATCH", "instancemanagerupgrades"),
    ("DELETE", "snapshots"),
    ("DELETE", "instancemanagers"),
    *(("PATCH", each) for each in FIELDS),
}
"""The acts of runs on objects of Longhorn."""


@dataclass(frozen=True)
class Look:
    """A look at one kind: its number in the order of all requests, its time, and what there was to be seen."""

    number: int
    at: float
    sight: Sight


class LonghornObserver(Watching[Sight]):
    """It watches one Longhorn that is built, from now on. It forgets nothing, over all runs."""

    _looking: Looking

    def __init__(
        self, sandbox: Sandbox, longhorn: Longhorn, nodes: Collection[str], consents: Consents, *, kept: bool = False
    ) -> None:
        """`nodes` are those of the upgrade, `kept` says that the snapshots of runs stay."""
        super().__init__(sandbox, Looking(longhorn), Held())
        self._nodes, self._consents, self._kept = nodes, consents, kept
        self._outlive, self._by_longhorn = longhorn.described.frontends_outlive, bool(longhorn.described.offers)
        self._first = dict(self._now.values)
        self._item: Json | None = None
        self._looks: dict[str, Look] = {}
        self._own: dict[Place, Any] = {}
        """The values that runs have set."""
        self._hit: dict[str, float] = {}
        """Kubernetes nodes and volumes that a foreign fault has taken, until they are whole, and this time has come."""
        self._held: dict[str, Volume] = {}
        """Each volume as it was when it served last."""
        self._in_work: set[str] = set()
        """Kubernetes nodes whose instance manager was ended by a run, until all there is whole again."""
        self._suspended: dict[str, frozenset[str]] = {}
        """By Kubernetes nodes that are being changed, the recurring jobs that are suspended since that began."""
        self._judged = self._now
        """The truth that was judged last."""
        self._moved = -1
        """The last act that has sent an engine elsewhere."""
        self._harmed: dict[str, str] = {}
        """The volumes that this run has interrupted, with the Kubernetes node that was in work."""
        self._lives: dict[str, float] = {}
        """Other runs that hold the lock, until this time."""
        self._done: set[str] = set()
        """The Kubernetes nodes on which this run has started work."""
        self._late: set[str] = set()
        """The volumes that have come to a Kubernetes node which Longhorn itself was upgrading."""
        self._snapshots_stay = kept
        self._workload: Workload | None = None
        self._asked_workload, self._begun_last = -1, -1
        """The last look at the workload, and the last node on which a run has started work."""
        self._refused: Mapping[str, tuple[str, ...]] = {}
        """The reasons of the workload at that look, by Kubernetes node."""
        self._remember()

    def ask_before(self, workload: Workload) -> None:
        """A workload is asked before each Kubernetes node."""
        self._workload = workload

    def foreign(self, *names: str, lasting: bool = False) -> None:
        """A fault that no run has made takes these Kubernetes nodes or volumes just now."""
        until = float("inf") if lasting else self._store.clock.now() + NOTICED
        self._hit |= {each: max(until, self._hit.get(each, 0.0)) for each in names}
        self.look()

    def taken_by(self, run: str, seconds: float) -> None:
        """Another run has taken the lock, and lives for so long."""
        self._lives[run] = self._store.clock.now() + seconds

    def over(self, *names: str) -> None:
        """Such a fault has ended."""
        self._hit |= dict.fromkeys([each for each in names if each in self._hit], self._store.clock.now() + NOTICED)

    @contextmanager
    def others(self) -> Iterator[None]:
        """A person changes something, which no run puts back."""
        self.look()
        before = self._now.values
        yield
        self.look()
        for place, value in self._now.values.items():
            if value != before.get(place):
                self._first[place] = value
                self._own.pop(place, None)

    def first(self, place: Place) -> Any:
        """The value that is to be there once all is put back."""
        return self._first.get(place)

    def asked(self, request: Request) -> None:
        """See `Watching`."""
        super().asked(request)
        plural, name = _object_of(request)
        self._item = self._looking.item(CHANGED[plural], name) if plural in CHANGED and name else None

    def ended(self, code: int, *, target: str = "") -> None:
        """See `Watching`."""
        self.look()
        now = self._now
        self._note("undo", rules.named_by_undo(self._first, now, self._own))
        if self.is_held_by_other:
            return
        if code == 0 and target:
            self._note("end", self.left_over())
            self._note("end", rules.all_done(now, self._nodes, self._hit))
            if now.snapshots and not self._snapshots_stay:
                self._note("end", ["snapshots of runs are left"])

    def left_over(self) -> Iterator[str]:
        """What is not put back although a playbook has said that everything is, unless a run is at work again."""
        self.look()
        if not self.is_held_by_other:
            holder = "" if self._now.holder in self._lives else self._now.holder
            yield from rules.all_put_back(self._first, replace(self._now, holder=holder))

    def _act(self, request: Request, before: Sight, status: int, at: float) -> None:
        """Judge what a request of the run has done."""
        now = self._now
        if acts.is_on_lock(request):
            if self._wrote_lock(before, status, at):
                if at < self._lives.get(before.holder, 0.0):
                    self._note("lock", [f"run {now.holder} takes the lock of {before.holder}, which lives"])
                self._progress = replace(self._progress, run=now.holder, acted=self._number)
                self._harmed, self._done = {}, set()
            return
        plural, name = _object_of(request)
        if (request.method, plural) == ("DELETE", "snapshots") and not 200 <= status < 300:
            self._snapshots_stay = True
        if not acts.is_act(request) or not (now is not before or 200 <= status < 300) or self._is_note(request):
            return
        repeated = self._last == request and request.method != "DELETE"
        self._note("lock", under_lock(before.holder, at, self._progress, LOOK_AGE, repeated=repeated))
        self._progress = replace(self._progress, acted=self._number)
        if (request.method, plural) not in MADE_BY_RUNS and not acts.OF_RECORD.fullmatch(request.path):
            self._note("scope", [f"{request.method} {request.path} is no act of a run"])
        if plural in FIELDS:
            self._changed(plural, name, before)
        elif (request.method, plural) == ("DELETE", "instancemanagers") and name in before.managers:
            self._replaced(before, name, acts.uid_in(request), at)
        elif request.method == "POST" and plural in UPGRADES:
            self._upgraded(before, at)

    def _changed(self, plural: str, name: str, before: Sight) -> None:
        """Judge a change of a node, a volume, a setting or a CronJob."""
        now = self._now
        item = self._looking.item(CHANGED[plural], name)
        if item is not None and self._item is not None and _besides(plural, item) != _besides(plural, self._item):
            self._note("scope", [f"more of {plural}/{name} is changed than a run may change"])
        for place, value in now.values.items():
            if place[:2] == (plural, name) and value != before.values.get(place):
                self._own[place] = value
                if place[2] == "spec.engineNodeID" and value is not None and value != self._first.get(place):
                    if value not in self._homes(name):
                        self._note("lent", rules.lent(self._seen, name, value))
                    self._moved = self._number
        for node in now.marks.keys() - before.marks.keys():
            self._begun(before, node)

    def _homes(self, volume: str) -> frozenset[str]:
        """The Kubernetes nodes to which an engine may return that Longhorn itself has moved away."""
        known = self._held.get(volume)
        return frozenset({known.workload}) if known and self._by_longhorn else frozenset()

    def _begun(self, before: Sight, node: str) -> None:
        self._note("batch", rules.alone(before, node, self._consents))
        self._note("whole", rules.others_whole(before, self._seen, node, self._done, self._hit))
        if node not in self._done:
            found = asked(node, self._asked_workload, self._begun_last, self._refused.get(node, ()))
            self._note("workload", found if self._workload is not None else ())
            self._begun_last = self._number
        self._done.add(node)
        others = sorted(name for name, there in self._harmed.items() if there != node)
        if others:
            self._note("interrupted", [f"node {node} is begun, and volume {others[0]} was interrupted"])

    def _replaced(self, before: Sight, name: str, uid: str, at: float) -> None:
        manager = before.managers[name]
        if not self._consents.replacement:
            self._note("consent", [f"the instance manager of node {manager.node} is removed without consent"])
        if uid != manager.uid:
            self._note("uid", [f"the instance manager {name} is removed with the UID {uid or 'of none'}"])
        if manager.image == before.image:
            self._note("twice", [f"the instance manager of node {manager.node} is removed, which has the new image"])
        self._note("batch", rules.alone(before, manager.node, self._consents))
        self._note("engine", rules.without_engine(before, self._seen, manager.node))
        self._note("jobs", rules.without_job(before, self._seen, manager.node))
        self._takes(before, manager.node, at)

    def _upgraded(self, before: Sight, at: float) -> None:
        new = self._now.upgrades.keys() - before.upgrades.keys()
        self._note("twice", [f"upgrade {listed(before.upgrades)} is under way"] if new and before.upgrades else [])
        for node in sorted({node for each in new for node in self._now.upgrades[each]}):
            self._note("twice", rules.not_done(before, node))
            self._begun(before, node)
            self._note("jobs", rules.without_job(before, self._seen, node))
            self._takes(before, node, at)

    def _takes(self, before: Sight, node: str, at: float) -> None:
        look = self._oldest
        assert look is not None
        self._note("copies", rules.kept_copies(before, look.sight, node))
        if look.number < self._moved:
            self._note("proof", [f"node {node} is changed, and the last look was before an engine was moved"])
        elif _near(before, node) != _near(look.sight, node):
            since = at - look.at
            # A look whose lists are of several times was held up itself.
            slow = any(each.at > look.at for each in self._looks.values())
            if since > (LOOK_AGE if slow else self._progress.age_of(look.number, LOOK_AGE)):
                said = f"node {node} is changed, and its volumes have changed since the last look {since:g} s ago"
                self._note("proof", [said])
        self._in_work.add(node)
        self._suspended[node] = before.suspended

    @property
    def _oldest(self) -> Look | None:
        """The oldest of the last looks at each kind; none before the first one."""
        return min(self._looks.values(), key=lambda each: each.number, default=None)

    @property
    def _seen(self) -> Sight:
        return self._oldest.sight if self._oldest else self._now

    def _saw(self, request: Request, at: float) -> None:
        """Note a look of the run."""
        plural, name = _object_of(request)
        if self._workload is not None and acts.is_look_at_cluster(request) and not self.is_held_by_other:
            workload, self._asked_workload = self._workload, self._number
            self._refused = {node: workload.refuses(node) for node in self._nodes}
        if request.method == "GET" and plural in LOOKED_AT and not name and not self.is_held_by_other:
            self._looks[plural] = Look(self._number, at, self._now)
        elif acts.is_look_at_lock(request):
            self._saw_lock(at)

    def _judge(self) -> None:
        """Hold what has to be so at every time."""
        now, before = self._now, self._judged
        self._judged = now
        self._remember()
        self._note("late", rules.no_late_job(now, before, self._suspended))
        lost = self._may_be_lost()
        for name in lost:
            if now.volumes[name].attached and not now.volumes[name].serves and name in self._held:
                self._harmed.setdefault(name, self._held[name].workload)
        self._keep("copies", rules.keeps_copy(now, self._held, self._hit))
        self._keep("served", rules.serves(now, self._held, self._hit, lost))
        self._keep("undo", rules.named_by_undo(self._first, now, self._own))
        several = len(now.marks) > 1 and not self._consents.one_object
        self._keep("batch", [f"nodes {listed(now.marks)} are begun"] if several else [])

    def _may_be_lost(self) -> frozenset[str]:
        """The volumes whose frontend may be lost, since the instance manager in which it runs is replaced.

        Longhorn's own upgrades move neither the engines of volumes without a frontend, nor those that come later.
        """
        if not (self._consents.replacement or self._by_longhorn):
            return frozenset()
        going = self._in_work | {each for found in self._now.upgrades.values() for each in found}
        held = self._held.items()
        found = (name for name, each in held if each.workload in going and self._is_frail(name, each))
        return frozenset(found) & self._now.volumes.keys()

    def _is_frail(self, name: str, volume: Volume) -> bool:
        return not self._outlive or name in self._late or (self._by_longhorn and not volume.shown)

    def _remember(self) -> None:
        now = self._now
        for name, volume in now.volumes.items():
            if volume.attached and volume.serves:
                if name not in self._held and any(volume.workload in each for each in now.upgrades.values()):
                    self._late.add(name)
                self._held[name] = volume
            elif not volume.attached:
                self._held.pop(name, None)
                self._late.discard(name)
        for gone in self._held.keys() - now.volumes.keys():
            del self._held[gone]
        self._in_work = {each for each in self._in_work if not self._is_whole(each)}
        changing = self._in_work.union(*now.upgrades.values())
        self._suspended = {name: jobs & now.suspended for name, jobs in self._suspended.items() if name in changing}
        moment = self._store.clock.now()
        self._hit = {name: until for name, until in self._hit.items() if until > moment or not self._is_whole(name)}

    def _is_whole(self, name: str) -> bool:
        """Whether a Kubernetes node or a volume is whole, as far as a workload has it."""
        now = self._now
        if name in now.volumes:
            return now.volumes[name].whole
        near = [each for each in now.volumes.values() if each.near(name)]
        return all(each.whole for each in near) and (now.runs(name) or not now.on(name))


def _object_of(request: Request) -> tuple[str, str]:
    """Plural and name of the object of Longhorn that a request is about; empty where there is none."""
    found = PATH.fullmatch(request.path)
    return (found[1], found[2] or "") if found else ("", "")


def _near(sight: Sight, node: str) -> Mapping[str, Volume]:
    return {name: each for name, each in sight.volumes.items() if each.attached and each.near(node)}


def _besides(plural: str, item: Json) -> Any:
    """All of an object that no run may change."""
    metadata = item["metadata"]
    notes = {name: text for name, text in (metadata.get("annotations") or {}).items() if not name.startswith(OURS)}
    known = {"spec": item.get("spec"), "value": item.get("value")}
    changed = {each: value_at(item, each) for each in FIELDS[plural]}
    spec = {name: value for name, value in (item.get("spec") or {}).items() if f"spec.{name}" not in changed}
    return notes, metadata.get("labels") or {}, spec, None if "value" in changed else known["value"]
