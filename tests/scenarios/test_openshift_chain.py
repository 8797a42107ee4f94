"""Several minor versions in one run, with the real version operator: one by one, and EUS to EUS with held workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.waiting import until
from tests.runs.openshift import shipped_rights
from tests.sandbox.kubernetes.objects import condition_of
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import Described, Graph, Release
from tests.scenarios.cluster import CLUSTER_USER
from tests.scenarios.openshift import Upgrades

VERSIONS = ("4.13.0", "4.14.0", "4.15.0", "4.16.0")
PATCH = "4.13.1"
"""Another version of the first channel, so that it has an update on offer."""
CHANNELS = tuple(f"stable-{each.rpartition('.')[0]}" for each in VERSIONS)
GATE, REMOVALS = "ack-4.14-kube-1.28-api-removals-in-4.15", "APIs are removed in 4.15."
DESCRIBED = Described(
    VERSIONS[0],
    Graph(
        # A release is in the channel of its minor version, and in that of the next one.
        (
            *(Release(each, CHANNELS[place : place + 2]) for place, each in enumerate(VERSIONS)),
            Release(PATCH, CHANNELS[:1]),
        ),
        (*pairwise(VERSIONS), (VERSIONS[0], PATCH)),
    ),
    (pool("master"), pool("worker", 2)),
    channel=CHANNELS[0],
    operators=("etcd", "kube-apiserver", "machine-config"),
    gates={GATE: REMOVALS},
)
PATIENCE = 900.0
"""Seconds for two updates of the control plane: an operator that was just replaced lets none start for two minutes."""


@pytest.fixture
def upgrades(lab: Lab, ansible_environment: Mapping[str, str], tmp_path: Path) -> Iterator[Upgrades]:
    """An OpenShift of an odd minor version."""
    lab.apply(shipped_rights(CLUSTER_USER))
    with OpenShiftOnLab(lab, tmp_path, DESCRIBED) as openshift:
        yield Upgrades(lab, openshift, ansible_environment)


@pytest.mark.soak
def test_three_minor_versions_in_one_run_and_the_workers_go_twice(upgrades: Upgrades) -> None:
    """From 4.13 the workers have to go to 4.14; from there to 4.16 they are held, and go once."""
    openshift, through = upgrades.openshift, [*VERSIONS[1:-1]]
    refused = upgrades.plan(VERSIONS[-1], upgrade_channel=CHANNELS[-1])
    assert refused.code != 0
    assert f"Set upgrade_through={','.join(through)}, so that one run makes the upgrades" in refused.message
    chain = {"upgrade_through": through}
    planned = upgrades.plan(VERSIONS[-1], **chain)
    assert planned.code == 0, planned.message
    for (before, after), channel in zip(pairwise(VERSIONS), CHANNELS[1:], strict=True):
        assert f"The update graph offers {after} from {before} in channel {channel}." in planned.output
    assert f"workers to {VERSIONS[1]}, then to {VERSIONS[-1]}" in planned.output
    run = upgrades.start(upgrades.agreed(VERSIONS[-1], **chain))
    until("the acknowledgement to be asked for", lambda: REMOVALS in _upgradeable(upgrades) or run.ended, PATIENCE)
    openshift.acknowledge(GATE)
    until("the end of the run", lambda: run.ended, PATIENCE)
    played = run.wait()
    print(played.output)
    assert played.code == 0, played.message
    _is_done(upgrades)


def _upgradeable(upgrades: Upgrades) -> str:
    return str(condition_of(upgrades.openshift.version(), "Upgradeable").get("message", ""))


def _is_done(upgrades: Upgrades) -> None:
    openshift = upgrades.openshift
    assert [version for version, _state in upgrades.history()] == [*reversed(VERSIONS)]
    assert {state for _version, state in upgrades.history()} == {"Completed"}
    assert upgrades.on(VERSIONS[-1]) == {node.name for each in DESCRIBED.pools for node in each.nodes}
    assert upgrades.left_behind() == []
    assert [each["version"] for each in openshift.audit.wanted()] == [*VERSIONS[1:]]
    assert not any(each.get("force") for each in openshift.audit.wanted())
    assert openshift.audit.breaches() == []
    assert openshift.version()["spec"]["channel"] == CHANNELS[-1]
    workers = [each for each in openshift.audit.taken() if not each[0].startswith("master")]
    assert workers == [["worker-0"], ["worker-1"]] * 2
