"""Upgrades of OpenShift during which something else ends the pause of a pool, or pauses one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.runs.openshift import PLAYBOOK
from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.asking import SMALL, pool
from tests.sandbox.openshift.kinds import (
    CURRENT,
    DESIRED,
    POOLS,
    STATE,
    VERSION,
    VERSIONS,
    WORKING,
    annotations_of,
    rendered,
)
from tests.sandbox.web import Request
from tests.scenarios.playbook import Played


@pytest.mark.parametrize(
    ("at_work", "taken"),
    # The second one is taken as soon as the first one is back, and its batch is the next one.
    [("master-0", "worker-0"), ("worker-0", "")],
)
def test_a_pool_that_something_else_lets_go_while_a_batch_is_followed_is_paused_again(
    here: World, at_work: str, taken: str
) -> None:
    cluster = CalledOpenShift(here)
    faults, clock, times = cluster.openshift.faults, cluster.openshift.clock, list[float]()

    def is_at_work(item: Json) -> bool:
        return item["metadata"]["name"] == at_work and annotations_of(item)[STATE] == WORKING

    def let_go() -> None:
        times.append(clock.now())
        faults.person_unpauses("worker")

    def is_held(item: Json) -> bool:
        if len(times) == 1 and item["metadata"]["name"] == "worker" and item["spec"].get("paused"):
            times.append(clock.now())
        return False

    # A single pass of Git, such as it puts back what others change.
    faults.when(NODES, is_at_work, lambda: clock.later(30.0, let_go))
    faults.when(POOLS, is_held, lambda: None)
    ended = cluster.upgrade()
    assert ended.code == 0, ended.output
    let_go_at, held_at = times
    assert held_at - let_go_at <= 10
    assert "MachineConfigPool worker was open, so that the machine config operator takes further" in ended.output
    assert f"It is paused again. {f'Taken by then: {taken}. ' if taken else ''}If something else" in ended.output
    cluster.is_upgraded()


def test_a_pool_that_something_else_lets_go_while_another_one_is_open_is_paused_again(here: World) -> None:
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("infra", 1), pool("worker", 2))))
    faults, done = cluster.openshift.faults, list[str]()

    def let_go(request: Request) -> None:
        its = cluster.openshift.pool("infra")
        is_open = not its["spec"].get("paused") and cluster.on_target() and not done
        if request.path == POOLS.path("", "infra") and request.method == "PATCH" and is_open:
            done.append("worker")
            # The machine config operator has not taken the Kubernetes node of the batch yet.
            faults.machine_config_away(300)
            faults.person_unpauses("worker")

    here.calling.after = let_go
    ended = cluster.upgrade()
    here.calling.after = lambda _request: None
    assert ended.code == 0, ended.output
    assert done
    assert "MachineConfigPool worker was open, so that the machine config operator takes further" in ended.output
    assert "Taken by then" not in ended.output
    cluster.is_upgraded()


def paused_in_its_batch(cluster: CalledOpenShift, given: Mapping[str, Any]) -> Played:
    """A run. A person pauses the pool of workers as soon as it was let go for its first batch."""
    patched = list[str]()

    def pause(request: Request) -> None:
        patched.extend([request.path] if request.method == "PATCH" and request.path == POOLS.path("", "worker") else [])
        if len(patched) == 2:
            # It was held, and is let go.
            patched.append("paused")
            cluster.openshift.faults.person_pauses("worker")

    cluster.here.calling.after = pause
    ended = cluster.here.play(PLAYBOOK, given)
    cluster.here.calling.after = lambda _request: None
    return ended


@pytest.mark.parametrize("most", [None, 1], ids=["as it is", "fewer at a time"])
def test_a_pool_that_a_person_pauses_during_its_batches_stays_paused_and_is_named(
    here: World, most: int | None
) -> None:
    """Also if the run has left its `maxUnavailable` on it, which is put back."""
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 4, max_unavailable=2))))
    given = cluster.agreed(**({"upgrade_max_unavailable": most} if most else {}), upgrade_member_timeout=600)
    ended = paused_in_its_batch(cluster, given)
    assert codes(ended) == ["kubernetes_node_waits", "timed_out"], ended.output
    assert "worker-0 yet, since another user has paused MachineConfigPool worker." in ended.output
    assert "stays paused, with" not in ended.output
    # The next one leaves it as it is.
    again = cluster.upgrade()
    assert again.code == 0, again.output
    assert "MachineConfigPool worker is paused by another user" in again.output
    assert cluster.paused() == ["worker"]
    worker = cluster.openshift.pool("worker")
    assert worker["spec"]["maxUnavailable"] == 2
    assert not worker["metadata"].get("annotations")
    assert {"worker-0", "worker-1"}.isdisjoint(cluster.on_target())


def test_a_pool_is_paused_again_if_another_update_is_wanted_while_its_batch_is_taken(here: World) -> None:
    cluster = CalledOpenShift(here)
    faults = cluster.openshift.faults

    def is_taken(item: Json) -> bool:
        its = annotations_of(item)[DESIRED] == rendered("worker", TARGET)
        return item["metadata"]["name"] == "worker-0" and its

    faults.when(NODES, is_taken, lambda: faults.person_wants("4.18.3"))
    ended = cluster.upgrade()
    assert codes(ended)[0] == "update_changed", ended.output
    workers = [annotations_of(cluster.openshift.node(f"worker-{place}"))[DESIRED] for place in range(3)]
    assert workers == [rendered("worker", TARGET), *[rendered("worker", "4.18.1")] * 2]
    assert cluster.paused() == ["worker"]


def test_a_pool_without_anything_left_to_update_does_not_stay_paused(here: World) -> None:
    """The last Kubernetes node is updated, and does not come back, since a person has cordoned it."""
    infra = pool("infra", 2, max_unavailable=2)
    cluster = CalledOpenShift(here, replace(SMALL, pools=(pool("master"), pool("worker", 1), infra)))

    def is_updated(item: Json) -> bool:
        its = annotations_of(item)[CURRENT] == rendered("infra", TARGET)
        return item["metadata"]["name"] == "infra-1" and its

    cluster.openshift.faults.when(NODES, is_updated, lambda: cluster.openshift.faults.person_cordons("infra-1"))
    ended = cluster.upgrade(upgrade_member_timeout=600, upgrade_max_unavailable=1)
    assert ended.code != 0
    assert "MachineConfigPool worker stays paused, with 1 Kubernetes nodes left to update." in ended.output
    assert "MachineConfigPool infra stays paused" not in ended.output
    assert cluster.paused() == ["worker"]
    assert cluster.openshift.pool("infra")["spec"]["maxUnavailable"] == 2


def test_an_update_that_is_withdrawn_is_not_waited_for(here: World) -> None:
    cluster = CalledOpenShift(here)
    cluster.openshift.faults.release_unsigned(TARGET)
    given, began = cluster.agreed(), cluster.openshift.clock.now()

    def withdraw() -> None:
        cluster.openshift.write(VERSIONS, VERSION, {"desiredUpdate": None})

    cluster.openshift.faults.when(VERSIONS, lambda item: "desiredUpdate" in item["spec"], withdraw)
    ended = here.play(PLAYBOOK, given)
    assert codes(ended) == ["update_withdrawn"], ended.output
    assert cluster.openshift.clock.now() - began < 60
    assert cluster.paused() == []
