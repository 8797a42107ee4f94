"""Upgrades of OpenShift over several minor versions: one run makes each of them, with the gates between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift_target import FAR, FEW, Reached, goes
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import STABLE, history
from tests.sandbox.openshift.description import Described, Graph, Release
from tests.sandbox.openshift.habits import KIND, Habits
from tests.sandbox.openshift.kinds import DESIRED, annotations_of

EVEN = replace(FEW, version="4.18.2", graph=FAR)
TO_EVEN: dict[str, Any] = {"target_version": "4.20.2", "upgrade_through": ["4.19.4"]}


class Chained(Reached):
    """An OpenShift that notes each configuration that a worker is to have."""

    def __init__(self, here: World, described: Described = EVEN, habits: Habits = KIND) -> None:
        super().__init__(here, described, habits)
        self.taken: list[tuple[str, str]] = []
        """The workers with their configurations, in the order in which they were taken."""
        self.openshift.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind != NODES or change.before is None:
            return
        name, desired = change.item["metadata"]["name"], annotations_of(change.item).get(DESIRED, "")
        if name.startswith("worker") and desired != annotations_of(change.before).get(DESIRED):
            self.taken.append((name, desired))

    def has_come(self, *versions: str) -> None:
        """Fails unless it has gone through these versions, the last of which is the present one, each wanted once."""
        found = [version for version, _state in history(self.openshift)][::-1]
        assert found == [self.described.version, *versions]
        assert history(self.openshift)[0] == (versions[-1], "Completed")
        assert self.openshift.observer.breaches == []
        assert self.openshift.observer.leftovers() == []
        assert len(self.openshift.observer.writes_of("spec.desiredUpdate")) == len(versions)
        assert self.paused() == []


def test_workers_pass_over_the_odd_version_between_two_even_ones(here: World) -> None:
    cluster = Chained(here)
    planned = goes(cluster.plan(**TO_EVEN))
    assert "control plane to 4.19.4, then to 4.20.2; workers once, to 4.20.2" in planned.output
    assert "stays: channel stable-4.19, then stable-4.20, desired update" in planned.output
    goes(cluster.upgrade(**TO_EVEN))
    cluster.has_come("4.19.4", "4.20.2")
    assert [name for name, _configuration in cluster.taken] == ["worker-0", "worker-1"]
