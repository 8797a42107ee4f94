"""Events around an upgrade that is under way: indices are made, machines are lost, images are missing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import seven_members, three_combined
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.fault_proxy import Trap
from tests.scenarios.interruptions import ACTS, UpgradeRuns
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import STATUS, play, upgrade

pytestmark = pytest.mark.real_servers

FROM, TO = "2.19.6", "3.8.0"
PATIENCE = 120.0
NUMBERS = itertools.count(1)


@pytest.fixture
def upgrade_runs(platform: Platform, ansible_environment: Mapping[str, str]) -> Iterator[UpgradeRuns]:
    cluster = Cluster.start(platform, f"meanwhile-{next(NUMBERS)}", three_combined, FROM)
    yield UpgradeRuns.begin(cluster, TO, ansible_environment)
    cluster.remove()


def test_an_index_made_between_the_restriction_and_the_deletion_keeps_its_member_up(upgrade_runs: UpgradeRuns) -> None:
    cluster = upgrade_runs.cluster
    method, path, holds = ACTS["restrict"]
    shape = {"settings": {"number_of_shards": 3, "number_of_replicas": 1}}

    def make() -> None:
        # Its replicas are not allowed anywhere, so each member holds a last copy.
        cluster.ask("/made-meanwhile?wait_for_active_shards=1", "PUT", shape)

    with upgrade_runs.running() as (proxy, run):
        proxy.trap = Trap(method, path, after=True, spring=make, holds=holds)
        played = run.wait()

    print(played.output)
    assert played.code == 0, played.message
    assert proxy.trap.sprung
    made = proxy.made({"restrict": ACTS["restrict"]})["restrict"]
    assert made > len(upgrade_runs.before.pods), (
        "the restriction was put back, and made again once the copies were there"
    )
    assert set(cluster.versions().values()) == {TO}
    assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods)
    assert upgrade_runs.left_behind() == {}
    assert cluster.health()["status"] == "green"


def test_of_a_batch_that_cannot_go_together_any_more_the_part_that_may_goes_first(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(platform, "split", seven_members, FROM)
    data = sorted(name for name in cluster.fingerprint().pods if "-data-" in name)
    method, path, holds = ACTS["flush"]

    def make() -> None:
        # Whichever two data members were to go together, they hold both copies of one of these.
        for number, pair in enumerate(itertools.combinations(data, 2)):
            index = {"number_of_shards": 1, "number_of_replicas": 1, "routing.allocation.include._name": ",".join(pair)}
            cluster.ask(f"/pair-{number}?wait_for_active_shards=2", "PUT", {"settings": {"index": index}})

    try:
        # With a copy on each of the three data members, any two of them can go at once.
        cluster.ask("/held?wait_for_active_shards=3", "PUT", {"settings": {"index": {"number_of_replicas": 2}}})
        pool = ["opensearch-data"]
        upgrade_runs = UpgradeRuns.begin(
            cluster, TO, ansible_environment, upgrade_batching="disjoint", upgrade_pools=pool
        )
        with upgrade_runs.running() as (proxy, run):
            proxy.trap = Trap(method, path, after=True, spring=make, holds=holds)
            played = run.wait()
        print(played.output)
        assert proxy.trap.sprung
        assert played.code == 0, played.message
        assert "cannot go with the others of the batch, which go first" in played.output
        assert cluster.versions() == {name: TO if name in data else FROM for name in upgrade_runs.before.pods}
        assert upgrade_runs.deleted() == data
        assert upgrade_runs.left_behind() == {}
    finally:
        cluster.remove()


def test_a_kubernetes_node_is_lost_and_comes_back(upgrade_runs: UpgradeRuns) -> None:
    cluster = upgrade_runs.cluster
    method, path, holds = ACTS["restore"]
    lost: list[str] = []

    def lose() -> None:
        # Of a member that has not gone yet, while the first one has just come back.
        deleted = {act.path.rpartition("/")[2] for act in proxy.acts if "/pods/" in act.path}
        lost.append(
            kubernetes_node_of(cluster, next(name for name in sorted(upgrade_runs.before.pods) if name not in deleted))
        )
        cluster.platform.faults.node_dead(lost[0])

    with upgrade_runs.running() as (proxy, run):
        proxy.trap = Trap(method, path, after=True, spring=lose, holds=holds)
        try:
            until("the loss", lambda: lost, PATIENCE)
            until("the run to say what it waits for", lambda: names_the_loss(said(upgrade_runs), lost[0]), PATIENCE)
        finally:
            for node in lost:
                cluster.platform.faults.mend_node(node)
        played = run.wait()

    print(played.output)
    assert played.code == 0, played.message
    assert set(cluster.versions().values()) == {TO}
    assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods)
    assert upgrade_runs.left_behind() == {}


def names_the_loss(output: str, kubernetes_node: str) -> bool:
    """Whether its member is reported as missing, or the machine as lost if the member was taken down next anyway."""
    return "Members are missing from the cluster: " in output or f"{kubernetes_node} was lost at" in output


def said(upgrade_runs: UpgradeRuns) -> str:
    """The output of the status playbook about the run."""
    return upgrade_runs.beside("stateful.upgrade.status").output


def kubernetes_node_of(cluster: Cluster, pod: str) -> str:
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        return str(core.read_namespaced_pod(pod, cluster.namespace).spec.node_name)


@pytest.mark.soak
def test_an_image_that_is_missing_on_the_second_member_is_cured_by_the_right_one(
    platform: Platform, ansible_environment: Mapping[str, str]
) -> None:
    cluster = Cluster.start(platform, "image-missing", three_combined, FROM)
    try:
        first, second, third = sorted(cluster.fingerprint().pods, reverse=True)
        begun = upgrade(cluster.variables(TO, upgrade_members=[first]), ansible_environment)
        assert begun.code == 0, begun.message
        before = cluster.fingerprint()
        missing: dict[str, Any] = {"upgrade_image": f"opensearch:{TO}-missing", "upgrade_skip_checks": ["images"]}
        missing["upgrade_allow_left_behind"] = True
        stopped = upgrade(cluster.variables(TO, upgrade_members=[second], **missing), ansible_environment)
        print(stopped.output)
        assert stopped.code != 0
        assert f"opensearch:{TO}-missing" in stopped.message
        assert cluster.fingerprint().settings == before.settings
        assert cluster.fingerprint().pods[third] == before.pods[third]
        told = play(STATUS, cluster.variables(TO), ansible_environment).output
        assert f"deployed {FROM}, on the way to {TO}" in told
        assert f"upgrading, 2 left ({third}, {second})" in told

        cured = upgrade(cluster.variables(TO), ansible_environment)
        print(cured.output)
        assert cured.code == 0, cured.message
        assert set(cluster.versions().values()) == {TO}
        assert cluster.fingerprint().pods[first] == before.pods[first]
        told = play(STATUS, cluster.variables(TO), ansible_environment).output
        assert f"  deployed {TO}\n" in told, told
        assert ": upgraded" in told
    finally:
        cluster.remove()
