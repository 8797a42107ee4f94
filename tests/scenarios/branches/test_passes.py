"""An upgrade in passes that never wait: each ends without failure, puts everything back, and the last one is done."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic.budgets import KILLED
from tests.scenarios.cluster import Cluster
from tests.scenarios.interruptions import UpgradeRuns
from tests.scenarios.load import loaded
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, Played, play

FROM, TO = "2.19.6", "3.8.0"
NUMBERS = itertools.count(1)
MOST = 60
"""Passes after which the upgrade should have ended."""


@pytest.fixture
def upgrade_runs(platform: Platform, ansible_environment: Mapping[str, str]) -> Iterator[UpgradeRuns]:
    cluster = Cluster.start(platform, f"passes-{next(NUMBERS)}", three_combined, FROM)
    yield UpgradeRuns.begin(cluster, TO, {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"})
    cluster.remove()


def statistics(played: Played) -> dict[str, Any]:
    """The custom statistics that the run hands to the job that started it."""
    found = re.findall(r"^\s*RUN: (\{.*\})$", played.output, re.M)
    assert found, played.output
    return dict(json.loads(found[-1]))


def left_between_passes(upgrade_runs: UpgradeRuns) -> dict[str, Any]:
    """The changes left behind, without those of pools: a half rolled pool stays OnDelete, so that it does not go on."""
    return {name: what for name, what in upgrade_runs.left_behind().items() if name not in upgrade_runs.before.pools}


def passes(upgrade_runs: UpgradeRuns) -> Iterator[dict[str, Any]]:
    """The statistics of one pass after the other, until the upgrade is done."""
    for number in range(MOST):
        played = upgrade_runs.completed(upgrade_wait=False)
        said = statistics(played)
        print(number, said)
        assert played.code == 0, played.output
        assert left_between_passes(upgrade_runs) == {}
        assert len(upgrade_runs.deleted()) == len(set(upgrade_runs.deleted())), "a pod was deleted twice"
        yield said
        if said["upgrade_state"] == "done":
            return
        assert said["upgrade_state"] == "waiting"
        assert said["upgrade_waiting_for"], played.output
        assert said["upgrade_reasons"], played.output


def test_passes_that_never_wait_upgrade_the_cluster(upgrade_runs: UpgradeRuns, tmp_path: Any) -> None:
    faults, first = upgrade_runs.cluster.platform.faults, upgrade_runs.first_to_go()
    faults.slow_stop(upgrade_runs.cluster.namespace, first, 900.0)
    with loaded(upgrade_runs.cluster, tmp_path, KILLED):
        going = passes(upgrade_runs)
        stopping = (said for said in going if said["upgrade_reasons"] == ["pod_stopping"])
        for _slow in range(2):
            assert f"Pod {first} is stopping." in next(stopping)["upgrade_waiting_for"]
        assert upgrade_runs.deleted() == [first], "the pod that is under way was not followed, or not it alone"
        faults.mend(upgrade_runs.cluster.namespace, first)
        assert "Paused, to 3.8.0" in upgrade_runs.beside("stateful.upgrade.status").output
        *_others, last = going

    assert last.pop("upgrade_record").startswith("stateful-upgrade-")
    assert last == {"upgrade_state": "done", "upgrade_waiting_for": [], "upgrade_reasons": [], "upgrade_cause": ""}
    assert set(upgrade_runs.cluster.versions().values()) == {TO}
    assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods)
    assert upgrade_runs.left_behind() == {}


def test_a_refusal_is_told_from_waiting(upgrade_runs: UpgradeRuns) -> None:
    # Only work that is left counts: no throw-away pods that are still ending, and no wait for a busy manager.
    quick = {"upgrade_skip_checks": ["images", "pending_tasks"]}
    variables = {**upgrade_runs.variables, **quick, "upgrade_wait": False, "upgrade_confirm": "p00000000000"}
    refused = play(PLAYBOOK, variables, upgrade_runs.environment)
    assert refused.code != 0
    said = statistics(refused)
    assert "names the plan p00000000000, and the plan is p" in said.pop("upgrade_cause")
    assert said == {
        "upgrade_state": "refused",
        "upgrade_waiting_for": [],
        "upgrade_reasons": ["not_confirmed"],
    }
    assert upgrade_runs.left_behind() == {}
