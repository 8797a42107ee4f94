"""An OpenShift on which a story is played."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.runs.observer.openshift import OpenShiftObserver
from tests.runs.openshift import NAMESPACE, PLAYBOOK, SYSTEM, shipped_rights
from tests.runs.random_runs.openshift.database import Database
from tests.runs.random_runs.openshift.events import HappeningToOpenShift
from tests.runs.random_runs.openshift.story import OpenShiftStory
from tests.runs.random_runs.playing import ByPlaybook
from tests.runs.random_runs.story import Event
from tests.runs.world import World
from tests.sandbox.monitoring.alertmanager import Alertmanager
from tests.sandbox.openshift.openshift import OpenShift
from tests.sandbox.openshift.update_service import URL
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played


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
        self._happening = HappeningToOpenShift(here, self.openshift, story)

    def variables(self) -> dict[str, Any]:
        """See `Stage`."""
        kubernetes = {"kubeconfig": str(self.world.sandbox.kubeconfig(USER))}
        own = {"target_version": self.target, "upgrade_namespace": NAMESPACE, "upgrade_kubernetes": kubernetes}
        own |= {"upgrade_through": [*self._story.way.through]} if self._story.way.through else {}
        gate = {"upgrade_workload_gate": self._database.gate()} if self._database is not None else {}
        alerts = {"upgrade_alertmanager_url": self._alerts_at} if self._alerts is not None else {}
        return {**own, **gate, **alerts, **self._story.options}

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

    def read(self, ended: Played) -> bool:
        """See `Stage`: the undo of a run that a person has made void is not put back by itself."""
        return False

    def mended(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """See `Stage`."""
        return {**given}

    def is_done(self) -> bool:
        """See `Stage`."""
        return not self.observer.behind(self.target)

    def is_upgraded(self) -> None:
        """See `Stage`."""
        assert self.is_done(), self.observer.behind(self.target)
