# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of pools that are StatefulSets: what both sides say, on an API server in memory and a state of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Task, perform
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes import client as kubernetes
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import pool_order, set_pools
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.state import ClusterState
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.api_memory import ApiMemory
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pod_json, pool_json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.world import World
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    cluster,
    coordination,
    copy,
    index_metadata,
    info,
)

OLD, NEW = "2.19.6", "3.8.0"
PODS, SETS = "/api/v1/namespaces/search/pods", "/apis/apps/v1/namespaces/search/statefulsets"
BUDGETS = "/apis/policy/v1/namespaces/search/poddisruptionbudgets"
ROLES: Mapping[str, Sequence[str]] = {"data": ("data",), "managers": ("cluster_manager",), "clients": ()}
SHARED = (copy("logs", "data-0", primary=True), copy("logs", "data-1"))
Said = list[tuple[str, str]]


@dataclass
class Room:
    """A namespace, and the cluster in it: data-0 and data-1, three managers, one that only coordinates."""

    versions: dict[str, str] = field(default_factory=dict)
    copies: Sequence[Json] = SHARED
    created: int = 136408427
    expands: str = ""
    """`auto_expand_replicas` of the index logs."""
    addresses: dict[str, str] = field(default_factory=dict)
    api: ApiMemory = field(default_factory=ApiMemory)
    clock: World = field(default_factory=World)

    def __post_init__(self) -> None:
        """All pods are Ready, on the image that their set has."""
        for name, replicas in (("data", 2), ("managers", 3), ("clients", 1)):
            self.add(name, replicas)

    def add(self, name: str, replicas: int, *, version: str = OLD, **changes: Any) -> None:
        """A set with its pods, all in the cluster."""
        container: Json = {"name": "server", "image": f"opensearch:{version}", "readinessProbe": {}}
        container.update(changes.pop("container", {"readinessProbe": {"tcpSocket": {"port": 9200}}}))
        container["volumeMounts"] = [{"name": "data", "mountPath": "/usr/share/opensearch/data"}]
        volumes = [{"name": "data", **changes.pop("volume", {"hostPath": {"path": "/data"}})}]
        template = {"spec": {"containers": [container], "volumes": volumes}}
        made = pool_json(name, replicas=replicas, template=template, **changes)
        self.api.put_there(f"{SETS}/{name}", made)
        for number in range(replicas):
            self.pod(f"{name}-{number}", version)

    def pod(self, name: str, version: str | None, **changes: Any) -> None:
        """A pod; in the cluster where a version is given."""
        made = pod_json(name, f"uid-of-{name}", labels={"app": name.rpartition("-")[0]}, **changes)
        made["status"]["podIP"] = self.addresses.setdefault(name, f"10.0.0.{len(self.addresses)}")
        made["spec"]["containers"] = [{"name": "server", "image": f"opensearch:{version or OLD}"}]
        self.api.put_there(f"{PODS}/{name}", made)
        if version is None:
            self.versions.pop(name, None)
        else:
            self.versions[name] = version

    def out(self, name: str) -> None:
        """A pod that is Ready and no member, such as one that is not let in."""
        self.pod(name, None)

    @property
    def state(self) -> ClusterState:
        members = {
            name: {
                **info(name, version, ROLES.get(name.rpartition("-")[0], ("data",))),
                "ip": self.addresses.get(name, "10.9.9.9"),
            }
            for name, version in self.versions.items()
        }
        managers = [name for name in members if name.startswith("managers")]
        indices = {"closed": {**index_metadata(self.created), "state": "close"}}
        if self.expands:
            indices["logs"] = index_metadata(auto_expand_replicas=self.expands)
        elected = next(iter(managers), None)
        return cluster(members, self.copies, elected=elected, voting=coordination(managers), indices=indices)

    def plan(self, target: str = NEW, **params: Any) -> Json:
        spec = pool_order.CONTRACT.argument_spec
        given = {name: option.get("default") for name, option in spec.items()}
        own = {"target_version": target, "namespace": "search", "opensearch": {}, "kubernetes": {}}
        return perform(pool_order.run, Task({**given, **own, **params}, clock=self.clock))


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    made = Room()
    monkeypatch.setattr(kubernetes, "connect", lambda _options: made.api.client())
    monkeypatch.setattr(set_pools, "missing_rights", lambda *_asked: Verdict())
    monkeypatch.setattr(set_pools, "connect", lambda *_options: None)
    monkeypatch.setattr(set_pools, "observe", lambda _client: made.state)
    monkeypatch.setattr(set_pools, "observe_data_paths", lambda _client: {})
    return made


