"""The stand-in controllers: pools that come up, roll, scale, fail and go, on virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.namespace import probe_pod, probe_set
from tests.sandbox.clock import Clock
from tests.sandbox.kubernetes.api import MERGE, STRATEGIC
from tests.sandbox.kubernetes.cluster import Kubernetes
from tests.sandbox.kubernetes.controllers.scheduler import ZONE
from tests.sandbox.kubernetes.kinds import (
    BUDGETS,
    CLAIMS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    REVISIONS,
    STATEFUL_SETS,
    VOLUMES,
)
from tests.sandbox.kubernetes.objects import is_ready

Json = dict[str, Any]
HERE = "here"


class Room:
    """A namespace with a pool of three."""

    def __init__(self) -> None:
        self.kubernetes = Kubernetes(Clock())
        self.clock = self.kubernetes.clock
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HERE}})

    def apply(self, *items: Json) -> None:
        named = [{**each, "metadata": {**each["metadata"], "namespace": HERE}} for each in items]
        self.kubernetes.apply(
            [one if one["kind"] == "Namespace" else each for one, each in zip(items, named, strict=True)]
        )

    def up(self, **changes: Any) -> None:
        pool = probe_set("data")
        pool["spec"] |= changes
        self.apply(pool)
        assert self.kubernetes.until(self.whole), self.pods()

    def whole(self) -> bool:
        pool = self.pool()
        return bool(pool["status"].get("readyReplicas", 0) == pool["spec"]["replicas"] == pool["status"]["replicas"])

    def pool(self) -> Json:
        found = self.kubernetes.server.store.get(STATEFUL_SETS, HERE, "data")
        assert found is not None
        return found

    def pods(self) -> dict[str, Json]:
        return {each["metadata"]["name"]: each for each in self.kubernetes.server.store.each(PODS, HERE)}

    def uids(self) -> dict[str, str]:
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def state(self, pod: str) -> Json:
        statuses = self.pods().get(pod, {"status": {}})["status"].get("containerStatuses", [{"state": {}}])
        found: Json = statuses[0]
        return found

    def patch(self, body: Json, kind: str = STRATEGIC) -> None:
        path = STATEFUL_SETS.path(HERE, "data")
        assert self.kubernetes.ask("PATCH", path, body, media_type=kind).status == 200

    def image(self, image: str) -> None:
        self.patch({"spec": {"template": {"spec": {"containers": [{"name": "probe", "image": image}]}}}})

    def delete(self, pod: str, **options: Any) -> None:
        assert self.kubernetes.ask("DELETE", PODS.path(HERE, pod), options or None).status == 200

    def reasons(self, name: str) -> list[str]:
        events = self.kubernetes.server.store.list(EVENTS, HERE)
        return [each["reason"] for each in events if each["involvedObject"]["name"] == name]

    def until(self, holds: Any, seconds: float = 120.0) -> None:
        assert self.kubernetes.until(holds, seconds), self.pods()


@pytest.fixture
def room() -> Room:
    return Room()


def images(room: Room) -> list[str]:
    return [pod["spec"]["containers"][0]["image"].rpartition("/")[2] for pod in room.pods().values()]


def test_a_pool_comes_up_a_member_in_each_zone(room: Room) -> None:
    room.up()
    pods = room.pods()
    assert list(pods) == ["data-0", "data-1", "data-2"]
    assert {pod["spec"]["nodeName"] for pod in pods.values()} == {"node-a1", "node-b1", "node-c1"}
    pod, pool = pods["data-1"], room.pool()
    assert pod["metadata"]["labels"] | {"controller-revision-hash": ""} == {
        "app": "data",
        "apps.kubernetes.io/pod-index": "1",
        "statefulset.kubernetes.io/pod-name": "data-1",
        "controller-revision-hash": "",
        "topology.kubernetes.io/region": "lab",
        "topology.kubernetes.io/zone": "b",
    }
    assert pod["metadata"]["labels"]["controller-revision-hash"] == pool["status"]["updateRevision"]
    assert pod["metadata"]["ownerReferences"][0]["uid"] == pool["metadata"]["uid"]
    assert pool["status"]["currentRevision"] == pool["status"]["updateRevision"]
    assert pool["status"]["observedGeneration"] == pool["metadata"]["generation"]
    status = pod["status"]["containerStatuses"][0]
    assert (status["imageID"], status["restartCount"], status["ready"]) == (f"lab://{status['image']}", 0, True)
    assert {each["status"]["phase"] for each in room.kubernetes.server.store.list(CLAIMS, HERE)} == {"Bound"}
    expected = ["Scheduled", "Pulling", "Pulled", "Created", "Started"]
    assert room.reasons("data-1") == expected


def test_on_delete_a_pod_comes_back_on_the_new_revision_in_its_zone(room: Room) -> None:
    room.up()
    before, node = room.uids(), room.pods()["data-1"]["spec"]["nodeName"]
    room.image("probe:2")
    room.clock.advance(5)
    assert room.uids() == before
    room.delete("data-1")
    assert "deletionTimestamp" in room.pods()["data-1"]["metadata"]
    room.until(lambda: room.uids().get("data-1") not in {None, before["data-1"]} and room.whole())
    assert images(room) == ["probe:1", "probe:2", "probe:1"]
    assert room.pods()["data-1"]["spec"]["nodeName"] == node
    status = room.pool()["status"]
    assert (status["updatedReplicas"], status["currentReplicas"]) == (1, 2)
    assert status["currentRevision"] != status["updateRevision"]
    assert len(room.kubernetes.server.store.list(REVISIONS, HERE)) == 2
    room.image("registry.example/lab/probe:1")
    room.clock.advance(1)
    assert room.pool()["status"]["updateRevision"] == status["currentRevision"]


def test_a_rolling_update_goes_from_the_highest_down_to_the_partition(room: Room) -> None:
    room.up(updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 1}})
    gone = list[str]()
    room.kubernetes.behaviour.stopping = lambda pod, _container: gone.append(pod["metadata"]["name"])
    room.image("probe:2")
    room.until(lambda: images(room) == ["probe:1", "probe:2", "probe:2"] and room.whole())
    assert gone == ["data-2", "data-1"]
    room.clock.advance(10)
    assert room.pool()["status"]["currentRevision"] != room.pool()["status"]["updateRevision"]
    room.delete("data-0")
    room.clock.advance(10)
    assert images(room)[0] == "probe:1"
    room.patch({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    room.until(lambda: images(room) == ["probe:2"] * 3 and room.whole())
    room.clock.advance(1)
    assert room.pool()["status"]["currentRevision"] == room.pool()["status"]["updateRevision"]


def test_in_order_each_pod_waits_for_the_one_before_it(room: Room) -> None:
    room.kubernetes.faults.never_ready(HERE, "data-1")
    pool = probe_set("data")
    pool["spec"]["podManagementPolicy"] = "OrderedReady"
    room.apply(pool)
    room.clock.advance(30)
    assert list(room.pods()) == ["data-0", "data-1"]
    assert "Unhealthy" in room.reasons("data-1")
    room.kubernetes.faults.mend(HERE, "data-1")
    room.until(room.whole)


def test_a_pool_is_scaled_and_keeps_its_claims(room: Room) -> None:
    room.up()
    room.patch({"spec": {"replicas": 1}}, MERGE)
    room.until(lambda: list(room.pods()) == ["data-0"])
    assert len(room.kubernetes.server.store.list(CLAIMS, HERE)) == 3
    room.patch({"spec": {"replicas": 3}}, MERGE)
    room.until(room.whole)


def test_an_image_that_does_not_exist(room: Room) -> None:
    room.up()
    room.image("probe:missing")
    room.delete("data-2")
    room.until(lambda: room.state("data-2")["state"].get("waiting", {}).get("reason") == "ErrImagePull")
    room.until(lambda: room.state("data-2")["state"]["waiting"]["reason"] == "ImagePullBackOff")
    message = room.state("data-2")["state"]["waiting"]["message"]
    assert message.startswith('Back-off pulling image "probe:missing": ErrImagePull: rpc error: code = NotFound')
    room.image("probe:2")
    room.delete("data-2")
    room.until(room.whole)


def test_a_crash_loop_is_counted_and_mended(room: Room) -> None:
    room.up()
    room.kubernetes.faults.crash_loop(HERE, "data-0")
    room.until(lambda: room.state("data-0")["restartCount"] >= 3)
    room.until(lambda: room.state("data-0")["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff")
    assert room.state("data-0")["lastState"]["terminated"]["exitCode"] == 137
    assert not room.whole()
    room.kubernetes.faults.mend(HERE, "data-0")
    room.until(room.whole, 300)


def test_a_pod_that_stops_slowly_ends_with_its_grace_period(room: Room) -> None:
    room.up()
    room.kubernetes.faults.slow_stop(HERE, "data-0", 60)
    uid = room.uids()["data-0"]
    room.delete("data-0")
    room.clock.advance(4.5)
    assert room.uids()["data-0"] == uid
    room.until(lambda: room.uids().get("data-0") not in {None, uid}, 5)


def test_a_kubernetes_node_without_power(room: Room) -> None:
    room.up()
    node, uid = room.pods()["data-0"]["spec"]["nodeName"], room.uids()["data-0"]
    room.kubernetes.faults.node_dead(node)
    room.clock.advance(30)
    assert is_ready(room.pods()["data-0"])
    room.clock.advance(15)
    assert not is_ready(room.pods()["data-0"])
    assert "NodeNotReady" in room.reasons("data-0")
    found = room.kubernetes.server.store.get(NODES, "", node)
    assert found is not None
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]}["Ready"] == "Unknown"
    room.delete("data-0")
    room.clock.advance(60)
    assert room.uids()["data-0"] == uid
    room.kubernetes.faults.mend_node(node)
    room.until(lambda: room.uids().get("data-0") not in {None, uid} and room.whole())


def test_what_fits_on_no_kubernetes_node_is_not_scheduled(room: Room) -> None:
    room.up()
    node = room.pods()["data-1"]["spec"]["nodeName"]
    room.kubernetes.ask("PATCH", NODES.path("", node), {"spec": {"unschedulable": True}}, media_type=MERGE)
    room.delete("data-1")
    room.until(lambda: "FailedScheduling" in room.reasons("data-1"))
    condition = room.pods()["data-1"]["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert condition["message"].startswith("0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't")
    room.kubernetes.ask("PATCH", NODES.path("", node), {"spec": {"unschedulable": False}}, media_type=MERGE)
    room.until(room.whole)


def test_a_pod_whose_spread_waits_for_others_is_tried_again_when_they_have_their_places(room: Room) -> None:
    # Found by an upgrade of 1,000 members: one pod of a batch was refused before the others were placed.
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "nodeAffinityPolicy": "Ignore",
    }

    def add(name: str, zone: str) -> None:
        room.apply(probe_pod(name, spec={"topologySpreadConstraints": [spread], "nodeSelector": {ZONE: zone}}))
        room.clock.advance(5.0)

    for name, zone in (("first", "a"), ("second", "a"), ("third", "b")):
        add(name, zone)
    assert [name for name, pod in room.pods().items() if not pod["spec"].get("nodeName")] == ["second"]
    add("fourth", "c")
    assert all(pod["spec"].get("nodeName") for pod in room.pods().values())


def test_a_budget_counts(room: Room) -> None:
    room.up()
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "data"}}}
    room.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec})
    room.clock.advance(1)

    def allowed() -> int:
        found = room.kubernetes.server.store.get(BUDGETS, HERE, "b")
        assert found is not None
        return int(found["status"]["disruptionsAllowed"])

    assert allowed() == 1
    evict = PODS.path(HERE, "data-0") + "/eviction"
    assert room.kubernetes.ask("POST", evict, {"metadata": {"name": "data-0"}}).status == 201
    room.clock.advance(0.1)
    assert allowed() == 0
    assert room.kubernetes.ask("POST", PODS.path(HERE, "data-1") + "/eviction", {}).status == 429


def test_a_budget_counts_a_pod_out_at_once_and_until_it_goes(room: Room) -> None:
    room.up()
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "data"}}}
    room.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec})
    paths = [f"{PODS.path(HERE, name)}/eviction" for name in ("data-0", "data-1")]
    early = room.kubernetes.ask("POST", paths[0], {})
    assert (early.status, early.body["details"]["retryAfterSeconds"]) == (429, 10)
    assert "still being processed" in early.body["details"]["causes"][0]["message"]
    room.clock.advance(1)
    assert room.kubernetes.ask("POST", paths[0], {}, {"dryRun": "All"}).status == 201
    # The budget has counted the pod when the server sees that it is another one.
    assert room.kubernetes.ask("POST", paths[0], {"deleteOptions": {"preconditions": {"uid": "x"}}}).status == 409
    refused = room.kubernetes.ask("POST", paths[1], {})
    assert refused.status == 429
    assert refused.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    room.clock.advance(100)
    assert room.kubernetes.ask("POST", paths[1], {}).status == 429
    room.clock.advance(21)
    budget = BUDGETS.path(HERE, "b")
    assert room.kubernetes.ask("PATCH", budget, {"metadata": {"labels": {"a": "b"}}}, media_type=MERGE).status == 200
    room.clock.advance(1)
    assert room.kubernetes.ask("POST", paths[1], {}).status == 201


def test_a_pod_that_is_not_ready_goes_while_its_budget_is_met_or_always(room: Room) -> None:
    room.up()
    room.kubernetes.faults.never_ready(HERE, "data-0")
    room.until(lambda: not is_ready(room.pods()["data-0"]))
    rule = {"minAvailable": 3, "selector": {"matchLabels": {"app": "data"}}}
    item: Json = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": rule}
    evict = PODS.path(HERE, "data-0") + "/eviction"
    for spec, status in (
        (rule, 429),
        ({**rule, "unhealthyPodEvictionPolicy": "AlwaysAllow"}, 201),
        ({**rule, "minAvailable": 2}, 201),
    ):
        room.apply({**item, "spec": spec})
        room.clock.advance(1)
        assert room.kubernetes.ask("POST", evict, {}, {"dryRun": "All"}).status == status


def test_a_pod_under_two_budgets_is_not_evicted_whatever_they_allow(room: Room) -> None:
    room.up()
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "data"}}}
    for name in ("one", "two"):
        room.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec})
    room.clock.advance(1)
    answer = room.kubernetes.ask("POST", PODS.path(HERE, "data-1") + "/eviction", {})
    assert (answer.status, "more than one PodDisruptionBudget" in answer.text) == (500, True)
    assert "reason" not in answer.body


def test_what_a_set_owns_goes_with_it_or_is_orphaned(room: Room) -> None:
    room.up()
    before = room.uids()
    options = {"propagationPolicy": "Orphan"}
    pool = room.pool()
    assert room.kubernetes.ask("DELETE", STATEFUL_SETS.path(HERE, "data"), options).status == 200
    room.until(lambda: not any("ownerReferences" in pod["metadata"] for pod in room.pods().values()))
    assert room.uids() == before
    room.up()
    assert room.uids() == before
    assert room.pool()["metadata"]["uid"] != pool["metadata"]["uid"]
    assert room.kubernetes.ask("DELETE", STATEFUL_SETS.path(HERE, "data")).body["status"] == "Success"
    room.until(lambda: not room.pods())


def test_a_namespace_is_emptied_before_it_goes(room: Room) -> None:
    room.up()
    assert room.kubernetes.ask("DELETE", NAMESPACES.path("", HERE)).body["status"]["phase"] == "Terminating"
    refused = room.kubernetes.ask("POST", f"/api/v1/namespaces/{HERE}/configmaps", {"metadata": {"name": "x"}})
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    room.until(lambda: room.kubernetes.server.store.get(NAMESPACES, "", HERE) is None)
    assert not room.pods()
    assert room.kubernetes.server.store.list(VOLUMES) == []


def test_a_pod_that_has_nothing_to_do_ends_with_success(room: Room) -> None:
    room.kubernetes.behaviour.exit_code = lambda _pod, _container: 0
    spec = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "busybox:1"}]}
    room.kubernetes.ask("POST", PODS.path(HERE), {"metadata": {"name": "one"}, "spec": spec})
    room.until(lambda: room.pods()["one"]["status"]["phase"] == "Succeeded")
    room.delete("one")
    room.until(lambda: not room.pods())


def test_hooks_decide_when_a_member_is_ready(room: Room) -> None:
    joined, told = set[str](), list[str]()
    room.kubernetes.behaviour.ready = lambda pod, _container: pod["metadata"]["name"] in joined
    room.kubernetes.behaviour.started = lambda pod, _container: told.append(f"started {pod['metadata']['name']}")
    room.kubernetes.behaviour.stopped = lambda pod, _container: told.append(f"stopped {pod['metadata']['name']}")
    room.apply(probe_set("data", 1))
    room.clock.advance(10)
    assert not room.whole()
    joined.add("data-0")
    room.until(room.whole, 2)
    room.delete("data-0")
    room.clock.advance(5)
    assert told == ["started data-0", "stopped data-0", "started data-0"]


def test_while_the_controllers_are_away_no_pod_is_made_again_and_their_status_is_old(room: Room) -> None:
    room.up()
    room.kubernetes.faults.controllers_away(30.0)
    room.kubernetes.ask("DELETE", PODS.path(HERE, "data-1"))
    room.clock.advance(29)
    assert sorted(room.pods()) == ["data-0", "data-2"]
    assert room.pool()["status"]["readyReplicas"] == 3
    room.clock.advance(10)
    assert room.whole()
    assert sorted(room.pods()) == ["data-0", "data-1", "data-2"]
