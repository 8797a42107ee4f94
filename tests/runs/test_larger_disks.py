"""Larger volume claims as the fix of full disks: what only the watermarks keep away is judged as if disks had grown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.test_volumes import Grown
from tests.runs.world import world
from tests.sandbox.opensearch.cluster import Cluster
from tests.sandbox.opensearch.model import Durations
from tests.scenarios.playbook import PLAN, PLAYBOOK, digest_in, without_images

TO = "3.8.0"
GIBI = 1024**3
THRESHOLD = "cluster.routing.allocation.disk.threshold_enabled"


def servers_of(grown: Grown) -> Cluster:
    """The members' own cluster."""
    (servers,) = grown.here.sandbox.members.clusters_in(grown.namespace)
    return servers


def set_disks(grown: Grown, total: int, available: int) -> None:
    """Give the disk of each member this size, with so much free, and wait until the cluster has noticed."""
    resize_disks(grown, total, available)
    grown.here.later(Durations().disks)


def resize_disks(grown: Grown, total: int, available: int) -> None:
    """Give the disk of each member this size, with so much free."""
    for name in servers_of(grown).members:
        servers_of(grown).resize(name, available, total)


def grow_with_claims(grown: Grown) -> None:
    """Grow the disks once all claims have grown."""
    if set(grown.claims().values()) == {("4Gi", "4Gi")}:
        resize_disks(grown, 4 * GIBI, 3 * GIBI)
    else:
        grown.here.calling.clock.later(1.0, lambda: grow_with_claims(grown))


@pytest.fixture
def grown() -> Iterator[Grown]:
    """A cluster of three members with a claim each, which heeds its disks."""
    with world() as here:
        here.storage_class(parameters={"online": "yes"})
        found = Grown(here)
        found.cluster.ask("/_cluster/settings", "PUT", {"persistent": {THRESHOLD: True}})
        yield found


@pytest.fixture
def stopping(tmp_path: Path) -> list[dict[str, str]]:
    """A step of the user after that of the volumes, which fails."""
    file = tmp_path / "stops.yml"
    file.write_text("---\n- name: Stop\n  ansible.builtin.fail:\n    msg: It stops here.\n", encoding="utf-8")
    return [{"name": "stops", "after_step": "volumes", "tasks": str(file)}]


def test_a_watermark_is_judged_as_if_the_disk_had_grown_and_then_for_real(
    grown: Grown, stopping: list[dict[str, str]]
) -> None:
    here, cluster = grown.here, grown.cluster
    set_disks(grown, GIBI, GIBI // 20)
    refused = here.play(PLAN, cluster.variables(TO))
    assert refused.code != 0
    assert "the run makes volume claims larger" in refused.message
    given = here.confirmed(grown.variables("4Gi", upgrade_steps=stopping))

    # The disks of the members do not follow the claims here.
    full = here.play(PLAYBOOK, given)
    assert full.code != 0
    assert "are above" in full.output
    assert set(grown.claims().values()) == {("4Gi", "4Gi")}
    set_disks(grown, 4 * GIBI, 3 * GIBI + GIBI // 20)
    done = here.play(PLAYBOOK, given)
    assert "It stops here." in done.output
    assert grown.set_["metadata"]["uid"] != grown.before
    grown.is_whole("4Gi")


def test_replicas_that_full_disks_keep_away_get_a_place_before_the_first_batch(
    grown: Grown, stopping: list[dict[str, str]]
) -> None:
    here, cluster = grown.here, grown.cluster
    set_disks(grown, GIBI, GIBI // 8)
    cluster.ask("/waits", "PUT", {"settings": {"number_of_shards": 1, "number_of_replicas": 1}})
    refused = here.play(PLAN, cluster.variables(TO))
    assert refused.code != 0
    assert "disk_threshold on 3" in refused.message
    grow_with_claims(grown)
    planned = here.play(PLAN, without_images(grown.variables("4Gi")))
    assert "waits[0] fits on no member until disks are larger" in planned.output
    given = {**grown.variables("4Gi", upgrade_steps=stopping), "upgrade_confirm": digest_in(planned)}
    done = here.play(PLAYBOOK, given)
    assert "It stops here." in done.output
    assert "not allocated replicas to the members with larger disks yet: waits[0]" in done.output
    assert cluster.health()["status"] == "green"