def said(result: Mapping[str, Any]) -> Said:
    """Codes and states, but for the lone coordinating member's."""
    reasons = result["verdict"]["reasons"]
    return [(one["code"], one["state"]) for one in reasons if one["code"] != "role_unserved"]


def message(result: Mapping[str, Any], code: str) -> str:
    return next(str(one["message"]) for one in result["verdict"]["reasons"] if one["code"] == code)


def order_of(result: Mapping[str, Any]) -> list[str]:
    return [name for batch in result["batches"] for name in batch["members"]]


def test_all_pools_of_the_cluster_are_planned_for(room: Room) -> None:
    result = room.plan()
    assert said(result) == []
    assert order_of(result) == ["data-1", "data-0", "clients-0", "managers-2", "managers-1", "managers-0"]
    assert (result["left"], result["next"]) == ([], "begin")


def test_pools_are_chosen_by_labels_and_of_those_by_name(room: Room) -> None:
    room.api.objects[f"{SETS}/data"]["metadata"]["labels"] = {"tier": "storage"}
    room.api.objects[f"{SETS}/clients"]["metadata"]["labels"] = {"tier": "storage"}
    assert order_of(room.plan(label_selector="tier=storage", allow_left_behind=True)) == [
        "data-1",
        "data-0",
        "clients-0",
    ]
    assert order_of(room.plan(label_selector="tier=storage", pools=["clients"])) == ["clients-0"]
    (reason,) = room.plan(label_selector="tier=storage", pools=["managers"])["verdict"]["reasons"]
    assert reason["code"] == "pool_unknown"
    assert reason["message"].startswith("The label selector tier=storage does not select pool (StatefulSet) managers")
    assert reason["remedy"].endswith("it selects: clients, data.")


@pytest.mark.parametrize(
    ("target", "code", "remedy"),
    [
        ("3.8.0-rc1", "pre_release", "target_version 3.8.0, and the whole image with image"),
        ("3.8.0-SNAPSHOT", "pre_release", "target_version 3.8.0"),
        ("7.10.2", "version_unreadable", "a version of OpenSearch"),
        ("3.8", "version_unreadable", "a released version"),
    ],
)
def test_a_target_that_no_member_could_be_seen_to_run_is_refused(
    room: Room, target: str, code: str, remedy: str
) -> None:
    (reason,) = room.plan(target)["verdict"]["reasons"]
    assert (reason["code"], reason["state"]) == (code, "refused")
    assert target in reason["message"]
    assert remedy in reason["remedy"]


def test_narrowing_a_new_major_to_pools_without_the_coordinating_one_takes_consent(room: Room) -> None:
    narrowed = ["data", "managers"]
    refused = room.plan(pools=narrowed)
    assert said(refused) == [("members_outside", "passed"), ("left_behind", "refused")]
    assert refused["left"] == ["clients-0"]
    allowed = room.plan(pools=narrowed, allow_left_behind=True)
    assert allowed["verdict"]["state"] == "passed"
    assert allowed["digest"] != refused["digest"]
    assert ("left_behind", "passed") in said(room.plan("2.19.7", pools=narrowed))


def test_what_was_left_behind_and_cannot_join_any_more_is_named_in_every_plan(room: Room) -> None:
    """After the upgrade of all others its pod has died: it is Ready, for its port answers, and no member."""
    for name in ("data-0", "data-1", "managers-0", "managers-1", "managers-2"):
        room.pod(name, NEW)
    for name in ("data", "managers"):
        room.api.objects[f"{SETS}/{name}"]["spec"]["template"]["spec"]["containers"][0]["image"] = f"opensearch:{NEW}"
    room.out("clients-0")
    narrowings: list[Json] = [{}, {"pools": ["data", "managers"]}, {"members": ["data-0"]}]
    for params in narrowings:
        result = room.plan(**params)
        assert said(result) == [("pool_outside", "passed")]
        assert message(result, "pool_outside").startswith("Pool clients runs the same server and none of its 1 pods is")
        assert (order_of(result), result["left"]) == ([], ["clients"])
        assert result["next"] == "nothing: every member that is planned for runs the target version"
    # Named, it is not brought back on the version that cannot join.
    (batch,) = room.plan(pools=["data", "managers", "clients"])["batches"]
    assert (batch["members"], batch["cures"]) == (["clients-0"], False)


def test_a_pool_without_pods_is_named(room: Room) -> None:
    room.api.put_there(f"{SETS}/spare", pool_json("spare", replicas=2))
    room.api.put_there(
        f"{SETS}/other", pool_json("other", template={"spec": {"containers": [{"name": "db", "image": "x:1"}]}})
    )
    result = room.plan()
    assert said(result) == [("pool_outside", "passed")]
    assert message(result, "pool_outside") == (
        "Pool spare runs the same server and it has no pods: the plan leaves it as it is."
    )
    assert said(room.plan(pools=["data", "managers", "clients", "spare"])) == [("pool_without_pods", "refused")]


