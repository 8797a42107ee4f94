"""The plan proves the new image with throw-away pods on the Kubernetes nodes that do not name it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import State
from ansible_collections.stateful.upgrade.plugins.module_utils.kubernetes.pods import pod_path
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.observe.look import model_of_managers
from ansible_collections.stateful.upgrade.plugins.module_utils.longhorn.rights import ROLE, rights_for
from ansible_collections.stateful.upgrade.plugins.module_utils.pools.pull_pod import pull_pod

from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.longhorn.description import NEW_IMAGE, OLD_IMAGE, QUICK, Described, Machine, Volume
from tests.sandbox.longhorn.kinds import NAMESPACE
from tests.sandbox.longhorn.longhorn import Longhorn
from tests.unit.plugins.module_utils.longhorn.driving import ACCEPTED, SPREAD, Driver

MADE = r"/namespaces/longhorn-system/pods$"


def silent_about_n2() -> Longhorn:
    """Three nodes, of which the second one does not name the new image."""
    machines = (Machine("n1"), Machine("n2", images=(OLD_IMAGE,)), Machine("n3"))
    return Longhorn(Described(machines, (Volume("vol-1", SPREAD, "n1"),)), pace=QUICK)


def throw_away(driver: Driver) -> Iterator[str]:
    """The throw-away pods that are there."""
    driver.longhorn.clock.advance(60)
    for each in driver.longhorn.kubernetes.server.store.list(PODS, NAMESPACE):
        if "upgrade.stateful/image-pull" in each["metadata"].get("labels", {}):
            yield str(each["metadata"]["name"])


def test_a_node_that_does_not_name_the_image_proves_it_with_a_pod_that_is_removed(drive: type[Driver]) -> None:
    driver = drive(silent_about_n2())
    driver.longhorn.kubernetes.server.faults.answer(503, "POST", MADE)
    planned = driver.plan()
    assert planned.verdict.reasons == ()
    assert planned.more["unlisted"] == ["n2"]
    assert list(throw_away(driver)) == []
    made = [path for method, path in driver.api.asked if method == "POST" and path.endswith("/pods")]
    assert len(made) == 2, "the one that was turned away, and the one that was made"


def test_longhorn_itself_upgrades_a_node_on_which_a_pod_has_proven_the_image(drive: type[Driver]) -> None:
    described = replace(silent_about_n2().described, offers="design", frontends_outlive=True)
    driver = drive(Longhorn(described, pace=QUICK))
    planned = driver.plan(accept_unverified=[])
    assert (planned.verdict.reasons, planned.more["unlisted"]) == ((), ["n2"])
    assert driver.switch("n2", accept_unverified=[]).verdict.passed, driver.said


def test_an_image_that_cannot_be_pulled_is_refused_with_its_node(drive: type[Driver]) -> None:
    driver = drive(silent_about_n2())
    driver.longhorn.kubernetes.behaviour.pull_error = lambda image: f"{image}: not found"
    (reason,) = driver.plan().verdict.reasons
    assert (reason.code, reason.state) == ("image_not_pulled", State.REFUSED)
    assert f"Image {NEW_IMAGE} cannot be pulled on Kubernetes node n2" in reason.message
    assert "the pull secrets of Longhorn" in reason.remedy
    assert list(throw_away(driver)) == []


def test_no_pod_is_made_where_the_user_accepts_that_or_the_plan_is_refused_anyway(drive: type[Driver]) -> None:
    driver = drive(silent_about_n2())
    assert driver.plan(accept_unverified=[*ACCEPTED, "unlisted_images"]).verdict.reasons == ()
    assert driver.plan(accept_unverified=[]).verdict.state is State.REFUSED
    assert not [path for method, path in driver.api.asked if method == "POST" and path.endswith("/pods")]


def test_check_mode_makes_no_pod_and_says_that_nothing_is_proven(drive: type[Driver]) -> None:
    driver = drive(silent_about_n2())
    (told,) = driver.plan(check_mode=True).verdict.reasons
    assert (told.code, told.state) == ("image_not_proven", State.PASSED)
    assert list(throw_away(driver)) == []


def test_the_pod_is_like_those_of_the_instance_managers_and_not_privileged(drive: type[Driver]) -> None:
    driver = drive(silent_about_n2())
    name = driver.longhorn.manager("n2")["metadata"]["name"]

    path = pod_path(NAMESPACE, name)
    pod = driver.api.objects[path]
    pod["spec"]["imagePullSecrets"] = [{"name": "registry"}]
    pod["spec"]["tolerations"] = [{"key": "storage", "operator": "Exists"}]
    pod["spec"]["containers"][0] |= {"imagePullPolicy": "Never", "securityContext": {"privileged": True}}
    driver.api.put_there(path, pod)
    spec = pull_pod(model_of_managers(driver.api.client(), NAMESPACE, "n2"), NEW_IMAGE, "n2", 360)["spec"]
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert {"key": "storage", "operator": "Exists"} in spec["tolerations"]
    assert spec["containers"][0]["imagePullPolicy"] == "Never"
    assert "privileged" not in str(spec)
    assert "worker-9" in str(pull_pod(model_of_managers(driver.api.client(), NAMESPACE, "n9"), "i", "worker-9", 360))


def test_the_right_to_make_pods_is_asked_for_only_where_an_image_is_to_be_proven() -> None:
    every, less = (rights_for(records=True, replaces=True, proves=proves) for proves in (True, False))
    assert {each.verb for each in ROLE if each.resource == "pods"} == {"list", "create", "delete"}
    assert {each.resource for each in every} - {each.resource for each in less} == {"pods"}


@pytest.mark.parametrize("wait", [True, False])
def test_a_plan_asks_for_everything_once(drive: type[Driver], wait: bool) -> None:
    driver = drive(silent_about_n2())
    assert driver.plan(accept_unverified=[*ACCEPTED, "unlisted_images"], wait=wait).verdict.passed
    lists = [path.partition("?")[0] for method, path in driver.api.asked if method == "GET" and "longhorn.io" in path]
    assert sorted(set(lists)) == sorted(lists)
    assert lists.count("/apis/longhorn.io/v1beta2") == 1
