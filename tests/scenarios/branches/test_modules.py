"""Each module on a real cluster: check mode changes nothing, the first run does, the second has nothing to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from tests.lab.waiting import until
from tests.scenarios.cluster import Cluster
from tests.scenarios.preconditions import POOL, index
from tests.scenarios.tasks import Result, Step, Tasks, step

FROM, TO = "2.19.6", "3.8.0"
IMAGE = f"opensearch:{FROM}"
NEW_IMAGE = f"opensearch:{TO}"
ENABLE = "cluster.routing.allocation.enable"
MEMBERS = [f"{POOL}-{ordinal}" for ordinal in range(3)]
LAST = MEMBERS[-1]


@pytest.fixture
def tasks(standing: Cluster, tmp_path: Path, ansible_environment: Mapping[str, str]) -> Tasks:
    """Plays tasks against the standing cluster."""
    return Tasks(standing, tmp_path, ansible_environment)


def codes(result: Result) -> list[str]:
    """The codes of a verdict's reasons; a manager that is busy on a slow machine is none of the test's."""
    return [reason["code"] for reason in result["verdict"]["reasons"] if reason["code"] != "tasks_pending"]


def deletions(result: Result) -> list[dict[str, Any]]:
    """The deletions among what was done: where the member is the elected manager, it hands over first."""
    return [action for action in result["actions"] if action["action"] == "delete_pod"]


def settings(cluster: Cluster) -> dict[str, Any]:
    """The explicit settings of the cluster, by scope."""
    found: dict[str, Any] = json.loads(cluster.ask("/_cluster/settings?flat_settings=true"))
    return found


def observed(cluster: Cluster) -> bool:
    """Whether the StatefulSet controller has taken up the latest change of the pool."""
    with cluster.platform.client() as api:
        pool: Any = client.AppsV1Api(api).read_namespaced_stateful_set(POOL, cluster.namespace)
    return bool(pool.status.observed_generation == pool.metadata.generation)


# pool_order


def test_pool_order(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    options: dict[str, Any] = {"namespace": standing.namespace, "target_version": TO}
    first, second, checked = tasks.play(
        step("pool_order", **options), step("pool_order", **options), step("pool_order", check=True, **options)
    )
    assert not first["changed"]
    assert first["before"] == dict.fromkeys(MEMBERS, FROM)
    assert first["diff"]["after"] == dict.fromkeys(MEMBERS, TO)
    assert first["broken"] == []
    assert [pool["target_image"] for pool in first["pools"]] == [NEW_IMAGE]
    assert sorted(name for batch in first["batches"] for name in batch["members"]) == MEMBERS
    assert first == second == checked
    assert standing.fingerprint() == before


# cluster_health_gate


def test_cluster_health_gate_passes_at_every_moment(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    following: dict[str, dict[str, Any]] = {
        "begin the first batch": {"moment": "before_upgrade", "target_version": TO},
        "restrict allocation and replace the batch": {"moment": "before_batch", "batch": [LAST]},
        "take the next batch": {"moment": "after_batch", "batch": [LAST], "target_version": FROM},
        "nothing": {"moment": "after_upgrade", "target_version": FROM},
    }
    gates = [{"expected": MEMBERS, **options} for options in following.values()]
    with index(standing, "logs", shards=2, replicas=1):
        results = tasks.play(*(Step("cluster_health_gate", options) for options in gates))
    assert [result["next"] for result in results] == list(following)
    for result in results:
        assert (result["changed"], result["failed"]) == (False, False)
        assert result["verdict"]["state"] == "passed"
        assert set(codes(result)) <= {"no_snapshot"}
        assert result["before"]["status"] == "green"
        assert result["before"]["members"] == dict.fromkeys(MEMBERS, FROM)
        assert result["before"]["elected_manager"] in MEMBERS
        assert result["before"]["shards"] == {"started": 4, "initializing": 0, "relocating": 0, "unassigned": 0}
    assert standing.fingerprint() == before


def test_cluster_health_gate_says_what_it_waits_for_and_what_it_refuses(tasks: Tasks) -> None:
    missing: dict[str, Any] = {"moment": "before_batch", "expected": [*MEMBERS, "ghost"], "batch": [LAST]}
    waits, gives_up, refuses = tasks.play(
        step("cluster_health_gate", **missing, wait=False),
        step("cluster_health_gate", **missing, wait_timeout=1, wait_sleep=0.2),
        step("cluster_health_gate", moment="after_upgrade", expected=MEMBERS, target_version=TO),
    )
    assert (waits["failed"], waits["verdict"]["state"], codes(waits)) == (False, "waiting", ["member_missing"])
    assert waits["next"] == "wait"
    assert (gives_up["failed"], codes(gives_up)) == (True, ["member_missing", "timed_out"])
    assert "Members are missing from the cluster: ghost." in gives_up["msg"]
    assert (refuses["failed"], set(codes(refuses))) == (True, {"wrong_version"})
    assert f"{LAST} runs {FROM} and not {TO}." in refuses["msg"]


# shard_allocation


@pytest.mark.parametrize(
    ("theirs", "scope"),
    [
        ({}, "persistent"),
        ({"persistent": {ENABLE: "all"}}, "persistent"),
        ({"persistent": {ENABLE: "none"}, "transient": {ENABLE: "all"}}, "transient"),
    ],
    ids=["absent", "persistent", "transient-hides-persistent"],
)
def test_shard_allocation(theirs: dict[str, Any], scope: str, standing: Cluster, tasks: Tasks) -> None:
    standing.ask("/_cluster/settings", "PUT", theirs or {"persistent": {ENABLE: None}})
    before, was = standing.fingerprint(), settings(standing)
    restrict: dict[str, Any] = {"state": "restricted", "batch": [LAST]}
    try:
        planned = tasks.one("shard_allocation", check=True, **restrict)
        assert standing.fingerprint() == before

        first, second, leaving = tasks.play(
            step("shard_allocation", **restrict),
            step("shard_allocation", **restrict),
            step("shard_allocation", check=True, state="restored"),
        )
        assert [planned["changed"], first["changed"], second["changed"]] == [True, True, False]
        assert planned["diff"] == first["diff"]
        assert first["diff"]["after"][f"{scope} {ENABLE}"] == "primaries"
        assert first["actions"][-1]["was"] == was[scope].get(ENABLE)
        assert codes(second) == ["undo_adopted"]
        assert settings(standing)[scope][ENABLE] == "primaries"

        first, second = tasks.play(
            step("shard_allocation", state="restored"), step("shard_allocation", state="restored")
        )
        assert [leaving["changed"], first["changed"], second["changed"]] == [True, True, False]
        assert leaving["diff"] == first["diff"]
        assert standing.fingerprint() == before
    finally:
        standing.ask("/_cluster/settings", "PUT", {"persistent": {ENABLE: None}, "transient": {ENABLE: None}})


def test_limits_of_a_run_outlive_the_restriction_of_a_batch(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    limits: dict[str, Any] = {"recoveries": 10, "recovery_bytes": "200mb", "rebalance": "none"}
    in_force = {
        "cluster.routing.allocation.node_concurrent_recoveries": "10",
        "indices.recovery.max_bytes_per_sec": "200mb",
        "cluster.routing.rebalance.enable": "none",
    }
    wrong, first, second, restricted, batch, again, everything = tasks.play(
        step("shard_allocation", state="prepared", recovery_bytes="plenty"),
        step("shard_allocation", state="prepared", **limits),
        step("shard_allocation", state="prepared", **limits),
        step("shard_allocation", state="restricted", batch=[LAST]),
        step("shard_allocation", state="restored", part="batch"),
        step("shard_allocation", state="restored", part="batch"),
        step("shard_allocation", state="restored"),
    )
    assert (codes(wrong), wrong["changed"]) == (["value_not_kept"], False)
    assert [each["changed"] for each in (first, second, restricted, batch, again, everything)] == [
        *(True, False, True, True, False, True)
    ]
    assert first["diff"]["after"] == {f"persistent {name}": value for name, value in in_force.items()}
    assert batch["diff"]["before"][f"persistent {ENABLE}"] == "primaries"
    assert batch["diff"]["after"] == first["diff"]["after"]
    assert standing.fingerprint() == before


def test_a_member_is_drained_and_taken_back(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    name = "cluster.routing.allocation.exclude._name"
    with index(standing, "logs", shards=6, replicas=1):
        planned, first, second = tasks.play(
            step("shard_allocation", check=True, state="drained", batch=[LAST]),
            step("shard_allocation", state="drained", batch=[LAST]),
            step("shard_allocation", state="drained", batch=[LAST]),
        )
        assert [planned["changed"], first["changed"], second["changed"]] == [True, True, False]
        assert planned["diff"] == first["diff"]
        assert first["waited"][0]["code"] == "draining"
        assert re.search(r"[1-6] left \([\d.]+ k?B of [\d.]+ k?B", first["waited"][0]["message"])
        assert first["moved_bytes"] > 0
        assert "moved_bytes" not in second
        held = json.loads(standing.ask("/_cat/shards?format=json"))
        assert {shard["node"] for shard in held} == set(MEMBERS) - {LAST}
        standing.ask("/_cluster/settings", "PUT", {"persistent": {name: f"{LAST},theirs"}})
        (undrained,) = tasks.play(step("shard_allocation", state="undrained"))
        assert undrained["changed"]
        assert settings(standing)["persistent"] == {name: "theirs"}
        standing.ask("/_cluster/settings", "PUT", {"persistent": {name: None}})
        prepared, restored = tasks.play(
            step("shard_allocation", state="prepared", rebalance="none", batch=MEMBERS, drained=[LAST], wait=False),
            step("shard_allocation", state="restored"),
        )
        assert prepared["actions"][0]["action"] == "flushed"
        assert prepared["diff"]["after"][f"persistent {name}"] == LAST
        assert (prepared["waited"][0]["code"], prepared["verdict"]["state"]) == ("draining", "passed")
        assert restored["changed"]
        assert settings(standing) == {"persistent": {}, "transient": {}}
    with index(standing, "everywhere", shards=1, replicas=2):
        (refused,) = tasks.play(step("shard_allocation", state="drained", batch=[LAST]))
    assert (codes(refused), refused["changed"]) == (["drain_impossible"], False)
    assert "same_shard on 2" in refused["msg"]
    assert standing.fingerprint() == before


def test_what_another_has_changed_since_is_left_to_them(standing: Cluster, tasks: Tasks) -> None:
    try:
        tasks.one("shard_allocation", state="restricted")
        standing.ask("/_cluster/settings", "PUT", {"persistent": {ENABLE: "new_primaries"}})
        first, second = tasks.play(
            step("shard_allocation", state="restored"), step("shard_allocation", state="restored")
        )
        assert (codes(first), first["changed"], second["changed"]) == (["changed_by_another"], True, False)
        assert first["verdict"]["state"] == "passed"
        assert settings(standing) == {"persistent": {ENABLE: "new_primaries"}, "transient": {}}
    finally:
        standing.ask("/_cluster/settings", "PUT", {"persistent": {ENABLE: None}})


# image_pull


def test_image_pull(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    options: dict[str, Any] = {"namespace": standing.namespace, "pool": POOL, "image": NEW_IMAGE}

    def alone() -> None:
        until("the throw-away pods to be gone", lambda: len(standing.fingerprint().pods) == 3, 60)

    planned, first = tasks.play(step("image_pull", check=True, **options), step("image_pull", **options))
    alone()
    second, missing = tasks.play(
        step("image_pull", **options), step("image_pull", **{**options, "image": "opensearch:3.8.9"})
    )
    assert codes(planned) == ["image_not_proven"]
    assert planned["actions"] == []
    for result in (first, second):
        assert (result["changed"], result["verdict"]) == (False, {"state": "passed", "reasons": []})
        assert [action["action"] for action in result["actions"]] == ["create_pod"] * 3 + ["delete_pod"] * 3
    assert first["before"] == {"kubernetes_nodes": ["node-a1", "node-b1", "node-c1"]}
    assert missing["failed"]
    assert "image_not_pulled" in codes(missing)
    alone()
    assert standing.fingerprint() == before


# pool_image, and what pod_ondelete_roll would do then


def test_pool_image(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    pool: dict[str, Any] = {"namespace": standing.namespace, "pool": POOL}
    present: dict[str, Any] = {**pool, "image": NEW_IMAGE}

    planned = tasks.one("pool_image", check=True, **present)
    assert standing.fingerprint() == before
    first, second, kept = tasks.play(
        step("pool_image", **present), step("pool_image", **present), step("pool_image", **pool, state="restored")
    )
    assert [planned["changed"], first["changed"], second["changed"]] == [True, True, False]
    for result in (planned, first):
        assert result["before"] == {"images": {"opensearch": IMAGE}, "strategy": {"type": "RollingUpdate"}, "undo": ""}
        assert result["diff"]["after"]["images"] == {"opensearch": NEW_IMAGE}
        assert result["diff"]["after"]["strategy"] == {"type": "OnDelete"}
        assert result["actions"][0]["set"] == ["image", "strategy", "undo"]
    assert (kept["changed"], codes(kept)) == (False, ["strategy_kept"])
    assert standing.fingerprint().pods == before.pods

    until("the controller to take up the new image", lambda: observed(standing), 60)
    rolled = tasks.one("pod_ondelete_roll", check=True, **pool, batch=[LAST], expected=MEMBERS, target_version=TO)
    assert (rolled["changed"], rolled["failed"]) == (True, False)
    assert [action["target"] for action in deletions(rolled)] == [LAST]
    assert standing.fingerprint().pods == before.pods

    back = tasks.one("pool_image", **pool, image=IMAGE)
    assert back["actions"][0]["set"] == ["image", "undo"]
    until("the controller to take up the old image", lambda: observed(standing), 60)
    planned = tasks.one("pool_image", check=True, **pool, state="restored")
    first, second = tasks.play(
        step("pool_image", **pool, state="restored"), step("pool_image", **pool, state="restored")
    )
    assert [planned["changed"], first["changed"], second["changed"]] == [True, True, False]
    assert planned["diff"] == first["diff"]
    assert first["diff"]["after"]["strategy"] == {"type": "RollingUpdate"}
    assert standing.fingerprint() == before


# pod_ondelete_roll


def test_a_batch_that_is_where_it_should_be_is_left_alone(standing: Cluster, tasks: Tasks) -> None:
    before = standing.fingerprint()
    options: dict[str, Any] = {"namespace": standing.namespace, "pool": POOL, "batch": [LAST], "expected": MEMBERS}
    checked, ran = tasks.play(
        step("pod_ondelete_roll", check=True, **options), step("pod_ondelete_roll", **options, target_version=FROM)
    )
    for result in (checked, ran):
        assert (result["changed"], result["actions"], result["failed"]) == (False, [], False)
        assert [(member["name"], member["action"]) for member in result["members"]] == [(LAST, "kept")]
    assert standing.fingerprint() == before


def test_a_member_is_replaced_once(standing: Cluster, tasks: Tasks) -> None:
    """A restart without a new version, as after a change of the template; the last test of the module, for it stays."""
    template = {"metadata": {"annotations": {"restarted": "once"}}}
    change = {"spec": {"template": template, "updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}}
    with standing.platform.client() as api:
        client.AppsV1Api(api).patch_namespaced_stateful_set(POOL, standing.namespace, change)
    until("the controller to take up the new template", lambda: observed(standing), 60)
    before = standing.fingerprint()
    options: dict[str, Any] = {
        "namespace": standing.namespace,
        "pool": POOL,
        "batch": [LAST],
        "expected": MEMBERS,
        "target_version": FROM,
    }

    planned = tasks.one("pod_ondelete_roll", check=True, **options)
    assert standing.fingerprint() == before
    first, second = tasks.play(step("pod_ondelete_roll", **options), step("pod_ondelete_roll", **options))

    after = standing.fingerprint()
    assert [planned["changed"], first["changed"], second["changed"]] == [True, True, False]
    assert planned["diff"] == first["diff"]
    assert [action["uid"] for action in deletions(first)] == [before.pods[LAST]]
    assert [(member["name"], member["action"]) for member in first["members"]] == [(LAST, "replaced")]
    assert first["members"][0]["total_seconds"] > 0
    assert {name for name, uid in after.pods.items() if uid != before.pods[name]} == {LAST}
    assert standing.versions() == dict.fromkeys(MEMBERS, FROM)
