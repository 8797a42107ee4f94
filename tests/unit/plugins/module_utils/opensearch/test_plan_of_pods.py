"""Plans of pools that are StatefulSets: what both sides say, on an API server in memory and a state of the cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch import both_sides
from ansible_collections.stateful.upgrade.plugins.module_utils.opensearch.judge.named_pools import judge_names
from ansible_collections.stateful.upgrade.plugins.module_utils.run.lock.lock import name_for
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo import Change, Undo, Writer
from ansible_collections.stateful.upgrade.plugins.module_utils.run.undo.undo_annotation import UNDO
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.kubernetes.objects import pool_json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import (
    Json,
    copy,
    identity,
)
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import (
    BUDGETS,
    NEW,
    OLD,
    SETS,
    Room,
    Said,
    message,
    order_of,
    said,
)


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
        ("7.10.2", "elasticsearch", "a version of OpenSearch"),
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
    """After the upgrade of all others its pod has died: it is Ready, because its port answers, but no member."""
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


@pytest.mark.parametrize("cluster", ["uuid", "another"])
def test_a_pool_that_a_run_has_changed_stays_one_while_all_its_members_are_away(room: Room, cluster: str) -> None:
    """A run that goes on would leave it as it is, and refuse its name."""
    writer = Writer(
        "night", "2026-11-21T02:00:00Z", {"kept_in": "kubernetes", "namespace": "search", "name": name_for(cluster)}
    )
    undo = Undo(writer, (Change(("spec", "updateStrategy"), {"type": "RollingUpdate"}, {"type": "OnDelete"}),))
    clients = room.api.objects[f"{SETS}/clients"]
    clients["metadata"].setdefault("annotations", {})[UNDO] = undo.text()
    clients["spec"]["updateStrategy"] = {"type": "OnDelete"}
    room.out("clients-0")
    result = room.plan()
    assert ("clients-0" in order_of(result)) is (cluster == "uuid")
    assert (("pool_outside", "passed") in said(result)) is (cluster != "uuid")


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


def test_a_cluster_whose_members_only_have_the_names_of_the_pods_is_refused(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address of one cluster and the namespace of another: its pods would go without a proof of their own."""
    elsewhere = {key: replace(each, address="10.8.8.8") for key, each in room.state.members.items()}
    monkeypatch.setattr(both_sides, "observe", lambda _client: replace(room.state, members=elsewhere))
    result = room.plan()
    assert said(result) == [("address_differs", "refused")]
    assert "pod clients-0 has 10.0.0.5, and the member of that name 10.8.8.8." in message(result, "address_differs")
    assert said(room.plan(pools=["data", "managers", "clients"])) == [("address_differs", "passed")]