@pytest.mark.parametrize(
    ("others", "created", "cures"),
    [
        ({}, 136408427, True),
        ({"data-0": NEW, "data-1": NEW}, 136408427, True),
        # Another member of its pool still runs the old version, and an index is younger than that.
        ({"data-0": NEW, "data-1": NEW}, 137318427, False),
    ],
)
def test_a_member_is_cured_on_an_image_only_where_that_could_join(
    room: Room, others: dict[str, str], created: int, cures: bool
) -> None:
    room.created = created
    for name, version in others.items():
        room.pod(name, version)
    room.out("managers-1")
    first = room.plan()["batches"][0]
    assert (first["members"], first["cures"]) == (["managers-1"], cures)


def test_an_image_that_no_member_in_the_cluster_runs_cures_nobody(room: Room) -> None:
    """Ready says no more than that a port answers."""
    for number in range(3):
        room.out(f"managers-{number}")
    batches = room.plan(pools=["data", "managers", "clients"])["batches"]
    assert [batch["members"][0] for batch in batches[:3]] == ["managers-2", "managers-1", "managers-0"]
    assert not any(batch["cures"] for batch in batches)


def test_a_member_whose_pod_is_not_ready_is_taken_first(room: Room) -> None:
    room.pod("data-0", OLD, ready=False)
    result = room.plan()
    assert said(result) == []
    assert order_of(result)[:2] == ["data-0", "data-1"]
    # One that is away and is cured goes on in its turn, with others where it may.
    for name in ("managers-1", "data-0"):
        room.pod(name, OLD)
    room.pod("managers-1", None, ready=False)
    batches = room.plan(batching="disjoint")["batches"]
    assert [(batch["members"], batch["cures"]) for batch in batches[:1]] == [(["managers-1"], True)]
    assert any("managers-1" in batch["members"] and len(batch["members"]) > 1 for batch in batches[1:])


def test_a_pod_that_is_a_member_of_another_name_is_refused(room: Room) -> None:
    room.versions["stray"] = room.versions.pop("clients-0")
    room.addresses["stray"] = room.addresses["clients-0"]
    result = room.plan()
    assert ("name_differs", "refused") in said(result)
    assert message(result, "name_differs").startswith("Pod clients-0 is the member stray of")


def test_a_member_whose_pod_goes_is_waited_for_before_anything_is_planned(room: Room) -> None:
    """It is of no pool of this upgrade, and in the cluster until it has stopped."""
    room.pod("other-0", OLD, terminating=True)
    room.clock.on_tick = [lambda: None, lambda: room.pod("other-0", OLD)]
    result = room.plan("2.19.7")
    assert said(result) == [("members_outside", "passed"), ("left_behind", "passed")]
    assert (room.clock.now(), result["waited"][0]["code"]) == (2.0, "member_leaving")


def test_a_member_whose_pod_never_ends_refuses_the_plan_by_its_name(room: Room) -> None:
    room.pod("data-1", OLD, terminating=True)
    result = room.plan()
    assert said(result)[:2] == [("member_leaving", "refused"), ("timed_out", "refused")]
    assert message(result, "member_leaving").startswith("Pod data-1 is being deleted")
    assert order_of(result)
    assert room.clock.now() == 120.0


def test_a_member_in_a_pod_of_another_controller_is_refused_by_its_name(room: Room) -> None:
    room.pod("data-1", OLD, owner="uid-of-another")
    result = room.plan()
    assert ("pod_owned_by_another", "refused") in said(result)
    # One that is no member may be of whatever it is.
    room.pod("data-1", OLD)
    room.api.put_there(f"{SETS}/queue", pool_json("queue", replicas=1))
    room.pod("queue-0", None, owner="uid-of-another")
    assert "pod_owned_by_another" not in dict(said(room.plan()))


def test_a_set_that_was_deleted_without_its_pods_is_told_as_that(room: Room) -> None:
    del room.api.objects[f"{SETS}/clients"]
    room.api.objects[f"{PODS}/clients-0"]["metadata"]["ownerReferences"] = []
    result = room.plan(pools=["data", "managers", "clients", "client"])
    assert said(result) == [("pool_missing", "refused"), ("pool_unknown", "refused")]
    assert "pods of it are still there: clients-0 (without a controller)" in message(result, "pool_missing")


def test_members_of_no_pool_are_named(room: Room) -> None:
    room.versions["elsewhere"] = OLD
    result = room.plan("2.19.7")
    assert said(result) == [("members_outside", "passed"), ("left_behind", "passed")]
    assert message(result, "members_outside").endswith("and stay as they are: elsewhere.")
    assert result["left"] == ["elsewhere"]


