"""Longer stories: the collection's client, two minor upgrades with held workers, and faults at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields

import pytest

from tests.sandbox.kubernetes.cluster import TOKENS
from tests.sandbox.kubernetes.in_process import InProcess
from tests.sandbox.kubernetes.kinds import PODS
from tests.sandbox.kubernetes.objects import Json, condition_of, is_ready
from tests.sandbox.kubernetes.store import Change
from tests.sandbox.openshift.asking import FEW, GRAPH, NEXT, built, history, pool, status, versions
from tests.sandbox.openshift.description import Described, Graph, Release
from tests.sandbox.openshift.faults import Faults
from tests.sandbox.openshift.habits import KIND, Habits, Pace
from tests.sandbox.openshift.kinds import CURRENT, POOLS, VERSION, VERSIONS, annotations_of, rendered
from tests.sandbox.openshift.openshift import OpenShift

DAY = 24 * 3600.0
LONG_TERM = "eus-4.20"
HOPS = Graph(
    (
        Release("4.18.2", ("stable-4.18", LONG_TERM)),
        Release("4.19.5", (LONG_TERM,)),
        Release("4.20.1", (LONG_TERM,)),
    ),
    (("4.18.2", "4.19.5"), ("4.19.5", "4.20.1")),
)


def test_the_client_of_the_collection_upgrades_and_is_named_by_the_observer() -> None:
    found = built(version="4.18.2")
    api = InProcess(found.kubernetes.server, TOKENS["admin"], namespaces=())
    client, path = api.client(), VERSIONS.path("", VERSION)
    client.patch(path, {"spec": {"channel": NEXT}}, "merge")
    assert found.until(lambda: "4.19.0" in versions(found))
    client.patch(path, {"spec": {"desiredUpdate": {"version": "4.19.0"}}}, "merge")
    assert found.until(found.upgrade_done)
    told = client.get(path)
    assert told is not None
    assert told["status"]["history"][0]["version"] == "4.19.0"
    assert {each.manager for each in found.observer.writes} == {"stateful.upgrade"}
    assert found.observer.breaches == []


def test_workers_that_are_held_skip_a_minor_version() -> None:
    found = built(graph=HOPS, version="4.18.2", channel=LONG_TERM)
    found.write(POOLS, "worker", {"paused": True})
    for version in ("4.19.5", "4.20.1"):
        assert found.until(lambda version=version: versions(found) == [version], 600)  # type: ignore[misc]
        found.want(version)
        assert found.until(lambda version=version: history(found)[0] == (version, "Completed"))  # type: ignore[misc]
        kubelets = [found.node(each)["status"]["nodeInfo"]["kubeletVersion"] for each in ("master-0", "worker-0")]
        assert kubelets == {"4.19.5": ["v1.32.5", "v1.31.2"], "4.20.1": ["v1.33.1", "v1.31.2"]}[version]
        # Two minor versions are the most that workers may be behind, and only where they will not be three.
        found.clock.advance(300)
        assert status(found.version(), "Upgradeable") == {"4.19.5": "", "4.20.1": "False"}[version]
    assert annotations_of(found.node("worker-0"))[CURRENT] == rendered("worker", "4.18.2")
    assert (
        "KubeletMinorVersionUnsupportedNextUpgrade"
        in condition_of(found.operator("kube-apiserver"), "Upgradeable")["reason"]
    )
    found.write(POOLS, "worker", {"paused": False})
    found.clock.advance(10)
    assert found.until(found.upgrade_done)
    assert annotations_of(found.node("worker-0"))[CURRENT] == rendered("worker", "4.20.1")
    found.clock.advance(60)
    assert status(found.version(), "Upgradeable") == ""


def _members(found: OpenShift, zones: int = 3) -> None:
    """Make a StatefulSet of three pods that keep apart, under a budget that lets one of them be away."""
    labels = {"app": "data"}
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    pod = {"containers": [{"name": "server", "image": "server:1"}], "affinity": affinity}
    template = {"metadata": {"labels": labels}, "spec": pod}
    sets: Json = {"serviceName": "data", "replicas": zones, "selector": {"matchLabels": labels}, "template": template}
    budget: Json = {"selector": {"matchLabels": labels}, "maxUnavailable": 1}
    named = {"name": "data", "namespace": "search"}
    found.kubernetes.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "search"}}])
    found.kubernetes.apply(
        [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": named, "spec": sets},
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": named, "spec": budget},
        ]
    )
    assert found.until(lambda: _ready(found) == 3, 60)


def _ready(found: OpenShift) -> int:
    return sum(is_ready(each) for each in found.resources.store.each(PODS, "search"))


def test_pods_of_a_stateful_set_move_one_after_another_as_their_budget_says() -> None:
    found = built(pools=(pool("master"), pool("worker", 4, max_unavailable=2)))
    _members(found)
    fewest = [3]

    def changed(change: Change) -> None:
        if change.kind == PODS:
            fewest[0] = min(fewest[0], _ready(found))

    found.resources.store.listeners.append(changed)
    found.want("4.18.2")
    assert found.until(found.upgrade_done)
    assert (fewest[0], _ready(found)) == (2, 3)
    assert all(each["spec"]["nodeName"].startswith("worker-") for each in found.resources.store.each(PODS, "search"))


def _drawn(chance: random.Random) -> OpenShift:
    most = chance.choice([None, 1, 2, "50%"])
    pools = (pool("master"), pool("worker", chance.randint(2, 5), max_unavailable=most), pool("infra", 2))
    worst = Habits()
    habits = {each.name: getattr(chance.choice([worst, KIND]), each.name) for each in fields(Habits)}
    pace = {each.name: getattr(Pace(), each.name) * chance.choice([0.5, 1, 3]) for each in fields(Pace)}
    described = Described("4.18.1", GRAPH, pools, operators=FEW)
    return OpenShift(described, Habits(**habits), Pace(**pace))


def _blocked(faults: Faults, node: str) -> None:
    faults.drain_blocked(node)


def _faults(faults: Faults, chance: random.Random) -> list[Callable[[], None]]:
    node = f"{chance.choice(['master', 'worker', 'infra'])}-{chance.randint(0, 1)}"
    operator = chance.choice(FEW)
    every: list[Callable[[], None]] = [
        lambda: faults.operator_breaks_in_upgrade(operator),
        lambda: faults.operator_stays_degraded(operator),
        lambda: faults.node_never_returns(node),
        lambda: faults.node_degraded(node),
        lambda: _blocked(faults, node),
        faults.graph_unreachable,
        faults.graph_fails,
        lambda: faults.machine_config_away(chance.uniform(10, 900)),
        lambda: faults.version_operator_away(chance.uniform(10, 900)),
        lambda: faults.person_pauses("worker"),
        lambda: faults.person_cordons(node),
        lambda: faults.person_uncordons(node),
    ]
    return chance.sample(every, 4)


@pytest.mark.parametrize("seed", range(12))
def test_after_faults_at_random_the_upgrade_comes_to_its_end(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - it is no secret
    found = _drawn(chance)
    for fault in _faults(found.faults, chance):
        found.clock.later(chance.uniform(0, 3600), fault)
    found.want("4.18.2")
    found.clock.advance(2 * 3600)
    found.faults.mend_all()
    found.faults.person_unpauses("worker")
    for name in ("master", "worker", "infra"):
        for number in range(2):
            found.faults.person_uncordons(f"{name}-{number}")
    assert found.until(found.upgrade_done, DAY, 60.0)
    assert (history(found)[0], found.observer.breaches) == (("4.18.2", "Completed"), [])
    assert found.observer.leftovers() == []
    # The last status is written some time after the last change.
    found.clock.advance(300)
    assert status(found.version(), "Failing") == "False"
