# Copyright (c) 2026, the stateful.upgrade authors
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Following members until they are Ready and have joined, with the time each stage took."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from ..common.errors import Refusal, Unreachable
from ..common.verdict import Verdict, combine
from ..common.waiting import Clock
from ..kubernetes.client import KubernetesClient
from ..kubernetes.owners import judge_owned
from ..kubernetes.pods import kubernetes_node_is_ready, list_events, list_pods
from ..kubernetes.state import Event, Pod, StatefulSet
from ..kubernetes.stateful_sets import get_stateful_set
from .crash_log import LOOKED_AT, last_words
from .judge import judge_revision
from .partition import judge_same
from .put_back import judge_images_stay
from .replacement import SLOW, Sighting, Stage, blockers_of, fails_to_pull, judge_replacement, stage_of

EVENTS = 5

_PHASES = (
    ("stop_seconds", Stage.STOPPING, Stage.RECREATING),
    ("schedule_seconds", Stage.RECREATING, Stage.PREPARING),
    ("image_seconds", Stage.PREPARING, Stage.STARTING),
    ("start_seconds", Stage.STARTING, Stage.READY),
    ("join_seconds", Stage.READY, Stage.JOINED),
)


@dataclass(frozen=True)
class View:
    """One look at all members followed."""

    pools: tuple[StatefulSet, ...]
    """Empty while the API gives no answer."""
    sightings: tuple[Sighting, ...]
    joined: Verdict
    """The verdict of the cluster on the batch; it is asked once all members are Ready."""
    unreachable: Verdict
    early: bool = False
    """Whether all have joined although not all are Ready, and that is enough."""
    made_again: Verdict = field(default_factory=Verdict)
    """A refusal if a pool is no longer the one that was followed, or has another image."""


class FailingPull:
    """The time for which the image of one pod has failed to be pulled."""

    def __init__(self) -> None:
        self._since: tuple[str, float] | None = None
        self._looks = 0

    def seconds(self, pod: Pod | None, now: float) -> float:
        """Seconds since the failure was first seen; the pod's whole age if it had failed before the first look."""
        self._looks += 1
        # Between two tries the container shows no failure for a moment: only a start or another pod ends the failure.
        if pod is None or stage_of("", pod) > Stage.PREPARING or (self._since and self._since[0] != pod.uid):
            self._since = None
        if pod is not None and self._since is None and fails_to_pull(pod):
            self._since = (pod.uid, now - (_age(pod) if self._looks == 1 else 0.0))
        return now - self._since[1] if self._since else 0.0


