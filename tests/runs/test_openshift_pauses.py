"""Upgrades of OpenShift during which something else ends the pause of a pool, or pauses one."""

from __future__ import annotations

import pytest

from tests.runs.test_openshift import TARGET, CalledOpenShift, codes
from tests.runs.world import World
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json
from tests.sandbox.openshift.kinds import DESIRED, POOLS, STATE, WORKING, annotations_of, rendered


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
