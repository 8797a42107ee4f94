"""Spare workers of an OpenShift, made, drained and removed by its real controllers of machine sets and machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.runs.openshift import shipped_rights
from tests.sandbox.kubernetes.kinds import NODES
from tests.sandbox.kubernetes.objects import Json, Kind, controller_of
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import Described, Graph, MachineSet, Pool, Release
from tests.sandbox.openshift.kinds import (
    CURRENT,
    MACHINE_SETS,
    MACHINES,
    OF_MACHINE,
    VERSIONS,
    annotations_of,
    rendered,
)
from tests.scenarios.cluster import CLUSTER_USER
from tests.scenarios.openshift import Upgrades

CHANNEL, OLD, NEW = "stable-4.13", "4.13.0", "4.13.1"
SETS = (MachineSet("workers-a", "a"), MachineSet("workers-b", "b"))
SPARE = {f"{each.name}-spare" for each in SETS}
DESCRIBED = Described(
    OLD,
    Graph((Release(OLD, (CHANNEL,)), Release(NEW, (CHANNEL,))), ((OLD, NEW),)),
    (pool("master"), Pool("worker")),
    channel=CHANNEL,
    operators=("etcd", "machine-config"),
    machine_sets=SETS,
)


@pytest.mark.soak
def test_each_zone_has_a_spare_worker_while_the_upgrade_lasts(
    lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path
) -> None:
    with OpenShiftOnLab(lab, tmp_path, DESCRIBED) as openshift:
        lab.apply(shipped_rights(CLUSTER_USER, spare_workers=True))
        upgrades = Upgrades(lab, openshift, ansible_environment, {"upgrade_extra_workers": True})
        before = {kind.kind: names(openshift, kind) for kind in (MACHINE_SETS, MACHINES, NODES)}
        played = upgrades.run(upgrades.agreed(NEW))
        print(played.output, *openshift.troubles, sep="\n")
        assert played.code == 0, played.message
        assert upgrades.history()[0] == (NEW, "Completed")
        assert upgrades.left_behind() == []
        assert {kind.kind: names(openshift, kind) for kind in (MACHINE_SETS, MACHINES, NODES)} == before
        workers = [annotations_of(each) for each in openshift.all(NODES) if OF_MACHINE in annotations_of(each)]
        assert [each[CURRENT] for each in workers] == [rendered("worker", NEW)] * len(SETS)
        assert openshift.audit.breaches() == []
        changes = openshift.audit.changes()
    joined, wanted, left = (first_of(changes, each) for each in (_is_joined, _is_wanted, _is_gone))
    assert joined.keys() == left.keys() == SPARE
    assert max(joined.values()) < min(wanted.values()) < min(left.values())


def names(openshift: OpenShiftOnLab, kind: Kind) -> list[str]:
    """The names of all objects of a kind."""
    return [each["metadata"]["name"] for each in openshift.all(kind)]


def first_of(changes: list[tuple[Kind, str, Json]], is_one: Callable[[Kind, str, Json], str]) -> dict[str, int]:
    """The places among all changes at which these happened first, by the name that is given for each."""
    found: dict[str, int] = {}
    for place, change in enumerate(changes):
        name = is_one(*change)
        if name:
            found.setdefault(name, place)
    return found


def _is_joined(kind: Kind, change: str, item: Json) -> str:
    """The spare set of a machine that has a Kubernetes node."""
    return _spare_set(item) if kind == MACHINES and item.get("status", {}).get("nodeRef") else ""


def _is_wanted(kind: Kind, change: str, item: Json) -> str:
    return NEW if kind == VERSIONS and item["spec"].get("desiredUpdate") else ""


def _is_gone(kind: Kind, change: str, item: Json) -> str:
    """The spare set of a machine that was drained and is removed."""
    said = item.get("status", {}).get("conditions") or []
    drained = any((each["type"], each["status"]) == ("Drained", "True") for each in said)
    return _spare_set(item) if kind == MACHINES and change == "DELETED" and drained else ""


def _spare_set(machine: Json) -> str:
    """The machine set whose controller has made a machine, if it is a spare one."""
    owner = (controller_of(machine) or {}).get("name", "")
    return owner if owner in SPARE else ""
