"""A changed pod template of the same version: it is rolled by the same plan and gates, each pod once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.opensearch.layouts import three_combined
from tests.lab.traffic.budgets import ROLLING
from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.fault_proxy import Trap
from tests.scenarios.interruptions import ACTS, END, KILLS, UpgradeRuns, conclude, concluded, upgraded_once
from tests.scenarios.load import loaded
from tests.scenarios.platforms import Platform
from tests.scenarios.playbook import PLAN, STATUS, play, upgrade
from tests.scenarios.preconditions import POOL

pytestmark = pytest.mark.real_servers

VERSION = "2.19.6"
RESTARTED = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-11-23T07:00:00Z"}}}
"""The part of the template that `kubectl rollout restart` writes."""
WAITS: Mapping[str, Any] = {"type": "OnDelete", "rollingUpdate": None}
HELD: Mapping[str, Any] = {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}
NUMBERS = itertools.count(1)


@pytest.fixture
def cluster(platform: Platform) -> Iterator[Cluster]:
    """Three members whose pool waits for a deletion."""
    made = Cluster.start(platform, f"template-{next(NUMBERS)}", three_combined, VERSION)
    change(made, updateStrategy=WAITS)
    yield made
    made.remove()


def change(cluster: Cluster, **spec: Any) -> None:
    """Change the pool as a person does, and wait until its controller has taken that up."""
    with cluster.platform.client() as api:
        apps: Any = client.AppsV1Api(api)
        apps.patch_namespaced_stateful_set(POOL, cluster.namespace, {"spec": spec})

        def observed() -> bool:
            pool = apps.read_namespaced_stateful_set(POOL, cluster.namespace)
            return bool(pool.status.observed_generation == pool.metadata.generation)

        until("the change to be taken up", observed, END)


def annotated(cluster: Cluster) -> dict[str, str]:
    """The time of the restart for which each pod was made."""
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        pods = core.list_namespaced_pod(cluster.namespace).items
    return {
        one.metadata.name: (one.metadata.annotations or {}).get("kubectl.kubernetes.io/restartedAt", "") for one in pods
    }


def images(cluster: Cluster) -> set[str]:
    with cluster.platform.client() as api:
        core: Any = client.CoreV1Api(api)
        return {
            container.image
            for pod in core.list_namespaced_pod(cluster.namespace).items
            for container in pod.spec.containers
        }


def test_each_pod_is_replaced_once_and_the_pool_is_left_alone(
    cluster: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]
) -> None:
    with loaded(cluster, tmp_path, ROLLING):
        change(cluster, template=RESTARTED)
        upgrade_runs = UpgradeRuns.begin(cluster, VERSION, ansible_environment)
        played = upgrade_runs.completed()

    concluded(upgrade_runs, played, VERSION)
    assert f"{VERSION} (template changed) → {VERSION}   3 members, 3 batches" in played.output
    assert "Plan: 3 to replace (template changed), 0 already on 2.19.6." in played.output
    assert " · 3 replaced (template changed) · everything put back" in played.output
    assert "image of 1 pool" not in played.output
    # Each gate was asked, although the batch runs the target already.
    assert "Someone else has upgraded" not in played.output
    assert set(annotated(cluster).values()) == {"2026-11-23T07:00:00Z"}
    assert [
        act
        for proxy in upgrade_runs.proxies
        for act in proxy.acts
        if "/statefulsets/" in act.path and act.method == "PATCH"
    ] == []
    assert upgrade_runs.before.pools == cluster.fingerprint().pools
    told = play(STATUS, cluster.variables(VERSION), ansible_environment).output
    assert f"  deployed {VERSION}\n" in told
    assert told.count(", template changed") == 3

    again = upgrade_runs.completed()
    assert again.code == 0, again.message
    assert f"Nothing to do: every member runs {VERSION}." in again.output
    upgraded_once(upgrade_runs, VERSION)


@pytest.mark.soak
def test_killed_at_its_acts_each_pod_is_replaced_once(cluster: Cluster, ansible_environment: Mapping[str, str]) -> None:
    change(cluster, template=RESTARTED)
    upgrade_runs = UpgradeRuns.begin(cluster, VERSION, ansible_environment)
    for act, after, name in zip(
        ("restrict", "delete", "delete", "restore", "release"), (True, False, True, True, False), KILLS, strict=True
    ):
        assert upgrade_runs.killed_at(act, after=after, kill=KILLS[name]), f"{act}\n{upgrade_runs.outputs[-1]}"
    # The same consent was good for all of these runs.
    played = upgrade_runs.completed()
    concluded(upgrade_runs, played, VERSION)
    assert set(annotated(cluster).values()) == {"2026-11-23T07:00:00Z"}


def test_a_narrowed_run_leaves_the_others_on_the_older_template(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    change(cluster, template=RESTARTED)
    before = cluster.fingerprint()
    chosen = f"{POOL}-1"

    narrowed = upgrade(cluster.variables(VERSION, upgrade_members=[chosen]), ansible_environment)
    again = play(PLAN, cluster.variables(VERSION, upgrade_members=[chosen]), ansible_environment)
    rest = play(PLAN, cluster.variables(VERSION), ansible_environment)

    assert narrowed.code == 0, narrowed.message
    assert "Plan: 1 to replace (template changed), 0 already on 2.19.6, 2 left out." in narrowed.output
    after = cluster.fingerprint()
    assert {name for name, uid in after.pods.items() if before.pods[name] != uid} == {chosen}
    assert f"Left on an older template: {POOL}-0, {POOL}-2." in again.output
    assert "Plan: 2 to replace (template changed), 1 already on 2.19.6." in rest.output


@pytest.mark.parametrize("strategy", [pytest.param("OnDelete", marks=pytest.mark.soak), "RollingUpdate"])
def test_a_pool_that_a_partition_holds_gets_it_back(
    strategy: str, cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    change(cluster, updateStrategy=HELD)
    change(cluster, template=RESTARTED)
    upgrade_runs = UpgradeRuns.begin(cluster, VERSION, ansible_environment, upgrade_strategy=strategy)
    # The undo is there, and no member has gone.
    assert upgrade_runs.killed_at("restrict", after=False, kill=KILLS["SIGKILL to the controller"])

    played = upgrade_runs.completed()

    print(played.output)
    assert played.code == 0, played.message
    assert set(annotated(cluster).values()) == {"2026-11-23T07:00:00Z"}
    assert upgrade_runs.left_behind() == {}
    if strategy == "OnDelete":
        assert upgrade_runs.deleted() == sorted(upgrade_runs.before.pods)


@pytest.mark.soak
def test_an_image_that_was_built_anew_is_rolled_and_stays(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    container = {"name": "opensearch", "image": f"mirror/opensearch:{VERSION}"}
    change(cluster, template={"spec": {"containers": [container]}})
    upgrade_runs = UpgradeRuns.begin(cluster, VERSION, ansible_environment)
    concluded(upgrade_runs, upgrade_runs.completed(), VERSION)
    assert images(cluster) == {f"mirror/opensearch:{VERSION}"}

    # Another one, given to the run, which brings it.
    given = upgrade(cluster.variables(VERSION, upgrade_image=f"second/opensearch:{VERSION}"), ansible_environment)
    assert given.code == 0, given.message
    assert "stays: image of 1 pool" in given.output
    assert "Plan: 3 to replace (template changed), 0 already on 2.19.6." in given.output
    assert images(cluster) == {f"second/opensearch:{VERSION}"}
    again = upgrade(cluster.variables(VERSION), ansible_environment)
    assert f"Nothing to do: every member runs {VERSION}." in again.output


@pytest.mark.soak
def test_a_template_that_changes_during_the_run_takes_consent_of_its_own(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    change(cluster, template=RESTARTED)
    upgrade_runs = UpgradeRuns.begin(cluster, VERSION, ansible_environment)
    method, path, holds = ACTS["restrict"]
    seen: list[bool] = []

    def second(body: Any) -> bool:
        seen.extend([True] if holds(body) else [])
        return len(seen) == 2

    later = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "later"}}}
    with upgrade_runs.running() as (proxy, run):
        proxy.trap = Trap(method, path, after=True, spring=lambda: change(cluster, template=later), holds=second)
        played = run.wait()
    print(played.output)
    first = next(act.path.rpartition("/")[2] for act in proxy.acts if act.method == "DELETE" and "/pods/" in act.path)
    assert annotated(cluster) == {
        name: "later" if name != first else "2026-11-23T07:00:00Z" for name in upgrade_runs.before.pods
    }

    refused = upgrade_runs.completed()
    assert "so nothing was done" in refused.message

    agreed = upgrade(cluster.variables(VERSION), ansible_environment)
    assert agreed.code == 0, agreed.message
    assert "Plan: 1 to replace (template changed), 2 already on 2.19.6." in agreed.output
    assert set(annotated(cluster).values()) == {"later"}


@pytest.mark.soak
def test_with_a_new_version_a_changed_template_restarts_each_member_once(
    cluster: Cluster, ansible_environment: Mapping[str, str]
) -> None:
    change(cluster, template=RESTARTED)
    upgrade_runs = UpgradeRuns.begin(cluster, "3.8.0", ansible_environment)
    conclude(upgrade_runs)
