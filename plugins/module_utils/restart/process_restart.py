"""The work of the module `process_restart`: restart the processes of a batch of pods, which stay.

The phase of each pod is in its annotations (`judge.phases`), so a run that was killed goes on where it was. The proof
of the batch is that of a replacement, made immediately before the first process is stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..common.attempts import proven_and_prepared
from ..common.errors import Refusal
from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..common.verdict import Verdict, combine
from ..common.voice import Stages
from ..kubernetes import client as kubernetes
from ..kubernetes.client import KubernetesClient
from ..kubernetes.state import Namespace
from ..kubernetes.stateful_sets import observe_namespace
from ..opensearch.answering import wait_for_answers
from ..opensearch.batch_proof import OF_BATCH, BatchProof
from ..opensearch.gate import SELECTION
from ..opensearch.observe.client import OpenSearchClient, connect
from ..opensearch.removal import remove_member
from ..pools.crash_log import with_cause
from ..pools.follow import Follower
from .act.licence import bring_licence
from .act.marks import Marks
from .configurations import Configurations
from .following import STAGES, Restarting, judge_ready
from .judge.phases import (
    SCHEDULED,
    UNDER_WAY,
    Process,
    RestartPhase,
    judge_words,
    marked,
    to_prove_again,
)
from .judge.pods_to_restart import judge_stops, judge_together
from .licence_plan import licence_of
from .look import RestartBatch, RestartLooks, annotations_of, interrupted
from .options import CONFIGURATION, LICENCE, RESTART
from .ownership import Pools, of_own_cluster
from .process_control import ProcessControl
from .process_controls import process_control_of
from .settling import left_behind, started

CONTRACT = Contract(
    argument_spec={
        **OF_BATCH,
        "state": {
            "type": "str",
            "default": "restarted",
            "choices": ["scheduled", "restarted", "resumed", "unscheduled", "completed", "removed", "started", "seen"],
        },
        "phase": {
            "type": "str",
            "default": RestartPhase.SCHEDULE_ROLLING.value,
            "choices": [each.value for each in RestartPhase if each in SCHEDULED],
        },
        "container": {"type": "str"},
        "skip_checks": SELECTION["skip_checks"],
        **RESTART,
        **CONFIGURATION,
        **LICENCE,
    }
)


def run(task: Task) -> Outcome:
    """Bring the pods of the batch into the state."""
    cluster = kubernetes.connect(task.params["kubernetes"])
    if task.params["state"] == "seen":
        return left_behind(task, cluster)
    search = connect(task.params["opensearch"], task.params["kubernetes"])
    return carry_out(task, cluster, search, process_control_of(task.params, cluster))


def carry_out(task: Task, cluster: KubernetesClient, search: OpenSearchClient, way: ProcessControl) -> Outcome:
    """The same with these clients and this process control."""
    marks = Marks(task, cluster, task.params["annotation"])
    configurations = Configurations(task, cluster, marks)
    if task.params["state"] == "restarted":
        return _Restart(task, cluster, search, way, marks, configurations).run()
    if task.params["state"] == "resumed":
        return _resumed(task, cluster, search, way)
    if task.params["state"] == "started":
        return started(task, cluster, way)
    if task.params["state"] == "removed":
        return remove_member(task, cluster, search)
    if task.params["state"] == "completed":
        return _completed(task, cluster, search, way, configurations)
    return _marked(task, cluster, marks, configurations)


def _resumed(task: Task, cluster: KubernetesClient, search: OpenSearchClient, way: ProcessControl) -> Outcome:
    """Complete an interrupted restart of all members, even if none of them answers.

    It needs no lock, which may be out of reach: two at a time make the same steps, and each step only once.
    """
    there = task.ask(lambda: observe_namespace(cluster, task.params["namespace"]))
    of_sets = (pod for pool in there.sets for pod in there.pods_of(pool).values())
    words = judge_words(annotations_of((), of_sets), task.params["annotation"])
    if not words.passed:
        return Outcome(words)
    pools: Pools = interrupted(there, task.params["annotation"])
    pools = of_own_cluster(task, cluster, search, there, pools) if pools else pools
    if not pools or not task.ask(lambda: _has_stopped_one(task, there, pools, way)):
        return Outcome(Verdict(), more={"members": [], "way": way.name})
    names = sorted(name for members in pools.values() for name in members)
    own = {"state": "restarted", "pools": sorted(pools), "batch": names, "expected": names, "until": "joined"}
    given = replace(task, params={**task.params, **own})
    marks = Marks(given, cluster, task.params["annotation"])
    # A content that is wanted by now has a plan and a consent of its own, which follow.
    return _Restart(given, cluster, search, way, marks, Configurations(given, cluster, marks), rounds=0).run()


def _has_stopped_one(task: Task, there: Namespace, pools: Pools, way: ProcessControl) -> bool:
    """Whether a process of an interrupted restart was asked to end. If none was, the plan proves them all again."""
    names = {name for members in pools.values() for name in members}
    marks = [(marked(p.name, p.uid, p.annotations, key=task.params["annotation"]), p) for p in there.pods]
    begun = [(mark, way.look(pod)) for mark, pod in marks if mark.name in names and mark.phase in UNDER_WAY]
    return len(to_prove_again(begun)) < len(begun)


def _completed(
    task: Task, cluster: KubernetesClient, search: OpenSearchClient, way: ProcessControl, configurations: Configurations
) -> Outcome:
    """Forget the contents that were replaced, delete Secrets that no pod has used for long, bring the licence, and name
    the members that do not run the content of their file."""
    batch, verdict = task.wait(RestartLooks(cluster, task.params).look, lambda seen: seen.verdict)
    if verdict.passed:
        # Each write is made again until it is answered: a busy API server ends no run that has done everything.
        task.ask(lambda: configurations.complete(batch.pools, batch.there.pods))
        verdict = combine((Verdict(task.ask(configurations.collect)), _running(task, batch, way, configurations)))
        if wanted := licence_of(task.params):
            bring_licence(task, search, wanted)
    return _outcome(batch, verdict, changed=bool(task.journal.as_result()))


def _running(task: Task, batch: RestartBatch, way: ProcessControl, configurations: Configurations) -> Verdict:
    """The remark on contents. A failed look for a remark does not fail a run that has done its work."""
    try:
        return configurations.running(batch.pools, batch.there.pods, way, task.params["annotation"])
    except (Refusal, ValueError):
        # A person may have written a word that is no phase.
        return Verdict()


def _marked(task: Task, cluster: KubernetesClient, marks: Marks, configurations: Configurations) -> Outcome:
    """Schedule the pods that have no phase, or remove the phase of those that are only scheduled.

    The phase of a StatefulSet is given to each of its pods, and then removed from the set: a pod that has gone through
    its restart would otherwise be scheduled again.
    """
    batch, verdict = task.wait(RestartLooks(cluster, task.params).look, lambda seen: seen.verdict)
    if not verdict.passed:
        return _outcome(batch, verdict, changed=False)
    if task.params["state"] == "scheduled":
        _schedule(task, batch, marks, configurations)
    else:
        for name, mark in batch.marks.items():
            if mark.phase in SCHEDULED:
                task.ask(partial(marks.clear, batch.pods[name]))
        _hand_on(task, batch, marks)
    for pool in batch.pools:
        if batch.phases[pool.name] in SCHEDULED:
            task.ask(partial(marks.take_from, pool))
    return _outcome(batch, verdict, changed=bool(task.journal.as_result()))


def _schedule(task: Task, batch: RestartBatch, marks: Marks, configurations: Configurations) -> None:
    """Mark the pods, give those without a key of the Secret one, and enlarge the pools.

    The marks come first: a member whose key is there, and is the wanted one, is not due any more. All of this may be
    made again, so a busy API server is waited for.
    """
    configurations.check(batch.pools, task.params["container"] or "", in_place=False)
    passed_or_raise(task.ask(lambda: configurations.judge_adding(batch.pools)))
    found = configurations.found_in(batch.pools)
    for name, mark in batch.marks.items():
        pod, present = batch.pods[name], found.get(name, "")
        if mark.phase is None:
            of_pool = batch.phases.get(batch.pool_of(name))
            phase, by_person = of_pool or RestartPhase(task.params["phase"]), of_pool is not None
            task.ask(partial(marks.set, pod, phase, configuration=present, by_person=by_person))
        elif present:
            task.ask(partial(marks.found, pod, present))
    _hand_on(task, batch, marks)
    task.ask(lambda: configurations.add_missing(batch.pools))
    task.ask(lambda: configurations.enlarge(batch.pools))
    for name, present in configurations.found_in(batch.pools).items():
        if name in batch.marks and name not in found:
            task.ask(partial(marks.found, batch.pods[name], present))


def _hand_on(task: Task, batch: RestartBatch, marks: Marks) -> None:
    """Give the phase of a StatefulSet also to those of its pods that are not in the batch: the set loses it."""
    for pool in batch.pools:
        phase = batch.phases[pool.name]
        if phase is None or phase not in SCHEDULED:
            continue
        for name, pod in batch.there.pods_of(pool).items():
            if name not in batch.marks:
                task.ask(partial(marks.hand_on, pod, phase))


MOST_ROUNDS = 3
"""Restarts of one batch in a task after the first, which may be an interrupted one that finishes on its own content."""


class _Restart:
    """The restart of the processes of one batch."""

    def __init__(
        self,
        task: Task,
        cluster: KubernetesClient,
        search: OpenSearchClient,
        way: ProcessControl,
        marks: Marks,
        configurations: Configurations,
        rounds: int = MOST_ROUNDS,
    ) -> None:
        """`rounds` are the restarts that may follow for a content that this one has not brought."""
        self._task = task
        self._configurations = configurations
        self._cluster = cluster
        self._search = search
        self._way = way
        self._marks = marks
        self._proof = self._proof_of(task)
        self._looking = RestartLooks(cluster, task.params, stops=way.keeps_stopped)
        self._prepared = False
        self._processes: dict[str, Process] = {}
        """The processes that are to be stopped, as the last look before a proof has found them."""
        self._proven_at = 0.0
        """The time before the last proof."""
        self._rounds = rounds
        self._whole = False
        """Whether the proof is that of a restart of all members: the cluster is whole, and none has to stay."""

    def _proof_of(self, task: Task) -> BatchProof:
        # The volumes of a pod stay with it. Data on none of them stays if the container does.
        return BatchProof(task, self._search, None, loses_data=not self._way.keeps_container)

    def run(self) -> Outcome:
        """Prove the batch, stop its processes, and follow them until they are back."""
        if self._configurations.wanted:
            self._configurations.check(self._task.ask(self._looking.look).pools, self._way.container, in_place=True)
        batch, verdict = self._proven()
        if self._task.check_mode or not verdict.passed:
            for name in batch.going if verdict.passed else ():
                self._marks.set(batch.pods[name], batch.marks[name].next_phase)
            return self._outcome(batch, verdict)
        how = Restarting(
            Follower(self._cluster, self._task.clock),
            *(self._task, self._looking, self._proof.absence, self._way, self._marks, self._configurations),
            *(self._prove_again, self._proven_at),
        )
        stages = Stages(STAGES, self._task.params["usual_seconds"])
        try:
            for name in batch.going:
                former = self._proof.former.get(name, "")
                how.begin(batch.pods[name], batch.marks[name], former, self._processes[name])
            view, verdict = replace(self._following(), stages=stages).wait(how.look, lambda seen: seen.verdict)
            verdict = combine((verdict, self._configurations.judge_begun()))
            if verdict.passed and self._due_again():
                return self.run()
            if verdict.passed:
                up = [name for name, mark in view.seen.marks.items() if not mark.stays_stopped]
                verdict = combine((verdict, wait_for_answers(self._task, up)))
            if verdict.passed and self._task.params["until"] == "ready":
                _batch, ready = self._task.wait(self._looking.look, judge_ready)
                verdict = combine((verdict, ready))
        except Refusal as error:
            return self._outcome(batch, self._task.verdict_of(error), how)
        return self._outcome(view.seen, verdict, how)

    def _following(self) -> Task:
        """The task that follows the processes. A single pass of a run does not end while one is kept stopped: it would
        stay so until the next pass, and that of a restart of all members keeps the whole cluster away."""
        waits = bool(self._task.params["wait"] or (self._task.run and self._way.keeps_stopped))
        return replace(self._task, params={**self._task.params, "wait": waits})

    def _due_again(self) -> bool:
        """Mark the members whose restart has brought another content than the wanted one, as an older one may."""
        if not self._configurations.wanted or not self._rounds:
            return False
        batch = self._task.ask(self._looking.look)
        self._rounds -= 1
        due = [self._task.ask(partial(self._configurations.due, pool, batch.marks)) for pool in batch.pools]
        again = [name for names in due for name in names if not batch.marks[name].stays_stopped]
        for name in again:
            found = self._task.ask(partial(self._configurations.found, batch.pool_of(name))).get(name, "")
            mark = partial(self._marks.set, batch.pods[name], RestartPhase.SCHEDULE_ROLLING, configuration=found)
            self._task.ask(mark)
        return bool(again)

    def _proven(self) -> tuple[RestartBatch, Verdict]:
        """Wait for the proof that the pods which are only scheduled may go. It is made again after each preparation."""

        def look() -> RestartBatch:
            seen = self._looking.look()
            seen = replace(seen, verdict=combine((seen.verdict, self._judge_asked(seen))))
            if seen.verdict.passed and not self._task.check_mode:
                seen = replace(seen, unproven=self._left_running(seen))
            if not seen.verdict.passed or not seen.going:
                return seen
            there = self._configurations.judge_there(seen.pools, seen.going, seen.marks)
            standing = combine((self._looking.judge_surroundings(seen), there))
            if not standing.passed:
                return replace(seen, verdict=standing)
            if seen.together and not self._whole:
                self._whole = True
                self._proof = self._proof_of(replace(self._task, params={**self._task.params, "batch": []}))
            # An agent may be slow to answer, so the processes are looked at before the proof, which stays fresh.
            if not self._task.check_mode:
                self._processes = {name: self._way.look(seen.pods[name]) for name in seen.going}
            self._proven_at = self._task.clock.now()
            return replace(seen, verdict=self._proof.proof(seen.pools, seen.there, seen.down))

        def looked() -> tuple[RestartBatch, Verdict]:
            given = self._task.params["proof_timeout"]
            in_vain = self._proof.in_vain
            return self._task.wait(
                look, lambda seen: seen.verdict, stoppable=True, hands_back_after=given, in_vain=in_vain
            )

        def prepare(seen: RestartBatch) -> bool:
            # If all go, there is none to hand over to.
            did = bool(seen.going) and self._proof.prepare(() if seen.together else seen.going)
            self._prepared = self._prepared or did
            return did

        return proven_and_prepared(looked, prepare, self._proof.again)

    def _left_running(self, seen: RestartBatch) -> frozenset[str]:
        """The pods that a killed run has marked and not stopped. If others of the batch are down, these come first."""
        begun = [(seen.marks[name], self._way.look(seen.pods[name])) for name in seen.down]
        found = to_prove_again(begun)
        return found if len(found) == len(begun) else frozenset()

    def _prove_again(self, seen: RestartBatch) -> Verdict:
        """The proof now for those that are still to go, while others of the batch may be down."""
        standing = self._looking.judge_surroundings(seen)
        return self._proof.proof(seen.pools, seen.there, seen.down) if standing.passed else standing

    def _judge_asked(self, seen: RestartBatch) -> Verdict:
        """Whether the process control can do what the marks of the batch ask for."""
        marks, way, keeps = tuple(seen.marks.values()), self._way.name, self._way.keeps_stopped
        params = self._task.params
        allowed = params["allow_full_restart"]
        together = judge_together(marks, params["expected"], way, keeps_stopped=keeps, allowed=allowed)
        return combine((judge_stops(marks, way, keeps_stopped=keeps), together))

    def _outcome(self, batch: RestartBatch, verdict: Verdict, how: Restarting | None = None) -> Outcome:
        verdict = combine((verdict, Verdict(self._proof.remarks)))
        changed = bool(self._task.journal.as_result()) or self._prepared
        measured = how.downtime if how else None
        away = {**({"downtime_seconds": measured} if measured else {}), **self._proof.absence.as_result()}
        return _outcome(batch, verdict, changed=changed, how=how, way=self._way.name, more=away)


def _outcome(
    batch: RestartBatch,
    verdict: Verdict,
    *,
    changed: bool,
    how: Restarting | None = None,
    way: str = "",
    more: Mapping[str, Any] | None = None,
) -> Outcome:
    members: Sequence[dict[str, Any]] = [
        {
            "name": name,
            "pool": batch.pool_of(name),
            "action": "untouched",
            "phase": batch.phase(name),
            "uid": batch.pods[name].uid if name in batch.pods else "",
            **(how.result(name, verdict) if how else {}),
        }
        for name in batch.names
    ]
    verdict = with_cause(verdict, members)
    return Outcome(
        verdict,
        changed,
        before={"phases": {name: batch.phase(name) for name in batch.names}},
        more={"members": members, **({"way": way} if way else {}), **(more or {})},
    )
