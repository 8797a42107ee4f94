"""The role member_kubeadm on machines in memory, step by step as the playbook takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs import executor
from tests.runs.machines import ROLE, Machines, host_of, machines
from tests.runs.world import world
from tests.sandbox.kubernetes.objects import condition_of
from tests.scenarios.playbook import Played

FROM, TO = "1.35.4", "1.36.1"
FIRST, WORKER = "cp-1", "worker-1"


@pytest.fixture
def made() -> Iterator[Machines]:
    """A machine of the control plane, and a worker."""
    with world(executor.play) as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        yield found


def take(made: Machines, name: str, *steps: str, check: bool = False, **variables: Any) -> Played:
    """Steps of the role on one machine, with the course that a batch would have decided."""
    include = {"name": ROLE, "tasks_from": "{{ upgrade_step }}"}
    loop = {"loop": ["look", *steps], "loop_control": {"loop_var": "upgrade_step"}}
    tasks: list[dict[str, Any]] = [{"ansible.builtin.include_role": include, **loop}]
    tasks.append({"ansible.builtin.debug": {"var": "member_machine"}})
    if "before_drain" in steps:
        tasks.append({"ansible.builtin.debug": {"var": "member_kubeadm_snapshot_taken"}})
    host = host_of(name, made.cluster.described)
    path = Path(made.folder) / "steps.yml"
    path.write_text(json.dumps([{"hosts": host, "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
    first = made.cluster.described.control_plane[0]
    given = {"target_version": TO, "member_kubeadm_course": "apply" if name == first else "node", **variables}
    done = made.here.play(str(path), given, *made.arguments, *(["--check"] if check else []))
    print(done.output)
    return done


def test_a_machine_of_the_control_plane_and_a_worker_are_upgraded(made: Machines) -> None:
    for name in (FIRST, WORKER):
        machine = made.machines[name]
        done = take(made, name, "prepare", "before_drain", "after_drain")
        assert done.code == 0, done.output
        assert set(machine.packages.installed.values()) == {TO}
        assert machine.packages.held == {"kubeadm", "kubelet", "kubectl"}
        assert machine.kubelet.restarts == 1
        made.here.later(60.0)
        assert condition_of(made.cluster.node(name), "Ready")["status"] == "True"
    assert made.cluster.is_upgraded(TO)
