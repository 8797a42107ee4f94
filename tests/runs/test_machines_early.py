"""The early look at an upgrade of machines that starts later: all that would stop it, and what is new or fixed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.runs.machines import NAMESPACE, PLAYBOOK, Machines, machines
from tests.runs.observer.looking import RECORD
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import FROM, TO
from tests.runs.test_machines_drains import WEB, pod
from tests.runs.world import world
from tests.sandbox.kubernetes.kinds import BUDGETS, CONFIG_MAPS, NODES, PODS
from tests.sandbox.kubernetes.objects import Json, timestamp
from tests.scenarios.cluster import USER

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": WEB, "namespace": WEB},
    "spec": {"selector": {"matchLabels": {"app": WEB}}, "maxUnavailable": 0},
}


@pytest.fixture
def found() -> Iterator[Machines]:
    """Three machines of the control plane and three workers, and the user with the shipped rights."""
    with world() as here, machines(here, FROM, [TO]) as made:
        here.sandbox.apply(
            [*rights_of_machines(NAMESPACE), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": WEB}}]
        )
        yield made


class Early:
    """A pass before the start."""

    def __init__(self, found: Machines) -> None:
        self.found, self.store = found, found.here.sandbox.kubernetes.server.resources.store
        self.at = timestamp(found.here.sandbox.clock.now() + 7200)

    def looked(self) -> Json:
        """The start in the record after a pass, and its output."""
        given = self.found.variables(TO, user=USER, upgrade_at=self.at, upgrade_wait=False)
        passed = self.found.here.play(PLAYBOOK, given, *self.found.arguments)
        assert passed.code == 0, passed.output
        assert '"upgrade_state": "waiting"' in passed.output
        (kept,) = [each["data"][RECORD] for each in self.store.each(CONFIG_MAPS) if RECORD in (each.get("data") or {})]
        return {**json.loads(kept)["start"], "output": passed.output}

    def is_etcd(self, name: str, *, ready: bool) -> None:
        """Have the pod of etcd on this machine be Ready, or not."""
        item = self.store.get(PODS, "kube-system", f"etcd-{name}")
        assert item is not None
        for each in item["status"]["conditions"]:
            if each["type"] == "Ready":
                each["status"] = str(ready)
        self.store.put(PODS, item)

    def has(self, name: str, condition: str, *, there: bool) -> None:
        """Have a Kubernetes node be under pressure, or not."""
        item = self.found.cluster.node(name)
        others = [each for each in item["status"]["conditions"] if each["type"] != condition]
        item["status"]["conditions"] = [*others, {"type": condition, "status": str(there)}]
        self.store.put(NODES, item)


def test_each_pass_before_the_start_asks_for_budgets_etcd_and_pressure(found: Machines) -> None:
    early = Early(found)
    assert early.looked()["findings"] == []
    found.here.sandbox.apply([BUDGET, pod("worker-2")])
    early.is_etcd("cp-1", ready=False)
    early.has("worker-1", "DiskPressure", there=True)
    node = found.cluster.node("worker-3")
    node["spec"]["unschedulable"] = True
    early.store.put(NODES, node)
    second = early.looked()
    said = " ".join(second["findings"])
    for expected in (
        f"PodDisruptionBudget {WEB}/{WEB}",
        f"{WEB}/on-worker-2",
        "etcd would have 1 of 3 members Ready",
        "etcd on machine cp-1 is not Ready",
        "Kubernetes node worker-1",
    ):
        assert expected in said, second["findings"]
    assert second["new"] == second["findings"]
    # A cordon of a person stops no upgrade of machines, which leaves it.
    assert "Machines that another user has cordoned stay cordoned: worker-3." in second["output"]
    for kind, name in ((BUDGETS, WEB), (PODS, "on-worker-2")):
        found.here.sandbox.kubernetes.server.resources.delete(kind, WEB, name)
    found.here.later(60)
    early.is_etcd("cp-1", ready=True)
    early.has("worker-1", "DiskPressure", there=False)
    third = early.looked()
    assert (third["findings"], third["cured"]) == ([], second["findings"])
