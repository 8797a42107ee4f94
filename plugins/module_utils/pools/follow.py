"""Following members that went down until they are back, with the time each stage took.

A member goes and comes back in one of two ways: its pod is replaced (`Replacing`), or its process is restarted in its
pod (`restart/following.py`). The follower has what is common to both: the memory of each member between looks, the
events of one that is slow, and the evidence about one that is stuck.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from ..common.errors import Refusal, Unreachable
from ..common.timestamps import utc_now
from ..common.verdict import Verdict, combine
from ..common.waiting import Clock
from ..kubernetes.client import KubernetesClient
from ..kubernetes.owners import judge_owned
from ..kubernetes.pods import kubernetes_node_is_ready, list_events, list_pods
from ..kubernetes.state import KubernetesEvent, Pod, StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set
from .crash_log import LOOKED_AT, last_words
from .judge import judge_members, judge_revision, pod_is_settled
from .partition import judge_same
from .put_back import judge_images_stay
from .replacement import SLOW, ReplacementStage, Sighting, blockers_of, fails_to_pull, judge_replacement, stage_of

EVENTS = 5
SETS_AGE = 1.0
"""Seconds after which a pool is read again although its pods are the same ones."""
EXPLANATION_AGE = 5.0
"""Seconds after which what explains a slow member is read again: lists of events are the dearest for an API server."""
NO_EVIDENCE: Mapping[str, Any] = {"events": [], **last_words([])}
"""The result fields about a stuck member of which nothing can be read."""

_PHASES = (
    ("stop_seconds", ReplacementStage.STOPPING, ReplacementStage.RECREATING),
    ("schedule_seconds", ReplacementStage.RECREATING, ReplacementStage.PREPARING),
    ("image_seconds", ReplacementStage.PREPARING, ReplacementStage.STARTING),
    ("start_seconds", ReplacementStage.STARTING, ReplacementStage.READY),
    ("join_seconds", ReplacementStage.READY, ReplacementStage.JOINED),
)


Seen = TypeVar("Seen")
Read = TypeVar("Read")


@dataclass(frozen=True)
class View(Generic[Seen]):
    """One look at all members followed."""

    seen: Seen
    verdict: Verdict
    """It passes once all of them are back."""


class FailingPull:
    """The time for which the image of one pod has failed to be pulled."""

    def __init__(self) -> None:
        self._since: tuple[str, float] | None = None
        self._looks = 0

    def seconds(self, pod: Pod | None, now: float) -> float:
        """Seconds since the failure was first seen; the pod's whole age if it had failed before the first look."""
        self._looks += 1
        # Between two tries the container shows no failure for a short time: only a start or another pod ends the
        # failure.
        if pod is None or stage_of("", pod) > ReplacementStage.PREPARING or (self._since and self._since[0] != pod.uid):
            self._since = None
        if pod is not None and self._since is None and fails_to_pull(pod):
            self._since = (pod.uid, now - (age_of(pod) if self._looks == 1 else 0.0))
        return now - self._since[1] if self._since else 0.0


