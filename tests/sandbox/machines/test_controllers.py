"""Cluster API in memory: the real definitions, and the order in which machines go."""

from __future__ import annotations

import pytest

from tests.sandbox.kubernetes.objects import Refused
from tests.sandbox.kubernetes.resources import Writing
from tests.sandbox.machines.kinds import DELETE_FIRST
from tests.sandbox.machines.machines import MANAGEMENT, Machines

VERSIONS = ("v1beta2", "v1beta1")


@pytest.mark.parametrize("version", VERSIONS)
def test_machines_come_and_go_with_the_number(version: str) -> None:
    machines = Machines({"workers": 2}, version)
    machines.write("workers", replicas=3)
    machines.clock.advance(5)
    assert machines.deployment("workers")["status"]["readyReplicas"] == 2
    machines.clock.advance(60)
    status = machines.deployment("workers")["status"]
    assert (status["readyReplicas"], status[machines.version.up_to_date]) == (3, 3)
    machines.write("workers", replicas=1)
    machines.clock.advance(5)
    assert len(machines.machines("workers")) == 3
    machines.clock.advance(60)
    assert list(machines.machines("workers")) == ["workers-3"]


def test_a_marked_machine_goes_first_and_one_without_a_node_before_the_others() -> None:
    machines = Machines({"workers": 3})
    machines.annotate("workers", DELETE_FIRST, "", machine="workers-2")
    machines.controllers.never_boots = True
    machines.write("workers", replicas=4)
    machines.clock.advance(60)
    machines.write("workers", replicas=2)
    machines.clock.advance(60)
    assert list(machines.machines("workers")) == ["workers-1", "workers-3"]


def test_a_paused_one_is_left_alone() -> None:
    machines = Machines({"workers": 1})
    machines.write("workers", paused=True, replicas=2)
    machines.clock.advance(60)
    assert len(machines.machines("workers")) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_the_definitions_judge_what_is_written(version: str) -> None:
    machines = Machines({"workers": 1}, version)
    kind = machines.version.deployments
    with pytest.raises(Refused, match="unknown field"):
        machines.resources.change(
            kind, MANAGEMENT, "workers", lambda item: item["spec"].update(machines=2), Writing(strict="Strict")
        )
    with pytest.raises(Refused, match="must be of type integer"):
        machines.resources.change(kind, MANAGEMENT, "workers", lambda item: item["spec"].update(replicas="2"))