def _age(pod: Pod) -> float:
    """Seconds since a pod was made, by the wall clocks of both sides."""
    try:
        created = datetime.fromisoformat(pod.created.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return max(0.0, (datetime.now(timezone.utc) - created).total_seconds())


@dataclass
class _Trail:
    """The memory of one member between looks."""

    old_uid: str
    stage: Stage
    since: float
    reached: dict[Stage, float] = field(default_factory=dict)
    failing_pull: FailingPull = field(default_factory=FailingPull)

    def note(self, pod: Pod | None, now: float) -> None:
        stage = stage_of(self.old_uid, pod)
        if stage is not self.stage:
            self.stage, self.since = stage, now
        self.reach(stage, now)

    def reach(self, stage: Stage, now: float) -> None:
        """Note a stage as reached. Stages skipped between two looks count as reached at the same moment."""
        first = min(self.reached, default=stage)
        for each in Stage:
            if first <= each <= stage:
                self.reached.setdefault(each, now)


def pool_named_in(pools: Sequence[StatefulSet], member: str) -> StatefulSet:
    """The pool of a followed member, found by name alone, since the pool may have been scaled down meanwhile."""
    return next(pool for pool in pools if pool.name == member.rpartition("-")[0])


class Follower:
    """Looks at the members of a batch. `old_uids` holds the UID of each deleted pod, empty if none was deleted."""

    def __init__(
        self,
        client: KubernetesClient,
        clock: Clock,
        pools: Sequence[StatefulSet],
        old_uids: Mapping[str, str],
        joined: Callable[[], Verdict],
        early: Callable[[Collection[str]], bool] | None = None,
    ) -> None:
        """`early` is given if it is enough to have joined. It is asked once all run on the wanted revision."""
        self._early = early
        self._client = client
        self._clock = clock
        self._pools = tuple(pools)
        self._joined = joined
        start = clock.now()
        self._trails = {
            member: _Trail(uid, Stage.STOPPING, start, {Stage.STOPPING: start} if uid else {})
            for member, uid in old_uids.items()
        }

    def leave_out(self, names: Collection[str]) -> None:
        """Follow these members no longer, since they stay up after all."""
        for name in names:
            self._trails.pop(name, None)

    def follows(self, member: str) -> bool:
        """Whether this member is followed."""
        return member in self._trails

    def look(self) -> View:
        """One look. If the API gives no answer, the view holds only that."""
        try:
            pools = tuple(get_stateful_set(self._client, each.namespace, each.name) for each in self._pools)
            sightings = self._sightings(pools)
        except Unreachable as error:
            return View((), (), Verdict(), error.as_waiting())
        pairs = zip(self._pools, pools, strict=True)
        made_again = combine(judge(*pair) for pair in pairs for judge in (judge_same, judge_images_stay))
        view = View(pools, sightings, Verdict(), Verdict(), made_again=made_again)
        if not made_again.passed:
            return view
        # No answer of the cluster counts as "not joined yet"; the state of the pods is told all the same.
        if not verdict_of(view).passed:
            try:
                early = self._joined_early(pools, sightings)
            except Unreachable:
                early = False
            if not early:
                return view
            self._all_joined()
            return View(pools, sightings, Verdict(), Verdict(), early=True)
        try:
            joined = self._joined()
        except Unreachable as error:
            joined = error.as_waiting()
        if joined.passed:
            self._all_joined()
        return View(pools, sightings, joined, Verdict())

    def _joined_early(self, pools: tuple[StatefulSet, ...], sightings: tuple[Sighting, ...]) -> bool:
        started = all(
            each.pod is not None
            and each.stage >= Stage.STARTING
            and each.pod.revision == pool_named_in(pools, each.member).update_revision
            for each in sightings
        )
        return started and self._early is not None and self._early([*self._trails])

    def _all_joined(self) -> None:
        for trail in self._trails.values():
            trail.reach(Stage.JOINED, self._clock.now())

    def _sightings(self, pools: Sequence[StatefulSet]) -> tuple[Sighting, ...]:
        """All members followed."""
        named = {
            pool.name: {pod.name: pod for pod in list_pods(self._client, pool.namespace, pool.selector)}
            for pool in pools
        }
        # A pod that matches the selector of a pool may be controlled by another.
        own = {
            pool.name: {name: pod for name, pod in named[pool.name].items() if pod.owner_uid == pool.uid}
            for pool in pools
        }
        now, sightings = self._clock.now(), list[Sighting]()
        for member in self._trails:
            pool = pool_named_in(pools, member)
            pod = named[pool.name].get(member)
            seen = self._sighting(pool, own[pool.name], member, now)
            sightings.append(replace(seen, owned=judge_owned(pool, [pod] if pod else [])))
        return tuple(sightings)

    def _sighting(self, pool: StatefulSet, pods: Mapping[str, Pod], member: str, now: float) -> Sighting:
        trail, pod = self._trails[member], pods.get(member)
        trail.note(pod, now)
        slow = now - trail.since > SLOW and trail.stage < Stage.READY
        node = pod.kubernetes_node if pod and slow and trail.stage in {Stage.STOPPING, Stage.STARTING} else ""
        return Sighting(
            member=member,
            old_uid=trail.old_uid,
            pod=pod,
            in_stage=now - trail.since,
            failing_pull=trail.failing_pull.seconds(pod, now),
            events=self._events(pool, pod) if slow else (),
            kubernetes_node_ready=kubernetes_node_is_ready(self._client, node) if node else None,
            blockers=() if pod else blockers_of(pool, pods, member),
        )

    def _events(self, pool: StatefulSet, pod: Pod | None) -> tuple[Event, ...]:
        if pod is None:
            return list_events(self._client, pool.namespace, "StatefulSet", pool.name, pool.uid)
        return list_events(self._client, pool.namespace, "Pod", pod.name, pod.uid)

    def timings(self, member: str) -> dict[str, float | None]:
        """Seconds of each phase, as precise as the looks are frequent; None for a phase that is not complete."""
        trail = self._trails.get(member)
        reached = trail.reached if trail else {}
        begun = min(reached, default=Stage.JOINED)
        phases = (*_PHASES, ("total_seconds", begun, Stage.JOINED))
        return {
            name: round(reached[end] - reached[start], 2) if start in reached and end in reached else None
            for name, start, end in phases
        }

    def evidence(self, sighting: Sighting) -> dict[str, Any]:
        """Result fields: the last events and log lines of a stuck member, as far as the user may read them."""
        pod = sighting.pod
        try:
            pool = pool_named_in(self._pools, sighting.member)
            events = [each.sentence() for each in self._events(pool, pod)[-EVENTS:]]
            words = words_of_stuck(self._client, pod) if pod else last_words([])
        except Refusal:
            return {"events": [each.sentence() for each in sighting.events[-EVENTS:]], **last_words([])}
        return {"events": events, **words}


def words_of_stuck(client: KubernetesClient, pod: Pod) -> dict[str, Any]:
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


def verdict_of(view: View) -> Verdict:
    """The verdict of a look. It passes once every member is Ready on the wanted revision, and has joined."""
    if not view.pools:
        return view.unreachable
    if not view.made_again.passed:
        return view.made_again
    if view.early:
        return Verdict()
    revision = combine([judge_revision(pool) for pool in view.pools])
    if not revision.passed:
        return revision
    verdicts = [judge_replacement(pool_named_in(view.pools, each.member), each) for each in view.sightings]
    return combine([*verdicts, view.joined])
