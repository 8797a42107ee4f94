"""Drains of an OpenShift that do not end, and pods that may be deleted for their sake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import direct
from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import CalledOpenShift, codes
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.openshift.faults import SEARCH
from tests.scenarios.cluster import USER

RUNG = {"rung": "delete", "after": 900, "namespaces": [SEARCH]}


class Blocked:
    """An OpenShift with a pod on worker-1 whose budget never lets it go, and the right to delete pods there."""

    def __init__(self, here: World) -> None:
        self.here, self.cluster = here, CalledOpenShift(here)
        self.name = self.cluster.openshift.faults.drain_blocked("worker-1")
        self.cluster.openshift.clock.advance(60)
        kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "deletes", "namespace": SEARCH}}
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}]
        bound = {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deletes"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
        }
        self.rights = [{**kind, "kind": "Role", "rules": rules}, {**kind, "kind": "RoleBinding", **bound}]

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
    assert f"1 pods are covered: {SEARCH}/{blocked.name}." in planned.output
    ended = blocked.here.play(PLAYBOOK, blocked.cluster.agreed(upgrade_allow_forced_drains=[RUNG]))
    assert ended.code == 0, ended.output
    assert "waiting 14 min" in ended.output
    assert blocked.pods() == []
    blocked.cluster.is_upgraded()


def test_without_a_rung_the_plan_is_refused_and_another_namespace_is_none(blocked: Blocked) -> None:
    assert codes(blocked.cluster.plan()) == ["drain_never_ends"]
    other = {**RUNG, "namespaces": ["web"]}
    assert codes(blocked.cluster.plan(upgrade_allow_forced_drains=[other])) == ["drain_never_ends"]


def test_the_digest_of_the_plan_covers_the_rungs(blocked: Blocked) -> None:
    given = blocked.cluster.agreed(upgrade_allow_forced_drains=[RUNG])
    later = {**RUNG, "after": 30}
    refused = blocked.here.play(PLAYBOOK, {**given, "upgrade_allow_forced_drains": [later]})
    assert refused.code != 0
    assert len(blocked.pods()) == 1


def test_a_right_that_is_missing_is_named_and_nothing_is_deleted(blocked: Blocked) -> None:
    ended = blocked.here.play(PLAYBOOK, blocked.cluster.agreed(upgrade_allow_forced_drains=[RUNG]))
    assert ended.code != 0
    assert "delete" in ended.output
    assert "pods" in ended.output
    assert len(blocked.pods()) == 1
    assert blocked.cluster.paused() == ["worker"]
