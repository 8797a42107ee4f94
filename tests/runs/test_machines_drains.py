"""Machines of kubeadm that cannot be drained, and those that do not come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.runs.machines import NAMESPACE, Machines, machines
from tests.runs.observer.looking import RECORD
from tests.runs.shipped import bound, rights_of_machines
from tests.runs.test_machines import FROM, TO, codes, cordoned, is_upgraded, planned, upgraded
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import CONFIG_MAPS, NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.web import Request

WEB = "web"
BUDGET: Json = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": WEB, "namespace": WEB},
    "spec": {"selector": {"matchLabels": {"app": WEB}}, "maxUnavailable": 0},
}
"""A budget that lets no pod of it go."""


@pytest.fixture
def found() -> Iterator[Machines]:
    """Three machines of the control plane and three workers, and the user with the shipped rights."""
    with world() as here, machines(here, FROM, [TO]) as made:
        here.sandbox.apply(
            [*rights_of_machines(NAMESPACE), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WEB}}]
        )
        yield made


def pod(place: str, **metadata: object) -> Json:
    """A pod on a machine that no controller makes again."""
    spec = {"nodeName": place, "containers": [{"name": "server", "image": "probe:1"}]}
    own = {"name": f"on-{place}", "namespace": WEB, "labels": {"app": WEB}, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec}


def test_a_pod_without_a_controller_is_lost_by_consent_alone(found: Machines) -> None:
    found.here.sandbox.apply([pod("worker-2")])
    refused = planned(found)
    assert codes(refused) == ["pods_without_controller"]
    assert "web/on-worker-2" in refused.output
    ended = upgraded(found, upgrade_allow_unmanaged_pods=[WEB])
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_a_budget_that_never_lets_its_pod_go_is_refused_with_all_else(found: Machines) -> None:
    found.here.sandbox.apply([BUDGET, pod("worker-2")])
    assert sorted(codes(planned(found))) == ["drain_never_ends", "pods_without_controller"]


def test_a_pod_that_a_budget_keeps_is_deleted_after_its_time_where_that_is_allowed(found: Machines) -> None:
    found.here.sandbox.apply([BUDGET, pod("worker-2")])
    forced: dict[str, Any] = {
        "upgrade_allow_unmanaged_pods": [WEB],
        "upgrade_allow_forced_drains": [{"rung": "delete", "after": 300, "namespaces": [WEB]}],
    }
    refused = planned(found, **forced)
    assert codes(refused) == ["kubernetes_rights"]
    assert 'resources: ["pods"], verbs: ["delete"]' in refused.output
    found.here.sandbox.apply(bound("openshift/files/forced_drains_role.yml", WEB))
    ended = upgraded(found, **forced)
    assert ended.code == 0, ended.output
    is_upgraded(found)
    maps = found.here.sandbox.kubernetes.server.store.each(CONFIG_MAPS, NAMESPACE)
    (record,) = [json.loads(each["data"][RECORD]) for each in maps if RECORD in each.get("data", {})]
    (act,) = [each for each in record["events"] if each["message"].startswith("forced")]
    assert act["about"] == f"Pod {WEB}/on-worker-2"
    assert act["message"] == "forced: delete on worker-2 (upgrade_allow_forced_drains)"


def test_a_machine_that_does_not_come_back_stays_cordoned_until_it_is_ready(found: Machines) -> None:
    kubelet = found.machines["worker-2"].kubelet
    kubelet.never_ready = True
    failed = upgraded(found, upgrade_member_timeout=120)
    assert failed.code != 0
    assert "worker-2" in failed.message
    assert cordoned(found) == ["worker-2"]
    assert "Machine worker-2 stays cordoned, since it is not Ready and may be half upgraded." in failed.output
    kubelet.never_ready = False
    kubelet.restart(TO)
    found.here.later(60)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def when_cordoned(found: Machines, machine: str, then: Callable[[Json], object], other: str = "") -> None:
    """Have a person change a machine, the same or another one, as soon as a run has cordoned this one."""
    calling, resources = found.here.calling, found.here.sandbox.kubernetes.server.resources

    def look(request: Request) -> None:
        is_closed = found.cluster.node(machine)["spec"].get("unschedulable")
        if request.method == "PATCH" and request.path.endswith(f"/nodes/{machine}") and is_closed:
            calling.after = lambda _request: None

            def change(item: Json) -> None:
                then(item["spec"])

            resources.change(NODES, "", other or machine, change, Writing("kubectl"))

    calling.after = look


def test_a_machine_that_a_person_uncordons_during_its_drain_ends_the_run_and_is_left_so(found: Machines) -> None:
    when_cordoned(found, "worker-2", lambda spec: spec.pop("unschedulable"))
    failed = upgraded(found)
    assert failed.code != 0
    assert "cordon_undone" in codes(failed), failed.output
    assert "Kubernetes node worker-2 was uncordoned by something else while it was drained" in failed.message
    assert cordoned(found) == []
    versions = {name: each.kubelet.version for name, each in found.machines.items()}
    assert (versions["worker-1"], versions["worker-2"], versions["worker-3"]) == (TO, FROM, FROM)
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)


def test_a_machine_that_a_person_cordons_during_the_drain_of_another_stays_cordoned_and_is_named(
    found: Machines,
) -> None:
    """It is upgraded. The step after the last batch asks for it, which was not cordoned when the run was planned."""
    when_cordoned(found, "worker-1", lambda spec: spec.update(unschedulable=True), "worker-3")
    failed = upgraded(found)
    assert "kubernetes_node_unfit" in codes(failed), failed.output
    assert "Kubernetes node worker-3 is cordoned. Uncordon it" in failed.output
    assert found.cluster.is_upgraded(TO)
    assert cordoned(found) == ["worker-3"]


def test_a_person_who_cordons_a_machine_that_is_drained_changes_nothing(found: Machines) -> None:
    """Kubernetes keeps no note of it: the machine is cordoned already, and the run takes its own cordon off."""
    when_cordoned(found, "worker-1", lambda spec: spec.update(unschedulable=True))
    ended = upgraded(found)
    assert ended.code == 0, ended.output
    is_upgraded(found)
