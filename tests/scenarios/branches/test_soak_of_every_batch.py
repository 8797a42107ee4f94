"""Every batch proves itself before the next one goes, not the first one alone."""

from __future__ import annotations

from collections.abc import Mapping

from tests.lab.opensearch.layouts import three_combined
from tests.scenarios.branches.test_passes import statistics
from tests.scenarios.cluster import Cluster
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAYBOOK, confirmed, play

FROM, TO = "2.19.6", "3.8.0"
APPROVE = "stateful.upgrade.approve"


def test_the_second_batch_stops_the_upgrade_too(platform: Platform, ansible_environment: Mapping[str, str]) -> None:
    environment = {**ansible_environment, "ANSIBLE_SHOW_CUSTOM_STATS": "true"}
    cluster = Cluster.start(platform, "soak-of-every", three_combined, FROM)
    try:
        cluster.ask("/shop", "PUT", {"settings": {"number_of_replicas": 2}})
        cluster.until_green()
        soak = {
            "upgrade_soak_batches": "every",
            "upgrade_soak_probes": [f"{cluster.url}/shop"],
            "upgrade_approvals": [{"name": "second", "after": 2}],
        }
        given = confirmed({**cluster.variables(TO), **soak}, environment)
        paused = play(PLAYBOOK, given, environment)
        assert statistics(paused)["upgrade_reasons"] == ["approval_missing"], paused.output
        approved = play(APPROVE, {**cluster.variables(TO), "upgrade_approval": "second"}, environment)
        assert approved.code == 0, approved.output

        cluster.ask("/shop", "DELETE")
        stopped = play(PLAYBOOK, given, environment)
        print(stopped.output)
        assert statistics(stopped)["upgrade_reasons"] == ["soak_failed"]
        assert "went last, and has not proven itself" in stopped.output
        assert sum(version == TO for version in cluster.versions().values()) == 2

        cluster.ask("/shop", "PUT", {"settings": {"number_of_replicas": 2}})
        done = play(PLAYBOOK, given, environment)
        assert done.code == 0, done.message
        cluster.is_upgraded(TO)
    finally:
        cluster.remove()