def test_members_with_the_same_name_are_refused(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of the same name in another namespace, of the same cluster, would count as upgraded with this one."""
    twin = {"id-of-twin": replace(room.state.members[identity("data-0")], id="id-of-twin", address="10.8.8.8")}
    seen = replace(room.state, members={**room.state.members, **twin})
    monkeypatch.setattr(both_sides, "observe", lambda _client: seen)
    result = room.plan()
    assert said(result) == [("member_name_shared", "refused")]
    assert "Members of the cluster have the same name: data-0 (2 members)." in message(result, "member_name_shared")
    # Those that are in no pool stay as they are, whatever their names.
    assert judge_names(seen, {"data-1", "managers-0"}).passed


@pytest.mark.parametrize(("wait", "state"), [(True, "passed"), (False, "waiting")])
def test_a_member_that_replaces_one_that_the_cluster_still_lists_is_waited_for(
    room: Room, monkeypatch: pytest.MonkeyPatch, wait: bool, state: str
) -> None:
    """A pod without a volume, whose Kubernetes node was lost, comes back as another member of the same name."""
    before = {"id-before": replace(room.state.members[identity("data-0")], id="id-before", address="10.8.8.8")}
    seen = [replace(room.state, members={**room.state.members, **before}), room.state]
    monkeypatch.setattr(both_sides, "observe", lambda _client: seen.pop(0) if len(seen) > 1 else seen[0])
    monkeypatch.setattr(both_sides, "age_of", lambda pod: 20.0 if pod.name == "data-0" else 9000.0)
    result = room.plan(wait=wait)
    assert result["verdict"]["state"] == state
    assert said(result) == [("member_name_shared", "waiting")] * (not wait)
    assert "".join(order_of(result)).count("data-0") == 1


def test_two_members_of_one_name_are_refused_once_their_pod_is_not_new(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = {"id-of-twin": replace(room.state.members[identity("data-0")], id="id-of-twin", address="10.8.8.8")}
    seen = replace(room.state, members={**room.state.members, **twin})
    monkeypatch.setattr(both_sides, "observe", lambda _client: seen)
    monkeypatch.setattr(both_sides, "age_of", lambda _pod: 100.0 + room.clock.now())
    assert said(room.plan()) == [("member_name_shared", "refused")]
    assert room.clock.now() <= 25


def test_a_pool_that_wants_no_pods_is_left_as_it_is_even_if_it_is_named(room: Room) -> None:
    """Its image stays, so pods that it gets after an upgrade of the major version could not join."""
    spare = pool_json("spare", replicas=0)
    room.api.put_there(f"{SETS}/spare", spare)
    narrowings: list[Json] = [{}, {"pools": ["data", "managers", "clients", "spare"]}]
    for params in narrowings:
        result = room.plan(**params)
        assert said(result) == [("pool_outside", "passed")]
        assert (result["left"], "spare" in str(result["pools"])) == (["spare"], False)
        (reason,) = (each for each in result["verdict"]["reasons"] if each["code"] == "pool_outside")
        assert reason["remedy"].startswith("If it is of this cluster, set the image of the target version in it")
    spare["spec"]["template"]["spec"]["containers"][0]["image"] = f"opensearch:{NEW}"
    room.api.put_there(f"{SETS}/spare", spare)
    assert (said(room.plan()), room.plan()["left"]) == ([], [])


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
    assert said(room.plan(allow_single_copy=["true"])) == [("single_copy", "passed"), ("ephemeral_pool", "refused")]
    assert said(room.plan(allow_single_copy=["l*", "-lo*", "other"])) == [
        ("single_copy", "refused"),
        ("consent_without_index", "passed"),
        ("ephemeral_pool", "refused"),
    ]
    # It is asked only where one of its members goes.
    assert said(room.plan(members=["clients-0"])) == []


@pytest.mark.parametrize(
    ("expands", "away", "expected"),
    [
        ("0-1", "data-1", []),
        ("0-all", "data-1", []),
        ("0-0", "data-1", [("single_copy", "refused")]),
        ("false", "data-1", [("single_copy", "refused")]),
        # A member without data brings no replica back, and where no member is away there is none to come back.
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
        "Pool data has the image opensearch:3.8.0 already, and data-0, data-1 run another one."
        " A pod of these that dies comes back on the image of the pool."
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


def test_a_pool_may_have_an_image_of_its_own(room: Room) -> None:
    plain = room.plan()
    result = room.plan(image={"data": "elsewhere/opensearch:3"})
    assert {pool["name"]: pool["target_image"] for pool in result["pools"]} == {
        **{pool["name"]: pool["target_image"] for pool in plain["pools"]},
        "data": "elsewhere/opensearch:3",
    }
    assert {code for code, _state in said(result)} == {"image_of_pool"}
    assert result["digest"] != plain["digest"]
    assert ("image_of_unknown_pool", "refused") in said(room.plan(image="dta=elsewhere/opensearch:3"))


def test_tiers_go_in_the_order_that_the_user_wants(room: Room) -> None:
    for tier in ("cold", "hot", "warm"):
        room.add(tier, 1)
    plain = room.plan()
    result = room.plan(order=["warm", "co*"])
    names = [pool["name"] for pool in result["pools"]]
    data = [name for name in names if name in {"cold", "data", "hot", "warm"}]
    assert data == ["warm", "cold", *sorted({"data", "hot"} & {*data})]
    assert [name for name in names if name not in data] == [
        name for name in (pool["name"] for pool in plain["pools"]) if name not in data
    ]
    assert said(result) == said(plain)
    assert len({plain["digest"], result["digest"], room.plan(order=["co*", "warm"])["digest"]}) == 3


def test_an_order_that_is_unsafe_or_that_cannot_hold_is_refused(room: Room) -> None:
    room.add("cold", 1)
    result = room.plan(order=["managers", "cold"])
    assert ("order_unsafe", "refused") in said(result)
    assert "has pool managers (manager without data) before pool cold (data without manager)" in result["msg"]
    assert ("order_of_unknown_pool", "refused") in said(room.plan(order=["cold", "wrm"]))
    assert ("order_without_serial", "refused") in said(room.plan(order=["cold"], batching="zones"))
