"""An OpenSearch that lives on the workers of a kubeadm cluster, and is asked before each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.verdict import Verdict
from ansible_collections.stateful.upgrade.plugins.module_utils.machines import machine_upgrade

from tests.runs.machines import UNDO, Machines, Tenant, machines
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.kubernetes.resources import Writing

FROM, TO = "1.35.4", "1.36.1"
FIRST_ZONE = ("worker-1", "worker-4")
"""The workers that go first."""


@pytest.fixture
def found() -> Iterator[Machines]:
    """Three machines of the control plane and six workers."""
    with world() as here, machines(here, FROM, [TO], workers=6) as made:
        yield made


def slow(tenant: Tenant) -> str:
    """The member on the first workers, which does not start again for a long time."""
    (member,) = (name for name, place in tenant.places().items() if place in FIRST_ZONE)
    tenant.slow_to_return(member, 1200.0)
    return member


def test_no_machine_goes_whose_members_cannot_be_spared(found: Machines, tmp_path: Path) -> None:
    tenant = Tenant(found)
    member = slow(tenant)
    ended = found.upgraded(TO, upgrade_workload_gate=tenant.gate(tmp_path))
    assert ended.code == 0, ended.output
    assert found.cluster.is_upgraded(TO)
    tenant.cluster.until_green()
    assert tenant.breaches == []
    assert re.search(rf"waiting 1\d min[^:]*: .*{member}", ended.output)
    assert len(tenant.moved) > len(tenant.places())


def test_without_the_gate_the_next_machine_waits_until_the_pod_of_the_member_is_ready(found: Machines) -> None:
    tenant = Tenant(found)
    member = slow(tenant)
    ended = found.upgraded(TO)
    assert ended.code == 0, ended.output
    assert tenant.breaches == []
    assert re.search(
        rf"Pods that were Ready before machine worker-\d went are not Ready again: .*{member}", ended.output
    )


def test_without_the_gate_and_that_wait_a_machine_goes_too_early(found: Machines) -> None:
    tenant = Tenant(found)
    slow(tenant)
    with patch.object(machine_upgrade, "await_pods", lambda *_given: Verdict()):
        found.upgraded(TO)
    assert tenant.breaches


@pytest.mark.parametrize(("kubelet", "breaches"), [(FROM, 0), (TO, 1)], ids=["of its batch", "of the batch before"])
def test_only_a_machine_of_the_same_batch_may_be_away(found: Machines, kubelet: str, breaches: int) -> None:
    """A machine loses its power once the database has let its batch go: no member outside the batch is away."""
    tenant, resources = Tenant(found), found.here.sandbox.kubernetes.server.resources
    first = tenant.places()[min(tenant.places())]
    second = min({*found.cluster.described.workers} - {*tenant.places().values()})

    def taken(node: Json) -> None:
        node["spec"]["unschedulable"] = True
        node["metadata"].setdefault("annotations", {})[UNDO] = "{}"

    def upgraded(node: Json) -> None:
        node["status"]["nodeInfo"]["kubeletVersion"] = f"v{kubelet}"

    resources.change(NODES, "", first, taken)
    resources.change(NODES, "", first, upgraded, Writing(manager="kubelet", subresource="status"))
    found.machines[first].power_off()
    resources.change(NODES, "", second, taken)
    assert tenant.breaches == [f"{second}: {min(tenant.places())} is away"] * breaches
