"""The real version operator next to the stand-in in memory: both say the same of an OpenShift that was installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.lab.openshift.openshift import OpenShiftOnLab
from tests.lab.openshift.server import Server
from tests.sandbox.kubernetes.objects import Json, Refused
from tests.sandbox.openshift.asking import pool
from tests.sandbox.openshift.description import ConditionalEdge, Described, Graph, Release, Risk
from tests.sandbox.openshift.habits import KIND
from tests.sandbox.openshift.kinds import POOLS, VERSION, VERSIONS
from tests.sandbox.openshift.openshift import OpenShift

CHANNEL, OLD, NEW, RISKY = "stable-4.13", "4.13.0", "4.13.1", "4.13.2"
DESCRIBED = Described(
    OLD,
    Graph(
        tuple(Release(each, (CHANNEL,)) for each in (OLD, NEW, RISKY)),
        ((OLD, NEW),),
        (ConditionalEdge(OLD, RISKY, (Risk("SlowPods"),)),),
    ),
    (pool("master"), pool("worker", 1)),
    channel=CHANNEL,
    operators=("etcd", "machine-config"),
)
ALIKE = ("Available", "Failing", "Progressing", "ReleaseAccepted", "RetrievedUpdates", "Upgradeable")


def test_the_real_operator_says_what_the_one_in_memory_says(lab: Lab, tmp_path: Path) -> None:
    kept = OpenShift(DESCRIBED, KIND).version()["status"]
    with OpenShiftOnLab(lab, tmp_path, DESCRIBED) as openshift:
        told = openshift.version()["status"]
        with lab.client() as api:
            server = Server(api, "test")
            with pytest.raises(Refused, match=r'unknown field "spec\.desiredUpdate\.version_"'):
                server.merge(VERSIONS, VERSION, {"spec": {"desiredUpdate": {"version_": NEW}}})
            with pytest.raises(Refused, match=r'unknown field "spec\.pause"'):
                server.merge(POOLS, "worker", {"spec": {"pause": True}})
    assert told["availableUpdates"] == kept["availableUpdates"]
    assert _without_times(told["conditionalUpdates"]) == _without_times(kept["conditionalUpdates"])
    assert told["desired"] == kept["desired"]
    assert _said(told) == _said(kept)


def _without_times(updates: list[Json]) -> list[Json]:
    return [
        {**each, "conditions": [{**said, "lastTransitionTime": ""} for said in each["conditions"]]} for each in updates
    ]


def _said(status: Json) -> dict[str, tuple[str, str, str]]:
    return {
        each["type"]: (each["status"], each.get("reason", ""), each.get("message", ""))
        for each in status["conditions"]
        if each["type"] in ALIKE
    }
