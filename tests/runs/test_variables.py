"""Variables that no other scenario gives: each changes the plan or the run as its description says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.opensearch.layouts import seven_members
from tests.runs.world import CalledCluster, World, world
from tests.scenarios.playbook import PLAN, PLAYBOOK, without_images

FROM, TO = "2.19.6", "3.8.0"
REASONS = re.compile(r'"upgrade_reasons": \[\s*([^]]*?)\s*\]')


@pytest.fixture(scope="module")
def here() -> Iterator[World]:
    """One world for all tests of this module."""
    with world() as made:
        yield made


@pytest.fixture(scope="module")
def seven(here: World) -> CalledCluster:
    """A cluster that is only planned for."""
    return here.cluster(FROM, seven_members)


def plan(here: World, cluster: CalledCluster, **variables: Any) -> str:
    """The output of a plan, whatever its end."""
    return here.play(PLAN, without_images(cluster.variables(TO, **variables))).output


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"upgrade_add_checks": ["disk"], "upgrade_skip_checks": ["disk"]}, "check_skipped_and_added"),
        ({"upgrade_container": "sidecar"}, "container_unknown"),
        ({"upgrade_order": ["nope"]}, "order_of_unknown_pool"),
        ({"upgrade_snapshot_age": "24h"}, "no_snapshot"),
    ],
)
def test_a_plan_is_refused_for_the_variable(
    here: World, seven: CalledCluster, variables: dict[str, Any], code: str
) -> None:
    output = plan(here, seven, **variables)
    assert REASONS.findall(output) == [f'"{code}"'], output
    assert '"upgrade_state": "refused"' in output


@pytest.mark.parametrize(("attribute", "batches"), [("zone", 3), ("rack", 7)])
def test_zones_are_those_of_the_attribute(here: World, seven: CalledCluster, attribute: str, batches: int) -> None:
    output = plan(here, seven, upgrade_batching="zones", upgrade_zone_attribute=attribute)
    assert f"7 members, {batches} batches" in output


def test_the_members_of_a_kubernetes_node_share_a_batch(here: World, seven: CalledCluster) -> None:
    output = plan(here, seven, upgrade_batching="node")
    assert "7 members, 3 batches" in output
    assert len({*re.findall(r"\d members on Kubernetes node [\w-]+", output)}) == 3


def test_own_tasks_come_before_the_first_batch(here: World, tmp_path: Path) -> None:
    cluster, note, tasks = here.cluster(FROM), tmp_path / "noted", tmp_path / "before.yml"
    tasks.write_text(f"- ansible.builtin.copy: {{dest: {note}, content: '{{{{ upgrade_moment }}}}'}}\n")
    given = here.confirmed(cluster.variables(TO, upgrade_tasks_before=[str(tasks)], upgrade_order=["*"]))
    done = here.play(PLAYBOOK, given)
    assert done.code == 0, done.output
    assert note.read_text() == "before"


def test_only_the_upgrade_of_the_named_record_is_paused(here: World) -> None:
    cluster = here.cluster(FROM)
    later = cluster.variables(TO, upgrade_at="2099-01-01T00:00:00Z", upgrade_wait=False)
    assert here.play(PLAYBOOK, here.confirmed(later)).code == 0
    paused = here.play("stateful.upgrade.pause", cluster.variables(TO, upgrade_record_name="another"))
    assert paused.code != 0
    assert "another" in paused.message
