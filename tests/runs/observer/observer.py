"""The observer of a run: it looks at the truth at each change, remembers, and collects what is wrong as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.runs.observer import acts, left, order, rules
from tests.runs.observer.lock import under_lock
from tests.runs.observer.looking import Looking
from tests.runs.observer.order import Look, Progress
from tests.runs.observer.rules import Takedown, listed
from tests.runs.observer.sight import Consents, Key, Setting, Sight
from tests.runs.observer.watching import Watching, asking
from tests.runs.turns import OneRun
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request
from tests.scenarios.cluster import Cluster

PROOF_AGE = 10.0
"""The most seconds for which a run that is held up may rely on its last look: a proof is made again when it is five
seconds old, and a deletion whose answer is lost is asked for again for as long."""

PAUSE_SEEN = 60.0
"""The most seconds after which a batch may still go in a pause: a gate reads the record every ten seconds, and is
followed by the act."""


class Observer(Watching[Sight]):
    """It watches one cluster that has started, from now on. It forgets nothing, over all runs on the cluster."""

    _looking: Looking

    def __init__(
        self,
        sandbox: Sandbox,
        cluster: Cluster,
        consents: Consents | None = None,
        batching: str = "serial",
        saved: str = "",
        size: str = "",
    ) -> None:
        """`consents` and `batching` are those of the runs, `saved` the version to which they go after a snapshot, and
        `size` that of the claims in the end, if they grow.
        """
        looking = self._looking_at(sandbox, cluster)
        super().__init__(sandbox, looking, Progress())
        self._namespace, self.consents, self._batching = cluster.namespace, consents or Consents(), batching
        self._saved, self._size = saved, size
        self._first = self._now
        self._documents = looking.documents()
        self._away: dict[str, str] = {}
        """The members that a run has taken down and that are not back, each with its process of before."""
        self._hit: set[str] = set()
        """The members that a foreign fault has taken, until all is whole again."""
        self._unseen: dict[Setting, Any] = {}
        """The settings that others have changed since the run has looked at them, with the value of before."""
        self._lowered: set[Key] = set()
        """The shards of which others want fewer copies since a run has looked at the cluster."""
        self._made_by: dict[str, OneRun] = {}
        """The pods that runs have made, such as those that pull images: one that is at work removes its own."""
        self._made_during_another: set[str] = set()
        """Those that were made while another run held the lock. If their run is killed, the next plan with images to
        pull removes them, and until then they end by themselves (`MARGIN` of `pools/image_pull.py`)."""
        self._holders: dict[Key, frozenset[str]] = {}
        self._without_majority = False
        """Whether foreign faults took the majority since all members served. Then all copies start again."""
        self._paused_at: float | None = None
        """The first look of the run after it was paused; None while it is not."""
        self._in_pause = 0
        """The batches that have gone since it was paused. One may still go that its gate has just let through."""
        self._remember()

    def _looking_at(self, sandbox: Sandbox, cluster: Cluster) -> Looking:
        """The looks at this cluster."""
        (members,) = sandbox.members.clusters_in(cluster.namespace)
        return Looking(sandbox.kubernetes.server.store, members, cluster.namespace)

    def foreign(self, *names: str) -> None:
        """A fault that no run has made has taken these members just now. Pods that others delete are known without."""
        self._hit.update(names)
        self.look()

    def ended(self, code: int, *, target: str = "") -> None:
        """See `Watching`."""
        self.look()
        self._note("undo", left.named_by_undo(self._first, self._now))
        if self.is_held_by_other:
            return
        if code == 0 and target:
            self._note("end", left.all_put_back(self._first, self._now, self._size))
            others = {name for name, run in self._made_by.items() if run.is_at_work or self._is_left(name, run)}
            self._note("end", left.all_there(self._first, self._now, target, self._hit | others, self._holders))
            self._note("end", left.documents_kept(self._documents, self._looking.documents()))
        else:
            self._note("end", left.exactly_named(self._first, self._now))

    def _is_left(self, pod: str, run: OneRun) -> bool:
        """Whether a pod was left by a run that was killed while another one held the lock, and never held it itself."""
        return run.killed and pod in self._made_during_another and not self.has_held(run)

    def left_over(self) -> Iterator[str]:
        """What is not put back although a playbook has said that everything is, unless a run is at work again."""
        self.look()
        if not self.is_held_by_other:
            yield from left.changes_put_back(self._first, self._now)

    def _changed_by_others(self, before: Sight) -> None:
        self._hit |= acts.taken_down(before, self._now)
        copies = {key: shard.copies for key, shard in self._now.shards.items()}
        lowered = {key for key, shard in before.shards.items() if copies.get(key, shard.copies) < shard.copies}
        self._lowered |= lowered
        # Of a member that goes already the last copy may be left.
        self._hit |= {name for key in lowered for name in before.shards[key].started if name in self._away}
        first, self._first = self._first, left.after_others(self._first, before, self._now)
        for key in {**first.settings, **self._first.settings}:
            if first.settings.get(key) != self._first.settings.get(key):
                self._unseen.setdefault(key, first.settings.get(key))

    def _act(self, request: Request, before: Sight, status: int, at: float) -> None:
        """Judge what a request of the run has done."""
        now, progress = self._now, self._progress
        made = now.pods.keys() - before.pods.keys()
        self._made_by |= dict.fromkeys(made, asking())
        self._made_during_another |= made if self.is_held_by_other else set()
        deleted = acts.deleted_pod(request, self._namespace)
        if deleted in before.members:
            self._note("uid", rules.right_pod(before, deleted, acts.uid_in(request)))
        if acts.is_on_lock(request):
            if self._wrote_lock(before, status, at):
                self._progress = replace(self._progress, run=now.holder, acted=self._number)
            return
        if not acts.is_act(request) or not (now is not before or 200 <= status < 300) or self._is_note(request):
            return
        self._first = left.without_unseen(self._first, before, now, self._unseen)
        # The client of the members asks again by itself; a pod is never deleted again without another look.
        repeated = self._last == request and not deleted
        self._note("lock", under_lock(before.holder, at, progress, PROOF_AGE, repeated=repeated))
        taken = acts.taken_down(before, now) if request.path.startswith("/api") else frozenset[str]()
        if taken:
            self._judge_takedown(before, Takedown(taken, frozenset(self._away)), at)
        changes = taken or before.settings != now.settings or before.excluded != now.excluded
        changes = changes or {name: each.spec for name, each in before.pools.items()} != {
            name: each.spec for name, each in now.pools.items()
        }
        changed = self._number if changes else progress.changed
        self._progress = replace(self._progress, acted=self._number, changed=changed)

    def _judge_takedown(self, before: Sight, taken: Takedown, at: float) -> None:
        progress = self._progress
        seen, pods = progress.cluster.sight, progress.pods.sight.pods
        # No proof can know of copies that go, and of indices that come, between it and the act.
        made = before.shards.keys() - seen.shards.keys() if progress.cluster.number >= 0 else set[Key]()
        between = self._lowered | made
        unknown = {name for key in between & before.shards.keys() for name in before.shards[key].started}
        self._hit |= unknown & taken.names
        self._note("copies", rules.kept_copies(before, seen, taken, self.consents))
        self._note("twice", rules.not_done(before, taken))
        self._note("snapshot", rules.saved(before, self._saved) if self._saved else ())
        self._note("batch", rules.one_batch(before, taken, self._batching))
        self._note("others", rules.others_stand(seen, pods, taken))
        self._in_pause = self._in_pause + (not self._away) if self.is_paused() else 0
        late = self._paused_at is not None and at - self._paused_at > PAUSE_SEEN
        if self._in_pause > 1 or (late and not self._away):
            self._note("pause", [f"{listed(taken.names)} goes, and the upgrade is paused"])
        self._note("proof", order.fresh_proof(before, at, taken, progress, PROOF_AGE))
        self._away |= {name: before.members[name].process for name in taken.names}

    def _saw(self, request: Request, at: float) -> None:
        """Note a look of the run."""
        if not self.is_paused():
            self._paused_at = None
        elif self._paused_at is None:
            self._paused_at = at
        if acts.is_look_at_cluster(request):
            self._lowered.clear()
            self._progress = replace(self._progress, cluster=Look(self._number, at, self._now))
        elif acts.is_look_at_pods(request, self._namespace):
            self._progress = replace(self._progress, pods=Look(self._number, at, self._now))
        elif acts.is_look_at_lock(request):
            self._saw_lock(at)
        elif acts.is_look_at_settings(request) and not self.is_held_by_other:
            self._unseen.clear()

    def _judge(self) -> None:
        """Hold what has to be so at every time."""
        now = self._now
        self._remember()
        lost, by_run = (any(rules.kept_majority(now, hit, self.consents)) for hit in ((), self._hit))
        self._without_majority = (self._without_majority or lost) and not by_run
        without = now.members if self._without_majority else self._hit
        self._keep("served", rules.served(now, self._holders, without, self.consents))
        self._keep("quorum", rules.kept_majority(now, self._hit, self.consents))
        changes = (left.named_by_undo, left.replicas_named, left.sets_kept)
        self._keep("undo", tuple(said for each in changes for said in each(self._first, now)))

    def _remember(self) -> None:
        now = self._now
        for name, process in list(self._away.items()):
            member = now.members.get(name)
            if member is None or (member.serves and member.process != process):
                del self._away[name]
        for key, shard in now.shards.items():
            held = self._holders.get(key, frozenset())
            self._holders[key] = shard.started if shard.whole else held | shard.started
        if (self._hit or self._without_majority) and now.is_whole():
            self._hit.clear()
            self._without_majority = False
