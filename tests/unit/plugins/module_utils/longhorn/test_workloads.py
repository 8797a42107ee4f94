"""Longhorn as a workload on Kubernetes nodes that go down, next to others."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from ansible_collections.stateful.upgrade.plugins.module_utils.common.task import Contract, Outcome
from ansible_collections.stateful.upgrade.plugins.module_utils.machines.machine_upgrade import CONTRACT
from ansible_collections.stateful.upgrade.plugins.module_utils.run.away_sets import AwaySets, Part
from ansible_collections.stateful.upgrade.plugins.module_utils.workloads import going_down
from ansible_collections.stateful.upgrade.plugins.module_utils.workloads.workload import workloads_in

from tests.sandbox.longhorn.description import Volume
from tests.unit.plugins.module_utils.longhorn.driving import Driver, three

LONGHORN = {"system": "longhorn", "namespace": None, "opensearch": None}
CONSENTS: dict[str, Any] = {"allow_single_copy": [], "allow_quorum_loss": False, "allow_red_indices": []}
WORK = {
    "asked": going_down.asked,
    "ready": going_down.ready,
    "rejoined": going_down.rejoined,
    "whole": going_down.whole,
    "restored": going_down.put_back,
}


def asked(driver: Driver, state: str, *batch: str, **more: Any) -> Outcome:
    """One of the states of an upgrade of machines."""
    apart = {"apart": more.pop("apart")} if "apart" in more else {}
    given = {"workloads": [{**LONGHORN, **CONSENTS}], "batch": list(batch), "wait_timeout": 30, **more}
    contract: Contract = CONTRACT
    return driver.asked(contract, partial(WORK[state], **apart), given)


@pytest.mark.parametrize("state", ["asked", "ready"])
def test_a_batch_goes_only_if_each_volume_keeps_a_replica(drive: type[Driver], state: str) -> None:
    driver = drive(three(Volume("orders", ("n1", "n2")), Volume("bare", ("n3",))))
    assert asked(driver, state, "n1").verdict.passed
    assert not asked(driver, state, "n1", "n2").verdict.passed
    (reason,) = asked(driver, state, "n3").verdict.deciding()
    assert reason.code == "last_replica"
    assert reason.message == "Longhorn: Volume bare has its only healthy replicas on n3."
    # Not every Kubernetes node has a part of Longhorn.
    assert asked(driver, state, "elsewhere").verdict.passed


@pytest.mark.parametrize(
    ("at_once", "replicas", "said"),
    [
        (1, ("n0", "n1"), []),
        (2, ("n3", "n8"), ["Longhorn: Volume orders has its only healthy replicas on n3, n8."]),
        (2, ("n3", "n8", "n11"), []),
        (6, ("n3", "n8", "n11"), ["Longhorn: Volume orders has its only healthy replicas on n11, n3, n8."]),
    ],
)
def test_of_many_nodes_each_set_that_may_be_away_at_once_is_judged_on_one_look(
    drive: type[Driver], at_once: int, replicas: tuple[str, ...], said: list[str]
) -> None:
    nodes = tuple(f"n{number}" for number in range(12))
    driver = drive(three(Volume("orders", replicas, attached=replicas[0]), nodes=nodes))
    away = AwaySets([[Part(frozenset(nodes), at_once)]])
    found = asked(driver, "asked", *nodes, wait=False, apart=away).verdict.deciding()
    assert [each.message for each in found if each.code == "last_replica"] == said
    assert [each.code for each in found] == ["last_replica", "away_at_once"][: 2 * len(said)]
    requests = len(driver.api.asked)
    asked(driver, "asked", "n0", wait=False)
    assert len(driver.api.asked) == 2 * requests


@pytest.mark.parametrize(("only_one", "code"), [("", "last_replica"), ("n1", "only_kubernetes_node")])
def test_the_only_kubernetes_node_of_a_cluster_is_said_instead_of_another_one(
    monkeypatch: pytest.MonkeyPatch, drive: type[Driver], only_one: str, code: str
) -> None:
    driver = drive(three(Volume("orders", ("n1",)), Volume("bare", ("n1",)), nodes=("n1",)))
    monkeypatch.setattr(going_down, "kubernetes", driver.connect)
    given = {"workloads": [{**LONGHORN, **CONSENTS}], "batch": [], "wait_timeout": 30}
    found = driver.asked(CONTRACT, lambda task: going_down.foreseen(task, {"batch": ["n1"]}, None, only_one), given)
    assert {each.code for each in found.verdict.deciding()} == {code}
    assert len(found.verdict.deciding()) == (1 if only_one else 2)


def test_the_next_batch_waits_until_the_volumes_near_the_last_one_are_whole(drive: type[Driver]) -> None:
    well = drive(three(Volume("orders", ("n1", "n2"), attached="n1")))
    assert asked(well, "whole", "n2").verdict.passed
    degraded = Volume("orders", ("n1", "n2", "n3"), attached="n1", failed=("n3",))
    settings = {"replica-replenishment-wait-interval": "600", "concurrent-replica-rebuild-per-node-limit": "0"}
    worse = drive(three(degraded, Volume("logs", ("n2",), attached="n2"), settings=settings))
    found = asked(worse, "whole", "n3")
    assert {each.code for each in found.verdict.deciding()} == {"volume_degraded", "timed_out"}
    # A volume that is not near the batch holds nothing up, also where the batch has no part of Longhorn.
    assert asked(worse, "whole", "elsewhere").verdict.passed


def test_nothing_is_changed_so_nothing_has_to_be_put_back(drive: type[Driver]) -> None:
    driver = drive(three(Volume("orders", ("n1", "n2"))))
    for state in ("rejoined", "restored"):
        done = asked(driver, state, "n1")
        assert done.verdict.passed
        assert not done.changed
    assert asked(driver, "ready", "n1").more == {"workloads": {}}


@pytest.mark.parametrize("kind", ["enginefrontends", "instancemanagers", "snapshots", "recurringjobs"])
def test_a_kind_that_the_api_server_does_not_know_is_named_with_the_version_that_has_it(
    drive: type[Driver], kind: str
) -> None:
    driver = drive(three(Volume("orders", ("n1", "n2"))))
    driver.longhorn.kubernetes.server.faults.answer(404, "GET", f"/{kind}$", times=20)
    (reason,) = (driver.switch("n1") if kind == "recurringjobs" else asked(driver, "asked", "n1")).verdict.deciding()
    assert reason.code == "longhorn_kind_missing"
    assert f"does not know {kind} of the group longhorn.io, which Longhorn 1.12 has." in reason.message


def test_consent_covers_what_may_be_lost() -> None:
    own = {"system": "opensearch", "namespace": "search", "opensearch": {"password": "not-for-any-eyes"}}
    given = {**own, **CONSENTS, "allow_single_copy": ["a", "b"], "allow_quorum_loss": True}
    (workload,) = workloads_in([given])
    title = "OpenSearch in namespace search"
    assert [*workload.conditions()] == [f"{title} allow_single_copy a,b", f"{title} allow_quorum_loss"]
    assert [*workloads_in([{**own, **CONSENTS}])[0].conditions()] == []
