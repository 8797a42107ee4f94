"""The early look at an upgrade that starts later: of every system it asks the questions of the steps of its run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.runs import chosen
from tests.runs.firing import FOUND, FiringAlerts, Unavailable
from tests.runs.observer.looking import RECORD
from tests.runs.random_runs.playing import START, Stage
from tests.runs.random_runs.systems import SYSTEMS
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS
from tests.sandbox.kubernetes.objects import timestamp
from tests.scenarios.cluster import RESTART_ROLE, bound
from tests.scenarios.playbook import Played

QUIET = {"opensearch": 3, "longhorn": 0, "openshift": 1, "machines": 0}
"""A story of each system that makes single passes, which is played without its events."""
RESTART = "stateful.upgrade.restart"


@dataclass
class Early:
    """An upgrade that starts in two hours."""

    here: World
    stage: Stage
    alerts: FiringAlerts = field(default_factory=FiringAlerts)
    shop: Unavailable = field(default_factory=Unavailable)

    def variables(self, **more: Any) -> dict[str, Any]:
        """Those of a single pass."""
        own = {
            "upgrade_at": timestamp(START + 7200),
            "upgrade_wait": False,
            "upgrade_prometheus_url": self.here.calling.serve(self.alerts).url,
            "upgrade_dependencies": [self.here.calling.serve(self.shop).url],
        }
        return {**self.stage.variables(), **own, **more}

    def findings(self, **more: Any) -> list[str]:
        """The things to fix, as the record has them after a pass."""
        return self.noted(self.stage.run(self.variables(**more)))

    def noted(self, passed: Played) -> list[str]:
        """Those that the record has after this pass."""
        assert passed.code == 0, passed.output
        maps = self.here.sandbox.kubernetes.server.store.each(CONFIG_MAPS)
        records = [json.loads(each["data"][RECORD]) for each in maps if RECORD in (each.get("data") or {})]
        (found,) = [each["start"]["findings"] for each in records]
        return list(found)


@contextmanager
def early(name: str) -> Iterator[Early]:
    """An upgrade of this system."""
    system = SYSTEMS[name]
    story = replace(system.story_of(QUIET[name]), events=(), options={})
    with world(chosen.play, START) as here, system.stage(here, story) as stage:
        yield Early(here, stage)


@pytest.mark.parametrize("name", QUIET)
def test_each_system_asks_for_alerts_and_dependencies_before_its_start(name: str) -> None:
    with early(name) as found:
        said = found.findings()
        assert [FOUND in each for each in said].count(True) == 1, said
        assert ["503" in each for each in said].count(True) == 1, said
        found.alerts.alerts = []
        assert not any(FOUND in each for each in found.findings())


def test_a_restart_asks_before_its_start_too() -> None:
    with early("opensearch") as found:
        given = {name: value for name, value in found.variables().items() if name != "target_version"}
        found.here.sandbox.apply(bound(RESTART_ROLE, given["upgrade_namespace"]))
        said = found.noted(found.here.play(RESTART, given))
        assert [FOUND in each for each in said].count(True) == 1, said
        assert ["503" in each for each in said].count(True) == 1, said


def test_a_step_that_is_skipped_asks_nothing_before_the_start_either() -> None:
    with early("longhorn") as found:
        steps = [{"name": "alerts", "skip": True}]
        said = found.findings(upgrade_steps=steps)
        assert found.alerts.asked == 0
        assert ["503" in each for each in said] == [True]
