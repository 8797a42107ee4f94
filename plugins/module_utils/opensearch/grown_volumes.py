"""The work of the part `grown_volumes`: volume claims of pools are made larger before the first batch, and followed.

A claim that was made larger is never made smaller, so nothing of it is put back. What is put back is a StatefulSet that
a killed run has deleted to make it again (`state: restored`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from ..common.arguments import CONNECTIONS, NAMESPACE, WAIT
from ..common.task import Contract, Outcome, Task, passed_or_raise
from ..common.timestamps import timestamp_of, utc_now
from ..common.verdict import State, Verdict, combine
from ..common.waiting import Patience
from ..kubernetes import client as kubernetes
from ..kubernetes.claims import VolumeClaim
from ..kubernetes.client import KubernetesClient
from ..pools.growing import claims_now, judge_growing, look_at_volumes, raise_claims
from ..pools.remaking import finish_all, remake
from ..pools.volume_sizes import VOLUMES, VolumesLook, judge_followed, left, wanted_sizes
from ..run.lock.lease import lease_at
from ..run.lock.lock_watch import Writers
from .gate import SELECTION
from .judge.disk import judge_disks
from .judge.progress import judge_places_on_grown
from .observe.client import OpenSearchClient, connect
from .observe.cluster import observe, observe_disks
from .observe.copies import unassigned
from .observe.disk import with_gains
from .observe.explaining import explain

CONTRACT = Contract(
    argument_spec={
        **CONNECTIONS,
        **NAMESPACE,
        **WAIT,
        **VOLUMES,
        "state": {"type": "str", "default": "present", "choices": ["present", "followed", "restored"]},
        "batch": {"type": "list", "elements": "str", "default": []},
        "skip_checks": SELECTION["skip_checks"],
        "take_over": {"type": "str", "default": ""},
    },
)
DISK = "disk"
"""The check of the watermarks."""
FILE_SYSTEMS = 30.0
"""Seconds for the members to see a file system that has grown. They look once a second (server source, FsService)."""
PLACES = 120.0
"""Seconds for the cluster to allocate copies to disks that have grown. It looks at them every 30 s, and allocates again
at most once a minute (server source, InternalClusterInfoService and DiskThresholdMonitor)."""
STAYS = "Kubernetes makes no volume claim smaller. The new size stays, whatever becomes of the upgrade: {}."


def run(task: Task) -> Outcome:
    """Raise the claims and follow them, follow them alone, or make a set again that is missing."""
    verdict = _done(task)
    return Outcome(verdict, changed=bool(task.journal.as_result()))


def _done(task: Task) -> Verdict:
    client = kubernetes.connect(task.params["kubernetes"])
    if task.params["state"] == "restored":
        writers = Writers(task, partial(lease_at, client), "upgrade_plan")
        return finish_all(task, client, task.params["namespace"], writers)
    growing = _Growing(task, client)
    return growing.present() if task.params["state"] == "present" else growing.followed(())


@dataclass
class _FollowedLook:
    """The claims now, and the seconds for which their file systems have been waiting to grow."""

    claims: list[VolumeClaim]
    ages: dict[str, float]


class _Growing:
    """The claims of one task."""

    def __init__(self, task: Task, client: KubernetesClient) -> None:
        self._task, self._client = task, client
        self._namespace = task.params["namespace"]
        self._wanted = wanted_sizes(task.params["volumes"])

    def present(self) -> Verdict:
        """Raise the claims, follow them, and make the sets again whose templates are behind."""
        task, client = self._task, self._client
        look = self._look()
        planned = passed_or_raise(task.ask(lambda: judge_growing(client, self._namespace, look)))
        if look.pools and any(pool.to_raise() for pool in look.pools):
            names = ", ".join(claim.name for pool in look.pools for claim, _wanted in pool.to_raise())
            task.progress(STAYS.format(names))
        raise_claims(task, client, self._namespace, look)
        restarted = [name for name, member in look.members().items() if member in task.params["batch"]]
        followed = self.followed(restarted, look) if not task.check_mode else Verdict()
        if not followed.passed:
            return followed
        remade = [
            remake(task, client, self._namespace, pool.pool.name, pool.wanted)
            for pool in look.pools
            if pool.is_behind()
        ]
        remarks = Verdict(tuple(each for each in planned.reasons if each.state is State.PASSED))
        return combine((followed, *remade, remarks))

    def followed(self, restarted: Collection[str], look: VolumesLook | None = None) -> Verdict:
        """The verdict once each claim has grown; `restarted` are those whose pods restart later in the run."""
        task = self._task
        members = (look or self._look()).members()
        seen, verdict = task.wait(
            partial(self._seen, members),
            lambda now: judge_followed(now.claims, restarted, now.ages),
            stoppable=True,
            remaining=lambda now: left(now.claims),
        )
        if not verdict.passed or DISK in task.params["skip_checks"]:
            return verdict
        search = connect(task.params["opensearch"], task.params["kubernetes"])
        below = self._below_watermarks(search, seen, members)
        grown = frozenset(members[each.name] for each in seen.claims if each.settled)
        return combine((verdict, below, self._with_places(search, grown) if below.passed else Verdict()))

    def _look(self) -> VolumesLook:
        return self._task.ask(lambda: look_at_volumes(self._client, self._namespace, self._wanted))

    def _seen(self, names: Collection[str]) -> _FollowedLook:
        claims, now = claims_now(self._client, self._namespace, names), utc_now()
        pending = {each.name: each.pending_since for each in claims if each.pending_since}
        return _FollowedLook(
            claims, {name: (now - timestamp_of(since)).total_seconds() for name, since in pending.items()}
        )

    def _with_places(self, search: OpenSearchClient, grown: frozenset[str]) -> Verdict:
        """Whether replicas that only full disks kept away have a place on these members, whose disks have grown."""

        def judged() -> Verdict:
            state = observe(search)
            kept_away = [copy for copy in unassigned(state) if not copy.primary]
            return judge_places_on_grown(explain(search, state, kept_away), state.ids(grown))

        return self._task.wait_apart(judged, lambda found: found, Patience(PLACES))[1]

    def _below_watermarks(self, search: OpenSearchClient, seen: _FollowedLook, members: Mapping[str, str]) -> Verdict:
        """Whether the members see that they have room. A file system that grows with a restart counts as grown."""
        gains = {members[each.name]: int(each.requested - each.capacity) for each in seen.claims if not each.settled}

        def judged() -> Verdict:
            disks = observe_disks(search)
            own = tuple(each for each in disks.disks if each.member in members.values())
            found = judge_disks(with_gains(replace(disks, disks=own), gains))
            return Verdict(tuple(replace(each, state=State.WAITING) for each in found.reasons))

        return self._task.wait_apart(judged, lambda found: found, Patience(FILE_SYSTEMS))[1]
