"""Upgrades of real kubeadm clusters, by the ready role over SSH, with drains by the real eviction API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.lab.machines.build import INSTALLED, NEXT, NEXT_MINOR
from tests.lab.machines.cluster import WORKERS
from tests.lab.waiting import until
from tests.scenarios.interruptions import END, KILLS
from tests.scenarios.machines.upgrades import Upgrades, upgrading

CLUSTER = (("cp-1", "cp-2"), ("w-1", "w-2"))
MOMENT = 300.0


@pytest.fixture
def upgrades(ansible_environment: Mapping[str, str], request: pytest.FixtureRequest) -> Iterator[Upgrades]:
    """A cluster of two machines in the control plane and two workers, on the version before the target."""
    with upgrading(ansible_environment, *CLUSTER, target=getattr(request, "param", NEXT)) as made:
        yield made


def test_a_cluster_is_upgraded_machine_by_machine(upgrades: Upgrades) -> None:
    before = upgrades.pods()
    played = upgrades.run(upgrades.agreed())
    assert played.code == 0, played.message
    upgrades.is_whole()
    # Each worker was drained, so that each pod has moved at least once.
    assert not set(before) & set(upgrades.pods())


@pytest.mark.soak
@pytest.mark.parametrize("upgrades", [NEXT_MINOR], indirect=True)
def test_a_minor_version_is_upgraded_machine_by_machine(upgrades: Upgrades) -> None:
    """The API server of the lab stays on the version before, so that a new one and its removed kinds are not seen."""
    played = upgrades.run(upgrades.agreed())
    assert played.code == 0, played.message
    upgrades.is_whole()


@pytest.mark.soak
def test_a_run_that_is_killed_goes_on(upgrades: Upgrades) -> None:
    """Killed while kubeadm replaces the static pods, and while a worker is drained; then run again."""
    variables = upgrades.agreed()
    images = upgrades.cluster.images_of_control_plane

    killed(upgrades, variables, lambda: any(image.endswith(f":v{NEXT}") for image in images().values()))
    versions = upgrades.cluster.versions
    killed(upgrades, variables, lambda: [*versions().values()].count(NEXT) == 2 and cordoned(upgrades, "w-"))
    assert sorted(versions().values()) == [INSTALLED, INSTALLED, NEXT, NEXT]

    played = upgrades.run(variables)
    assert played.code == 0, played.message
    upgrades.is_whole()
    again = upgrades.run(upgrades.variables())
    assert again.code == 0, again.message
    assert not any(again.changed[name] for name in upgrades.cluster.machines)


@pytest.mark.soak
def test_no_machine_is_touched_while_one_lacks_an_image(upgrades: Upgrades) -> None:
    """The images are pulled on all machines before the first is upgraded."""
    scheduler = f"registry.test%2Fkube-scheduler:v{NEXT}"
    missing = f"/var/lib/container-runtime/missing/{scheduler}"
    upgrades.cluster.machines["cp-2"].run("touch", missing)
    variables = upgrades.agreed()
    refused = upgrades.run(variables)
    assert refused.code != 0
    assert "cp-2" in refused.message
    assert f"kube-scheduler:v{NEXT}" in refused.message
    assert set(upgrades.cluster.versions().values()) == {INSTALLED}
    assert cordoned(upgrades) == []

    upgrades.cluster.machines["cp-2"].run("rm", missing)
    played = upgrades.run(variables)
    assert played.code == 0, played.message
    upgrades.is_whole()
    for machine in upgrades.cluster.groups[WORKERS]:
        there = machine.run("ls", "/var/lib/container-runtime/images").split()
        assert f"registry.test%2Fkube-proxy:v{NEXT}" in there
        assert scheduler not in there, "a worker pulls no image of the control plane"


def cordoned(upgrades: Upgrades, start: str = "") -> list[str]:
    """The machines of a name that are cordoned."""
    return [
        name for name, node in upgrades.cluster.nodes().items() if node.spec.unschedulable and name.startswith(start)
    ]


def killed(upgrades: Upgrades, variables: Mapping[str, object], moment: Callable[[], object]) -> None:
    """One run that is killed at a given time."""
    run = upgrades.start(variables)
    until("the moment of the kill", lambda: moment() or run.ended, MOMENT)
    assert not run.ended, run.so_far
    KILLS["SIGKILL to its process group"](run)
    until("the controller's end", lambda: run.ended, END)
    run.abandon()
