"""Plans of members that run the target version already, on pods of an older template."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.answers import Json
from ansible_collections.stateful.upgrade.tests.unit.plugins.module_utils.opensearch.plan_room import (
    NEW,
    OLD,
    PODS,
    SETS,
    Room,
    message,
    order_of,
    said,
)

DATA = ["data-1", "data-0"]


def template(room: Room, pool: str = "data") -> Json:
    """The pod template of a pool."""
    found: Json = room.api.objects[f"{SETS}/{pool}"]["spec"]["template"]
    return found


def server(room: Room, pool: str = "data") -> Json:
    found: Json = template(room, pool)["spec"]["containers"][0]
    return found


def changed(room: Room, *pods: str, pool: str = "data") -> None:
    """The template of a pool has changed, and all its pods but these are of it."""
    metadata = template(room, pool)["metadata"] = {**template(room, pool).get("metadata", {})}
    metadata["annotations"] = {"kubectl.kubernetes.io/restartedAt": "2026-11-23T07:00:00Z"}
    for name in pods:
        labels = room.api.objects[f"{PODS}/{name}"]["metadata"]["labels"]
        labels["controller-revision-hash"] = "older"


def images(result: Json) -> dict[str, str]:
    return {pool["name"]: pool["target_image"] for pool in result["pools"]}


def test_members_of_an_older_template_are_planned_with_the_reason(room: Room) -> None:
    plain = room.plan(OLD)
    assert (order_of(plain), plain["outdated"]) == ([], [])
    changed(room, "data-0", "data-1")
    result = room.plan(OLD)
    assert said(result) == []
    assert order_of(result) == DATA
    assert (result["outdated"], result["left"], result["next"]) == (sorted(DATA), [], "begin")
    assert [batch["outdated"] for batch in result["batches"]] == [["data-1"], ["data-0"]]
    assert [batch["reason"] for batch in result["batches"]] == ["data without manager; template changed"] * 2
    assert result["before"]["data-0"] == f"{OLD} (template changed)"
    assert result["before"]["managers-0"] == OLD
    assert {pool["name"]: pool["status"] for pool in result["pools"]}["data"] == "pending"
    # It takes consent of its own, and this stays the same while the plan is carried out.
    assert result["digest"] != plain["digest"]


def test_a_pod_that_is_as_its_pool_wants_it_is_never_planned_again(room: Room) -> None:
    changed(room, "data-0")
    half = room.plan(OLD)
    assert order_of(half) == ["data-0"]
    assert {pool["name"]: pool["status"] for pool in half["pools"]}["data"] == "upgrading"
    room.api.objects[f"{PODS}/data-0"]["metadata"]["labels"]["controller-revision-hash"] = "data-new"
    done = room.plan(OLD)
    assert (order_of(done), done["outdated"], done["digest"]) == ([], [], half["digest"])


@pytest.mark.parametrize(("pool", "name"), [("managers", "managers-1"), ("clients", "clients-0")])
def test_while_a_member_is_away_the_digest_and_the_image_stay(room: Room, pool: str, name: str) -> None:
    server(room, pool)["image"] = f"opensearch:{OLD}-2"
    changed(room, name, pool=pool)
    named = ["data", "managers", "clients"]
    begun = room.plan(OLD, pools=named)
    assert images(begun)[pool] == f"opensearch:{OLD}-2"
    room.pod(name, None, ready=False)
    away = room.plan(OLD, pools=named)
    assert (images(away), away["digest"]) == (images(begun), begun["digest"])
    assert (order_of(away), away["outdated"]) == ([name], [])


def test_a_narrowed_plan_names_the_others_as_left(room: Room) -> None:
    changed(room, "data-0", "data-1")
    result = room.plan(OLD, members=["data-0"])
    assert (order_of(result), result["left"], result["outdated"]) == (["data-0"], ["data-1"], sorted(DATA))


def test_in_the_middle_of_an_upgrade_a_finished_member_is_left_alone(room: Room) -> None:
    """After the upgrade of a first member someone has given the pool more memory, or another image."""
    for name, pods in (("data", 2), ("managers", 3), ("clients", 1)):
        room.add(name, pods, version=NEW)
    room.pod("data-0", OLD)
    changed(room, "data-0", "data-1")
    for given in ({}, {"image": {"data": f"second/opensearch:{NEW}"}}):
        result = room.plan(NEW, **given)
        assert (order_of(result), result["outdated"]) == (["data-0"], [])
    room.pod("data-0", NEW)
    assert order_of(room.plan(NEW)) == ["data-1"]


def test_a_wrong_image_that_somebody_has_left_in_the_template_restarts_no_finished_member(room: Room) -> None:
    """The run puts the right one back, with which the member that is finished is of the present revision again."""
    room.pod("data-1", NEW)
    server(room)["image"] = f"opensearch:{NEW}-missing"
    changed(room, "data-0", "data-1")
    result = room.plan(NEW, pools=["data"], allow_left_behind=True)
    assert (order_of(result), result["outdated"]) == (["data-0"], [])
    assert images(result)["data"] == f"opensearch:{NEW}"
    assert ("image_of_another_kind", "passed") in said(result)
    assert f"the plan sets opensearch:{NEW}" in message(result, "image_of_another_kind")


def test_the_kind_of_an_image_is_kept_or_the_plan_refused(room: Room) -> None:
    server(room)["image"] = f"opensearch:v{OLD}-fips"
    assert images(room.plan(NEW))["data"] == f"opensearch:v{NEW}-fips"
    server(room)["image"] = f"opensearch:{NEW}-fips"
    assert ("image_tag_unclear", "refused") in said(room.plan(NEW))
    given = room.plan(NEW, image={"data": f"opensearch:{NEW}-fips"})
    assert images(given)["data"] == f"opensearch:{NEW}-fips"
    assert "image_of_another_kind" not in dict(said(given))


@pytest.mark.parametrize(
    "image",
    [f"mirror:5000/opensearch:{OLD}", f"opensearch:{OLD}-2", f"opensearch:v{OLD}", f"opensearch:{OLD}@sha256:abc"],
)
def test_an_image_whose_tag_names_the_target_stays(room: Room, image: str) -> None:
    server(room)["image"] = image
    changed(room, "data-0", "data-1")
    result = room.plan(OLD)
    assert (images(result)["data"], order_of(result)) == (image, DATA)


@pytest.mark.parametrize(
    "image", ["opensearch:3.7.0", f"opensearch:{OLD}-rc1", f"opensearch:{OLD}1", "opensearch:prod"]
)
def test_an_image_that_is_not_known_to_hold_the_target_is_named_and_not_rolled(room: Room, image: str) -> None:
    server(room)["image"] = image
    changed(room, "data-0", "data-1")
    result = room.plan(OLD)
    assert order_of(result) == []
    assert ("template_image_unknown", "passed") in said(result)
    assert f"its image {image} is not known to hold {OLD}" in message(result, "template_image_unknown")
    # Said by the user, it is rolled.
    given = room.plan(OLD, image={"data": image})
    assert order_of(given) == DATA
    assert "template_image_unknown" not in dict(said(given))
    # Run by a member, it stays as well.
    room.api.objects[f"{PODS}/data-1"]["spec"]["containers"][0]["image"] = image
    assert order_of(room.plan(OLD)) == DATA


@pytest.mark.parametrize(
    ("image", "refuses"),
    [("opensearch:2.18.0", True), ("mirror/opensearch:v1.3.20-fips", True), ("opensearch:2", False)],
)
def test_a_template_of_an_older_version_than_all_members_is_refused(room: Room, image: str, refuses: bool) -> None:
    server(room)["image"] = image
    result = room.plan(OLD)
    assert ("template_behind" in dict(said(result))) is refuses
    if refuses:
        assert f"its template has the image {image}" in message(result, "template_behind")


def test_an_image_that_is_given_is_brought_until_the_template_has_it(room: Room) -> None:
    again = f"second/opensearch:{OLD}"
    given: dict[str, Any] = {"image": {"data": again}}
    assert order_of(room.plan(OLD, **given)) == DATA
    server(room)["image"] = again
    # An admission webhook writes other images into the pods: the revision alone counts now.
    assert order_of(room.plan(OLD, **given)) == []
    changed(room, "data-0")
    assert order_of(room.plan(OLD, **given)) == ["data-0"]


def test_the_digest_knows_the_template_and_not_the_image_of_the_server(room: Room) -> None:
    init = {"name": "fsgroup", "image": f"opensearch:{OLD}"}
    sidecar = {"name": "metrics", "image": "exporter:1"}
    template(room)["spec"].update(initContainers=[init], containers=[server(room), sidecar])
    digest = room.plan(NEW, container="server")["digest"]
    server(room)["image"] = init["image"] = f"opensearch:{NEW}"
    assert room.plan(NEW, container="server")["digest"] == digest
    sidecar["image"] = "exporter:2"
    other = room.plan(NEW, container="server")["digest"]
    server(room)["resources"] = {"limits": {"memory": "8Gi"}}
    assert len({digest, other, room.plan(NEW, container="server")["digest"]}) == 3


def test_a_template_that_its_controller_has_not_seen_is_waited_for(room: Room) -> None:
    room.api.objects[f"{SETS}/data"]["metadata"]["generation"] = 3
    result = room.plan(OLD)
    assert ("revision_not_observed", "refused") in said(result)
    assert ("revision_not_observed", "waiting") in said(room.plan(OLD, wait=False))


def test_a_pool_that_its_controller_rolls_by_itself_is_refused(room: Room) -> None:
    room.add("data", 2, updateStrategy={"type": "RollingUpdate"})
    changed(room, "data-0")
    result = room.plan(OLD)
    assert ("strategy_rolls_by_itself", "refused") in said(result)
    assert "kubectl patch statefulset data -n search" in result["msg"]


def test_a_pool_that_its_partition_holds_goes_by_it_if_that_is_wanted(room: Room) -> None:
    room.add("managers", 3, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 3}})
    changed(room, "managers-0", "managers-1", "managers-2", pool="managers")
    assert ("partition_replaced", "passed") in said(room.plan(OLD))
    assert order_of(room.plan(OLD)) == ["managers-2", "managers-1", "managers-0"]
    by_partition = room.plan(OLD, strategy="RollingUpdate")
    assert {pool["name"]: pool["rolled_by"] for pool in by_partition["pools"]}["managers"] == "RollingUpdate"


def test_together_they_keep_the_words_and_say_whose_template_changed(room: Room) -> None:
    for name, pods in (("data", 2), ("managers", 3), ("clients", 1)):
        room.add(name, pods, version=NEW)
    room.pod("clients-0", OLD)
    changed(room, "data-1")
    first = room.plan(NEW, batching="disjoint")["batches"][0]
    assert sorted(first["members"]) == ["clients-0", "data-1"]
    assert "template changed for data-1; 2 members" in first["reason"]
