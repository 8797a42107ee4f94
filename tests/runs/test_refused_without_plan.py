"""An upgrade that is refused before it has a plan: its codes are metrics, and its pools have an event each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.test_openshift import codes
from tests.runs.test_openshift_validation import Figures
from tests.runs.world import CalledCluster, World, world
from tests.scenarios.playbook import PLAN, PLAYBOOK
from tests.scenarios.preconditions import events_of

FROM, TO = "2.19.6", "3.8.0"
CASES = [
    ("3.8", "version_unreadable", "Give a released version"),
    ("3.8.0-rc1", "pre_release", "3.8.0-rc1"),
]


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module, each with a cluster of its own."""
    with world() as made:
        yield made


class Measured(Figures):
    """A cluster whose runs write metrics."""

    def __init__(self, here: World, folder: Path) -> None:
        self.cluster: CalledCluster = here.cluster(FROM)
        self.folder = folder

    def variables(self, version: str, **more: Any) -> dict[str, Any]:
        """Those of an upgrade."""
        return {**self.cluster.variables(version), "upgrade_metrics_path": str(self.folder), **more}

    def events_of_pools(self) -> list[str]:
        """The messages of the refusals among the events of the pool."""
        events = events_of(self.cluster, f"{self.cluster.name}-members")
        return [event.message for event in events if event.reason == "UpgradeRefused"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("version", "code", "said"), CASES)
def test_a_refusal_without_a_plan_is_a_metric_and_an_event(
    here: World, tmp_path: Path, version: str, code: str, said: str, named: bool
) -> None:
    measured = Measured(here, tmp_path)
    own = {"upgrade_pools": [f"{measured.cluster.name}-members"]} if named else {}
    refused = here.play(PLAYBOOK, measured.variables(version, **own))
    assert codes(refused) == [code], refused.output
    assert measured.figures("reason", "code") == {code}
    (event,) = measured.events_of_pools()
    assert said in event
    assert here.play(PLAYBOOK, here.confirmed(measured.variables(TO))).code == 0
    assert measured.figures("reason", "code") == set()
    figures = measured.figures("phase", "phase")
    assert codes(here.play(PLAYBOOK, measured.variables(version))) == [code]
    assert (measured.figures("reason", "code"), measured.figures("phase", "phase")) == ({code}, figures)


def test_a_plan_that_is_only_shown_announces_nothing(here: World, tmp_path: Path) -> None:
    measured = Measured(here, tmp_path)
    assert codes(here.play(PLAN, measured.variables("3.8.0-rc1"))) == ["pre_release"]
    assert codes(here.play(PLAYBOOK, measured.variables("3.8.0-rc1"), "--check")) == ["pre_release"]
    assert ([*tmp_path.iterdir()], measured.events_of_pools()) == ([], [])
