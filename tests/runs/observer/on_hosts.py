"""The observer of a cluster whose members are services on hosts: what a pod is elsewhere is the place of a member here.

A run sees no more of a member than the cluster says: its modules on the hosts show nothing. So each place is there all
the time, with the version that runs on it, and the pool wants the version of the upgrade.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.runs.observer import acts
from tests.runs.observer.lock import under_lock
from tests.runs.observer.looking import Looking, upgrading_in
from tests.runs.observer.observer import PROOF_AGE, Observer
from tests.runs.observer.rules import Takedown
from tests.runs.observer.sight import Consents, Pod, Pool, Sight
from tests.runs.on_hosts import ClusterOnHosts
from tests.sandbox.sandbox import Sandbox
from tests.sandbox.web import Request
from tests.scenarios.cluster import Cluster


class LookingAtHosts(Looking):
    """The looks at one cluster on hosts."""

    def __init__(self, sandbox: Sandbox, cluster: ClusterOnHosts, target: str) -> None:
        super().__init__(sandbox.kubernetes.server.store, cluster.servers, cluster.namespace)
        self._pools = {name: Pool(name, len(members), target) for name, members in cluster.groups.items()}
        self._records, self._read = cluster.records, tuple[frozenset[str], ...]()
        self._newest: Path | None = None

    def look(self) -> bool:
        """See `Looking`."""
        if not super().look():
            return False
        pods = {name: Pod(name, member.version) for name, member in self.sight.members.items()}
        self.sight = replace(self.sight, pods=pods, pools=self._pools, upgrading=self._of_record())
        return True

    def _of_record(self) -> tuple[frozenset[str], ...]:
        """The batches that are at work, from the newest version of the record."""
        found = sorted(self._records.glob("*.json"), key=lambda path: int(path.suffixes[-2][1:]))
        newest = found[-1] if found else None
        if newest != self._newest:
            self._newest = newest
            self._read = upgrading_in(newest.read_text(encoding="utf-8")) if newest else ()
        return self._read


class ObserverOfHosts(Observer):
    """It watches one cluster on hosts."""

    def __init__(
        self, sandbox: Sandbox, cluster: ClusterOnHosts, target: str, consents: Consents, batching: str
    ) -> None:
        self._target = target
        super().__init__(sandbox, cluster, consents, batching)

    def _looking_at(self, sandbox: Sandbox, cluster: Cluster) -> Looking:
        assert isinstance(cluster, ClusterOnHosts)
        return LookingAtHosts(sandbox, cluster, self._target)

    def _act(self, request: Request, before: Sight, status: int, at: float) -> None:
        """See `Observer`. Only the end of a process is judged on a host: the rest is the business of the role."""
        if not acts.is_on_host(request):
            super()._act(request, before, status, at)
            return
        taken = acts.stopped(before, self._now)
        if not taken:
            return
        takedown, progress = Takedown(taken, frozenset(self._away)), self._progress
        if not takedown.away:
            # The hosts of a batch are stopped at the same time, by the proof of the batch.
            self._note("lock", under_lock(before.holder, at, progress, PROOF_AGE, repeated=True))
        self._judge_takedown(before, takedown, at)
        self._progress = replace(self._progress, changed=self._number)

    def _saw(self, request: Request, at: float) -> None:
        """See `Observer`. A look at the cluster shows all that there is to be seen of members."""
        super()._saw(request, at)
        if acts.is_look_at_cluster(request):
            self._progress = replace(self._progress, pods=self._progress.cluster)
