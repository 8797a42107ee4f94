"""Drains of an OpenShift that do not end, and pods that may be deleted for their sake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.timestamps import timestamp_of
from kubernetes import client

from tests.runs import direct
from tests.runs.openshift import PLAYBOOK
from tests.runs.shipped import bound
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import NODES, PODS
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.faults import SEARCH
from tests.sandbox.web import Request

RUNG = {"rung": "delete", "after": 900, "namespaces": [SEARCH]}


class Blocked:
    """An OpenShift with a pod on worker-1 whose budget never lets it go, and the right to delete pods there."""

    def __init__(self, here: World) -> None:
        self.here, self.cluster = here, CalledOpenShift(here)
        self.name = self.cluster.openshift.faults.drain_blocked("worker-1")
        self.cluster.openshift.clock.advance(60)
        self.rights = bound("openshift/files/forced_drains_role.yml", SEARCH)

    def given(self, rung: Mapping[str, Any] = RUNG, **more: Any) -> dict[str, Any]:
        """The variables of the playbook with consent and a rung."""
        self.here.sandbox.apply(self.rights)
        return self.cluster.agreed(upgrade_allow_forced_drains=[rung], **more)

    def seconds(self) -> float:
        """Seconds from the start of the drain until the pod was forced, by the record."""
        at = {each["kind"]: each["at"] for each in self.cluster.record()["events"] if each["kind"] == "lasts_since"}
        (forced,) = [each["at"] for each in self.cluster.record()["events"] if each["about"].startswith("Pod ")]
        return (timestamp_of(forced) - timestamp_of(at["lasts_since"])).total_seconds()

    def passes(self, given: Mapping[str, Any], between: Callable[[], object]) -> None:
        """Single passes, two minutes apart, until the upgrade is done or forty are over."""
        for _pass in range(40):
            ended = self.here.play(PLAYBOOK, given)
            assert ended.code == 0, ended.output
            if '"upgrade_state": "done"' in ended.output:
                return
            self.cluster.openshift.clock.advance(120)
            between()

    def pods(self) -> list[Any]:
        """The pods in the namespace of the budget."""
        return [*self.cluster.openshift.resources.store.each(PODS, SEARCH)]


@pytest.fixture
def blocked() -> Iterator[Blocked]:
    """One of its own."""
    with world(direct.play) as here:
        yield Blocked(here)


def test_a_pod_is_deleted_after_its_time_where_that_is_allowed(blocked: Blocked) -> None:
    blocked.here.sandbox.apply(blocked.rights)
    planned = blocked.cluster.plan(upgrade_allow_forced_drains=[RUNG])
    assert planned.code == 0, planned.output
    assert f"1 pod may be deleted: {SEARCH}/{blocked.name}." in planned.output
    ended = blocked.here.play(PLAYBOOK, blocked.cluster.agreed(upgrade_allow_forced_drains=[RUNG]))
    assert ended.code == 0, ended.output
    assert "waiting 14 min" in ended.output
    assert blocked.pods() == []
    blocked.cluster.is_upgraded()
    record = blocked.cluster.record()
    (forced,) = [each for each in record["events"] if each["message"].startswith("forced")]
    assert forced["about"] == f"Pod {SEARCH}/{blocked.name}"
    assert forced["message"] == "forced: delete on worker-1 (upgrade_allow_forced_drains)"
    assert forced["by"] == record["who"] != ""
    (allowed,) = [each for each in record["events"] if each["kind"] == "risk_accepted"]
    assert (allowed["about"], allowed["by"]) == ("allow_forced_drains", forced["by"])


def test_without_a_rung_the_plan_is_refused_and_another_namespace_is_none(blocked: Blocked) -> None:
    assert codes(blocked.cluster.plan()) == ["drain_never_ends"]
    other = {**RUNG, "namespaces": ["web"]}
    assert codes(blocked.cluster.plan(upgrade_allow_forced_drains=[other])) == ["drain_never_ends"]


def test_the_digest_of_the_plan_covers_the_rungs(blocked: Blocked) -> None:
    given = blocked.given()
    later = {**RUNG, "after": 30}
    refused = blocked.here.play(PLAYBOOK, {**given, "upgrade_allow_forced_drains": [later]})
    assert refused.code != 0
    assert len(blocked.pods()) == 1


def test_a_right_that_is_missing_is_named_by_the_plan_and_nothing_is_changed(blocked: Blocked) -> None:
    refused = blocked.cluster.plan(upgrade_allow_forced_drains=[RUNG])
    assert codes(refused) == ["kubernetes_rights"]
    assert f"in namespace {SEARCH}" in refused.output
    assert 'resources: ["pods"], verbs: ["delete"]' in refused.output
    assert len(blocked.pods()) == 1
    assert blocked.cluster.paused() == []


def test_a_right_that_is_withdrawn_during_the_run_is_named_and_nothing_is_deleted(blocked: Blocked) -> None:
    given = blocked.given()
    with blocked.here.sandbox.client() as api:
        client.RbacAuthorizationV1Api(api).delete_namespaced_role_binding(
            blocked.rights[1]["metadata"]["name"], SEARCH, _preload_content=False
        )
    ended = blocked.here.play(PLAYBOOK, given)
    assert ended.code != 0
    assert "delete" in ended.output
    assert "pods" in ended.output
    assert len(blocked.pods()) == 1


def test_the_time_of_a_rung_counts_over_passes_and_a_new_cordon(blocked: Blocked) -> None:
    faults, opened = blocked.cluster.openshift.faults, list[bool]()

    def open_again() -> None:
        drained = blocked.cluster.openshift.node("worker-1")["spec"].get("unschedulable")
        if drained and blocked.pods() and len(opened) < 3:
            opened.append(True)
            faults.person_uncordons("worker-1")

    blocked.passes(blocked.given(upgrade_wait=False), open_again)
    assert len(opened) == 3
    blocked.cluster.is_upgraded()
    assert 900 <= blocked.seconds() < 900 + 240


def test_the_time_of_a_rung_counts_on_after_a_controller_is_killed(blocked: Blocked) -> None:
    given, number = blocked.given(), 1
    while not blocked.cluster.openshift.node("worker-1")["spec"].get("unschedulable"):
        assert blocked.here.killed_behind(number, given, PLAYBOOK) is None
        blocked.cluster.openshift.clock.advance(60)
        number += 1
    ended = blocked.here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    blocked.cluster.is_upgraded()
    assert 900 <= blocked.seconds() < 900 + 60


def test_a_wait_for_a_drain_says_since_when_it_lasts(blocked: Blocked) -> None:
    ended = blocked.here.play(PLAYBOOK, blocked.given({**RUNG, "after": 7200}, upgrade_member_timeout=1200))
    assert ended.code != 0
    (since,) = [each["at"] for each in blocked.cluster.record()["events"] if each["kind"] == "lasts_since"]
    assert f"Kubernetes node worker-1 has been draining since {since}, and PodDisruptionBudget" in ended.output


def test_a_pod_is_evicted_again_as_soon_as_its_budget_lets_it_go(blocked: Blocked) -> None:
    openshift, times = blocked.cluster.openshift, dict[str, float]()
    evict = {**RUNG, "rung": "evict", "after": 60}
    assert codes(blocked.cluster.plan(upgrade_allow_forced_drains=[evict])) == ["drain_never_ends"]
    openshift.faults.drain_unblocked("worker-1")

    def block() -> None:
        openshift.faults.drain_blocked("worker-2")

    def note() -> None:
        times["blocked"] = openshift.clock.now()

    def closed(name: str) -> Callable[[Json], bool]:
        return lambda item: bool(item["metadata"]["name"] == name and item["spec"].get("unschedulable"))

    def unblock(_request: Request) -> None:
        # By then the machine config operator evicts every five minutes.
        if "blocked" in times and "unblocked" not in times and openshift.clock.now() - times["blocked"] > 700:
            openshift.faults.drain_unblocked("worker-2")
            times["unblocked"] = openshift.clock.now()
        if "unblocked" in times and "gone" not in times and len(blocked.pods()) == 0:
            times["gone"] = openshift.clock.now()

    given = blocked.given(evict)
    openshift.faults.when(NODES, closed("worker-1"), block)
    openshift.faults.when(NODES, closed("worker-2"), note)
    blocked.here.calling.after = unblock
    ended = blocked.here.play(PLAYBOOK, given)
    assert ended.code == 0, ended.output
    blocked.cluster.is_upgraded()
    assert times["gone"] - times["unblocked"] < 30
    (forced,) = [each for each in blocked.cluster.record()["events"] if each["message"].startswith("forced")]
    assert forced["about"] == f"Pod {SEARCH}/search-on-worker-2"
    assert forced["message"] == "forced: evict on worker-2 (upgrade_allow_forced_drains)"
