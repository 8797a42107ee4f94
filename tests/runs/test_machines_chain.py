"""Upgrades of machines over several minor versions: one run, one consent, each version on all machines before the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.runs import executor
from tests.runs.machines import NAMESPACE, Machines, machines
from tests.runs.shipped import rights_of_machines
from tests.runs.test_machines import codes, cordoned
from tests.runs.turns import Killed
from tests.runs.world import World, world
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.store import Change
from tests.scenarios.cluster import USER
from tests.scenarios.playbook import Played

FROM, ON_THE_WAY, TO = "1.33.9", ("1.34.8", "1.35.4"), "1.36.1"
HOPS = (*ON_THE_WAY, TO)
CHAIN: dict[str, Any] = {"upgrade_through": [*ON_THE_WAY]}


class Chained:
    """A cluster that notes each version to which a kubelet has come."""

    def __init__(self, found: Machines) -> None:
        self.found = found
        self.came: list[tuple[str, str]] = []
        """The versions with their machines, in the order in which they came to be."""
        found.here.sandbox.kubernetes.server.resources.store.listeners.append(self._changed)

    def _changed(self, change: Change) -> None:
        if change.kind == NODES and change.before is not None and change.type != "DELETED":
            before, after = (each["status"]["nodeInfo"]["kubeletVersion"] for each in (change.before, change.item))
            if before != after:
                self.came.append((after.removeprefix("v"), change.item["metadata"]["name"]))

    def has_come(self, *versions: str) -> None:
        """Fails unless each machine has come to each of these versions once, and all to one before one to the next."""
        names = {*self.found.machines}
        assert [version for version, _name in self.came] == [each for each in versions for _name in names]
        for place, version in enumerate(versions):
            there = self.came[place * len(names) : (place + 1) * len(names)]
            assert {name for _version, name in there} == names, version
        assert self.found.cluster.is_upgraded(versions[-1])
        assert cordoned(self.found) == []
        assert self.found.cluster.control_plane.least_voters >= 2


@pytest.fixture
def here() -> Iterator[World]:
    """A world of this test alone, with hosts."""
    with world(executor.play) as made:
        yield made


@pytest.fixture
def chained(here: World) -> Iterator[Chained]:
    """Three machines of the control plane and two workers, three minor versions behind."""
    with machines(here, FROM, HOPS, workers=2, balanced=True) as made:
        here.sandbox.apply(rights_of_machines(NAMESPACE))
        yield Chained(made)


def upgraded(chained: Chained, **more: Any) -> Played:
    """A run with consent to the present plan."""
    return chained.found.upgraded(TO, user=USER, **{**CHAIN, **more})


def test_one_run_takes_all_machines_from_version_to_version(chained: Chained) -> None:
    ended = upgraded(chained)
    assert ended.code == 0, ended.output
    chained.has_come(*HOPS)