def age_of(pod: Pod) -> float:
    """Seconds since a pod was made, by the wall clocks of both sides."""
    try:
        created = datetime.fromisoformat(pod.created.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return max(0.0, (utc_now() - created).total_seconds())


@dataclass
class Trail:
    """The memory of one member between looks."""

    old_uid: str
    """The UID of the pod that was deleted; empty if none was."""
    since: float
    """The time at which its stage was first seen."""
    stage: ReplacementStage = ReplacementStage.STOPPING
    reached: dict[ReplacementStage, float] = field(default_factory=dict)
    failing_pull: FailingPull = field(default_factory=FailingPull)

    def note(self, stage: ReplacementStage, now: float) -> None:
        """Note the present stage."""
        if stage is not self.stage:
            self.stage, self.since = stage, now
        self.reach(stage, now)

    def reach(self, stage: ReplacementStage, now: float) -> None:
        """Note a stage as reached. Stages skipped between two looks count as reached at the same time."""
        first = min(self.reached, default=stage)
        for each in ReplacementStage:
            if first <= each <= stage:
                self.reached.setdefault(each, now)

    def is_slow(self, now: float) -> bool:
        """Whether it has long been in its stage and is not Ready, so that its events are asked for."""
        return now - self.since > SLOW and self.stage < ReplacementStage.READY

    @property
    def total_seconds(self) -> float | None:
        """Seconds from the first stage until it has joined; None before that."""
        if ReplacementStage.JOINED not in self.reached:
            return None
        return round(self.reached[ReplacementStage.JOINED] - self.reached[min(self.reached)], 2)


@dataclass
class Follower:
    """Follows the members of a batch until they are back, in whichever way they went."""

    client: KubernetesClient
    clock: Clock
    trails: dict[str, Trail] = field(default_factory=dict)
    """The members that are followed."""
    _explained: dict[tuple[str, str], tuple[float, Any]] = field(default_factory=dict)
    """Kind and name of what explains a slow member: when it was read, and what was read."""

    def follow(self, member: str, old_uid: str = "", stage: ReplacementStage | None = None) -> None:
        """Follow a member from now on. Without a stage it has the one in which the first look finds its pod."""
        now = self.clock.now()
        self.trails[member] = Trail(
            old_uid, now, stage or ReplacementStage.STOPPING, {} if stage is None else {stage: now}
        )

    def leave_out(self, names: Iterable[str]) -> None:
        """Follow these members no longer, since they stay up after all."""
        for name in names:
            self.trails.pop(name, None)

    def timings(self, member: str) -> dict[str, float | None]:
        """Seconds of each phase, as precise as the looks are frequent; None for a phase that is not complete."""
        trail = self.trails.get(member)
        reached = trail.reached if trail else {}
        return {
            **{
                name: round(reached[end] - reached[start], 2) if start in reached and end in reached else None
                for name, start, end in _PHASES
            },
            "total_seconds": trail.total_seconds if trail else None,
        }

    def events(self, pool: StatefulSet, pod: Pod | None) -> tuple[KubernetesEvent, ...]:
        """The events of a pod, or of its pool while it is not there, a few seconds old at most."""
        return self.explained("events", pod.uid if pod else pool.uid, lambda: self._events(pool, pod))

    def explained(self, kind: str, name: str, read: Callable[[], Read]) -> Read:
        """What explains a slow member: as it was read last, or read again once it is older than `EXPLANATION_AGE`."""
        now = self.clock.now()
        read_at, kept = self._explained.get((kind, name), (float("-inf"), None))
        if now - read_at >= EXPLANATION_AGE:
            kept = read()
            self._explained[kind, name] = now, kept
        return cast(Read, kept)

    def _events(self, pool: StatefulSet, pod: Pod | None) -> tuple[KubernetesEvent, ...]:
        about = ("StatefulSet", pool.name, pool.uid) if pod is None else ("Pod", pod.name, pod.uid)
        return list_events(self.client, pool.namespace, *about)

    def evidence(self, pool: StatefulSet, pod: Pod | None, before: Sequence[KubernetesEvent] = ()) -> dict[str, Any]:
        """Result fields: the last events and log lines of a stuck member, as far as the user may read them.

        `before` are the events that an earlier look has read.
        """
        try:
            events, words = self._events(pool, pod), _words_of_stuck(self.client, pod) if pod else last_words([])
        except Refusal:
            events, words = tuple(before), last_words([])
        return {"events": [each.sentence() for each in events[-EVENTS:]], **words}


def _words_of_stuck(client: KubernetesClient, pod: Pod) -> dict[str, Any]:
    """Result fields: the end of the log of a container that does not become Ready, of its last start if it crashed."""
    stuck = [each for each in pod.containers if not each.ready and (each.state == "running" or each.restart_count)]
    for container in stuck:
        crashed = container.state != "running"
        try:
            return last_words(client.log(pod.namespace, pod.name, container.name, LOOKED_AT, previous=crashed))
        except Unreachable:
            raise
        except Refusal:
            continue
    return last_words([])


def pool_named_in(pools: Sequence[StatefulSet], member: str) -> StatefulSet:
    """The pool of a followed member, found by name alone, since the pool may have been scaled down since."""
    return next(pool for pool in pools if pool.name == member.rpartition("-")[0])


@dataclass(frozen=True)
class Replaced:
    """The replacements of all members followed, as one look has seen them. It is empty if the API gave no answer."""

    pools: tuple[StatefulSet, ...] = ()
    sightings: Mapping[str, Sighting] = field(default_factory=dict)

    def is_settled(self, member: str) -> bool:
        """Whether the pod of a member is seen to be Ready on the wanted revision."""
        pod = self.sightings[member].pod if member in self.sightings else None
        return pod is not None and pod_is_settled(pool_named_in(self.pools, member), pod)

    def judge(self) -> Verdict:
        """Whether every pod is kept by its pool, and Ready on the wanted revision."""
        kept = combine((judge_members(self.pools, self.sightings), *map(judge_revision, self.pools)))
        if not kept.passed:
            return kept
        return combine(
            judge_replacement(pool_named_in(self.pools, name), each) for name, each in self.sightings.items()
        )

    def judge_left(self, nodes: Collection[str]) -> Verdict:
        """Whether no pod of a member is on one of these Kubernetes nodes."""
        there = {name: each for name, each in self.sightings.items() if each.pod and each.pod.kubernetes_node in nodes}
        return combine(judge_replacement(pool_named_in(self.pools, name), each) for name, each in there.items())

    def have_started(self) -> bool:
        """Whether all members run, on the wanted revision, Ready or not."""
        return all(
            each.pod is not None
            and each.stage >= ReplacementStage.STARTING
            and each.pod.revision == pool_named_in(self.pools, name).update_revision
            for name, each in self.sightings.items()
        )


class Replacing:
    """Members whose pods are replaced: the controller of their pool makes each pod again, which starts its member."""

    def __init__(
        self,
        follower: Follower,
        pools: Sequence[StatefulSet],
        pods: Mapping[str, Pod],
        joined: Callable[[], Verdict],
        early: Callable[[Collection[str]], bool] | None = None,
        *,
        still: bool = False,
    ) -> None:
        """`joined` gives the verdict of the cluster on the batch. It is asked once all members are Ready.

        `early` is given if the members need not be Ready once they have joined. It is asked once all run on the wanted
        revision. `pods` are those of the pools by name, observed just now. `still` says that nothing has been done to
        them since, so they are the first look.
        """
        self.follower = follower
        self.pools = pools
        self.joined = joined
        self.early = early
        named = _by_pool(pools, pods.values())
        self._pods = named if still else None
        self.leaves: Collection[str] = ()
        """The Kubernetes nodes that the members only have to leave; none if the members have to come back."""
        self._known = tuple(pools)
        self._uids = _uids(named)
        self._read_at = follower.clock.now()

    def look(self) -> View[Replaced]:
        """One look. If the API gives no answer, the view holds only that."""
        follower = self.follower
        try:
            pods, self._pods = self._pods or self._listed(), None
            pools = self._sets(_uids(pods))
            seen = Replaced(pools, _sightings(follower, pools, pods))
        except Unreachable as error:
            return View(Replaced(), error.as_waiting())
        pairs = zip(self.pools, pools, strict=True)
        made_again = combine(judge(*pair) for pair in pairs for judge in (judge_same, judge_images_stay))
        verdict = self._judge(seen) if made_again.passed else made_again
        if verdict.passed and not self.leaves:
            for trail in follower.trails.values():
                trail.reach(ReplacementStage.JOINED, follower.clock.now())
        return View(seen, verdict)

    def _listed(self) -> dict[str, dict[str, Pod]]:
        """The pods that match the selector of each pool, by the name of the pool."""
        client = self.follower.client
        return {
            pool.name: {pod.name: pod for pod in list_pods(client, pool.namespace, pool.selector)}
            for pool in self.pools
        }

    def _sets(self, uids: frozenset[str]) -> tuple[StatefulSet, ...]:
        """The pools. Most looks only wait for the same pods, so that the pools need not be read for each."""
        now = self.follower.clock.now()
        if uids != self._uids or now - self._read_at >= SETS_AGE:
            client = self.follower.client
            self._known = tuple(get_stateful_set(client, each.namespace, each.name) for each in self.pools)
            self._uids, self._read_at = uids, now
        return self._known

    def _judge(self, seen: Replaced) -> Verdict:
        if self.leaves:
            return seen.judge_left(self.leaves)
        ready = seen.judge()
        try:
            if ready.passed:
                return self.joined()
            early = seen.have_started() and self.early is not None and self.early([*self.follower.trails])
            return Verdict() if early else ready
        except Unreachable as error:
            # No answer from the cluster counts as "not joined yet"; the state of the pods is reported all the same.
            return error.as_waiting() if ready.passed else ready


def _by_pool(pools: Sequence[StatefulSet], pods: Iterable[Pod]) -> dict[str, dict[str, Pod]]:
    return {pool.name: {pod.name: pod for pod in pods if pod.owner_uid == pool.uid} for pool in pools}


def _uids(pods: Mapping[str, Mapping[str, Pod]]) -> frozenset[str]:
    return frozenset(pod.uid for each in pods.values() for pod in each.values())


def _sightings(
    follower: Follower, pools: Sequence[StatefulSet], named: Mapping[str, Mapping[str, Pod]]
) -> dict[str, Sighting]:
    """All followed members as seen. `named` has the pods that match the selector of each pool, by the pool's name."""
    # A pod that matches the selector of a pool may be controlled by another.
    own = {
        pool.name: {name: pod for name, pod in named[pool.name].items() if pod.owner_uid == pool.uid} for pool in pools
    }
    sightings = dict[str, Sighting]()
    for member in follower.trails:
        pool = pool_named_in(pools, member)
        pod = named[pool.name].get(member)
        seen = _sighting(follower, pool, own[pool.name], member)
        sightings[member] = replace(seen, owned=judge_owned(pool, [pod] if pod else []))
    return sightings


def _sighting(follower: Follower, pool: StatefulSet, pods: Mapping[str, Pod], member: str) -> Sighting:
    trail, pod, now = follower.trails[member], pods.get(member), follower.clock.now()
    trail.note(stage_of(trail.old_uid, pod), now)
    slow = trail.is_slow(now)
    node = (
        pod.kubernetes_node
        if pod and slow and trail.stage in {ReplacementStage.STOPPING, ReplacementStage.STARTING}
        else ""
    )
    return Sighting(
        member=member,
        old_uid=trail.old_uid,
        pod=pod,
        in_stage=now - trail.since,
        failing_pull=trail.failing_pull.seconds(pod, now),
        events=follower.events(pool, pod) if slow else (),
        kubernetes_node_ready=follower.explained("node", node, lambda: kubernetes_node_is_ready(follower.client, node))
        if node
        else None,
        blockers=() if pod else blockers_of(pool, pods, member),
    )
