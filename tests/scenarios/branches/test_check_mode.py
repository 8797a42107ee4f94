"""`--check --diff` on a real cluster: the plan and its differences are shown, and nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from tests.scenarios.cluster import Cluster
from tests.scenarios.playbook import PLAYBOOK, Played, play
from tests.scenarios.preconditions import POOL, index, setting

FROM, TO = "2.19.6", "3.8.0"


def expected_order(cluster: Cluster) -> list[str]:
    """Highest ordinal first, the elected manager last: read from the cluster by a request of its own."""
    elected = cluster.elected()
    return sorted((f"{POOL}-{ordinal}" for ordinal in range(3)), key=lambda name: (name != elected, name), reverse=True)


def planned(played: Played) -> list[str]:
    """The members of the plan's lines, in order."""
    return re.findall(r"^ +\d+   (\S+)   data with manager", played.output, re.MULTILINE)


def digest(played: Played) -> str:
    """The digest of the plan."""
    (found,) = re.findall(r"^Plan (p[0-9a-f]{11})   ", played.output, re.MULTILINE)
    return str(found)


@pytest.mark.own_process
def test_the_plan_is_shown_and_nothing_is_changed(standing: Cluster, ansible_environment: Mapping[str, str]) -> None:
    with index(standing, "logs", shards=2, replicas=1), setting(standing, "indices.recovery.max_bytes_per_sec", "77mb"):
        before = standing.fingerprint()
        played = play(PLAYBOOK, standing.variables(TO), ansible_environment, "--check", "--diff")
        again = play(PLAYBOOK, standing.variables(TO), ansible_environment, "--check", "--diff")

        print(played.output)
        assert played.code == 0
        order = expected_order(standing)
        assert planned(played) == order
        assert [host.partition(".")[2] for host in played.changed if host.startswith("batch-")] == order
        assert f"   {FROM} → {TO}   3 members, 3 batches, about " in played.output
        assert "   every shard of the batch keeps a started copy elsewhere (" in played.output
        assert f'-        "opensearch": "opensearch:{FROM}"\n+        "opensearch": "opensearch:{TO}"' in played.output
        assert '-        "type": "RollingUpdate"\n+        "type": "OnDelete"' in played.output
        assert '+    "persistent cluster.routing.allocation.enable": "primaries"' in played.output
        assert f"Note: It is not proven that image opensearch:{TO} can be pulled" in played.output
        assert "Checked only: nothing was changed." in played.output
        assert played.changed["localhost"] == 0
        assert digest(again) == digest(played)
        assert standing.fingerprint() == before


def test_a_narrow_run_plans_only_what_it_was_narrowed_to(
    standing: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    before = standing.fingerprint()
    variables = standing.variables(TO, upgrade_members=[f"{POOL}-1"])

    played = play(PLAYBOOK, variables, ansible_environment, "--check")

    assert played.code == 0, played.message
    assert planned(played) == [f"{POOL}-1"]
    assert f"   {FROM} → {TO}   1 of 3 members, 1 batch, " in played.output
    assert list(played.changed) == [f"batch-01.{POOL}-1", "localhost"]
    assert standing.fingerprint() == before


@pytest.mark.parametrize("arguments", [("--check", "--diff"), ()], ids=["check", "run"])
def test_nothing_is_to_be_done_where_every_member_is_there(
    arguments: tuple[str, ...], standing: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    before = standing.fingerprint()

    played = play(PLAYBOOK, standing.variables(FROM), ansible_environment, *arguments)

    assert played.code == 0, played.message
    assert f"Nothing to do: every member runs {FROM}." in played.output
    assert played.changed == {"localhost": 0}
    assert standing.fingerprint() == before
