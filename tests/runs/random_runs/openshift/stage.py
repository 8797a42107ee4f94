"""An OpenShift on which a story is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.runs.observer.forced_drains import ForcedDrains
from tests.runs.observer.notices import HOOK, Notices
from tests.runs.observer.openshift import OpenShiftObserver
from tests.runs.openshift import NAMESPACE, PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.random_runs.openshift.database import Database
from tests.runs.random_runs.openshift.events import HappeningToOpenShift
from tests.runs.random_runs.openshift.requested import Requested
from tests.runs.random_runs.openshift.story import FORCED, SPARE, OpenShiftStory
from tests.runs.random_runs.person import ABORT, Person
from tests.runs.random_runs.playing import ByPlaybook
from tests.runs.random_runs.story import Event
from tests.runs.shipped import GROUP
from tests.runs.upgrade_configs import SOURCE
from tests.runs.world import World
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.openshift.kinds import CURRENT, annotations_of
from tests.sandbox.openshift.observer import PERSON
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.openshift.update_service import URL
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played

MISSED = '"window_missed"'
"""A reason with which a run ends that would start too late."""


class OpenShiftStage(ByPlaybook):
    """See `tests.runs.random_runs.playing.Stage`."""

    playbook = PLAYBOOK

    def __init__(self, here: World, story: OpenShiftStory) -> None:
        self.world, self._story, self.target = here, story, story.way.new
        self.openshift = OpenShift(story.described(), story.habits, kubernetes=here.sandbox.kubernetes)
        here.sandbox.apply(shipped_rights(spare_workers=bool(story.machine_sets)))
        if story.never_boots:
            self.openshift.faults.machines_never_boot(f"{story.never_boots}-spare")
        self._alerts = Alertmanager(self.openshift.clock) if story.windows else None
        self._alerts_at = here.calling.serve(self._alerts).url if self._alerts is not None else ""
        self._database = Database(here, self.openshift) if story.database else None
        if self._database is not None and story.seed % 2:
            # Once it is drained, it is away for longer than the machine config operator takes.
            self._database.slow_to_return("opensearch-data-0", 1200.0)
        if story.way.through:
            here.calling.serve(self.openshift.updates, URL.split("/")[2], 443)
        self.observer = OpenShiftObserver(here.sandbox, self.openshift, NAMESPACE, story.way.versions, story.left)
        self.observer.watch_over(story.way.not_for_workers)
        self.observer.watch(self._taken_early, self._hidden)
        self.observer.forced = ForcedDrains(self.openshift, story.options.get(FORCED, ()))
        here.sandbox.apply(_right_to_force() if FORCED in story.options else [])
        self._notices = Notices() if story.requested else None
        self._hook = f"{here.calling.serve(self._notices).url}{HOOK}" if self._notices is not None else ""
        self._requested = self._request() if story.requested else None
        # The playbook settle lets the pools go, as its documentation says.
        self._person = Person({**self._own(), **SYSTEM}, self._let_go, after=(ABORT,))
        self._person.watched_by(self.observer)
        self._happening = HappeningToOpenShift(here, self.openshift, story, self._requested, self._person)
        self.observer.told, self.observer.sends_notices = self._told, story.requested

    def _request(self) -> Requested:
        spare = {"capacityReservation": True} if self._story.options.get("upgrade_extra_workers") else {}
        together = [each.max_unavailable or 1 for each in self._story.pools]
        counts = [each if isinstance(each, int) else len(self.observer.behind(self.target)) for each in together]
        return Requested(self.world, self.openshift, self.target, max(counts), **spare)

    def _own(self) -> dict[str, Any]:
        kubernetes = {"kubeconfig": str(self.world.sandbox.kubeconfig(USER))}
        return {"upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes}

    def _let_go(self) -> list[str]:
        """A sentence for each pool with Kubernetes nodes left that only a run has ever let go, and nothing holds."""
        writes = self.openshift.observer.writes_of("spec.paused")
        by_person = {name for manager, name in writes if manager == PERSON}
        held_once = {name for _manager, name in writes}
        left = {self._pool_of(name) for name in self.observer.behind(self.target) if self._is_wanted_elsewhere(name)}
        found = [
            name for name in sorted(left & held_once - by_person) if not self.openshift.pool(name)["spec"].get("paused")
        ]
        # A killed controller leaves a pool to the machine config operator that it had just let go.
        return [] if self._happening.kills else [f"MachineConfigPool {each} is let go" for each in found]

    def _is_wanted_elsewhere(self, node: str) -> bool:
        """Whether the configuration of a Kubernetes node is not the one of its pool, as between two hops."""
        wanted = self.openshift.pool(self._pool_of(node))["spec"]["configuration"]["name"]
        return bool(annotations_of(self.openshift.node(node))[CURRENT] != wanted)

    def _pool_of(self, node: str) -> str:
        return next(each.name for each in self._story.pools if node in {one.name for one in each.nodes})

    def variables(self) -> dict[str, Any]:
        """See `Stage`."""
        target = {"target_version": self.target}
        options = dict(self._story.options)
        if self._requested is not None:
            target = {"upgrade_request": SOURCE, "upgrade_webhook": self._hook}
            options.pop(SPARE[0], None)
        own = {**target, **self._own()}
        own |= {"upgrade_through": [*self._story.way.through]} if self._story.way.through else {}
        gate = {"upgrade_workload_gate": self._database.gate()} if self._database is not None else {}
        alerts = {"upgrade_alertmanager_url": self._alerts_at} if self._alerts is not None else {}
        return {**own, **gate, **alerts, **options}

    def _times(self) -> int:
        """The times of a start that the request has named until now."""
        return self._requested.times if self._requested is not None else 1

    def _told(self, *, whole: bool) -> list[tuple[str, str]]:
        """The rules that notices and the request have broken, with a sentence; `whole` at the end of an upgrade."""
        kills, found = self._happening.kills, list[tuple[str, str]]()
        if self._notices is not None:
            found += [("notice", each) for each in self._notices.again(kills)]
            found += [("notice", each) for each in self._notices.of_whole(self._times())] if whole else []
        if self._requested is not None:
            found += [("request", each) for each in self._requested.breaches]
        return found

    def _taken_early(self) -> list[str]:
        return self._database.breaches if self._database is not None else []

    def _hidden(self) -> list[str]:
        return sorted(self._alerts.active()) if self._alerts is not None else []

    def of_plan(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `ByPlaybook`."""
        return {**given, **SYSTEM}

    def fingerprint(self) -> Any:
        """See `Stage`."""
        return [(each.name, each.fields) for each in self.openshift.observer.writes]

    def happen(self, event: Event) -> None:
        """See `Stage`."""
        self._happening.happen(event)

    def mend(self) -> None:
        """See `Stage`."""
        self._happening.mend()
        # A Kubernetes node that is back is taken up again within minutes.
        self.openshift.clock.advance(1800)

    def plan(self, given: Mapping[str, Any]) -> Played:
        """See `Stage`."""
        if self._requested is not None:
            self._requested.read_again()
        return super().plan(given)

    def read(self, ended: Played) -> bool:
        """See `Stage`: the undo of a run that a person has made void is not put back by itself."""
        if MISSED in ended.output and self._requested is not None and self._requested.is_there:
            self._requested.wish()
            return True
        return self._person.read(ended)

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Stage`."""
        return {**given}

    def is_done(self) -> bool:
        """See `Stage`."""
        return not self.observer.behind(self.target)

    def is_upgraded(self) -> None:
        """See `Stage`."""
        assert self.is_done(), self.observer.behind(self.target)
        said = list(self._person.judged())
        if self._requested is not None:
            # The answer of the run before may not have reached the UpgradeConfig.
            ended = self.run(self.variables())
            assert ended.code == 0, ended.output[-400:]
            said += self._requested.whole()
        assert not said, "; ".join(said)


def _right_to_force() -> list[Json]:
    """The right to delete and evict pods everywhere, so that no missing right hides a wrong act."""
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    ]
    kind: Json = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": "forces"}}
    role = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "forces"}
    user = {"apiGroup": GROUP, "kind": "User", "name": USER}
    return [
        {**kind, "kind": "ClusterRole", "rules": rules},
        {**kind, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [user]},
    ]
