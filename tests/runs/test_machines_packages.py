"""Packages that the role member_kubeadm installs on machines in memory while another installation goes on there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runs.machines import Machines, machines
from tests.runs.test_machines_role import FROM, TO, WORKER, take
from tests.runs.world import world


@pytest.fixture
def made() -> Iterator[Machines]:
    """A machine of the control plane, and a worker."""
    with world() as here, machines(here, FROM, [TO], control_plane=1, workers=1) as found:
        yield found


@pytest.mark.parametrize("step", ["prepare", "before_drain", "after_drain"])
def test_the_end_of_another_installation_is_waited_for(made: Machines, step: str) -> None:
    packages, clock = made.machines[WORKER].packages, made.here.sandbox.clock
    earlier = {"prepare": [], "before_drain": ["prepare"], "after_drain": ["prepare", "before_drain"]}[step]
    assert take(made, WORKER, *earlier).code == 0
    packages.locked_until = clock.now() + 400
    done = take(made, WORKER, step)
    assert done.code == 0, done.output
    assert clock.now() > packages.locked_until


def test_an_installation_that_does_not_end_is_named(made: Machines) -> None:
    made.machines[WORKER].packages.locked_until = made.here.sandbox.clock.now() + 10_000
    done = take(made, WORKER, "prepare")
    assert done.code == 2
    assert "Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (unattended-upgr)" in done.message
