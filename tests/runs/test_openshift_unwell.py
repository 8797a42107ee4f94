"""A ClusterVersion that cannot be reconciled: no update is started but by a person, as with oc."""

from __future__ import annotations

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import TARGET, CalledOpenShift
from tests.runs.world import World
from tests.sandbox.kubernetes.controllers.work import with_condition
from tests.sandbox.kubernetes.objects import Json, condition_of, timestamp
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.openshift.kinds import VERSION, VERSIONS
from tests.sandbox.web import Request

FOR_A_WHILE = 60.0
SAID = "The ClusterVersion cannot be reconciled: no image."


def make_unwell(cluster: CalledOpenShift) -> None:
    """The version operator says that it fails, and looks again after a while."""
    cluster.openshift.faults.version_operator_away(FOR_A_WHILE)
    now = timestamp(cluster.openshift.clock.now())

    def change(item: Json) -> None:
        with_condition(item, "Failing", "True", now, reason="PayloadFailed", message="no image.")

    cluster.openshift.resources.change(VERSIONS, "", VERSION, change, Writing("cvo", subresource="status"))


@pytest.mark.parametrize("begun", [False, True], ids=["when it is planned", "behind its plan"])
def test_no_update_is_started_while_the_present_one_cannot_be_reconciled(here: World, *, begun: bool) -> None:
    cluster = CalledOpenShift(here)
    given, fails, seen = cluster.agreed(), list[bool](), list[str]()

    def fail() -> None:
        fails.append(True)
        make_unwell(cluster)

    def look(request: Request) -> None:
        if request.path == VERSIONS.path("", VERSION) and request.method == "PATCH":
            seen.append(condition_of(cluster.openshift.version(), "Failing")["status"])
        if begun and not fails and request.method == "POST" and request.path.endswith("/configmaps"):
            fail()

    if not begun:
        fail()
    here.calling.after = look
    ended = here.play(PLAYBOOK, given)
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    before, said, _behind = ended.output.partition(SAID)
    assert (said, "Plan p" in before) == (SAID, begun)
    assert {*seen} == {"False"}
    cluster.is_upgraded()


def test_a_run_continues_with_the_update_that_a_person_begins_all_the_same(here: World) -> None:
    cluster = CalledOpenShift(here)
    make_unwell(cluster)
    cluster.openshift.faults.person_wants(TARGET)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert SAID not in ended.output
    assert cluster.on_target() == {node.name for each in cluster.described.pools for node in each.nodes}
    assert cluster.openshift.observer.breaches == []


def test_the_plan_names_what_the_version_operator_leaves_alone(here: World) -> None:
    cluster = CalledOpenShift(here)
    place = {"group": "apps", "kind": "Deployment", "namespace": "openshift-etcd-operator"}
    overrides = [{**place, "name": name, "unmanaged": name == "etcd-operator"} for name in ("etcd-operator", "other")]

    def change(item: Json) -> None:
        item["spec"]["overrides"] = overrides

    cluster.openshift.resources.change(VERSIONS, "", VERSION, change, Writing("kubectl"))
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    assert "leaves Deployment openshift-etcd-operator/etcd-operator alone, so that no update reaches it" in ended.output
