"""Machines of kubeadm that cannot be drained, and those that do not come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import NAMESPACE, Machines, machines
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import FROM, TO, codes, cordoned, is_upgraded, planned, upgraded
from tests.runs.world import world
from tests.sandbox.kubernetes.objects import Json

WEB = "web"


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
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": WEB, "namespace": WEB},
        "spec": {"selector": {"matchLabels": {"app": WEB}}, "maxUnavailable": 0},
    }
    found.here.sandbox.apply([budget, pod("worker-2")])
    assert sorted(codes(planned(found))) == ["drain_never_ends", "pods_without_controller"]


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