def test_a_pool_that_keeps_no_data_and_holds_the_only_copy_is_refused(room: Room) -> None:
    room.add("data", 2, volume={"emptyDir": {}})
    assert said(room.plan()) == []
    room.copies = (copy("lone", "data-1", primary=True),)
    assert said(room.plan(allow_single_copy=True)) == [("single_copy", "passed"), ("ephemeral_pool", "refused")]
    # It is asked only where one of its members goes.
    assert said(room.plan(members=["clients-0"])) == []


def test_a_pool_that_keeps_no_data_may_hold_the_only_copy_in_a_pod_that_is_no_member(room: Room) -> None:
    room.copies = ({**copy("lone", None, primary=True), "unassigned_info": {"reason": "NODE_LEFT"}},)
    room.out("data-1")
    assert said(room.plan()) == []
    room.add("data", 2, volume={"emptyDir": {}})
    room.out("data-1")
    assert said(room.plan()) == [("ephemeral_last_copy", "refused")]
    assert said(room.plan(members=["data-0"])) == []
    assert said(room.plan(allow_red_indices=["lone"])) == []


@pytest.mark.parametrize(
    ("expands", "away", "expected"),
    [
        ("0-1", "data-1", []),
        ("0-all", "data-1", []),
        ("0-0", "data-1", [("single_copy", "refused")]),
        ("false", "data-1", [("single_copy", "refused")]),
        # A member without data brings no replica back, and where nobody is away there is none to come back.
        ("0-1", "managers-1", [("single_copy", "refused")]),
        ("0-1", "", [("single_copy", "refused")]),
    ],
)
@pytest.mark.parametrize("ephemeral", [False, True])
def test_a_replica_that_an_absent_member_brings_back_needs_no_consent(
    room: Room, expands: str, away: str, expected: Said, ephemeral: bool
) -> None:
    """The servers have taken the replica away with the member, since it follows the number of members."""
    if ephemeral:
        room.add("data", 2, volume={"emptyDir": {}})
        expected = [*expected, ("ephemeral_pool", "refused")] if expected else expected
    room.copies = (copy("logs", "data-0", primary=True),)
    room.expands = expands
    if away:
        room.out(away)
    found = [one for one in said(room.plan()) if one[0] in {"single_copy", "ephemeral_pool"}]
    assert found == expected


def test_pods_that_are_ready_as_soon_as_they_run_are_told(room: Room) -> None:
    room.add("clients", 1, container={"readinessProbe": None})
    assert said(room.plan()) == [("no_readiness_probe", "passed")]
    assert said(room.plan(members=["data-0"])) == []


def test_a_budget_that_could_never_be_kept_is_refused(room: Room) -> None:
    budget: Json = {
        "metadata": {"name": "all-clients"},
        "spec": {"selector": {"matchLabels": {"app": "clients"}}},
        "status": {"desiredHealthy": 1, "expectedPods": 1, "currentHealthy": 1},
    }
    room.api.put_there(f"{BUDGETS}/all-clients", budget)
    assert said(room.plan()) == [("disruption_budget_too_small", "refused")]
    assert said(room.plan(members=["data-0"])) == []


def test_a_template_that_somebody_has_changed_is_told_with_who_would_come_back_on_it(room: Room) -> None:
    image = room.api.objects[f"{SETS}/data"]["spec"]["template"]["spec"]["containers"][0]
    image["image"] = f"opensearch:{NEW}"
    result = room.plan()
    assert said(result) == [("template_changed", "passed")]
    (reason,) = (one for one in result["verdict"]["reasons"] if one["code"] == "template_changed")
    assert reason["message"] == (
        "Pool data has the image opensearch:3.8.0 already, and data-0, data-1 run another:"
        " whatever of them dies comes back on it."
    )
    assert reason["remedy"] == ""
    image["image"] = "opensearch:3.7.0"
    (reason,) = (one for one in room.plan()["verdict"]["reasons"] if one["code"] == "template_changed")
    assert reason["remedy"] == "The plan sets opensearch:3.8.0 when its turn comes."


def test_a_partition_that_the_plan_replaces_is_told(room: Room) -> None:
    own = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    room.add("data", 2, updateStrategy=own)
    result = room.plan()
    assert said(result) == [("partition_replaced", "passed")]
    assert "StatefulSet data has partition 1 of its own." in message(result, "partition_replaced")
    assert "its partition becomes 2" in message(room.plan(strategy="RollingUpdate"), "partition_replaced")
    assert said(room.plan(pools=["managers"], members=["managers-0"])) == [("members_outside", "passed")]
